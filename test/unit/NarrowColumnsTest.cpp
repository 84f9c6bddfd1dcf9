//===- NarrowColumnsTest.cpp - fewer columns of a block -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warps that compute 48 columns of 64, always or where these are all that they
// see, thread by thread.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "Warp/Warp.h"
#include "WarpTesting.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace attentile;
using namespace attentile::test;

namespace {

KernelCase neighbourhood(int64_t width, int64_t radius, bool known) {
  KernelCase run{"12-neighbourhood", "bf16", 16, 16, "tile-sizes=m=64,n=64"};
  run.scalars = {{"width", width}, {"radius", radius}};
  run.known = known;
  run.warps = 4;
  run.guard = run.hidden = true;
  run.behind = ",warp-pipeline-copies{stages=2 mbarriers},warp-skip-hidden,"
               "warp-take-either,warp-allocate-shared,warp-narrow-barriers";
  return run;
}

/// The matrix instructions of each way through a loop's iteration.
SmallVector<int64_t> countProducts(const KernelCase &run) {
  TileFile file = compile(run);
  EXPECT_TRUE(file.run(format(format(kToWarps, run.partition), run.decisions) +
                       run.behind));
  SmallVector<int64_t> counts;
  file.getModule().walk([&](Block *block) {
    if (int64_t count = llvm::range_size(block->getOps<warp::MmaOp>()))
      counts.push_back(count);
  });
  return counts;
}

/// 16 rows a warp, 16 columns and 16 sums: a step of 16 by 8 each.
TEST(NarrowColumns, ways) {
  EXPECT_EQ(countProducts(neighbourhood(64, 7, true)),
            (SmallVector<int64_t>{6 + 6}));
  EXPECT_EQ(countProducts(neighbourhood(64, 7, false)),
            (SmallVector<int64_t>{6 + 6, 8 + 8}));
  EXPECT_EQ(countProducts(neighbourhood(64, 40, true)),
            (SmallVector<int64_t>{8 + 8}));
}

TEST(NarrowColumns, sameResults) {
  for (int64_t width : {64, 48, 16, 1})
    for (int64_t radius : {0, 7, 20})
      for (bool known : {true, false}) {
        SCOPED_TRACE(std::to_string(width) + " " + std::to_string(radius) +
                     (known ? " known" : ""));
        expectSame(neighbourhood(width, radius, known));
      }
}

/// Keys that lie along a row of values: a part of each row is read.
TEST(NarrowColumns, partsOfRows) {
  KernelCase run = neighbourhood(64, 7, false);
  run.example = "../test/unit/Inputs/columns-of-keys";
  run.type = "f16";
  run.E = 1;
  expectSame(run);
}

} // namespace
