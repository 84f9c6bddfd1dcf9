//===- UnrollCollections.cpp - many classes of blocks at once -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: unrolls the loop that puts a row's needed blocks into a list. Its
//   iterations hand on counts and wait for nothing else but the class that each
//   loads; unrolled, so many are asked for before the first is waited for.
// Expects: registers, no fragments; loops with tile.to_list.
// Leaves: a loop of whole steps and one of single blocks behind it.
// Does not handle: loops that judge blocks, which have branches inside.
//
//===----------------------------------------------------------------------===//

#include "ArithmeticSlice.h"
#include "Warp/Warp.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"

namespace attentile {
#define GEN_PASS_DEF_WARPUNROLLCOLLECTIONS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Of 256 blocks a warp waits 16 times: 0.1 us a block becomes 0.03. A wait is
/// some 300 clocks, 16 blocks take as many instructions.
constexpr uint64_t kBlocksAtOnce = 16;

/// Moves the loads of a body, with what their addresses take, to its start.
void loadFirst(Block &body) {
  llvm::SetVector<Operation *> slice;
  for (auto load : body.getOps<warp::LoadOp>()) {
    llvm::SetVector<Operation *> more = slice;
    if (collectArithmetic(load, more))
      slice = std::move(more);
  }
  moveToStart(body, slice);
}

struct WarpUnrollCollections
    : impl::WarpUnrollCollectionsBase<WarpUnrollCollections> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      bool isPlain =
          llvm::all_of(loop.getBody()->without_terminator(),
                       [](Operation &op) { return op.getNumRegions() == 0; });
      if (loop->hasAttr("tile.to_list") && loop.getNumRegionIterArgs() != 0 &&
          isPlain)
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      FailureOr<UnrolledLoopInfo> unrolled =
          loopUnrollByFactor(loop, kBlocksAtOnce);
      if (failed(unrolled))
        return signalPassFailure();
      if (unrolled->mainLoopOp)
        loadFirst(*unrolled->mainLoopOp->getBody());
    }
  }
};

} // namespace
} // namespace attentile
