//===- SinkRandom.cpp - random calls in the branches that use them --------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: makes a call of the random generator, and the masks of its words, in
//   each branch that uses them instead of before all: between the exponentials
//   of the guard's fast step its multiplications wait for nothing, and the
//   words of other rows take no registers.
// Expects: registers, no fragments; one call for the elements that share it
//   (warp-share-random).
// Leaves: calls that the block around uses itself.
// Does not handle: other values.
//
//===----------------------------------------------------------------------===//

#include "Attn/Attn.h"
#include "Warp/Warp.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace attentile {
#define GEN_PASS_DEF_WARPSINKRANDOM
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

bool isOfRandom(Operation *op) {
  return isa<attn::PhiloxOp>(op) ||
         (isa<arith::AndIOp>(op) &&
          op->getOperand(0).getDefiningOp<attn::PhiloxOp>());
}

/// The block of a branch, directly inside of `op`'s, that the user stands in,
/// and what it stands in there; null if it is in no branch.
Operation *placeInBranch(Operation *op, Operation *user) {
  while (user->getParentOp() != op->getParentOp()) {
    Operation *parent = user->getParentOp();
    if (parent->getBlock() == op->getBlock())
      return isa<scf::IfOp>(parent) ? user : nullptr;
    user = parent;
  }
  return nullptr;
}

void sink(Operation *op) {
  // The first place of use in each branch's block.
  llvm::MapVector<Block *, Operation *> places;
  for (Operation *user : op->getUsers()) {
    Operation *place = placeInBranch(op, user);
    if (!place)
      return;
    Operation *&first = places[place->getBlock()];
    if (!first || place->isBeforeInBlock(first))
      first = place;
  }
  for (auto [block, place] : places) {
    Operation *own = OpBuilder(place).clone(*op);
    Region *region = block->getParent();
    op->replaceUsesWithIf(own->getResults(), [&](OpOperand &use) {
      return region->isAncestor(use.getOwner()->getParentRegion());
    });
  }
  op->erase();
}

struct WarpSinkRandom : impl::WarpSinkRandomBase<WarpSinkRandom> {
  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation()->walk([&](Operation *op) {
      if (isOfRandom(op))
        found.push_back(op);
    });
    // What uses a call goes before it.
    for (Operation *op : llvm::reverse(found))
      sink(op);
  }
};

} // namespace
} // namespace attentile
