//===- FuseOnlineSoftmaxTest.cpp - the fused program means the same -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace attentile;
using namespace attentile::test;

namespace {

const char *const pipelines[] = {
    "tile-fuse-online-softmax",
    "tile-fuse-online-softmax{normalize=each-step}",
    "canonicalize,cse,loop-invariant-code-motion,tile-fuse-online-softmax,cse",
};

/// Sizes, tile multiples and not; rows that see nothing; nothing at all.
const std::map<std::string, int64_t> sizes[] = {
    {{"B", 2}, {"M", 33}, {"N", 50}}, {{"B", 1}, {"M", 50}, {"N", 33}},
    {{"B", 1}, {"M", 16}, {"N", 16}}, {{"B", 1}, {"M", 1}, {"N", 70}},
    {{"B", 1}, {"M", 1}, {"N", 1}},   {{"B", 1}, {"M", 40}, {"N", 0}}};

TEST(FuseOnlineSoftmax, causalKeepsItsMeaning) {
  for (const char *pipeline : pipelines) {
    TileFile before("Loops/Inputs/unfused-causal.mlir");
    TileFile after("Loops/Inputs/unfused-causal.mlir");
    ASSERT_TRUE(after.run(pipeline));
    for (const auto &size : sizes)
      for (double scale : {0.3, 3000.0, -0.5, -3000.0}) {
        Values values = before.draw(size, /*seed=*/7);
        values["scale"].data = {scale};
        Values fused = values;
        BlockCounts counts;
        ASSERT_TRUE(interpret(before.program(), values));
        ASSERT_TRUE(interpret(after.program(), fused, &counts));
        int64_t rows = (size.at("M") + 15) / 16, tiles = (size.at("N") + 7) / 8;
        EXPECT_EQ(counts.computed, size.at("B") * rows * tiles);
        for (const char *out : {"O", "L"})
          EXPECT_LT(difference(fused[out], values[out]), 1e-10)
              << pipeline << " M=" << size.at("M") << " scale=" << scale;
      }
  }
}

} // namespace
