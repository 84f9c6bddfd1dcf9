//===- EmitPieces.cpp - tile-to-warp: computed factors, piece by piece ----===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A factor that is computed from several tiles, as rotated keys are from keys,
// cosines and sines, goes to shared memory before its product. Tile after tile
// a thread would hold its part of each of them, beside the sums of the loop. So
// it goes over some of its rows at a time,
//
//     for each piece of the rows:
//       load a piece of every tile; compute; store a piece to shared memory
//
// in a loop that stays one, as ptxas moves all loads to the front of a straight
// piece of code.
//
//===----------------------------------------------------------------------===//

#include "ComputedFactors.h"
#include "WarpEmitter.h"

using namespace mlir;

namespace attentile {

/// Registers that a thread may hold of what a piece is computed from: two
/// packets of rotated keys. More loads are on their way at once, with less room
/// for sums.
static constexpr int64_t kRegistersOfPiece = 48;

void WarpEmitter::findPieces() {
  kernel->walk([&](tile::ConvertLayoutOp convert) {
    std::optional<Pieces> found = findPieces(convert);
    if (!found)
      return;
    // Users come behind. What others need too is also emitted as a whole.
    for (Operation *op : llvm::reverse(found->ops))
      if (llvm::all_of(op->getUsers(), [&](Operation *user) {
            return user == convert || (inPieces.contains(user) &&
                                       llvm::is_contained(found->ops, user));
          }))
        inPieces.insert(op);
    pieces[convert] = std::move(*found);
  });
}

/// The positions of an axis that the registers of one piece hold, and how many
/// pieces there are, where a piece has `count` of the axis's outermost digit.
static std::pair<int64_t, int64_t> pieceOf(const tile::Layout &layout,
                                           unsigned axis, int64_t count) {
  int64_t positions = 1, below = 0, pieces = 1;
  for (const tile::Digit &digit : layout.digits(axis)) {
    if (digit.unit == tile::Unit::Register && digit.extent % count == 0) {
      below = positions;
      pieces = digit.extent / count;
    }
    positions *= digit.extent;
  }
  return {below * count, pieces};
}

/// Registers of what a thread loads for one of `pieces` pieces.
static int64_t registersOfPiece(ArrayRef<Operation *> ops, int64_t pieces) {
  int64_t bits = 0;
  for (Operation *op : ops)
    if (auto load = dyn_cast<tile::LoadOp>(op);
        load && tile::getAxes(load.getType()).size() > 1)
      bits += tile::getFragment(load.getType()).getLayout().registers() *
              warp::getElementBytes(tile::getElementType(load.getType())) * 8;
  return llvm::divideCeil(bits, 32 * pieces);
}

std::optional<WarpEmitter::Pieces>
WarpEmitter::findPieces(tile::ConvertLayoutOp convert) {
  RankedTensorType type = convert.getOperand().getType();
  if (!tile::getShared(convert.getType()) || !tile::getFragment(type) ||
      type.getRank() != 2)
    return std::nullopt;
  // Along the axis of which a thread holds more, its outermost part.
  tile::Layout layout = tile::getFragment(type).getLayout();
  int64_t counts[2] = {pieceOf(layout, 0, 1).second,
                       pieceOf(layout, 1, 1).second};
  unsigned axis = counts[1] > counts[0];
  Pieces result;
  result.axis = tile::getAxes(type)[axis];
  // What has no such axis is the same for all pieces.
  llvm::SetVector<Operation *> slice;
  auto isSame = [&](Value value) {
    return !tile::getAxisPosition(value.getType(), result.axis);
  };
  if (!collectElementwise(convert.getOperand(), isSame, slice))
    return std::nullopt;
  for (Operation *op : slice) {
    auto load = dyn_cast<tile::LoadOp>(op);
    bool isWritten =
        load && llvm::any_of(load.getTensor().getUsers(), [](Operation *user) {
          return isa<tile::StoreOp>(user);
        });
    bool isShared = op->getNumOperands() != 0 &&
                    tile::getAxes(op->getResult(0).getType()).size() > 1 &&
                    llvm::any_of(op->getUsers(), [&](Operation *user) {
                      return user != convert && !slice.contains(user);
                    });
    if (isWritten || isShared)
      return std::nullopt;
  }
  result.ops = slice.takeVector();
  for (int64_t count = counts[axis];; count /= 2) {
    if (count > 1 && (counts[axis] % count != 0 ||
                      registersOfPiece(result.ops, counts[axis] / count) >
                          kRegistersOfPiece))
      continue;
    std::tie(result.extent, result.count) =
        pieceOf(layout, axis, std::max<int64_t>(count, 1));
    break;
  }
  if (result.count == 1)
    return std::nullopt;
  return result;
}

LogicalResult WarpEmitter::emitPieces(tile::ConvertLayoutOp convert,
                                      const Pieces &pieces, Value buffer) {
  Value step = constant(pieces.extent);
  auto loop = scf::ForOp::create(builder, loc, constant(0),
                                 constant(pieces.extent * pieces.count), step);
  loop->setAttr("warp.rolled", builder.getUnitAttr());
  // What is of use elsewhere keeps what it has become.
  SmallVector<std::pair<Value, Value>> before;
  for (Operation *op : pieces.ops)
    before.push_back(
        {op->getResult(0), mapping.lookupOrNull(op->getResult(0))});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  part = {pieces.axis, pieces.extent, loop.getInductionVar()};
  for (Operation *op : pieces.ops)
    if (failed(emit(op)))
      return failure();
  storeToShared(get(convert.getOperand()), convert.getOperand().getType(),
                buffer);
  part = {};
  for (auto [value, emitted] : before)
    if (emitted)
      set(value, emitted);
    else
      mapping.erase(value);
  return success();
}

} // namespace attentile
