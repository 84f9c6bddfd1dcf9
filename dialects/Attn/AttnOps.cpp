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
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace attentile::attn {

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

/// Whether `value` is an index variable of the kernel that `op` is in.
static bool isIndexVariable(Value value, Operation *op) {
  auto kernel = dyn_cast_or_null<KernelOp>(getEnclosingSignature(op));
  auto argument = dyn_cast<BlockArgument>(value);
  // The indices of a loop's tile are those of its axis.
  if (argument && argument.getArgNumber() == 0)
    if (auto loop = dyn_cast<ForOp>(argument.getOwner()->getParentOp()))
      return loop->isAncestor(op);
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

/// No value of the kernel's level is a tensor but what it reads and writes, and
/// callers know workspace by its name.
LogicalResult KernelOp::verifyRegions() {
  for (BlockArgument out : getOutArgs())
    for (Operation *user : out.getUsers())
      if (!isa<WriteOp>(user))
        return user->emitOpError("expected output '")
               << nameOf(out) << "' to be written only";
  llvm::StringSet<> names;
  for (auto workspace : getHeadBlock().getOps<WorkspaceOp>())
    if (!names.insert(workspace.getName()).second)
      return workspace.emitOpError("expected a name of its own, got '")
             << workspace.getName() << "' again";
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

//===----------------------------------------------------------------------===//
// attn.for
//===----------------------------------------------------------------------===//

ParseResult ForOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  SmallVector<OpAsmParser::Argument> arguments(1);
  arguments[0].type = index;
  OpAsmParser::UnresolvedOperand axis, lower, upper;
  SmallVector<OpAsmParser::UnresolvedOperand> starts;
  IntegerAttr size;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgument(arguments[0]) || parser.parseKeyword("of") ||
      parser.parseOperand(axis) || parser.parseKeyword("from") ||
      parser.parseOperand(lower) || parser.parseKeyword("to") ||
      parser.parseOperand(upper) || parser.parseKeyword("by") ||
      parser.parseAttribute(size, builder.getI64Type(), "size",
                            result.attributes) ||
      parser.parseKeyword("carry") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&] {
        return failure(parser.parseArgument(arguments.emplace_back()) ||
                       parser.parseEqual() ||
                       parser.parseOperand(starts.emplace_back()));
      }))
    return failure();
  if (parser.parseColonTypeList(result.types))
    return failure();
  if (result.types.size() != starts.size())
    return parser.emitError(loc, "expected ")
           << starts.size() << " types, got " << result.types.size();
  for (auto [argument, type] :
       llvm::zip_equal(llvm::drop_begin(arguments), result.types))
    argument.type = type;
  if (parser.resolveOperands({axis, lower, upper}, index, result.operands) ||
      parser.resolveOperands(starts, result.types, loc, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void ForOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getTileIndex() << " of " << getAxis() << " from "
          << getLower() << " to " << getUpper() << " by " << getSize()
          << " carry(";
  llvm::interleaveComma(
      llvm::zip_equal(getCarried(), getStarts()), printer, [&](auto pair) {
        printer << std::get<0>(pair) << " = " << std::get<1>(pair);
      });
  printer << ") : " << getResultTypes();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"size"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void ForOp::getAsmBlockArgumentNames(Region &region,
                                     OpAsmSetValueNameFn setName) {
  setName(region.getArgument(0), "tile");
}

void ForOp::forEachUsed(llvm::function_ref<void(Value)> callback) {
  for (Value operand : getOperands())
    callback(operand);
  getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!getBody().isAncestor(operand.getParentRegion()))
        callback(operand);
  });
}

LogicalResult ForOp::verify() {
  if (getSize() < 1)
    return emitOpError("expected tiles of a positive size, got ") << getSize();
  if (getResultTypes() != getStarts().getTypes())
    return emitOpError("expected results of the types of the starts");
  return verifyAxes(*this, getAxis());
}

LogicalResult ForOp::verifyRegions() {
  if (getBody().getNumArguments() != getStarts().size() + 1 ||
      !getTileIndex().getType().isIndex() ||
      TypeRange(getBody().getArgumentTypes()).drop_front() !=
          getStarts().getTypes())
    return emitOpError("expected an index and what is carried as arguments of "
                       "its block");
  if (!isa<NextOp>(getBody().front().getTerminator()) ||
      getNexts().getTypes() != getStarts().getTypes())
    return emitOpError("expected its block to end with an attn.next of what is "
                       "carried");
  for (Operation &op : getBody().front())
    if (isa<ForOp, WriteOp>(op))
      return op.emitOpError("expected to stand outside of loops over tiles");
  return success();
}

//===----------------------------------------------------------------------===//
// Softmax, grids
//===----------------------------------------------------------------------===//

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
