//===- BlockVisits.cpp - which blocks a program's loops visit -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockVisits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;

namespace attentile::test {
namespace {

using Number = __int128;
using Elements = std::vector<Number>;

Number floorDivide(Number a, Number b) {
  if (b == 0)
    return 0;
  Number q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/// As 64-bit integers, which both sides are: an index that does not fit is
/// refused where it is made.
bool compare(arith::CmpIPredicate predicate, Number a, Number b) {
  return arith::applyCmpPredicate(predicate, llvm::APInt(64, uint64_t(a)),
                                  llvm::APInt(64, uint64_t(b)));
}

class Evaluator {
public:
  void set(Value value, Number number) { env[value] = {number}; }
  void setData(Value value, const std::vector<int64_t> &data) {
    tensors[value] = {{int64_t(data.size())}, data};
  }
  void setData(Value value, MaskTable table) {
    tensors[value] = std::move(table);
  }
  std::optional<int64_t> get(Value value) {
    auto known = env.find(value);
    if (known == env.end() || known->second.size() != 1)
      return std::nullopt;
    return int64_t(known->second[0]);
  }

  /// Evaluates an operation if its operands are known; false if the result
  /// does not fit.
  bool evaluate(Operation &op);
  /// Runs a block of a kernel that writes lists.
  bool run(Block &block);

private:
  std::optional<Elements> compute(Operation &op);
  std::optional<Elements> elementwise(Operation &op);
  bool runLoop(scf::ForOp loop);
  bool runBranch(scf::IfOp branch);
  void store(tile::StoreOp store);
  /// Where the element of a tensor stands, or nothing outside.
  std::optional<int64_t> positionOf(Value tensor, OperandRange indices,
                                    Type whole, int64_t element);

  llvm::DenseMap<Value, Elements> env;
  llvm::DenseMap<Value, MaskTable> tensors;
};

int64_t countOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 1;
}

/// The element of a tile of type `part`, some of `whole`'s axes, that belongs
/// to element `i` of `whole`.
int64_t elementOf(Type part, Type whole, int64_t i) {
  auto tile = dyn_cast<RankedTensorType>(part);
  if (!tile)
    return 0;
  auto all = cast<RankedTensorType>(whole);
  int64_t result = 0, stride = 1;
  for (unsigned at = tile.getRank(); at-- > 0;) {
    unsigned place = *tile::getAxisPosition(all, tile::getAxes(tile)[at]);
    int64_t inner = 1;
    for (unsigned k = place + 1; k < unsigned(all.getRank()); ++k)
      inner *= all.getDimSize(k);
    result += i / inner % all.getDimSize(place) * stride;
    stride *= tile.getDimSize(at);
  }
  return result;
}

std::optional<int64_t> Evaluator::positionOf(Value tensor, OperandRange indices,
                                             Type whole, int64_t element) {
  const MaskTable &table = tensors.find(tensor)->second;
  int64_t position = 0;
  for (auto [index, extent] : llvm::zip_equal(indices, table.shape)) {
    Number at =
        env.find(index)->second[elementOf(index.getType(), whole, element)];
    if (at < 0 || at >= extent)
      return std::nullopt;
    position = position * extent + int64_t(at);
  }
  return position;
}

void Evaluator::store(tile::StoreOp store) {
  const Elements &elements = env.find(store.getValue())->second;
  for (auto [i, element] : llvm::enumerate(elements))
    if (auto position = positionOf(store.getTensor(), store.getIndices(),
                                   store.getValue().getType(), i))
      tensors[store.getTensor()].data[*position] = int64_t(element);
}

bool Evaluator::run(Block &block) {
  for (Operation &op : block) {
    bool done = true;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      done = runLoop(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      done = runBranch(branch);
    else if (auto write = dyn_cast<tile::StoreOp>(op))
      store(write);
    else
      done = evaluate(op);
    if (!done)
      return false;
  }
  return true;
}

bool Evaluator::runLoop(scf::ForOp loop) {
  SmallVector<Elements> carried;
  for (Value init : loop.getInits())
    carried.push_back(env.find(init)->second);
  int64_t to = *get(loop.getUpperBound());
  for (int64_t i = *get(loop.getLowerBound()); i < to;
       i += *get(loop.getStep())) {
    set(loop.getInductionVar(), i);
    for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), carried))
      env[argument] = value;
    if (!run(*loop.getBody()))
      return false;
    for (auto [value, next] : llvm::zip(carried, loop.getYieldedValues()))
      value = env.find(next)->second;
  }
  for (auto [result, value] : llvm::zip(loop.getResults(), carried))
    env[result] = value;
  return true;
}

bool Evaluator::runBranch(scf::IfOp branch) {
  Block *side =
      *get(branch.getCondition()) ? branch.thenBlock() : branch.elseBlock();
  if (!run(*side))
    return false;
  for (auto [result, value] :
       llvm::zip(branch.getResults(), side->getTerminator()->getOperands()))
    env[result] = Elements(env.find(value)->second);
  return true;
}

