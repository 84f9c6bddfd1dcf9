//===- EmitSplitProducts.cpp - tile-to-warp: warps that share out keys ----===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product where the warps that share a row have different k ("split-K"): each
// has a part of the sum for all columns, and owns some of the columns. What a
// warp has for its own columns stays in its registers; the rest goes to the
// owners through shared memory, in turns. In each turn every warp computes for
// another one, and no two for the same, so that all have as much to read:
//
//     for distance 1, 2 ...:
//       compute for the warp at that distance, leave it in slot turn % 2
//       barrier
//       add what the warp at that distance on the other side has left
//
// A slot is written again two turns later. Between a warp's reads and the next
// write into the same slot stands the barrier of the turn between them, so that
// one a turn is enough; where the turns are odd in number, what a loop's last
// turn left is read behind its last barrier and the next iteration begins with
// the same slot: then a barrier stands before the first turn.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

using namespace mlir;

namespace attentile {

/// f32 numbers that all warps leave for a row block, to have two turns of that
/// size; GpuTileSizes.cpp reckons with as much shared memory.
static constexpr int64_t kMostOfATurn = 8192;

/// f32 numbers of a 16 x 8 block, and of a lane.
static constexpr int64_t kBlock = 128, kOfLane = 4;

/// This warp's columns in parts of at most so many blocks: all rows if two
/// columns of them fit, so that B is read once.
SmallVector<ProductEmitter::Part> ProductEmitter::divide(int64_t most) const {
  int64_t columns = std::min<int64_t>(columnBlocks, 2);
  while (columns + 2 <= columnBlocks && (columns + 2) * rowBlocks <= most)
    columns += 2; // one ldmatrix reads two
  int64_t rows = std::clamp<int64_t>(most / columns, 1, rowBlocks);
  SmallVector<Part> parts;
  for (int64_t row = 0; row < rowBlocks; row += rows)
    for (int64_t column = 0; column < columnBlocks; column += columns)
      parts.push_back({row, std::min(rows, rowBlocks - row), column,
                       std::min(columns, columnBlocks - column)});
  return parts;
}

/// Adds this product to `blocks`, where the warps' k differ in the digits
/// `over`.
LogicalResult ProductEmitter::emitSplit(ArrayRef<tile::Digit> over,
                                        SmallVector<Value> &blocks) {
  SmallVector<tile::Digit> owning;
  for (const tile::Digit &digit : result.digits(1 - rowAxis))
    if (digit.unit == tile::Unit::Warp)
      owning.push_back(digit);
  if (over.size() != 1 || ArrayRef(owning) != over)
    return dot.emitError("expected a result whose columns go over the same "
                         "warps as the left factor's, got ")
           << dot.getType();
  int64_t warps = over.front().extent;

  int64_t ofRowBlock = warps * columnBlocks; // for all owners
  int64_t most = emitter.warps * ofRowBlock * kBlock <= kMostOfATurn
                     ? ofRowBlock
                     : ofRowBlock / 2;
  SmallVector<Part> parts = divide(most);
  int64_t slot = 0;
  for (const Part &part : parts)
    slot = std::max(slot, part.size() * kBlock);
  int64_t turns = (warps - 1) * int64_t(parts.size()), turn = 0;
  Value buffer = emitter.makeWarpRows(std::min<int64_t>(turns, 2) * slot,
                                      builder.getF32Type());

  // Warps by their number among those that share rows.
  Value own = emitter.threadPart(over, ThreadUnits::Warp);
  auto peerAt = [&](int64_t distance) -> Value {
    return arith::RemUIOp::create(builder, loc, emitter.offset(own, distance),
                                  emitter.constant(warps));
  };
  auto columnsOf = [&](Value peer) -> Value {
    return arith::MulIOp::create(builder, loc, peer,
                                 emitter.constant(8 * columnBlocks));
  };
  Value first = emitter.peersOf(over).base;
  // A lane's registers of a block side by side: 16 bytes at a time.
  Value lane = arith::MulIOp::create(builder, loc, emitter.lane,
                                     emitter.constant(kOfLane));
  auto place = [&](int64_t turn, int64_t block) {
    return emitter.offset(lane, turn % 2 * slot + block * kBlock);
  };

  if (turns % 2 != 0 && emitter.isInLoop())
    warp::BarrierOp::create(builder, loc); // the first slot has been read
  for (int64_t distance = 1; distance < warps; ++distance) {
    Value columns = columnsOf(peerAt(distance));
    Value from = emitter.sum(
        first, arith::MulIOp::create(builder, loc, peerAt(warps - distance),
                                     emitter.constant(over.front().stride)));
    for (const Part &part : parts) {
      SmallVector<Value> others(part.size(), zeroBlock());
      emitSteps(part, columns, others);
      for (auto [i, block] : llvm::enumerate(others))
        warp::StoreSharedOp::create(builder, loc, block, buffer,
                                    ValueRange{emitter.warp, place(turn, i)},
                                    Value());
      warp::BarrierOp::create(builder, loc); // all have written
      if (turn + 1 == turns) // while the last sums are on their way
        emitSteps({0, rowBlocks, 0, columnBlocks}, columnsOf(own), blocks);
      for (int64_t i = 0; i < part.size(); ++i) {
        Value sum = warp::LoadSharedOp::create(
            builder, loc, others.front().getType(), buffer,
            ValueRange{from, place(turn, i)});
        Value &block = blocks[(part.row + i / part.columns) * columnBlocks +
                              part.column + i % part.columns];
        block = arith::AddFOp::create(builder, loc, block, sum);
      }
      ++turn;
    }
  }
  return success();
}

} // namespace attentile
