//===- GuardSoftmaxTest.cpp - stale references mean the same --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The guarded and peeled program against the unfused one: on the formulas of
// the other tests, and on scores that are made to move the references, to hide
// rows, and to reach the limits of types.
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"
#include "TileTesting.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace attentile;
using namespace attentile::test;

namespace {

const double inf = std::numeric_limits<double>::infinity();

const char *const toTiles = "attn-lower-softmax,"
                            "attn-form-grids{tile-sizes=n=8},"
                            "attn-to-tile{tile-sizes=m=16,n=8}";

/// All of the loop stage, with the guard's threshold.
std::string guarded(int threshold = 15, bool fold = true, bool join = true) {
  std::string clean = "canonicalize,cse,";
  return std::string(toTiles) + "," + clean + "tile-fuse-online-softmax," +
         clean + "tile-skip-masked-blocks," + clean +
         (fold ? "tile-fold-exp2," + clean : "") + "tile-peel-tails," + clean +
         (join ? "tile-join-loops," + clean : "") +
         "tile-guard-softmax{threshold=" + std::to_string(threshold) + "}," +
         clean + "loop-invariant-code-motion";
}

int guardsOf(tile::ProgramOp program) {
  int guards = 0;
  program.walk([&](mlir::scf::IfOp branch) {
    guards += mlir::isa<mlir::BlockArgument>(branch.getCondition());
  });
  return guards;
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

class GuardedFormulas : public testing::TestWithParam<int> {};

TEST_P(GuardedFormulas, keepTheirMeaning) {
  const Formula &formula = formulas()[GetParam()];
  SCOPED_TRACE(formula.name);
  TileFile before = TileFile::fromSource(kernelSource(formula.body));
  ASSERT_TRUE(before && before.run(toTiles));
  const std::map<std::string, int64_t> sizes[] = {
      {{"B", 1}, {"M", 35}, {"N", 61}},
      {{"B", 1}, {"M", 17}, {"N", 48}},
      {{"B", 1}, {"M", 3}, {"N", 0}}};
  for (auto [fold, join] :
       {std::pair(true, true), {true, false}, {false, true}}) {
    TileFile after = TileFile::fromSource(kernelSource(formula.body));
    ASSERT_TRUE(after.run(guarded(15, fold, join)));
    for (const auto &size : sizes)
      for (double scale : {0.4, -0.7, 60.0}) {
        if (formula.log && scale > 1)
          continue; // the log of what underflows differs by design
        Values expected = before.draw(size, /*seed=*/7);
        expected["w"].data = {5};
        expected["scale"].data = {scale};
        // The later keys, the larger: references move.
        for (size_t i = 0; i < expected["K"].data.size(); ++i)
          expected["K"].data[i] *= formula.log ? 1 : 1 + double(i) / 64;
        Values got = expected;
        ASSERT_TRUE(interpret(before.program(), expected));
        ASSERT_TRUE(interpret(after.program(), got));
        for (const char *out : {"O", "L"})
          EXPECT_LT(difference(got[out], expected[out]), 1e-9)
              << out << ", N " << size.at("N") << ", scale " << scale
              << ", folded " << fold << ", joined " << join;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GuardedFormulas,
                         testing::Range(0, int(formulas().size())));

TEST(GuardSoftmax, guardsWhereReferencesAreOnlyThat) {
  for (auto [name, guards] : {std::pair{"plain", 1},
                              {"causal", 1},
                              {"window", 1},
                              {"alibi", 1},
                              {"soft cap", 1},
                              {"two softmaxes", 1},
                              {"sums over one p", 1},
                              {"power", 1},
                              {"two axes", 1},
                              {"sigmoid of s", 0},
                              {"linear", 0},
                              {"max beside", 0}}) {
    auto formula = llvm::find_if(formulas(), [&](const Formula &f) {
      return f.name == llvm::StringRef(name);
    });
    TileFile file = TileFile::fromSource(kernelSource(formula->body));
    ASSERT_TRUE(file.run(guarded()));
    EXPECT_EQ(guardsOf(file.program()), guards) << name;
  }
}

//===----------------------------------------------------------------------===//
// Scores of one's choice
//===----------------------------------------------------------------------===//

/// One softmax of given scores X, with products of type `type`, p to a power.
std::string scoresKernel(const std::string &type = "f32",
                         const std::string &p = "p") {
  return "kernel f(X: f32[B, M, N], V: " + type +
         "[B, N, D])\n    -> (O: f32[B, M, D], L: f32[B, M])\n{\n"
         "  let p = softmax[n](X[b, m, n]);\n"
         "  O[b, m, d] = sum[n](" +
         p +
         " * V[b, n, d]);\n"
         "  L[b, m] = logsumexp[n](X[b, m, n]);\n}\n";
}

using Scores = std::function<double(int64_t m, int64_t n)>;

class ScoresTest : public testing::Test {
protected:
  const std::map<std::string, int64_t> sizes{{"B", 1}, {"M", 40}, {"N", 130}};

  Values draw(TileFile &file, const Scores &scores, double v = 1) {
    Values values = file.draw(sizes, /*seed=*/3);
    for (int64_t m = 0; m < 40; ++m)
      for (int64_t n = 0; n < 130; ++n)
        values["X"].data[m * 130 + n] =
            float(scores(m, n) + values["X"].data[m * 130 + n]);
    for (double &element : values["V"].data)
      element *= v;
    return values;
  }

  /// The greatest difference of O and L to the unfused program in float64.
  double error(const std::string &source, const Scores &scores,
               Rounding rounding = Rounding::None, double v = 1,
               int threshold = 15, BlockCounts *counts = nullptr) {
    TileFile before = TileFile::fromSource(source);
    TileFile after = TileFile::fromSource(source);
    if (!before || !before.run(toTiles) || !after.run(guarded(threshold)) ||
        guardsOf(after.program()) != 1)
      return inf;
    if (damage)
      damage(after.program());
    Values expected = draw(before, scores, v), got = expected;
    if (!interpret(before.program(), expected) ||
        !interpret(after.program(), got, counts, rounding))
      return inf;
    for (Values *values : {&expected, &got})
      for (double &element : (*values)["O"].data)
        element /= v;
    return std::max(difference(got["O"], expected["O"]),
                    difference(got["L"], expected["L"]));
  }

  std::function<void(tile::ProgramOp)> damage;
};

TEST_F(ScoresTest, moveInAnyWay) {
  const std::pair<const char *, Scores> cases[] = {
      {"still", [](auto, auto) { return 0; }},
      {"grow a little", [](auto, auto n) { return 0.3 * n; }},
      {"grow beyond the threshold", [](auto, auto n) { return 3.0 * n; }},
      {"fall", [](auto, auto n) { return -3.0 * n; }},
      {"jump", [](auto m, auto n) { return n > 20 + m ? 40.0 : 0.0; }},
      {"jump and fall",
       [](auto m, auto n) { return n / 8 % 3 == m % 3 ? 60.0 : 0.0; }},
      {"large", [](auto m, auto n) { return 1e4 * std::sin(m + 3 * n); }},
      {"one outlier",
       [](auto m, auto n) { return n == 77 && m == 5 ? 1e5 : 0.0; }},
      {"far below 0", [](auto, auto) { return -1e4; }},
      {"nothing in some rows",
       [](auto m, auto) { return m % 5 == 2 ? -inf : 0.0; }},
      {"first blocks hidden",
       [](auto m, auto n) { return n < 8 + m && m % 2 ? -inf : -270.0; }},
      {"all hidden by turns",
       [](auto m, auto n) { return (n / 8 + m) % 2 ? -inf : 0.5 * n; }},
      {"a NaN", [](auto m, auto n) { return m == 7 && n == 50 ? NAN : 0.0; }},
      {"a NaN first",
       [](auto m, auto n) { return m == 7 && n == 0 ? NAN : 0.0; }},
      {"infinite",
       [](auto m, auto n) { return m == 7 && n == 50 ? inf : 0.0; }}};
  for (auto &[name, scores] : cases) {
    EXPECT_LT(error(scoresKernel(), scores), 1e-9) << name;
    EXPECT_LT(error(scoresKernel(), scores, Rounding::Single), 2e-5) << name;
  }
}

TEST_F(ScoresTest, countFastBlocks) {
  // Three tiles of rows, 16 whole blocks each and one of the last two keys.
  BlockCounts still, steep;
  error(
      scoresKernel(), [](auto, auto) { return 0; }, Rounding::None, 1, 15,
      &still);
  EXPECT_EQ(still.guarded, 3 * 17);
  EXPECT_EQ(still.fast, 3 * 16); // all but the first of each
  EXPECT_EQ(still.mixed, 3 * 17);
  EXPECT_EQ(still.partial, 0);
  error(
      scoresKernel(), [](auto, auto n) { return 4.0 * n; }, Rounding::None, 1,
      15, &steep);
  EXPECT_EQ(steep.fast, 0);
  EXPECT_EQ(steep.tried, 3); // once, then no more
}

/// Over two axes a row of keys goes on with what the one before it has found.
TEST(GuardSoftmax, loopsAroundCarryTheFlag) {
  TileFile file = TileFile::fromSource(
      "kernel f(X: f32[B, M, K, N], V: f32[B, K, N, D]) -> (O: f32[B, M, D])\n"
      "{\n  O[b, m, d] = sum[k, n](softmax[k, n](X[b, m, k, n]) * V[b, k, n, "
      "d]);\n}\n");
  ASSERT_TRUE(file.run(guarded()));
  ASSERT_EQ(guardsOf(file.program()), 1);
  Values values =
      file.draw({{"B", 1}, {"M", 40}, {"K", 5}, {"N", 16}}, /*seed=*/3);
  BlockCounts counts;
  ASSERT_TRUE(interpret(file.program(), values, &counts));
  // Three tiles of rows, five rows of keys, two blocks each.
  EXPECT_EQ(counts.guarded, 3 * 5 * 2);
  EXPECT_EQ(counts.fast, 3 * (5 * 2 - 1)); // all but the first of each tile
}

/// A calm that does not ask for references.
void forgetHidden(tile::ProgramOp program) {
  program.walk([](tile::VoteOp vote) {
    auto both = vote.getOperand().getDefiningOp<mlir::arith::AndIOp>();
    if (both)
      both.replaceAllUsesWith(both.getLhs());
  });
}

/// A row without a reference votes no by itself; calm asks so that blocks are
/// not computed twice.
TEST_F(ScoresTest, hiddenRowsNeedAReference) {
  Scores scores = [](auto m, auto n) {
    return n < 24 && m % 2 ? -inf : -270.0;
  };
  BlockCounts asked, notAsked;
  EXPECT_LT(error(scoresKernel(), scores, Rounding::Single, 1, 15, &asked),
            1e-5);
  damage = forgetHidden;
  EXPECT_LT(error(scoresKernel(), scores, Rounding::Single, 1, 15, &notAsked),
            1e-5);
  EXPECT_LT(asked.tried, notAsked.tried);
}

//===----------------------------------------------------------------------===//
// Limits of types
//===----------------------------------------------------------------------===//

TEST_F(ScoresTest, sumsStayFinite) {
  // Sums reach the threshold, times values near 1e25.
  Scores scores = [](auto, auto n) { return n / 8 * 5.0; };
  Scores higher = [](auto, auto n) { return n / 8 * 8.0; };
  EXPECT_LT(error(scoresKernel(), scores, Rounding::Single, 1e25), 1e-5);
  EXPECT_LT(error(scoresKernel("bf16"), scores, Rounding::Narrow, 1e25), 2e-2);
  EXPECT_LT(error(scoresKernel(), higher, Rounding::Single, 1e25), 1e-5);
  EXPECT_EQ(error(scoresKernel(), higher, Rounding::Single, 1e25,
                  /*threshold=*/60),
            inf);
}

TEST_F(ScoresTest, f16HoldsExponentials) {
  for (double step : {0.5, 1.0, 4.0, 9.0, 10.2}) {
    Scores scores = [&](auto, auto n) { return n / 8 * step; };
    // Also where more is asked for than f16 holds, and of a square.
    for (int threshold : {15, 40})
      EXPECT_LT(
          error(scoresKernel("f16"), scores, Rounding::Narrow, 1, threshold),
          4e-3)
          << step;
    EXPECT_LT(error(scoresKernel("f16", "p * p"), scores, Rounding::Narrow),
              4e-3)
        << step;
  }
}

} // namespace