std::optional<Elements> Evaluator::elementwise(Operation &op) {
  Elements result(countOf(op.getResult(0).getType()));
  for (size_t i = 0; i < result.size(); ++i) {
    SmallVector<Number> x;
    for (Value operand : op.getOperands()) {
      const Elements &elements = env.find(operand)->second;
      x.push_back(elements[elements.size() == 1 ? 0 : i]);
    }
    auto value =
        llvm::TypeSwitch<Operation *, std::optional<Number>>(&op)
            .Case<arith::AddIOp>([&](auto) { return x[0] + x[1]; })
            .Case<arith::SubIOp>([&](auto) { return x[0] - x[1]; })
            .Case<arith::MulIOp>([&](auto) { return x[0] * x[1]; })
            .Case<arith::MinSIOp>([&](auto) { return std::min(x[0], x[1]); })
            .Case<arith::MaxSIOp>([&](auto) { return std::max(x[0], x[1]); })
            .Case<arith::AndIOp>([&](auto) { return x[0] & x[1]; })
            .Case<arith::OrIOp>([&](auto) { return x[0] | x[1]; })
            .Case<arith::XOrIOp>([&](auto) { return x[0] ^ x[1]; })
            .Case<arith::SelectOp>([&](auto) { return x[0] ? x[1] : x[2]; })
            .Case<arith::CeilDivSIOp>(
                [&](auto) { return -floorDivide(-x[0], x[1]); })
            .Case<attn::FloorDivOp>(
                [&](auto) { return floorDivide(x[0], x[1]); })
            .Case<attn::FloorModOp>([&](auto) {
              return x[1] == 0 ? 0 : x[0] - floorDivide(x[0], x[1]) * x[1];
            })
            .Case<arith::DivUIOp>([&](auto) -> std::optional<Number> {
              if (x[0] < 0 || x[1] <= 0)
                return std::nullopt;
              return x[0] / x[1];
            })
            .Case<math::AbsIOp>([&](auto) { return x[0] < 0 ? -x[0] : x[0]; })
            .Case<arith::IndexCastOp>([&](auto) { return x[0]; })
            .Case<arith::CmpIOp>([&](auto compareOp) {
              return compare(compareOp.getPredicate(), x[0], x[1]);
            })
            .Default([](auto) { return std::nullopt; });
    if (!value)
      return std::nullopt;
    result[i] = *value;
  }
  return result;
}

std::optional<Elements> Evaluator::compute(Operation &op) {
  Type type = op.getResult(0).getType();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    APInt number;
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue())) {
      if (!dense.isSplat())
        return std::nullopt;
      number = dense.getSplatValue<APInt>();
    } else {
      number = cast<IntegerAttr>(constant.getValue()).getValue();
    }
    Number value = number.getBitWidth() == 1 ? number.getZExtValue()
                                             : Number(number.getSExtValue());
    return Elements(countOf(type), value);
  }
  for (Value operand : op.getOperands())
    if (!env.count(operand) && !tensors.count(operand))
      return std::nullopt;
  if (auto indices = dyn_cast<tile::IndexOp>(op)) {
    Elements result(countOf(type), env.find(indices.getBase())->second[0]);
    for (auto [i, element] : llvm::enumerate(result))
      element += i;
    return result;
  }
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    Elements result(countOf(type));
    for (auto [i, element] : llvm::enumerate(result)) {
      auto position = positionOf(load.getTensor(), load.getIndices(), type, i);
      element = position ? tensors[load.getTensor()].data[*position] : 0;
    }
    return result;
  }
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    Elements result(countOf(type));
    const Elements &x = env.find(broadcast.getOperand())->second;
    for (auto [i, element] : llvm::enumerate(result))
      element = x[elementOf(broadcast.getOperand().getType(), type, i)];
    return result;
  }
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    const Elements &x = env.find(reduce.getOperand())->second;
    bool least = reduce.getKind() == attn::ReduceKind::Min ||
                 reduce.getKind() == attn::ReduceKind::All;
    Elements result(countOf(type),
                    least ? *llvm::max_element(x) : *llvm::min_element(x));
    for (auto [i, element] : llvm::enumerate(x)) {
      Number &found = result[elementOf(type, reduce.getOperand().getType(), i)];
      found = least ? std::min(found, element) : std::max(found, element);
    }
    return result;
  }
  return elementwise(op);
}

bool Evaluator::evaluate(Operation &op) {
  if (op.getNumResults() != 1 || op.getNumRegions() != 0 ||
      isa<FloatType>(tile::getElementType(op.getResult(0).getType())))
    return true;
  auto result = compute(op);
  if (!result) {
    bool known = llvm::all_of(op.getOperands(),
                              [&](Value x) { return env.count(x) != 0; });
    if (known)
      op.emitError("unexpected operation or operands");
    return !known;
  }
  Type element = tile::getElementType(op.getResult(0).getType());
  if (element.isIndex() || element.isInteger(64))
    for (Number number : *result)
      if (number < std::numeric_limits<int64_t>::min() ||
          number > std::numeric_limits<int64_t>::max()) {
        op.emitError("overflow");
        return false;
      }
  env[op.getResult(0)] = std::move(*result);
  return true;
}

} // namespace

