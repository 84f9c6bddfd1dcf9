//===- DescendBlocks.cpp - from the last block to the first ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: marks loops that reduce an axis to go over its blocks from the last to
// the first. Expects: loops classified by tile-skip-masked-blocks. Leaves:
// `tile.descending`, which tile-to-warp follows. Does not handle: loops that go
// on where another one ends, whose order is that of the axis.
//
//===----------------------------------------------------------------------===//
//
// The order of a reduction's blocks is free, and tile-skip-masked-blocks has
// asked that all that a loop carries be one. Where a mask hides later keys, as
// a causal one does, the last blocks are those that evaluate it: first in the
// loop, they find the references while the step is the classical one anyway.
// And scores that grow with the position, as with ALiBi, are greatest there, so
// that tile-guard-softmax needs no new reference from block to block.
//

#include "Tile/Tile.h"
#include "attentile/Loops/Passes.h"

namespace attentile {
#define GEN_PASS_DEF_TILEDESCENDBLOCKS
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Whether another loop over an axis goes on with what this one leaves, or this
/// one with another's.
bool isChained(scf::ForOp loop) {
  auto isLoop = [](Operation *op) {
    return isa_and_nonnull<scf::ForOp>(op) && op->hasAttr("tile.axis");
  };
  return llvm::any_of(
             loop.getInits(),
             [&](Value init) { return isLoop(init.getDefiningOp()); }) ||
         llvm::any_of(loop->getUsers(), isLoop);
}

struct TileDescendBlocks : impl::TileDescendBlocksBase<TileDescendBlocks> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) {
      if (loop->hasAttr("tile.axis") && loop->hasAttr("tile.blocks") &&
          !isChained(loop))
        loop->setAttr("tile.descending", UnitAttr::get(loop.getContext()));
    });
  }
};

} // namespace
} // namespace attentile
