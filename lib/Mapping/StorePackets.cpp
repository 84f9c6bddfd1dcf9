//===- StorePackets.cpp - outputs as packets of 16 bytes ------------------===//
//---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StorePackets.h"
#include "NaturalLayouts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attentile {

void gatherPackets(tile::StoreOp store, int64_t warps) {
  auto type = dyn_cast<RankedTensorType>(store.getValue().getType());
  auto element =
      dyn_cast<FloatType>(store.getTensor().getType().getElementType());
  if (!type || type.getRank() != 2 || !element || element.getWidth() != 16)
    return;
  constexpr int64_t kMostBytes = 64 * 1024;
  auto last = store.getIndices().back().getDefiningOp<tile::IndexOp>();
  if (!last || 2 * type.getNumElements() > kMostBytes ||
      tile::getAxes(last.getType()).front() != tile::getAxes(type).back())
    return;
  tile::FragmentAttr packets = NaturalLayouts::packets(
      store.getContext(), type.getDimSize(0), type.getDimSize(1), warps);
  if (!packets)
    return;
  OpBuilder builder(store);
  Value value = store.getValue();
  if (type.getElementType().isF32())
    value = arith::TruncFOp::create(
        builder, store.getLoc(), tile::withElementType(type, element), value);
  store.getValueMutable().assign(tile::ConvertLayoutOp::create(
      builder, store.getLoc(),
      tile::withLayout(cast<RankedTensorType>(value.getType()), packets),
      value));
}

} // namespace attentile
