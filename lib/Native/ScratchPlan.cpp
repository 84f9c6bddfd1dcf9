//===- ScratchPlan.cpp - buffers of a kernel's tiles ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every step has a time. A value's buffer is live from the step that writes it
// to the last that reads it; what a loop reads from outside is live to the
// loop's end. Two values share one buffer where that saves a copy:
//
//   - a carried tile, its initial value, what the loop yields and its result,
//     if the old value is not read after the new one is written;
//   - a branch's result and what its sides yield, so that a side which changes
//     nothing copies nothing (the accumulator of a guard's fast side);
//   - an element-wise result and an operand that dies there (P over S).
//
// Within one step this is right because an element is read before it is
// written at the same place: groups evaluate all before they store, products
// read the accumulator before and write it after their loop. A branch's second
// side has later times than its first.
//
//===----------------------------------------------------------------------===//

#include "KernelPlan.h"
#include "attentile/Float8.h"
#include <map>

using namespace mlir;

namespace attentile::native {

class ScratchPlanner {
public:
  explicit ScratchPlanner(KernelPlan &plan) : plan(plan) {}

  void run() {
    number(plan.steps, nullptr);
    makeBuffers();
    shareBranches(plan.steps);
    shareCarried(plan.steps);
    shareElementwise(plan.steps);
    place();
    setTargets(plan.steps);
    dropCopies(plan.steps);
  }

private:
  /// `order` is the nest within a group; in a product 0 for the accumulator,
  /// 1 for the factors.
  struct Access {
    int time, order;
    Block *block;
  };
  struct Range {
    int first, last;
  };

  KernelPlan &plan;
  int now = 0;
  llvm::MapVector<Value, SmallVector<Access>> reads;
  llvm::MapVector<Value, Access> writes;
  llvm::MapVector<Operation *, Range> loopRange, branchRange;
  /// Buffers before sharing: `parent` is a forest, ranges are kept at roots.
  SmallVector<int> parent;
  SmallVector<Range> ranges;

  int find(int id) const {
    while (parent[id] != id)
      id = parent[id];
    return id;
  }
  int classOf(Value value) const { return find(plan.bufferOf.lookup(value)); }
  bool hasBuffer(Value value) const { return plan.bufferOf.contains(value); }
  void unite(int into, int from) {
    into = find(into), from = find(from);
    ranges[into] = {std::min(ranges[into].first, ranges[from].first),
                    std::max(ranges[into].last, ranges[from].last)};
    parent[from] = into;
  }

  void read(Value value, int order, Block *block) {
    value = KernelPlan::strip(value);
    if (tile::isTile(value.getType()))
      reads[value].push_back({now, order, block});
  }
  void readLeaves(Value value, int order, Block *block) {
    llvm::SetVector<Value> leaves;
    plan.collectLeaves(value, leaves);
    for (Value leaf : leaves)
      read(leaf, order, block);
  }

  /// Reads of a group that registers do not serve.
  void numberGroup(const NestGroup &group, Block *block) {
    DenseMap<Value, const Root *> rootOf;
    for (const Root &root : group.roots)
      if (!root.isCopy)
        rootOf[root.value] = &root;
    for (const Root &root : group.roots) {
      llvm::SetVector<Value> leaves;
      plan.collectRootLeaves(root, leaves);
      for (Value leaf : leaves) {
        const Root *inner = rootOf.lookup(leaf);
        bool inRegister =
            inner && (inner->kept.empty() ||
                      (inner->over.empty() && inner->nest == root.nest));
        if (!inRegister)
          read(leaf, std::max(root.nest, 0), block);
      }
      if (!root.isCopy && tile::isTile(root.value.getType()))
        writes[root.value] = {now, std::max(root.nest, 0), block};
    }
  }

