//===- TileOps.cpp - verifiers, folds and text forms of the tile dialect --===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attn/Signature.h"
#include "Tile/GridSyntax.h"
#include "Tile/Tile.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attentile::tile {

//===----------------------------------------------------------------------===//
// tile.program and tile.kernel
//===----------------------------------------------------------------------===//

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &result) {
  return attn::parseSignatureOp(parser, result, /*hasIndices=*/false);
}

void ProgramOp::print(OpAsmPrinter &printer) {
  attn::printSignatureOp(printer, *this, /*hasIndices=*/false);
}

void ProgramOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  attn::nameSignatureArguments(*this, region, setName);
}

ArrayAttr ProgramOp::getIndexNames() {
  return ArrayAttr::get(getContext(), {});
}
ArrayAttr ProgramOp::getExtents() { return ArrayAttr::get(getContext(), {}); }

LogicalResult ProgramOp::verify() { return attn::verifySignature(*this); }

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> ids;
  return failure(parseGrid(parser, result, ids) ||
                 parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parseGridBody(parser, result, ids));
}

void KernelOp::print(OpAsmPrinter &printer) {
  printGrid(printer, getName(), getBody(), getBounds());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"name", "ids"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true, /*printEmptyBlock=*/true);
}

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  nameGridArguments(region, getIds(), setName);
}

LogicalResult KernelOp::verify() {
  if (getBody().getNumArguments() != getBounds().size() ||
      getIds().size() != getBounds().size())
    return emitOpError("expected as many ids and block arguments as bounds, ")
           << getBounds().size() << ", got " << getIds().size() << " and "
           << getBody().getNumArguments();
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Every axis of `part` must be one of `whole`, with the same size.
static LogicalResult verifyAxesWithin(Operation *op, Type part, Type whole) {
  for (StringAttr axis : getAxes(part)) {
    auto position = getAxisPosition(whole, axis);
    if (!position)
      return op->emitOpError("expected axis ")
             << axis << " of " << part << " in " << whole;
    int64_t size =
        cast<RankedTensorType>(part).getDimSize(*getAxisPosition(part, axis));
    int64_t expected = cast<RankedTensorType>(whole).getDimSize(*position);
    if (size != expected)
      return op->emitOpError("expected axis ")
             << axis << " of size " << expected << ", got " << size;
  }
  return success();
}

/// `part`, broadcast to or indexing `whole`, must lie as a slice of it does.
static LogicalResult verifySliceOf(Operation *op, Type part, Type whole) {
  FragmentAttr slice = isTile(part) ? sliceLayout(whole, part) : nullptr;
  if (slice && getLayout(part) != slice)
    return op->emitOpError("expected ")
           << part << " to lie as a slice of " << whole << ", " << slice;
  return success();
}

LogicalResult IndexOp::verify() {
  if (getType().getRank() != 1 || !getType().getElementType().isIndex())
    return emitOpError("expected one axis of index, got ") << getType();
  return success();
}

/// Indices of a load or store against the tensor and the value's type.
static LogicalResult verifyAccess(Operation *op, RankedTensorType tensor,
                                  OperandRange indices, Type value) {
  if (tensor.getRank() != int64_t(indices.size()))
    return op->emitOpError("expected ")
           << tensor.getRank() << " indices, got " << indices.size();
  llvm::SmallDenseSet<StringAttr> axes;
  for (Type index : indices.getTypes()) {
    if (!getElementType(index).isIndex())
      return op->emitOpError("expected indices of index type, got ") << index;
    axes.insert_range(getAxes(index));
    if (failed(verifyAxesWithin(op, index, value)) ||
        failed(verifySliceOf(op, index, value)))
      return failure();
  }
  if (axes.size() != getAxes(value).size())
    return op->emitOpError("expected a value with the indices' ")
           << axes.size() << " axes, got " << value;
  return success();
}

LogicalResult LoadOp::verify() {
  Type element = getTensor().getType().getElementType();
  if (getElementType(getType()) != element)
    return emitOpError("expected a result of ")
           << element << ", got " << getType();
  return verifyAccess(*this, getTensor().getType(), getIndices(), getType());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getTensor().getType(), getIndices(),
                      getValue().getType());
}

