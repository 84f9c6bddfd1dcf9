//===- TileInterpreterTest.cpp - the interpreter against plain loops ------===//
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

TEST(TileInterpreter, unfusedCausalIsAttention) {
  int64_t M = 19, N = 13, D = 8; // rows 0 to 5 see nothing
  TileFile file("Loops/Inputs/unfused-causal.mlir");
  ASSERT_TRUE(file);
  auto values = file.draw({{"B", 1}, {"M", M}, {"N", N}}, /*seed=*/1);
  values["scale"].data = {0.5};
  BlockCounts counts;
  ASSERT_TRUE(interpret(file.program(), values, &counts));
  EXPECT_EQ(counts.computed, 2 * 3 * 2); // row tiles, loops, key tiles

  auto at = [&](const char *name, int64_t i, int64_t j) {
    return values[name].data[i * D + j];
  };
  for (int64_t m = 0; m < M; ++m) {
    std::vector<double> p(N, 0), o(D, 0);
    double l = 0;
    for (int64_t n = 0; n <= m + N - M; ++n) {
      double s = 0;
      for (int64_t d = 0; d < D; ++d)
        s += at("Q", m, d) * at("K", n, d);
      l += p[n] = std::exp(0.5 * s);
      for (int64_t e = 0; e < D; ++e)
        o[e] += p[n] * at("V", n, e);
    }
    for (int64_t e = 0; e < D; ++e)
      EXPECT_NEAR(at("O", m, e), l == 0 ? 0 : o[e] / l, 1e-12);
    double lse = values["L"].data[m];
    if (l == 0)
      EXPECT_EQ(lse, -INFINITY);
    else
      EXPECT_NEAR(lse, std::log(l), 1e-12);
  }
}

} // namespace