  /// Gives times, and collects reads and writes. A null `block` is the
  /// kernel's.
  void number(std::vector<Step> &steps, Block *block) {
    for (Step &step : steps) {
      ++now;
      step.time = now;
      if (step.op)
        block = step.op->getBlock();
      switch (step.kind) {
      case StepKind::Scalar:
        break;
      case StepKind::Load:
        for (Value index : cast<tile::LoadOp>(step.op).getIndices())
          readLeaves(index, 0, block);
        if (tile::isTile(step.op->getResult(0).getType()))
          writes[step.op->getResult(0)] = {now, 0, block};
        break;
      case StepKind::Store:
        for (Value operand : step.op->getOperands())
          if (!isa<BlockArgument>(operand) || tile::isTile(operand.getType()))
            readLeaves(operand, 0, block);
        break;
      case StepKind::Dot: {
        auto dot = cast<tile::DotOp>(step.op);
        read(dot.getLhs(), 1, block);
        read(dot.getRhs(), 1, block);
        if (dot.getAcc())
          readLeaves(dot.getAcc(), 0, block);
        writes[dot.getResult()] = {now, 0, block};
        break;
      }
      case StepKind::Nests: {
        Block *home = block;
        for (const Root &root : step.group.roots)
          if (!root.isCopy)
            home = Value(root.value).getParentBlock();
        numberGroup(step.group, home);
        break;
      }
      case StepKind::Loop: {
        int start = now;
        number(step.body, cast<scf::ForOp>(step.op).getBody());
        loopRange[step.op] = {start, ++now};
        break;
      }
      case StepKind::If: {
        auto branch = cast<scf::IfOp>(step.op);
        int start = now;
        number(step.body, branch.thenBlock());
        number(step.otherwise, branch.elseBlock());
        branchRange[step.op] = {start, ++now};
        break;
      }
      }
    }
  }

  int addBuffer(Value value, Range range) {
    auto type = cast<RankedTensorType>(value.getType());
    Type element = type.getElementType();
    if (isNarrowFloat(element))
      element = Float32Type::get(element.getContext());
    if (element.isInteger(1))
      element = IntegerType::get(element.getContext(), 8);
    Buffer buffer;
    buffer.type = type.clone(element);
    Axis vector = plan.getVectorAxis(type);
    for (Axis axis : tile::getAxes(type))
      if (axis != vector)
        buffer.order.push_back(axis);
    buffer.order.push_back(vector);
    if (vector == plan.lane && type.getRank() > 1)
      buffer.panel =
          plan.getStripe(type.getDimSize(*tile::getAxisPosition(type, vector)));
    int64_t width = element.isIndex() ? 8 : element.getIntOrFloatBitWidth() / 8;
    buffer.bytes = type.getNumElements() * width;
    plan.buffers.push_back(buffer);
    parent.push_back(parent.size());
    ranges.push_back(range);
    return parent.size() - 1;
  }

  /// The last time that reads of `value`, which lives in `home`, need it.
  int getLastRead(Value value, Block *home) {
    int last = 0;
    for (const Access &access : reads.lookup(value)) {
      last = std::max(last, access.time);
      for (Block *block = access.block; block && block != home;) {
        Operation *op = block->getParentOp();
        if (isa<tile::KernelOp>(op))
          break;
        last = std::max(last, loopRange.lookup(op).last);
        block = op->getBlock();
      }
    }
    return last;
  }

  void makeBuffers() {
    for (auto &[written, access] : writes) {
      Value value = written;
      int last = getLastRead(value, value.getParentBlock());
      if (last == 0 && plan.isRoot(value))
        continue; // stays in registers
      plan.bufferOf[value] =
          addBuffer(value, {access.time, std::max(last, access.time)});
    }
    for (auto [op, range] : loopRange) {
      auto loop = cast<scf::ForOp>(op);
      for (auto [argument, result] :
           llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults())) {
        if (!tile::isTile(result.getType()))
          continue;
        // The copies of initial values stand just before the loop.
        int last = getLastRead(result, result.getParentBlock());
        int first = range.first - int(loop.getNumRegionIterArgs());
        plan.bufferOf[result] = plan.bufferOf[argument] =
            addBuffer(result, {first, std::max(last, range.last)});
      }
    }
    for (auto [op, range] : branchRange)
      for (Value result : op->getResults())
        if (tile::isTile(result.getType())) {
          int last = getLastRead(result, result.getParentBlock());
          plan.bufferOf[result] =
              addBuffer(result, {range.first, std::max(last, range.last)});
        }
  }

  /// Whether everything that is read between two times of the class of `old` is
  /// read before `next`, of class `id`, is written there.
  bool isReadBefore(int old, Value next, int from, int to) {
    int time = ranges[classOf(next)].first;
    Operation *op = next.getDefiningOp();
    bool rowLevel =
        plan.isRoot(next) && tile::getAxes(next.getType()).size() == 1;
    auto written = writes.find(next);
    int order = written == writes.end() ? 0 : written->second.order;
    for (auto &[value, accesses] : reads)
      if (hasBuffer(value) && classOf(value) == old && value != next)
        for (const Access &access : accesses) {
          if (access.time <= from || access.time > to || access.time < time)
            continue;
          if (access.time > time ||
              !(rowLevel || isa<scf::ForOp>(op) || access.order <= order))
            return false;
        }
    return true;
  }

