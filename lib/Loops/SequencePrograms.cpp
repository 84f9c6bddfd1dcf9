//===- SequencePrograms.cpp - fewer programs, each with a loop ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: the programs along a grid's last axis become one program that runs them
// in a loop; the reductions in it go over their blocks there and back
// (`tile.alternating`), so that each begins with what the one before read last
// and the cache still has. Expects: tile.kernel; reductions are what
// tile-skip-masked-blocks has classified (`tile.blocks`): what else a loop over
// tiles carries hangs on their order. Leaves: a grid with an axis less, and a
// loop named as the axis around the whole body (`tile.programs`). Does not
// handle: grids of one axis stay as they are where they have none to lose;
// loops that go on where another one ends, and those with an order of their
// own, keep it.
//
//===----------------------------------------------------------------------===//

#include "ChainedLoops.h"
#include "Tile/Tile.h"
#include "attentile/Loops/Passes.h"

namespace attentile {
#define GEN_PASS_DEF_TILESEQUENCEPROGRAMS
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

void sequence(tile::KernelOp kernel) {
  if (kernel.getBounds().empty())
    return;
  Block &body = kernel.getBody().front();
  BlockArgument id = body.getArguments().back();
  Value bound = kernel.getBounds().back();
  auto name = cast<StringAttr>(kernel.getIds().getValue().back());

  SmallVector<Operation *> moved;
  for (Operation &op : body)
    moved.push_back(&op);
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  Location loc = kernel.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, zero, bound, one);
  loop->setAttr("tile.axis", name);
  loop->setAttr("tile.programs", builder.getUnitAttr());
  for (Operation *op : moved)
    op->moveBefore(loop.getBody()->getTerminator());
  for (auto inner : loop.getBody()->getOps<scf::ForOp>())
    if (inner->hasAttr("tile.axis") && inner->hasAttr("tile.blocks") &&
        !isChained(inner) && !inner->hasAttr("tile.descending") &&
        !inner->hasAttr("tile.in_order"))
      inner->setAttr("tile.alternating", builder.getUnitAttr());

  id.replaceAllUsesWith(loop.getInductionVar());
  body.eraseArgument(id.getArgNumber());
  kernel.getBoundsMutable().erase(kernel.getBounds().size() - 1);
  kernel.setIdsAttr(
      builder.getArrayAttr(kernel.getIds().getValue().drop_back()));
}

struct TileSequencePrograms
    : impl::TileSequenceProgramsBase<TileSequencePrograms> {
  void runOnOperation() override { getOperation()->walk(sequence); }
};

} // namespace
} // namespace attentile
