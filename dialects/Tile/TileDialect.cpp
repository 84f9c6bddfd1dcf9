//===- TileDialect.cpp - registration of the tile dialect -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "Tile/TileDialect.cpp.inc"
#include "Tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "Tile/TileAttrs.cpp.inc"

namespace attentile::tile {

namespace {
/// Prints `#m_n` for #tile.axes<"m", "n">.
struct TileAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    auto axes = dyn_cast<AxesAttr>(attribute);
    if (!axes)
      return AliasResult::NoAlias;
    llvm::interleave(
        axes.getNames(), os, [&](StringAttr name) { os << name.getValue(); },
        "_");
    return AliasResult::OverridableAlias;
  }
};
} // namespace

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Tile/TileOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Tile/TileAttrs.cpp.inc"
      >();
  addInterfaces<TileAsmInterface>();
}

/// Folds that give a constant become arith.constant.
Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (!isa<scf::ForOp>(op))
    return op->emitError("expected '")
           << attribute.getName().getValue() << "' on scf.for only";
  Attribute value = attribute.getValue();
  bool isAxis = attribute.getName() == getAxisAttrHelper().getName();
  if (!isAxis && attribute.getName() != getBlocksAttrHelper().getName())
    return op->emitError("unknown attribute '")
           << attribute.getName().getValue() << "'";
  if (isAxis ? isa<StringAttr>(value) : isa<BlockClassAttr>(value))
    return success();
  return op->emitError("expected '")
         << attribute.getName().getValue() << "' to be "
         << (isAxis ? "a string" : "#tile.blocks<...>") << ", got " << value;
}

LogicalResult AxesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names) {
  llvm::SmallDenseSet<StringAttr> seen;
  for (StringAttr name : names)
    if (!seen.insert(name).second)
      return emitError() << "expected each axis once, got '" << name.getValue()
                         << "' twice";
  return success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool isTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getRank() == 0)
    return false;
  auto axes = dyn_cast_or_null<AxesAttr>(tensor.getEncoding());
  return axes && axes.getNames().size() == size_t(tensor.getRank());
}

ArrayRef<StringAttr> getAxes(Type type) {
  if (!isTile(type))
    return {};
  return cast<AxesAttr>(cast<RankedTensorType>(type).getEncoding()).getNames();
}

Type getElementType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getElementType() : type;
}

std::optional<unsigned> getAxisPosition(Type type, StringAttr axis) {
  ArrayRef<StringAttr> axes = getAxes(type);
  const StringAttr *found = llvm::find(axes, axis);
  if (found == axes.end())
    return std::nullopt;
  return found - axes.begin();
}

Type withElementType(Type type, Type element) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? Type(tensor.clone(element)) : element;
}

RankedTensorType getTileType(Type element, ArrayRef<StringAttr> axes,
                             ArrayRef<int64_t> sizes) {
  return RankedTensorType::get(sizes, element,
                               AxesAttr::get(element.getContext(), axes));
}

Type dropAxes(RankedTensorType type, ArrayRef<StringAttr> over) {
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes;
  for (auto [axis, size] : llvm::zip_equal(getAxes(type), type.getShape())) {
    if (llvm::is_contained(over, axis))
      continue;
    axes.push_back(axis);
    sizes.push_back(size);
  }
  if (axes.empty())
    return type.getElementType();
  return getTileType(type.getElementType(), axes, sizes);
}

} // namespace attentile::tile