/// A workspace of these sizes, with zeros.
static MaskTable makeWorkspace(attn::WorkspaceOp workspace,
                               const std::vector<int64_t> &sizes) {
  MaskTable table;
  SmallVector<Attribute> symbols, extents;
  Builder builder(workspace.getContext());
  for (int64_t size : sizes)
    symbols.push_back(builder.getIndexAttr(size));
  int64_t count = 1;
  if (succeeded(workspace.getShape().constantFold(symbols, extents)))
    for (Attribute extent : extents) {
      table.shape.push_back(cast<IntegerAttr>(extent).getInt());
      count *= table.shape.back();
    }
  table.data.assign(count, 0);
  return table;
}

bool visitLoops(
    tile::ProgramOp program, const std::map<std::string, int64_t> &sizes,
    const MaskInputs &inputs,
    function_ref<void(ArrayRef<int64_t>, ArrayRef<LoopVisit>)> visit) {
  Evaluator evaluator;
  attn::SignatureOpInterface head = program;
  std::vector<int64_t> extents;
  for (BlockArgument size : head.getSizeArgs()) {
    std::string name = head.nameOf(size).str();
    int64_t extent = 0;
    if (auto known = sizes.find(name); known != sizes.end()) {
      extent = known->second;
    } else { // of a table: its name and the dimension
      size_t end = name.rfind('_');
      extent = inputs.tables.at(name.substr(0, end))
                   .shape[std::stoul(name.substr(end + 1))];
    }
    extents.push_back(extent);
    evaluator.set(size, extent);
  }
  for (BlockArgument in : head.getInArgs()) {
    std::string name = head.nameOf(in).str();
    if (auto known = inputs.scalars.find(name); known != inputs.scalars.end())
      evaluator.set(in, known->second);
    if (auto known = inputs.rows.find(name); known != inputs.rows.end())
      evaluator.setData(in, known->second);
    if (auto known = inputs.batches.find(name); known != inputs.batches.end())
      evaluator.setData(in, known->second);
    if (auto known = inputs.tables.find(name); known != inputs.tables.end())
      evaluator.setData(in, known->second);
  }
  auto forEachProgram = [&](tile::KernelOp kernel, auto run) {
    SmallVector<int64_t> bounds;
    int64_t cells = 1;
    for (Value bound : kernel.getBounds()) {
      bounds.push_back(evaluator.get(bound).value_or(0));
      cells *= bounds.back();
    }
    for (int64_t cell = 0; cell < cells; ++cell) {
      SmallVector<int64_t> ids(bounds.size());
      int64_t rest = cell;
      for (size_t i = bounds.size(); i-- > 0; rest /= bounds[i]) {
        ids[i] = rest % bounds[i];
        evaluator.set(kernel.getBody().getArgument(i), ids[i]);
      }
      if (!run(ids))
        return false;
    }
    return true;
  };
  tile::KernelOp kernel;
  for (Operation &op : head.getHeadBlock()) {
    if (auto workspace = dyn_cast<attn::WorkspaceOp>(op)) {
      evaluator.setData(workspace, makeWorkspace(workspace, extents));
      continue;
    }
    if (auto next = dyn_cast<tile::KernelOp>(op)) {
      if (kernel && !forEachProgram(kernel, [&](ArrayRef<int64_t>) {
            return evaluator.run(kernel.getBody().front());
          }))
        return false;
      kernel = next;
      continue;
    }
    if (!evaluator.evaluate(op))
      return false;
  }
  return forEachProgram(kernel, [&](ArrayRef<int64_t> ids) {
    SmallVector<LoopVisit> loops;
    for (Operation &op : kernel.getBody().front()) {
      if (!evaluator.evaluate(op))
        return false;
      auto loop = dyn_cast<scf::ForOp>(op);
      if (!loop)
        continue;
      auto from = evaluator.get(loop.getLowerBound());
      auto to = evaluator.get(loop.getUpperBound());
      auto step = evaluator.get(loop.getStep());
      if (!from || !to || !step) {
        loop.emitError("bounds are not known");
        return false;
      }
      auto attribute = loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks");
      auto blocks =
          attribute ? std::optional(attribute.getValue()) : std::nullopt;
      if (!loop->hasAttr("tile.from_list")) {
        loops.push_back({*from, *to, *step, blocks});
        continue;
      }
      auto start = tile::getBlockStart(loop).getDefiningOp<arith::MulIOp>();
      for (int64_t entry = *from; entry < *to; ++entry) {
        evaluator.set(loop.getInductionVar(), entry);
        for (Operation &inner : *loop.getBody()) {
          if (!evaluator.evaluate(inner))
            return false;
          if (&inner == start)
            break;
        }
        int64_t first = *evaluator.get(start);
        int64_t size = *evaluator.get(start.getRhs());
        loops.push_back({first, first + size, size, blocks, true});
      }
    }
    visit(ids, loops);
    return true;
  });
}

} // namespace attentile::test