LogicalResult BroadcastOp::verify() {
  if (getElementType(getOperand().getType()) != getElementType(getType()))
    return emitOpError("expected a result of ")
           << getElementType(getOperand().getType()) << ", got " << getType();
  return failure(
      failed(verifyAxesWithin(*this, getOperand().getType(), getType())) ||
      failed(verifySliceOf(*this, getOperand().getType(), getType())));
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getOperand()))
    return SplatElementsAttr::get(getType(), splat.getSplatValue<Attribute>());
  if (auto scalar = dyn_cast_or_null<TypedAttr>(adaptor.getOperand());
      scalar && isa<IntegerAttr, FloatAttr>(scalar))
    return SplatElementsAttr::get(getType(), Attribute(scalar));
  if (auto inner = getOperand().getDefiningOp<BroadcastOp>()) {
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  return {};
}

LogicalResult DotOp::verify() {
  SmallVector<StringAttr> over(getOver().getAsRange<StringAttr>());
  auto lhs = getLhs().getType(), rhs = getRhs().getType();
  for (auto factor : {lhs, rhs}) {
    Type element = factor.getElementType();
    if (!element.isF32() && !element.isF16() && !element.isBF16())
      return emitOpError("expected factors of f32, f16 or bf16, got ")
             << factor;
    for (StringAttr axis : over)
      if (!getAxisPosition(factor, axis))
        return emitOpError("expected axis ") << axis << " in " << factor;
  }
  llvm::SmallDenseSet<StringAttr> kept;
  for (auto factor : {lhs, rhs}) {
    Type rest = dropAxes(factor, over);
    kept.insert_range(getAxes(rest));
    if (failed(verifyAxesWithin(*this, rest, getType())))
      return failure();
  }
  for (StringAttr axis : over)
    if (lhs.getDimSize(*getAxisPosition(lhs, axis)) !=
        rhs.getDimSize(*getAxisPosition(rhs, axis)))
      return emitOpError("expected axis ") << axis << " of one size";
  if (kept.size() != getAxes(getType()).size() ||
      !getElementType(getType()).isF32())
    return emitOpError("expected an f32 result with the factors' other axes, "
                       "got ")
           << getType();
  if (getAcc() && getAcc().getType() != getType())
    return emitOpError("expected an accumulator of type ")
           << getType() << ", got " << getAcc().getType();
  return success();
}

LogicalResult SliceOp::verify() {
  auto whole = getOperand().getType(), part = getType();
  std::optional<unsigned> position = getAxisPosition(whole, getAxisAttr());
  if (!position)
    return emitOpError("expected axis ") << getAxisAttr() << " in " << whole;
  bool fits = whole.getRank() == part.getRank() &&
              whole.getElementType() == part.getElementType();
  for (unsigned i = 0; fits && i < getAxes(whole).size(); ++i)
    fits = i == *position ? part.getDimSize(i) <= whole.getDimSize(i)
                          : part.getDimSize(i) == whole.getDimSize(i) &&
                                getAxes(part)[i] == getAxes(whole)[i];
  if (!fits)
    return emitOpError("expected a part of ")
           << whole << " along " << getAxisAttr() << ", got " << part;
  return success();
}

LogicalResult ReduceOp::verify() {
  SmallVector<StringAttr> over(getOver().getAsRange<StringAttr>());
  for (StringAttr axis : over)
    if (!getAxisPosition(getOperand().getType(), axis))
      return emitOpError("expected axis ")
             << axis << " in " << getOperand().getType();
  Type expected = dropAxes(getOperand().getType(), over);
  if (getType() != expected)
    return emitOpError("expected a result of type ")
           << expected << ", got " << getType();
  return success();
}

