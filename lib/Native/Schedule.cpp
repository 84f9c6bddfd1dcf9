//===- Schedule.cpp - the steps of a kernel -------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fixed operations keep their order. Before one that needs a root, every root
// that can be computed by then is, in as few groups as possible: what shares a
// vector axis shares one loop over its vectors, whatever its place in the text.
//
//===----------------------------------------------------------------------===//

#include "KernelPlan.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace attentile::native {

Root KernelPlan::makeRoot(Value value) const {
  Root root{value, {}, {}, -1, false, {}, {}, -1};
  root.spans = getSpans(value).first;
  Axis vector = getVectorAxis(value.getType());
  auto add = [&](Type type, SmallVectorImpl<AxisLoop> &loops) {
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile)
      return;
    for (auto [axis, size] :
         llvm::zip_equal(tile::getAxes(type), tile.getShape())) {
      AxisLoop loop{axis, size};
      if (axis != vector && !llvm::is_contained(root.kept, loop) &&
          !llvm::is_contained(root.over, loop))
        loops.push_back(loop);
    }
  };
  add(value.getType(), root.kept);
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tile::ReduceOp, tile::VoteOp>(op) ||
      (isa_and_nonnull<tile::DotOp>(op) && !getDotPlan(op)))
    for (Value operand : op->getOperands())
      add(operand.getType(), root.over);
  return root;
}

/// Nests run in order; a root joins one with its loops if what it needs is
/// there by then. A reduction's result is there after its nest.
void KernelPlan::formNests(NestGroup &group) const {
  DenseMap<Value, unsigned> indexOf;
  SmallVector<int> earliest(group.roots.size(), 0);
  for (auto [i, root] : llvm::enumerate(group.roots)) {
    llvm::SetVector<Value> leaves;
    collectRootLeaves(root, leaves);
    int first = 0;
    for (Value leaf : leaves) {
      auto found = indexOf.find(leaf);
      if (found == indexOf.end())
        continue;
      const Root &needed = group.roots[found->second];
      if (needed.nest < 0)
        first = std::max(first, earliest[found->second]);
      else
        first =
            std::max(first, needed.nest +
                                (needed.over.empty() && !needed.spans ? 0 : 1));
    }
    earliest[i] = first;
    if (!root.isCopy)
      indexOf[root.value] = i;
    SmallVector<AxisLoop> loops(root.kept);
    loops.append(root.over);
    if (loops.empty())
      continue;
    for (int n = first; n < int(group.nests.size()) && root.nest < 0; ++n) {
      ArrayRef<AxisLoop> have = group.nests[n].loops;
      if (!root.spans && !group.nests[n].spans && have.size() == loops.size() &&
          llvm::all_of(
              loops,
              [&](AxisLoop loop) { return llvm::is_contained(have, loop); }) &&
          llvm::all_of(have.take_back(root.over.size()), [&](AxisLoop loop) {
            return llvm::is_contained(root.over, loop);
          }))
        root.nest = n;
    }
    if (root.nest < 0) {
      root.nest = group.nests.size();
      group.nests.push_back({loops, {}, root.spans});
    }
    group.nests[root.nest].roots.push_back(i);
  }
}

/// Appends groups for all roots of `block` that can be computed once `done` is.
void KernelPlan::flush(Block &block, std::vector<Step> &steps,
                       llvm::DenseSet<Value> &done) {
  while (true) {
    Step step{StepKind::Nests, nullptr, {}, {}, {}, 0};
    llvm::DenseSet<Value> taken;
    for (Operation &op : block)
      for (Value value : op.getResults()) {
        if (!roots.contains(value) || done.contains(value))
          continue;
        Root root = makeRoot(value);
        Axis vector = getVectorAxis(value.getType());
        auto tile = dyn_cast<RankedTensorType>(value.getType());
        int64_t size =
            vector ? tile.getDimSize(*tile::getAxisPosition(tile, vector)) : 1;
        if (!taken.empty() &&
            (vector != step.group.vector || size != step.group.vectorSize))
          continue;
        llvm::SetVector<Value> leaves;
        collectRootLeaves(root, leaves);
        if (!llvm::all_of(leaves, [&](Value leaf) {
              return leaf.getParentBlock() != &block ||
                     isa<BlockArgument>(leaf) || done.contains(leaf) ||
                     taken.contains(leaf);
            }))
          continue;
        step.group.vector = vector;
        step.group.vectorSize = size;
        step.group.roots.push_back(std::move(root));
        taken.insert(value);
      }
    if (taken.empty())
      return;
    done.insert_range(taken);
    step.group.wide = isWide(step.group);
    formNests(step.group);
    steps.push_back(std::move(step));
  }
}

