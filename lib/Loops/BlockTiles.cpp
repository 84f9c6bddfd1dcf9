//===- BlockTiles.cpp - what a loop does of each block, side by side ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockTiles.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attentile {

/// Of a tile of blocks: 64 for a lane, where two warps have it.
static constexpr int64_t kMostElements = 4096;

BlockTiles::BlockTiles(scf::ForOp loop, Value first, int64_t count)
    : loop(loop), builder(loop), axis(builder.getStringAttr("block")),
      count(count) {
  blocks = tile::IndexOp::create(
      builder, loop.getLoc(),
      tile::getTileType(builder.getIndexType(), axis, count), first);
  tiles[loop.getInductionVar()] = blocks;
}

bool BlockTiles::isOfBlocks(Value value) const {
  return tile::getAxisPosition(value.getType(), axis).has_value();
}

/// `type` with the axis of blocks before its own.
RankedTensorType BlockTiles::getType(Type type) const {
  SmallVector<StringAttr> axes = {axis};
  SmallVector<int64_t> sizes = {count};
  if (auto tile = dyn_cast<RankedTensorType>(type)) {
    llvm::append_range(axes, tile::getAxes(tile));
    llvm::append_range(sizes, tile.getShape());
  }
  return tile::getTileType(tile::getElementType(type), axes, sizes);
}

/// `value` as a tile of all axes of `type`.
Value BlockTiles::spread(Value value, RankedTensorType type) {
  auto own = cast<RankedTensorType>(
      tile::withElementType(type, tile::getElementType(value.getType())));
  return value.getType() == own
             ? value
             : tile::BroadcastOp::create(builder, loop.getLoc(), own, value);
}

Value BlockTiles::get(Value value) {
  if (loop.isDefinedOutsideOfLoop(value))
    return value;
  auto found = tiles.find(value);
  if (found == tiles.end())
    found = tiles.try_emplace(value, compute(value)).first;
  return found->second;
}

Value BlockTiles::compute(Value value) {
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!op || op->getNumRegions() || !isPure(op) ||
      (type &&
       (type.getRank() > 1 || count * type.getNumElements() > kMostElements)))
    return {};
  for (Value operand : op->getOperands())
    if (!get(operand))
      return {};
  return make(op);
}

Value BlockTiles::make(Operation *op) {
  Location loc = op->getLoc();
  RankedTensorType type = getType(op->getResult(0).getType());
  SmallVector<Value> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value x) { return get(x); });
  if (llvm::none_of(operands, [&](Value x) { return isOfBlocks(x); })) {
    Operation *same = builder.clone(*op);
    same->setOperands(operands);
    return same->getResult(0);
  }
  if (auto index = dyn_cast<tile::IndexOp>(op)) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value inside = tile::IndexOp::create(builder, loc, index.getType(), zero);
    return arith::AddIOp::create(builder, loc, spread(operands[0], type),
                                 spread(inside, type));
  }
  if (isa<tile::BroadcastOp>(op))
    return spread(operands[0], type);
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return tile::ReduceOp::create(builder, loc, type, reduce.getKind(),
                                  operands[0], reduce.getOver());
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    auto indices = MutableArrayRef(operands).drop_front();
    for (Value &index : indices)
      if (tile::isTile(index.getType()))
        index = spread(index, type);
    return tile::LoadOp::create(builder, loc, type, load.getTensor(), indices);
  }
  if (!op->hasTrait<OpTrait::Elementwise>() && !isa<arith::SelectOp>(op))
    return {};
  for (Value &operand : operands)
    operand = spread(operand, type);
  OperationState state(loc, op->getName(), operands, {type}, op->getAttrs());
  return builder.create(state)->getResult(0);
}

} // namespace attentile
