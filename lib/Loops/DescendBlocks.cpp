//===- DescendBlocks.cpp - from the last block to the first ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: marks loops that reduce an axis to go over its blocks from the last to
// the first, where a float is made of the position; with `all` every loop.
// Expects: loops classified by tile-skip-masked-blocks. Leaves:
// `tile.descending`, which tile-to-warp follows. Does not handle: loops that go
// on where another one ends, whose order is that of the axis.
//
//===----------------------------------------------------------------------===//
//
// The order of a reduction's blocks is free, and tile-skip-masked-blocks has
// asked that all that a loop carries be one; where a written loop reads what it
// carries it is not (`tile.in_order`). Scores with a term for the
// position, as ALiBi's, are as a rule made to favour what is near, which under
// a causal mask comes last: taken first, it has the greatest scores, and
// tile-guard-softmax needs no new reference from block to block. Without such a
// term the order of the axis is a little faster (docs/performance.md).
//

#include "ChainedLoops.h"
#include "Tile/Tile.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {
#define GEN_PASS_DEF_TILEDESCENDBLOCKS
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Whether a float is made of the loop's position.
bool usesPosition(scf::ForOp loop) {
  llvm::SetVector<Value> indices;
  indices.insert(loop.getInductionVar());
  for (size_t i = 0; i < indices.size(); ++i)
    for (Operation *user : indices[i].getUsers()) {
      if (isa<arith::SIToFPOp, arith::UIToFPOp>(user))
        return true;
      for (Value result : user->getResults())
        if (getElementTypeOrSelf(result).isIntOrIndex() &&
            loop->isProperAncestor(user))
          indices.insert(result);
    }
  return false;
}

struct TileDescendBlocks : impl::TileDescendBlocksBase<TileDescendBlocks> {
  using TileDescendBlocksBase::TileDescendBlocksBase;

  void runOnOperation() override {
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop->hasAttr("tile.axis") && loop->hasAttr("tile.blocks") &&
          !loop->hasAttr("tile.in_order") && !isChained(loop) &&
          (all || usesPosition(loop)))
        loop->setAttr("tile.descending", UnitAttr::get(loop.getContext()));
    });
  }
};

} // namespace
} // namespace attentile