std::vector<Step> KernelPlan::schedule(Block &block) {
  std::vector<Step> steps;
  llvm::DenseSet<Value> done;
  // A copy of a value, carried or a branch's result, that is not computed in
  // place; planScratch drops those that are.
  auto copy = [&](Value value, Value target) {
    Type type = target.getType();
    Step step{StepKind::Nests, nullptr, {}, {}, {}, 0};
    Axis vector = getVectorAxis(type);
    step.group.vector = vector;
    step.group.vectorSize = cast<RankedTensorType>(type).getDimSize(
        *tile::getAxisPosition(type, vector));
    Root root = makeRoot(value);
    root.over.clear();
    root.isCopy = true;
    root.target = target;
    step.group.roots.push_back(std::move(root));
    step.group.wide = isWide(step.group);
    formNests(step.group);
    return step;
  };
  for (Operation &op : block) {
    bool isRootOp = llvm::any_of(op.getResults(),
                                 [&](Value v) { return roots.contains(v); });
    bool touchesTiles = llvm::any_of(op.getResultTypes(), tile::isTile) ||
                        llvm::any_of(op.getOperandTypes(), tile::isTile) ||
                        isa<scf::ForOp, scf::IfOp>(op);
    bool isFixed =
        isa<tile::LoadOp, tile::StoreOp, scf::ForOp, scf::IfOp>(op) ||
        getDotPlan(&op);
    if (isRootOp || (touchesTiles && !isFixed && !isa<scf::YieldOp>(op)))
      continue;
    llvm::SetVector<Value> leaves;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == &block)
          collectLeaves(operand, leaves);
    });
    if (llvm::any_of(leaves, [&](Value leaf) {
          return roots.contains(leaf) && leaf.getParentBlock() == &block &&
                 !done.contains(leaf);
        }))
      flush(block, steps, done);

    Step step{StepKind::Scalar, &op, {}, {}, {}, 0};
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument] :
           llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs()))
        if (tile::isTile(init.getType()))
          steps.push_back(copy(init, argument));
      step.kind = StepKind::Loop;
      step.body = schedule(*loop.getBody());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      step.kind = StepKind::If;
      step.body = schedule(*branch.thenBlock());
      if (branch.elseBlock())
        step.otherwise = schedule(*branch.elseBlock());
    } else if (isa<tile::LoadOp>(op)) {
      step.kind = StepKind::Load;
    } else if (isa<tile::StoreOp>(op)) {
      step.kind = StepKind::Store;
    } else if (isa<tile::DotOp>(op)) {
      step.kind = StepKind::Dot;
    } else if (isa<scf::YieldOp>(op)) {
      flush(block, steps, done);
      auto loop = dyn_cast<scf::ForOp>(block.getParentOp());
      ValueRange targets = loop ? ValueRange(loop.getRegionIterArgs())
                                : ValueRange(block.getParentOp()->getResults());
      for (auto [value, target] : llvm::zip_equal(op.getOperands(), targets))
        if (tile::isTile(value.getType()) &&
            !value.getDefiningOp<ub::PoisonOp>())
          steps.push_back(copy(value, target));
      continue;
    }
    steps.push_back(std::move(step));
    done.insert_range(op.getResults());
  }
  flush(block, steps, done);
  return steps;
}

} // namespace attentile::native
