//===- PipelineCopiesTest.cpp - what warps wait for -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warp/Warp.h"
#include "WarpTesting.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace attentile;
using namespace attentile::test;

namespace {

/// Without any of the operations that `find` gives, the interpreter finds a
/// race or a copy on its way; returns how many there are.
size_t
expectAllNeeded(const KernelCase &run,
                llvm::function_ref<SmallVector<Operation *>(ModuleOp)> find) {
  for (size_t number = 0;; ++number) {
    TileFile file = compile(run);
    Values values = drawRounded(file, run.D);
    EXPECT_TRUE(file.run(format(format(kToWarps, ""), "") + run.behind));
    SmallVector<Operation *> found = find(file.getModule());
    if (number >= found.size())
      return found.size();
    found[number]->erase();
    ScopedDiagnosticHandler quiet(file.getModule().getContext(),
                                  [](Diagnostic &) { return success(); });
    EXPECT_FALSE(interpretWarps(file.program(), values)) << number;
  }
}

/// Every barrier, arrival and wait of the loop is needed.
TEST(PipelineCopies, nothingToSpare) {
  auto find = [](ModuleOp module) {
    SmallVector<Operation *> syncs;
    module.walk([&](scf::ForOp loop) {
      for (Operation &op : *loop.getBody())
        if (isa<warp::BarrierOp, warp::WaitGroupOp, warp::WaitPhaseOp,
                warp::ArriveOp, warp::ArriveCopiesOp>(op))
          syncs.push_back(&op);
    });
    return syncs;
  };
  KernelCase run{"02-causal", "bf16", 16, 16, "tile-sizes=m=64,n=16"};
  EXPECT_EQ(expectAllNeeded(run, find), 8u); // two loops, two points each
  run.guard = true;
  run.behind = ",warp-pipeline-copies{stages=2 mbarriers},warp-allocate-shared";
  EXPECT_EQ(expectAllNeeded(run, find), 6u);
}

/// Warps that leave a block out still do what others wait for, each of which is
/// needed: two arrivals, an arrival of copies, and the wait before these.
TEST(SkipHidden, nothingToSpare) {
  KernelCase run{"02-causal", "bf16", 16, 16, "tile-sizes=m=64,n=16"};
  run.guard = run.hidden = true;
  run.behind = ",warp-pipeline-copies{stages=2 mbarriers},warp-skip-hidden,"
               "warp-allocate-shared";
  auto find = [](ModuleOp module) {
    SmallVector<Operation *> syncs;
    module.walk([&](scf::IfOp branch) {
      // The side of those that leave it out has no product.
      if (branch.elseBlock() &&
          !branch.elseBlock()->getOps<warp::MmaOp>().empty())
        for (Operation &op : *branch.thenBlock())
          if (isa<warp::WaitPhaseOp, warp::ArriveOp, warp::ArriveCopiesOp>(op))
            syncs.push_back(&op);
    });
    return syncs;
  };
  EXPECT_EQ(expectAllNeeded(run, find), 4u);
}

/// A kernel that may start early waits before it accesses memory.
TEST(DependentLaunch, nothingToSpare) {
  KernelCase run{"10-packed-documents", "bf16", 16, 16, "tile-sizes=m=64,n=16"};
  run.behind = ",warp-pipeline-copies{stages=2 mbarriers},warp-allocate-shared,"
               "warp-dependent-launch";
  auto find = [](ModuleOp module) {
    SmallVector<Operation *> waits;
    module.walk([&](NVVM::GriddepcontrolOp op) {
      if (op.getKind() == NVVM::GridDepActionKind::wait)
        waits.push_back(op);
    });
    return waits;
  };
  EXPECT_EQ(expectAllNeeded(run, find), 1u);
}

/// All masks, with rows and blocks of which some warps see nothing.
TEST(SkipHidden, sameResults) {
  for (const char *example :
       {"02-causal", "03-sliding-window", "04-alibi", "09-prefix-lm",
        "10-packed-documents", "12-neighbourhood", "19-dropout"})
    for (const char *type : {"bf16", "f32"}) {
      KernelCase run{example, type, 16, 32, "tile-sizes=m=64,n=16"};
      run.guard = run.hidden = true;
      run.behind = ",warp-pipeline-copies{stages=2 mbarriers},warp-skip-hidden,"
                   "warp-allocate-shared,warp-narrow-barriers";
      expectSame(run);
    }
}

} // namespace
