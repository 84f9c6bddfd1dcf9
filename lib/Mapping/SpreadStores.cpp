//===- SpreadStores.cpp - rows that several lanes hold, a lane each -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where lanes hold copies of a tile of one axis that is stored, deals its
// elements out to them, and what only the store needs is computed there.
// Expects: layouts (tile-assign-layouts). Leaves: conversions of layout within
// a thread. Does not handle: tiles of which a thread has one element, or whose
// elements have the lanes' number of copies no common divisor with.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <numeric>

namespace attentile {
#define GEN_PASS_DEF_TILESPREADSTORES
#include "Mapping/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

using tile::Layout;

/// The layout with registers, the most significant ones, dealt to the lanes
/// that hold copies; null where there is nothing to deal.
tile::FragmentAttr spread(tile::FragmentAttr fragment) {
  const Layout &layout = fragment.getLayout();
  if (layout.rank() != 1 || layout.registers() == 1)
    return {};
  Layout::Digits digits(layout.digits(0).begin(), layout.digits(0).end());
  auto last = llvm::find_if(llvm::reverse(digits), [](const tile::Digit &d) {
    return d.unit == tile::Unit::Register;
  });
  SmallVector<tile::Digit> copies =
      layout.copies(tile::Unit::Lane, Layout::kLanes);
  if (copies.empty())
    return {};
  tile::Digit lanes = *std::max_element(
      copies.begin(), copies.end(),
      [](const auto &a, const auto &b) { return a.extent < b.extent; });
  lanes.extent = std::gcd(lanes.extent, last->extent);
  if (lanes.extent == 1)
    return {};
  last->extent /= lanes.extent;
  digits.insert(last.base(), lanes);
  return tile::FragmentAttr::get(fragment.getContext(), Layout({digits}));
}

/// `value` in a layout: what has no other use is computed in it.
Value inLayout(Value value, tile::FragmentAttr layout) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!tile::isTile(value.getType()) || tile::getLayout(type) == layout)
    return value;
  auto wanted = tile::withLayout(type, layout);
  Operation *op = value.getDefiningOp();
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    return arith::ConstantOp::create(builder, value.getLoc(),
                                     cast<TypedAttr>(dense.reshape(wanted)));
  }
  bool isOfScalars = op && llvm::none_of(op->getOperandTypes(), tile::isTile) &&
                     isa<tile::IndexOp, tile::BroadcastOp>(op);
  if (isOfScalars) {
    Operation *copy = builder.clone(*op);
    copy->getResult(0).setType(wanted);
    return copy->getResult(0);
  }
  if (!op || !OpTrait::hasElementwiseMappableTraits(op) || !value.hasOneUse() ||
      op->getNumResults() != 1)
    return tile::ConvertLayoutOp::create(builder, value.getLoc(), wanted,
                                         value);
  for (OpOperand &operand : op->getOpOperands())
    operand.set(inLayout(operand.get(), layout));
  value.setType(wanted);
  return value;
}

struct TileSpreadStores : impl::TileSpreadStoresBase<TileSpreadStores> {
  void runOnOperation() override {
    SmallVector<tile::StoreOp> stores;
    getOperation()->walk([&](tile::StoreOp store) { stores.push_back(store); });
    for (tile::StoreOp store : stores) {
      auto fragment = tile::getFragment(store.getValue().getType());
      tile::FragmentAttr layout = fragment ? spread(fragment) : fragment;
      if (!layout || !store.getValue().hasOneUse() ||
          llvm::any_of(store.getIndices(), [](Value index) {
            return tile::isTile(index.getType()) &&
                   tile::getAxes(index.getType()).size() != 1;
          }))
        continue;
      for (OpOperand &operand : store->getOpOperands())
        if (&operand != &store.getTensorMutable())
          operand.set(inLayout(operand.get(), layout));
    }
  }
};

} // namespace
} // namespace attentile
