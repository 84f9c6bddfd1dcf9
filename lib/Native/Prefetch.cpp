//===- Prefetch.cpp - what comes next, asked for during products ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile that nobody has read yet comes from memory, row by row while products
// wait: as long as a block of 64 x 64 scores takes, on a fast processor. So
// each load of a tile notes the one that follows it. In a loop, of what this
// program alone reads (a bias of pairs), that is what the next iteration loads.
// What programs share (keys) the one before has read: small tiles of it are
// asked for only in the last iteration, behind which it may be new, a window's
// newest keys to the next program; a list of blocks may have it anywhere.
// Outside all loops it is the next program's rows. The first product after the
// load asks for it, each of its register blocks for a share, as all at once
// would wait for each other. Nothing waits for a prefetch, and one of an
// address that is not there does nothing.
//
//===----------------------------------------------------------------------===//

#include "Transfer.h"

using namespace mlir;

namespace attentile::native {

static constexpr int64_t kLineBytes = 64;
/// Bytes of a tile that has been read before and is asked for again in each
/// iteration. On Zen 3 (f32, plain) that gains 6 to 12 % where a tile of keys
/// is as large as the first-level cache, and loses 9 to 17 % where it is half.
static constexpr int64_t kLargeTile = 32 << 10;

void KernelEmitter::noteNext(tile::LoadOp load) {
  auto loop = load->getParentOfType<scf::ForOp>();
  Axis along = loop ? loop->getAttrOfType<StringAttr>("tile.axis") : plan.lane;
  ArrayRef<Axis> axes = tile::getAxes(load.getType());
  if (!along || axes.size() != 2 || !llvm::is_contained(axes, along))
    return;
  const TensorAccess &from = tensor(load.getTensor());
  Transfer transfer(*this, from, load.getIndices(),
                    plan.getBuffer(load.getResult()));
  if (!transfer.isAffine(axes))
    return;
  // The axis that is contiguous in the usual order of a tensor's elements.
  bool lastIsFirst =
      *plan.getCoefficient(load.getIndices().back(), axes.front()) != 0;
  Axis row = axes[lastIsFirst ? 1 : 0], inRow = axes[lastIsFirst ? 0 : 1];
  Coordinates at;
  for (Axis axis : axes)
    at[axis] = index(axis == along ? transfer.sizeOf(axis) : 0);
  NextTile next;
  next.pointer = transfer.pointerTo(transfer.indicesAt(at));
  next.element = inMemory(from.element);
  next.rowStride = transfer.strideAlong(row);
  next.stride = transfer.strideAlong(inRow);
  next.rows = transfer.sizeOf(row);
  next.columns = transfer.sizeOf(inRow);
  int64_t bits = next.element.getIntOrFloatBitWidth();
  bool isLarge = next.rows * next.columns * bits >= 8 * kLargeTile;
  if (loop && !loop->hasAttr("tile.from_list") && !isLarge &&
      !llvm::is_contained(axes, plan.lane))
    next.condition = isLast(loop);
  nextTiles.push_back(next);
}

Value KernelEmitter::isLast(scf::ForOp loop) {
  Value after = add(scalar(loop.getInductionVar()), scalar(loop.getStep()));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, after,
                               scalar(loop.getUpperBound()));
}

void KernelEmitter::enterLoop(scf::ForOp loop) {
  if (nextTiles.empty())
    return;
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                            loop.getInductionVar(), loop.getLowerBound());
  for (NextTile &next : nextTiles)
    next.condition =
        next.condition ? arith::AndIOp::create(b, loc, next.condition, isFirst)
                       : isFirst;
}

void KernelEmitter::askForShare(const NextTile &next, Value number,
                                int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  if (next.condition) {
    auto choice = scf::IfOp::create(b, loc, next.condition, false);
    b.setInsertionPointToStart(choice.thenBlock());
  }
  int64_t share = llvm::divideCeil(next.rows, count);
  int64_t perLine = kLineBytes * 8 / next.element.getIntOrFloatBitWidth();
  Value first = mul(number, index(share));
  auto rows =
      scf::ForOp::create(b, loc, first, add(first, index(share)), index(1));
  b.setInsertionPointToStart(rows.getBody());
  Value start = advance(next.pointer, next.element,
                        mul(rows.getInductionVar(), next.rowStride));
  for (int64_t column = 0; column < next.columns; column += perLine)
    LLVM::Prefetch::create(
        b, loc, advance(start, next.element, mul(next.stride, index(column))),
        /*rw=*/0, /*hint=*/2, /*cache=*/1);
}

} // namespace attentile::native
