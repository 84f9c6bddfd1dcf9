//===- TileDialect.cpp - registration of the tile dialect -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "attentile/Sources.h"
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
/// Prints `#m_n` for #tile.axes<"m", "n">, and `#m_n_fragment` or
/// `#m_n_shared` for one with a layout.
struct TileAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    auto axes = dyn_cast<AxesAttr>(attribute);
    if (!axes)
      return AliasResult::NoAlias;
    llvm::interleave(
        axes.getNames(), os, [&](StringAttr name) { os << name.getValue(); },
        "_");
    if (Attribute layout = axes.getLayout())
      os << (isa<SharedAttr>(layout) ? "_shared" : "_fragment");
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
  StringAttr name = attribute.getName();
  Attribute value = attribute.getValue();
  auto verify = [&](bool isPlace, StringRef place, bool isForm,
                    StringRef form) -> LogicalResult {
    if (!isPlace)
      return op->emitError("expected '")
             << name.getValue() << "' on " << place << " only";
    if (!isForm)
      return op->emitError("expected '")
             << name.getValue() << "' to be " << form << ", got " << value;
    return success();
  };
  auto onLoop = [&](bool isForm, StringRef form) {
    return verify(isa<scf::ForOp>(op), "scf.for", isForm, form);
  };
  auto onKernel = [&](bool isForm, StringRef form) {
    return verify(isa<KernelOp>(op), "tile.kernel", isForm, form);
  };
  if (name == getAxisAttrHelper().getName())
    return onLoop(isa<StringAttr>(value), "a string");
  if (name == getBlocksAttrHelper().getName())
    return onLoop(isa<BlockClassAttr>(value), "#tile.blocks<...>");
  if (name == getInsideAttrHelper().getName()) {
    auto map = dyn_cast<AffineMapAttr>(value);
    return onLoop(map && map.getValue().getNumResults() == 1 &&
                      map.getValue().getNumDims() == 0,
                  "a map from sizes to one extent");
  }
  if (name == "tile.descending" || name == "tile.alternating" ||
      name == "tile.programs" || name == "tile.from_list" ||
      name == "tile.to_list" || name == "tile.slices" ||
      name == "tile.in_order")
    return onLoop(isa<UnitAttr>(value), "a unit");
  if (name == "tile.shortcut")
    return verify(isa<scf::IfOp>(op), "scf.if", isa<UnitAttr>(value), "a unit");
  if (name == getWarpsAttrHelper().getName())
    return onKernel(isa<WarpsAttr>(value), "#tile.warps<...>");
  // These stay with a kernel through the levels below.
  if (name == "tile.block_list" || name == "tile.sorted_list")
    return verify(op->getName().stripDialect() == "kernel", "a kernel",
                  isa<UnitAttr>(value), "a unit");
  if (name == "tile.common_bytes" || name == "tile.common_programs") {
    auto number = dyn_cast<IntegerAttr>(value);
    return verify(op->getName().stripDialect() == "kernel", "a kernel",
                  number && number.getInt() > 0, "a positive number");
  }
  if (name == getResourcesAttrHelper().getName())
    return verify(op->getName().stripDialect() == "kernel", "a kernel",
                  isa<ResourcesAttr>(value), "#tile.resources<...>");
  return op->emitError("unknown attribute '") << name.getValue() << "'";
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

bool isLoaded(Value value) {
  return anySource(
      value, [](Value source) { return bool(source.getDefiningOp<LoadOp>()); },
      [](Value source) { return isTile(source.getType()); });
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

Attribute getLayout(Type type) {
  if (!isTile(type))
    return {};
  return cast<AxesAttr>(cast<RankedTensorType>(type).getEncoding()).getLayout();
}

FragmentAttr getFragment(Type type) {
  return dyn_cast_or_null<FragmentAttr>(getLayout(type));
}

SharedAttr getShared(Type type) {
  return dyn_cast_or_null<SharedAttr>(getLayout(type));
}

RankedTensorType withLayout(RankedTensorType type, Attribute layout) {
  return RankedTensorType::get(
      type.getShape(), type.getElementType(),
      AxesAttr::get(type.getContext(), getAxes(type), layout));
}

FragmentAttr sliceLayout(Type whole, Type part) {
  FragmentAttr fragment = getFragment(whole);
  if (!fragment)
    return {};
  SmallVector<unsigned> order;
  for (StringAttr axis : getAxes(part))
    order.push_back(*getAxisPosition(whole, axis));
  return FragmentAttr::get(whole.getContext(),
                           fragment.getLayout().permute(order));
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
  RankedTensorType rest = getTileType(type.getElementType(), axes, sizes);
  if (FragmentAttr layout = sliceLayout(type, rest))
    return withLayout(rest, layout);
  return rest;
}

} // namespace attentile::tile