  /// The sides' steps with the copies that end them.
  static auto getSides(Step &step) {
    return std::array<std::vector<Step> *, 2>{&step.body, &step.otherwise};
  }

  bool isOfOtherResult(int id, Value result) {
    return llvm::any_of(result.getDefiningOp()->getResults(), [&](Value other) {
      return other != result && hasBuffer(other) && classOf(other) == id;
    });
  }

  /// Whether a branch's result may be where `value` is, which stands in the
  /// block around the branch: it is not needed there afterwards.
  bool canKeepInPlace(Value value, Value result, Step &step) {
    auto branch = cast<scf::IfOp>(step.op);
    Block *around = branch->getBlock();
    if (value.getParentBlock() != around || plan.isView(value))
      return false;
    int id = classOf(value);
    if (isOfOtherResult(id, result))
      return false;
    // Copies at the ends of the sides run one after the other.
    for (std::vector<Step> *side : getSides(step))
      for (Step &inner : *side)
        for (const Root &root : inner.group.roots) {
          llvm::SetVector<Value> leaves;
          if (root.isCopy && root.target != result)
            plan.collectLeaves(root.value, leaves);
          if (llvm::any_of(leaves, [&](Value leaf) {
                return hasBuffer(leaf) && classOf(leaf) == id;
              }))
            return false;
        }
    // So do those at the end of the loop around.
    if (auto argument = dyn_cast<BlockArgument>(value))
      for (OpOperand &use : result.getUses())
        if (use.getOwner() == around->getTerminator() &&
            use.getOperandNumber() + 1 != argument.getArgNumber())
          return false;
    int end = branchRange[branch].last;
    auto loop = dyn_cast<scf::ForOp>(around->getParentOp());
    int last = loop ? loopRange[loop].last : now;
    for (auto &[other, accesses] : reads)
      if (hasBuffer(other) && classOf(other) == id)
        for (const Access &access : accesses)
          if (access.time > end && access.time <= last)
            return false;
    return true;
  }

  /// Whether `value`, which one side computes, may be written where the result
  /// is.
  bool canYieldInPlace(Value value, Value result, std::vector<Step> &side,
                       Range branch) {
    int id = classOf(value);
    return value.getParentBlock() != result.getParentBlock() &&
           !isa<BlockArgument>(value) && !plan.isView(value) &&
           !isOfOtherResult(id, result) && ranges[id].first > branch.first &&
           ranges[id].last <= side.back().time &&
           isReadBefore(classOf(result), value, side.front().time - 1,
                        side.back().time);
  }

  void shareBranches(std::vector<Step> &steps) {
    for (Step &step : steps) {
      shareBranches(step.body);
      shareBranches(step.otherwise);
      if (step.kind != StepKind::If)
        continue;
      // What stands already, then what a side makes.
      for (bool inside : {false, true})
        for (std::vector<Step> *side : getSides(step))
          for (Step &copy : *side) {
            const auto &roots = copy.group.roots;
            if (roots.size() != 1 || !roots.front().isCopy)
              continue;
            Value value = KernelPlan::strip(roots.front().value);
            Value result = roots.front().target;
            if (!hasBuffer(value) || classOf(value) == classOf(result) ||
                result.getDefiningOp() != step.op)
              continue;
            bool fresh = classOf(result) == plan.bufferOf.lookup(result);
            if (inside ? canYieldInPlace(value, result, *side,
                                         branchRange[step.op])
                       : fresh && canKeepInPlace(value, result, step))
              unite(classOf(value), classOf(result));
          }
    }
  }

  /// Whether the new value `next` may be written over the carried `old`.
  bool canUpdateInPlace(Value old, Value next, scf::ForOp loop) {
    if (!hasBuffer(next) || next.getParentBlock() != loop.getBody() ||
        isa<BlockArgument>(next))
      return false;
    int id = classOf(next);
    Range range = ranges[id], body = loopRange[loop];
    if (range.first <= body.first || range.last > body.last)
      return false;
    for (BlockArgument argument : loop.getRegionIterArgs())
      if (hasBuffer(argument) && classOf(argument) == id)
        return false;
    return isReadBefore(classOf(old), next, body.first, body.last);
  }