LogicalResult ConvertLayoutOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (withLayout(from, nullptr) != withLayout(to, nullptr))
    return emitOpError("expected types that differ in the layout alone, got ")
           << from << " and " << to;
  if (!getLayout(from) || !getLayout(to))
    return emitOpError("expected layouts on both sides, got ")
           << from << " and " << to;
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return {};
}

LogicalResult VoteOp::verify() {
  if (!getElementType(getOperand().getType()).isInteger(1))
    return emitOpError("expected a tile of i1, got ") << getOperand().getType();
  return success();
}

void ReduceGroupOp::build(OpBuilder &, OperationState &state,
                          attn::ReduceKind kind, Value operand) {
  state.getOrAddProperties<Properties>().kind =
      attn::ReduceKindAttr::get(operand.getContext(), kind);
  state.addOperands(operand);
  state.addTypes(getElementType(operand.getType()));
}

LogicalResult ReduceGroupOp::verify() {
  RankedTensorType type = getOperand().getType();
  if (type.getRank() != 1 || getType() != type.getElementType())
    return emitOpError("expected a tile along one axis, reduced to ")
           << type.getElementType() << ", got " << type << " to " << getType();
  return success();
}

OpFoldResult VoteOp::fold(FoldAdaptor adaptor) {
  if (!isTile(getOperand().getType()))
    return getOperand();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getOperand()))
    return splat.getSplatValue<Attribute>();
  return {};
}

//===----------------------------------------------------------------------===//
// Indices inside a tensor
//===----------------------------------------------------------------------===//

Value getBlockStart(scf::ForOp loop) {
  Value entry = loop.getInductionVar();
  if (!loop->hasAttr("tile.from_list"))
    return entry;
  // The entry, as an index within its bounds, times the size of a block.
  for (Operation *user : entry.getUsers()) {
    auto load = dyn_cast<LoadOp>(user);
    if (!load || load.getIndices().back() != entry || isTile(load.getType()))
      continue;
    Operation *op = load;
    while (op && !isa<arith::MulIOp>(op))
      op = op->hasOneUse() &&
                   isa<arith::IndexCastOp, arith::MaxSIOp, arith::MinSIOp,
                       arith::MulIOp>(*op->user_begin())
               ? *op->user_begin()
               : nullptr;
    if (op)
      return op->getResult(0);
  }
  return {};
}

bool isAround(scf::ForOp loop) {
  return llvm::any_of(
      loop.getBody()->getOps<scf::ForOp>(),
      [](scf::ForOp inner) { return !inner->hasAttr("tile.slices"); });
}

bool isIndexByIndex(scf::ForOp loop) {
  return getConstantIntValue(loop.getStep()) == 1 &&
         !loop->hasAttr("tile.from_list");
}

scf::ForOp getBlockLoop(IndexOp index) {
  Value base = index.getBase();
  auto argument = dyn_cast<BlockArgument>(base);
  Operation *parent = argument ? argument.getOwner()->getParentOp()
                               : base.getDefiningOp()->getParentOp();
  auto loop = dyn_cast<scf::ForOp>(parent);
  return loop && getBlockStart(loop) == base ? loop : scf::ForOp();
}

bool isInside(Value tensor, unsigned dim, Value index) {
  while (auto broadcast = index.getDefiningOp<BroadcastOp>())
    index = broadcast.getOperand();
  auto tile = index.getDefiningOp<IndexOp>();
  auto loop = tile ? getBlockLoop(tile) : scf::ForOp();
  if (!loop)
    return false;
  auto inside = loop->getAttrOfType<AffineMapAttr>("tile.inside");
  if (!inside)
    return false;
  AffineMap shape;
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    shape = cast<attn::SignatureOpInterface>(argument.getOwner()->getParentOp())
                .getShape(argument);
  else
    shape = tensor.getDefiningOp<attn::WorkspaceOp>().getShape();
  return shape.getResult(dim) == inside.getValue().getResult(0);
}

} // namespace attentile::tile

#define GET_OP_CLASSES
#include "Tile/TileOps.cpp.inc"
