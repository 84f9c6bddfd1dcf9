//===- EnterLoops.cpp - what a loop starts from, where it starts ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: puts a loop over blocks that carries accumulators into a branch on
//   whether it runs at all.
// Expects: functions with scf's loops.
// Leaves: the values of a loop that does not run to the other side, which is
//   not taken in any program that has a block to compute.
// Does not handle: loops that are known to run.
//
//===----------------------------------------------------------------------===//
//
// A loop that may not run has two ways to what is behind it, and ptxas writes a
// hundred zeros before it tells them apart, then again for the loop.

#include "KernelLowering.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attentile {
#define GEN_PASS_DEF_NVVMENTERLOOPS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// A loop that carries fewer values than this starts from a few instructions.
constexpr unsigned kFewValues = 16;

/// LLVM folds a bound that is held within limits into the branch's comparison,
/// and does not see then that the loop's own, which it turns later, is the
/// same. It knows nothing of a number that assembly moves.
void hideLimits(scf::ForOp loop) {
  if (!isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(
          loop.getUpperBound().getDefiningOp()))
    return;
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Value bound =
      arith::IndexCastOp::create(b, loc, b.getI64Type(), loop.getUpperBound());
  Value hidden = nvvm::Emitter(b, loc)
                     .ptx("mov.b64 $0, $1;", "=l,l", bound.getType(), bound)
                     .front();
  loop.setUpperBound(
      arith::IndexCastOp::create(b, loc, b.getIndexType(), hidden));
}

void enter(scf::ForOp loop) {
  hideLimits(loop);
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Value runs =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                            loop.getLowerBound(), loop.getUpperBound());
  auto branch = scf::IfOp::create(b, loc, loop.getResultTypes(), runs,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  loop.replaceAllUsesWith(branch.getResults());
  b.setInsertionPointToStart(branch.thenBlock());
  loop->moveBefore(scf::YieldOp::create(b, loc, loop.getResults()));
  b.setInsertionPointToStart(branch.elseBlock());
  // No instruction, but LLVM keeps its place apart.
  nvvm::Emitter(b, loc).ptx("//", "", {}, {}, /*sideEffects=*/true);
  scf::YieldOp::create(b, loc, loop.getInitArgs());
}

struct NVVMEnterLoops : impl::NVVMEnterLoopsBase<NVVMEnterLoops> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop->hasAttr("tile.axis") && loop.getNumResults() >= kFewValues)
        loops.push_back(loop);
    });
    llvm::for_each(loops, enter);
  }
};

} // namespace
} // namespace attentile