  bool canStartInPlace(Value init, scf::ForOp loop, int copyTime) {
    return hasBuffer(init) && !isa<BlockArgument>(init) && init.hasOneUse() &&
           init.getParentBlock() == loop->getBlock() && !plan.isView(init) &&
           ranges[classOf(init)].last <= copyTime;
  }

  void shareCarried(std::vector<Step> &steps) {
    for (auto [position, step] : llvm::enumerate(steps)) {
      shareCarried(step.body);
      shareCarried(step.otherwise);
      if (step.kind != StepKind::Loop)
        continue;
      auto loop = cast<scf::ForOp>(step.op);
      for (auto [argument, init, next] :
           llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs(),
                           loop.getYieldedValues())) {
        if (!tile::isTile(init.getType()))
          continue;
        if (canUpdateInPlace(argument, next, loop))
          unite(classOf(argument), classOf(next));
        if (canStartInPlace(init, loop, step.time - 1))
          unite(classOf(argument), classOf(init));
      }
    }
  }

  void shareElementwise(std::vector<Step> &steps) {
    for (Step &step : steps) {
      shareElementwise(step.body);
      shareElementwise(step.otherwise);
      for (const Root &root : step.group.roots) {
        if (root.isCopy || root.nest < 0 || !root.over.empty() ||
            !hasBuffer(root.value) ||
            ranges[classOf(root.value)].first != step.time)
          continue;
        for (auto &[value, accesses] : reads) {
          if (!hasBuffer(value) || classOf(value) == classOf(root.value))
            continue;
          Range range = ranges[classOf(value)];
          if (range.last != step.time || range.first >= step.time ||
              plan.buffers[plan.bufferOf.lookup(value)].type !=
                  plan.buffers[plan.bufferOf.lookup(root.value)].type)
            continue;
          if (!diesBefore(classOf(value), step.time, root.nest))
            continue;
          unite(classOf(value), classOf(root.value));
          break;
        }
      }
    }
  }

  /// Whether no nest after `order` of the group at `time` reads the buffer.
  bool diesBefore(int id, int time, int order) {
    for (auto &[value, accesses] : reads)
      if (hasBuffer(value) && classOf(value) == id)
        for (const Access &access : accesses)
          if (access.time == time && access.order > order)
            return false;
    return true;
  }

  /// First fit, in order of the first use, on 64-byte borders.
  void place() {
    SmallVector<int> ids;
    for (int id = 0; id < int(parent.size()); ++id)
      if (find(id) == id)
        ids.push_back(id);
    llvm::sort(ids, [&](int a, int b) {
      return std::pair(ranges[a].first, a) < std::pair(ranges[b].first, b);
    });
    SmallVector<int> done;
    for (int id : ids) {
      std::map<int64_t, int64_t> taken;
      for (int other : done)
        if (ranges[other].first <= ranges[id].last &&
            ranges[id].first <= ranges[other].last)
          taken[plan.buffers[other].offset] =
              std::max(taken[plan.buffers[other].offset],
                       plan.buffers[other].offset + plan.buffers[other].bytes);
      int64_t offset = 0;
      for (auto [begin, end] : taken) {
        if (begin >= offset + plan.buffers[id].bytes)
          break;
        offset = std::max<int64_t>(offset, llvm::alignTo(end, 64));
      }
      Buffer &buffer = plan.buffers[id];
      buffer.offset = offset;
      buffer.first = ranges[id].first;
      buffer.last = ranges[id].last;
      plan.scratchBytes = std::max<int64_t>(
          plan.scratchBytes, llvm::alignTo(offset + buffer.bytes, 64));
      done.push_back(id);
    }
    for (auto &entry : plan.bufferOf)
      entry.second = find(entry.second);
  }

  /// Fills in where roots and copies go.
  void setTargets(std::vector<Step> &steps) {
    for (Step &step : steps) {
      for (Root &root : step.group.roots)
        root.buffer = plan.getBuffer(root.isCopy ? root.target : root.value);
      setTargets(step.body);
      setTargets(step.otherwise);
    }
  }

  void dropCopies(std::vector<Step> &steps) {
    for (Step &step : steps) {
      dropCopies(step.body);
      dropCopies(step.otherwise);
    }
    llvm::erase_if(steps, [&](const Step &step) {
      const auto &roots = step.group.roots;
      return roots.size() == 1 && roots.front().isCopy &&
             roots.front().buffer == plan.getBuffer(roots.front().value);
    });
  }
};

void planScratch(KernelPlan &plan) { ScratchPlanner(plan).run(); }

} // namespace attentile::native
