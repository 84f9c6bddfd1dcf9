//===- VerifyTiles.cpp - what must hold of the tile level -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: fails if an operation of index notation is left, a loop names no axis,
// or an operation is not as its verifier wants it. Expects: tile.program.
// Leaves: everything as it is.
//
//===----------------------------------------------------------------------===//
//
// Passes are verified one by one only where assertions are: what a pass got
// wrong may be gone, and a result with it, before the last one has run.
//

#include "Tile/Tile.h"
#include "attentile/Loops/Passes.h"
#include "mlir/IR/Verifier.h"

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
    if (result.wasInterrupted() || failed(verify(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace attentile
