//===- VerifyLayouts.cpp - what must hold of tiles with layouts -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: fails if a kernel does not say how its warps share the work, a tile has
// no layout or one outside of the block, or a product's factor is not where
// matrix instructions read it. Expects: tile-assign-layouts. Leaves: everything
// as it is.
//
//===----------------------------------------------------------------------===//

#include "NaturalLayouts.h"
#include "attentile/Mapping/Passes.h"

namespace attentile {
#define GEN_PASS_DEF_TILEVERIFYLAYOUTS
#include "Mapping/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// How many warps a layout names: one more than the last.
int64_t countWarps(const tile::Layout &layout) {
  int64_t last = 0;
  for (const tile::Layout::Digits &axis : layout.allDigits())
    for (const tile::Digit &digit : axis)
      if (digit.unit == tile::Unit::Warp)
        last += (digit.extent - 1) * digit.stride;
  return last + 1;
}

LogicalResult verifyTypes(Operation *op, TypeRange types, int64_t warps) {
  for (Type type : types) {
    if (!tile::isTile(type))
      continue;
    if (!tile::getLayout(type))
      return op->emitOpError("expected every tile to have a layout, got ")
             << type;
    tile::FragmentAttr fragment = tile::getFragment(type);
    if (fragment && countWarps(fragment.getLayout()) > warps)
      return op->emitOpError("expected a layout over ")
             << warps << " warps, got " << type;
  }
  return success();
}

/// The left factor is the one with the axis that the result has in rows of
/// accumulators.
LogicalResult verifyDot(tile::DotOp dot) {
  tile::FragmentAttr result = tile::getFragment(dot.getType());
  std::optional<unsigned> row;
  if (result && result.getLayout().rank() == 2)
    row = rowsOfAccumulator(result.getLayout());
  if (!row)
    return dot.emitOpError("expected a result that lies as matrix instructions "
                           "accumulate it, got ")
           << dot.getType();
  StringAttr rows = tile::getAxes(dot.getType())[*row];
  bool isLhsLeft =
      tile::getAxisPosition(dot.getLhs().getType(), rows).has_value();
  Type left = (isLhsLeft ? dot.getLhs() : dot.getRhs()).getType();
  Type right = (isLhsLeft ? dot.getRhs() : dot.getLhs()).getType();
  if (!tile::getShared(right))
    return dot.emitOpError("expected the right factor in shared memory, got ")
           << right;
  if (tile::getElementType(left) != dot.getProduct() ||
      tile::getElementType(right) != dot.getProduct())
    return dot.emitOpError("expected factors of ")
           << dot.getProduct() << ", got " << left << " and " << right;
  if (tile::getFragment(left) &&
      !isReadAsLeft(cast<RankedTensorType>(left), dot.getTileType()))
    return dot.emitOpError("expected the left factor as matrix instructions "
                           "read it for ")
           << result << ", got " << tile::getFragment(left);
  return success();
}

struct TileVerifyLayouts : impl::TileVerifyLayoutsBase<TileVerifyLayouts> {
  void runOnOperation() override {
    auto *dialect = getContext().getLoadedDialect<tile::TileDialect>();
    WalkResult result = getOperation()->walk([&](tile::KernelOp kernel) {
      tile::WarpsAttr warps = dialect->getWarpsAttrHelper().getAttr(kernel);
      if (!warps) {
        kernel.emitOpError("expected 'tile.warps'");
        return WalkResult::interrupt();
      }
      return kernel.walk([&](Operation *op) {
        auto dot = dyn_cast<tile::DotOp>(op);
        if (failed(verifyTypes(op, op->getOperandTypes(), warps.getCount())) ||
            failed(verifyTypes(op, op->getResultTypes(), warps.getCount())) ||
            (dot && failed(verifyDot(dot))))
          return WalkResult::interrupt();
        return WalkResult::advance();
      });
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace attentile
