//===- AttnOps.cpp - verifiers and text forms of the attn dialect ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attn/Attn.h"
#include "Attn/Signature.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

namespace attentile::attn {

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

/// Whether `value` is an index variable of the kernel that `op` is in.
static bool isIndexVariable(Value value, Operation *op) {
  auto kernel = dyn_cast_or_null<KernelOp>(getEnclosingSignature(op));
  auto argument = dyn_cast<BlockArgument>(value);
  return kernel && argument && argument.getOwner() == &kernel.getHeadBlock() &&
         llvm::is_contained(kernel.getIndexArgs(), argument);
}

/// Every operand in `axes` must be an index variable, each once.
static LogicalResult verifyAxes(Operation *op, ValueRange axes) {
  if (!isa_and_nonnull<KernelOp>(getEnclosingSignature(op)))
    return op->emitOpError("expected an enclosing attn.kernel");
  llvm::SmallPtrSet<Value, 4> seen;
  for (Value axis : axes) {
    if (!isIndexVariable(axis, op))
      return op->emitOpError("expected an index variable as axis, got ")
             << axis;
    if (!seen.insert(axis).second)
      return op->emitOpError("expected each axis once, got ")
             << axis << " twice";
  }
  return success();
}

static LogicalResult verifyBindsAxes(Operation *op, ValueRange axes) {
  if (axes.empty())
    return op->emitOpError("expected at least one axis to reduce over");
  return verifyAxes(op, axes);
}

static LogicalResult verifyIndices(Operation *op, RankedTensorType tensor,
                                   unsigned indices) {
  if (tensor.getRank() == indices)
    return success();
  return op->emitOpError("expected ")
         << tensor.getRank() << " indices, got " << indices;
}

//===----------------------------------------------------------------------===//
// attn.kernel
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseSignatureOp(parser, result, /*hasIndices=*/true);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printSignatureOp(printer, *this, /*hasIndices=*/true);
}

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  nameSignatureArguments(*this, region, setName);
}

LogicalResult KernelOp::verify() { return verifySignature(*this); }

/// No value of the kernel's level is a tensor but what it reads and writes.
LogicalResult KernelOp::verifyRegions() {
  for (BlockArgument out : getOutArgs())
    for (Operation *user : out.getUsers())
      if (!isa<WriteOp>(user))
        return user->emitOpError("expected output '")
               << nameOf(out) << "' to be written only";
  return success();
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

LogicalResult AssumeOp::verify() {
  if (!isa_and_nonnull<SignatureOpInterface>((*this)->getParentOp()))
    return emitOpError("expected to stand in a kernel's own block");
  return success();
}

LogicalResult DefaultOp::verify() {
  auto head = dyn_cast_or_null<SignatureOpInterface>((*this)->getParentOp());
  auto argument = dyn_cast<BlockArgument>(getParameter());
  if (!head || !argument || !llvm::is_contained(head.getInArgs(), argument) ||
      isa<ShapedType>(argument.getType()))
    return emitOpError("expected a scalar parameter of the enclosing kernel");
  return success();
}

LogicalResult ReadOp::verify() {
  return verifyIndices(*this, getTensor().getType(), getIndices().size());
}

LogicalResult WriteOp::verify() {
  bool toOutput = false;
  if (auto argument = dyn_cast<BlockArgument>(getTensor())) {
    auto head =
        dyn_cast_or_null<SignatureOpInterface>(getEnclosingSignature(*this));
    toOutput = head && llvm::is_contained(head.getOutArgs(), argument);
  }
  if (!toOutput && !getTensor().getDefiningOp<WorkspaceOp>())
    return emitOpError("expected to write an output or a workspace");
  Type value = getValue().getType();
  Type element = getTensor().getType().getElementType();
  bool fits = value.isF32()     ? isa<FloatType>(element)
              : value.isIndex() ? element.isInteger() && !element.isInteger(1)
                                : element.isInteger(1);
  if (!fits)
    return emitOpError("expected a value that converts to ")
           << element << ", got " << value;
  return verifyIndices(*this, getTensor().getType(), getIndices().size());
}

LogicalResult WorkspaceOp::verify() {
  if (getShape().getNumResults() != getType().getRank())
    return emitOpError("expected a shape of ")
           << getType().getRank() << " extents, got "
           << getShape().getNumResults();
  return success();
}

void WorkspaceOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

//===----------------------------------------------------------------------===//
// Reductions and grids
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  Type type = getOperand().getType();
  bool logical = getKind() == ReduceKind::Any || getKind() == ReduceKind::All;
  bool floats = getKind() == ReduceKind::Ref || getProduct();
  if (logical != type.isInteger(1) || (floats && !type.isF32()))
    return emitOpError("expected ") << (logical  ? "an i1"
                                        : floats ? "an f32"
                                                 : "an f32 or index")
                                    << " operand, got " << type;
  if (getProduct()) {
    if (getKind() != ReduceKind::Sum)
      return emitOpError("expected 'product' on a sum only");
    Type factor = *getProduct();
    if (!factor.isF32() && !factor.isF16() && !factor.isBF16())
      return emitOpError("expected product type f32, f16 or bf16, got ")
             << factor;
  }
  return verifyBindsAxes(*this, getAxes());
}

LogicalResult SoftmaxOp::verify() { return verifyBindsAxes(*this, getAxes()); }

LogicalResult LogSumExpOp::verify() {
  return verifyBindsAxes(*this, getAxes());
}

LogicalResult RandomOp::verify() {
  if (getIndices().empty() || getIndices().size() > 4)
    return emitOpError("expected one to four indices, got ")
           << getIndices().size();
  return success();
}

LogicalResult GridOp::verify() {
  if (!isa_and_nonnull<KernelOp>((*this)->getParentOp()))
    return emitOpError("expected to stand in an attn.kernel's own block");
  return verifyAxes(*this, getOperands());
}

} // namespace attentile::attn

#define GET_OP_CLASSES
#include "Attn/AttnOps.cpp.inc"
