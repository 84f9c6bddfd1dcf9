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
    tensors[value] = &data;
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

private:
  std::optional<Elements> compute(Operation &op);
  std::optional<Elements> elementwise(Operation &op);

  llvm::DenseMap<Value, Elements> env;
  llvm::DenseMap<Value, const std::vector<int64_t> *> tensors;
};

int64_t countOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 1;
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
            .Case<arith::IndexCastOp, tile::BroadcastOp>(
                [&](auto) { return x[0]; })
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
    const std::vector<int64_t> &data = *tensors.lookup(load.getTensor());
    Elements result;
    for (Number at : env.find(load.getIndices()[0])->second)
      result.push_back(at < 0 || at >= Number(data.size()) ? 0
                                                           : data[int64_t(at)]);
    return result;
  }
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    const Elements &x = env.find(reduce.getOperand())->second;
    bool least = reduce.getKind() == attn::ReduceKind::Min ||
                 reduce.getKind() == attn::ReduceKind::All;
    return Elements{least ? *llvm::min_element(x) : *llvm::max_element(x)};
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

bool visitLoops(
    tile::ProgramOp program, const std::map<std::string, int64_t> &sizes,
    const MaskInputs &inputs,
    function_ref<void(ArrayRef<int64_t>, ArrayRef<LoopVisit>)> visit) {
  Evaluator evaluator;
  attn::SignatureOpInterface head = program;
  for (BlockArgument size : head.getSizeArgs())
    evaluator.set(size, sizes.at(head.nameOf(size).str()));
  for (BlockArgument in : head.getInArgs()) {
    std::string name = head.nameOf(in).str();
    if (auto known = inputs.scalars.find(name); known != inputs.scalars.end())
      evaluator.set(in, known->second);
    if (auto known = inputs.rows.find(name); known != inputs.rows.end())
      evaluator.setData(in, known->second);
    if (auto known = inputs.batches.find(name); known != inputs.batches.end())
      evaluator.setData(in, known->second);
  }
  tile::KernelOp kernel;
  for (Operation &op : head.getHeadBlock()) {
    if ((kernel = dyn_cast<tile::KernelOp>(op)))
      break;
    if (!evaluator.evaluate(op))
      return false;
  }
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
      auto blocks = loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks");
      loops.push_back(
          {*from, *to, *step,
           blocks ? std::optional(blocks.getValue()) : std::nullopt});
    }
    visit(ids, loops);
  }
  return true;
}

} // namespace attentile::test
