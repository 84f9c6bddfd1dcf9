//===- BoundsCheck.cpp - reads outside their tensors ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundsCheck.h"
#include "attentile/Reference.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {
namespace {

/// Values of index expressions at one point. Integers and bools are 64-bit
/// integers; what else an expression holds is folded by its operation.
class Evaluator {
public:
  Evaluator(attn::KernelOp kernel, ArrayRef<HostTensor> ins,
            ArrayRef<int64_t> sizes)
      : kernel(kernel), ins(ins) {
    for (auto [argument, size] : llvm::zip_equal(kernel.getSizeArgs(), sizes))
      point[argument] = size;
  }

  /// The value of an index variable.
  int64_t &operator[](Value index) { return point[index]; }

  /// The value of an integer or bool; none if it is not known how to compute.
  std::optional<int64_t> evaluate(Value value);

  /// The index variables that `value` depends on.
  void collectAxes(Value value, llvm::SetVector<Value> &axes,
                   llvm::DenseSet<Value> &visited);

private:
  Attribute fold(Value value);
  Attribute read(attn::ReadOp op);

  attn::KernelOp kernel;
  ArrayRef<HostTensor> ins;
  llvm::DenseMap<Value, int64_t> point;
};

} // namespace

std::optional<int64_t> Evaluator::evaluate(Value value) {
  if (auto known = point.find(value); known != point.end())
    return known->second;
  auto binary = [&](Operation *op, auto combine) -> std::optional<int64_t> {
    std::optional<int64_t> lhs = evaluate(op->getOperand(0));
    std::optional<int64_t> rhs = evaluate(op->getOperand(1));
    if (!lhs || !rhs)
      return std::nullopt;
    // Wraps as the generated code does.
    return static_cast<int64_t>(
        combine(static_cast<uint64_t>(*lhs), static_cast<uint64_t>(*rhs)));
  };
  Operation *op = value.getDefiningOp();
  if (op && isa<arith::AddIOp>(op))
    return binary(op, std::plus<uint64_t>());
  if (op && isa<arith::SubIOp>(op))
    return binary(op, std::minus<uint64_t>());
  if (op && isa<arith::MulIOp>(op))
    return binary(op, std::multiplies<uint64_t>());
  if (op && isa<arith::IndexCastOp>(op))
    return evaluate(op->getOperand(0));
  auto result = llvm::dyn_cast_or_null<IntegerAttr>(fold(value));
  if (!result)
    return std::nullopt;
  return result.getType().isInteger(1) ? result.getValue().getZExtValue()
                                       : result.getValue().getSExtValue();
}

/// The value as a constant: by its operation's own folder.
Attribute Evaluator::fold(Value value) {
  Builder builder(value.getContext());
  if (auto known = point.find(value); known != point.end())
    return builder.getIntegerAttr(value.getType(), known->second);
  if (auto argument = llvm::dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != &kernel.getHeadBlock() ||
        argument.getArgNumber() >= ins.size())
      return {};
    const HostTensor &scalar = ins[argument.getArgNumber()];
    if (isFloat(scalar.type))
      return builder.getFloatAttr(value.getType(), scalar.readDouble(0));
    return builder.getIntegerAttr(value.getType(), scalar.readInt(0));
  }
  Operation *op = value.getDefiningOp();
  if (auto tensorRead = dyn_cast<attn::ReadOp>(op))
    return read(tensorRead);
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant;
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(fold(operand));
    if (!operands.back())
      return {};
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(operands, results)) || results.size() != 1)
    return {};
  if (auto other = llvm::dyn_cast<Value>(results.front()))
    return fold(other);
  return llvm::cast<Attribute>(results.front());
}

Attribute Evaluator::read(attn::ReadOp op) {
  auto tensor = dyn_cast<BlockArgument>(op.getTensor());
  if (!tensor || tensor.getArgNumber() >= ins.size())
    return {};
  const HostTensor &from = ins[tensor.getArgNumber()];
  std::vector<int64_t> index;
  bool isInside = true;
  for (auto [axis, operand] : llvm::enumerate(op.getIndices())) {
    std::optional<int64_t> at = evaluate(operand);
    if (!at)
      return {};
    index.push_back(*at);
    isInside &= *at >= 0 && *at < from.sizes[axis];
  }
  Builder builder(op.getContext());
  if (isFloat(from.type))
    return builder.getFloatAttr(op.getType(), isInside ? from.at(index) : 0);
  return builder.getIntegerAttr(op.getType(), isInside ? from.intAt(index) : 0);
}

void Evaluator::collectAxes(Value value, llvm::SetVector<Value> &axes,
                            llvm::DenseSet<Value> &visited) {
  if (!visited.insert(value).second)
    return;
  if (llvm::is_contained(kernel.getIndexArgs(), value))
    axes.insert(value);
  else if (Operation *op = value.getDefiningOp())
    for (Value operand : op->getOperands())
      collectAxes(operand, axes, visited);
}

/// Evaluates one index of a read at every point of its axes.
static LogicalResult checkIndex(attn::KernelOp kernel, attn::ReadOp read,
                                unsigned dim, int64_t extent,
                                Evaluator &evaluator, ArrayRef<int64_t> sizes) {
  Value index = read.getIndices()[dim];
  llvm::SetVector<Value> axes;
  llvm::DenseSet<Value> visited;
  evaluator.collectAxes(index, axes, visited);
  std::vector<int64_t> extents, point(axes.size(), 0);
  for (Value axis : axes)
    extents.push_back(
        evaluateShape(kernel.getExtent(cast<BlockArgument>(axis)), sizes)
            .front());
  if (llvm::is_contained(extents, 0))
    return success();
  if (axes.size() == 1 && axes.front() == index && extents.front() <= extent)
    return success(); // a plain index that fits
  do {
    for (auto [axis, value] : llvm::zip_equal(axes, point))
      evaluator[axis] = value;
    std::optional<int64_t> at = evaluator.evaluate(index);
    if (!at)
      return read.emitError("expected an index that --check-bounds can "
                            "evaluate, got one it cannot");
    if (*at >= 0 && *at < extent)
      continue;
    InFlightDiagnostic error =
        read.emitError() << "expected index " << dim << " of '"
                         << kernel.nameOf(cast<BlockArgument>(read.getTensor()))
                         << "' to be from 0 to " << extent - 1 << ", got "
                         << *at;
    for (auto [axis, value] : llvm::zip_equal(axes, point))
      error << (axis == axes.front() ? " where " : ", ")
            << kernel.nameOf(cast<BlockArgument>(axis)) << " = " << value;
    return error;
  } while (nextIndex(point, extents));
  return success();
}

LogicalResult checkBounds(attn::KernelOp kernel, ArrayRef<HostTensor> ins,
                          ArrayRef<int64_t> sizes) {
  Evaluator evaluator(kernel, ins, sizes);
  WalkResult result = kernel.walk([&](attn::ReadOp read) {
    std::vector<int64_t> shape = evaluateShape(
        kernel.getShape(cast<BlockArgument>(read.getTensor())), sizes);
    for (auto [dim, extent] : llvm::enumerate(shape))
      if (failed(checkIndex(kernel, read, dim, extent, evaluator, sizes)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace attentile
