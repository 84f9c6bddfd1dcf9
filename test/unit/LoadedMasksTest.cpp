//===- LoadedMasksTest.cpp - masks of what rows and columns load ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Documents whose rows, of a warp, and columns, of a block, are one, several or
// all apart, thread by thread: compared at once, by rows, by columns (truths of
// lanes exchanged by ballots) or pair by pair.
//
//===----------------------------------------------------------------------===//

#include "Warp/Warp.h"
#include "WarpTesting.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace attentile;
using namespace attentile::test;

namespace {

/// 16 rows a warp.
KernelCase documents(std::function<double(int64_t)> documentOf,
                     const char *tiles) {
  KernelCase run{"10-packed-documents", "bf16", 16, 16, tiles};
  run.elements["doc"] = std::move(documentOf);
  run.warps = 4;
  run.guard = run.hidden = run.lists = true;
  run.behind = ",warp-pipeline-copies{stages=2 mbarriers},warp-skip-hidden,"
               "warp-allocate-shared,warp-narrow-barriers";
  return run;
}

const char *const kTiles[] = {"tile-sizes=m=64,n=64", "tile-sizes=m=64,n=48",
                              "tile-sizes=m=64,n=16"};

TEST(LoadedMasks, columnsOfSeveralDocuments) {
  for (const char *tiles : kTiles) {
    // Rows of a warp are one document: the columns' truths differ in every
    // register, lane and word.
    for (int64_t period : {2, 3, 5})
      expectSame(documents(
          [=](int64_t i) {
            return i < 16 ? double(i * i % period == 1) : double(i / 16 % 2);
          },
          tiles));
  }
}

TEST(LoadedMasks, rowsOfSeveralDocuments) {
  for (const char *tiles : kTiles) {
    expectSame(documents([](int64_t i) { return double(i / 7); }, tiles));
    expectSame(documents([](int64_t i) { return double(i * 7 % 5); }, tiles));
    // Columns of one, rows of two.
    expectSame(documents([](int64_t i) { return double(i > 70); }, tiles));
  }
}

/// How often a kernel asks all lanes of a warp at once, once compiled.
int64_t countBallots(const KernelCase &run) {
  TileFile file = compile(run);
  EXPECT_TRUE(file.run(format(format(kToWarps, ""), "")));
  int64_t ballots = 0;
  file.getModule().walk([&](warp::BallotOp) { ++ballots; });
  return ballots;
}

TEST(LoadedMasks, columnsAlone) {
  KernelCase run{"../test/Execution/Inputs/visible-keys", "f32", 16, 16,
                 "tile-sizes=m=64,n=64"};
  run.elements["lens"] = [](int64_t) { return 91; };
  for (int64_t period : {2, 3, 11}) {
    run.elements["keep"] = [=](int64_t i) { return double(i % period == 0); };
    expectSame(run);
  }
  // In the loops over full and partial blocks.
  EXPECT_EQ(countBallots(run), 4);
}

/// Two loads and ballots for 64 columns, not 16 loads.
TEST(LoadedMasks, exchangesTruths) {
  EXPECT_EQ(countBallots(documents([](int64_t) { return 0; }, kTiles[0])), 2);
}

} // namespace
