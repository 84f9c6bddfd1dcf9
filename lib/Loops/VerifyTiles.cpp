//===- VerifyTiles.cpp - what must hold of the tile level -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: fails if an operation of index notation is left, or a loop names no
// axis. Expects: tile.program. Leaves: everything as it is.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "attentile/Loops/Passes.h"

namespace attentile {
#define GEN_PASS_DEF_TILEVERIFY
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

struct TileVerify : impl::TileVerifyBase<TileVerify> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (isa<attn::KernelOp, attn::GridOp, attn::ReadOp, attn::WriteOp,
              attn::ReduceOp, attn::SoftmaxOp, attn::LogSumExpOp,
              attn::MaterializeOp>(op)) {
        op->emitOpError("expected to be lowered to tiles");
        return WalkResult::interrupt();
      }
      if (isa<scf::ForOp>(op) && !op->hasAttr("tile.axis") &&
          !op->hasAttr("tile.slices")) {
        op->emitOpError("expected 'tile.axis' on a loop over tiles");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace attentile
