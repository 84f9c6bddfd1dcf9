//===- SkipMaskedBlocksTest.cpp - bounds against brute force --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For masks whose sets are exact the counts must be the least possible
// (MaskedLoopTesting.h judges each program).
//
//===----------------------------------------------------------------------===//

#include "MaskedLoopTesting.h"
#include "TileTesting.h"
#include "gtest/gtest.h"

using namespace attentile;
using namespace attentile::test;

namespace {

TEST(SkipMaskedBlocks, causalAt4096) {
  Counts counts = check(causal(), {4096, 4096, 128, 128}, {});
  EXPECT_EQ(counts.total, 1024);
  EXPECT_EQ(counts.computed, 528);
  EXPECT_EQ(counts.computed - counts.full, 32);
}

struct Known {
  const char *name;
  Expr mask;
  MaskInputs inputs;
  int64_t computed, full;
};

// What the rules find of 512 blocks; needed and unmasked are the same.
TEST(SkipMaskedBlocks, closedForms) {
  auto quotient = [](Expr x) { return x / scalar("c"); };
  const Known table[] = {
      {"causal", causal(), {}, 272, 240},
      {"window before", window(512), {}, 140, 84},
      {"window after", all(ge(n(), m()), lt(n(), m() + 512)), {}, 140, 84},
      {"negated or", no(any(gt(n(), m()), le(n(), m() - 512))), {}, 140, 84},
      {"equal quotients",
       all(eq(quotient(m()), quotient(n())), causal()),
       {{{"c", 512}}, {}, {}},
       80,
       48},
      {"near quotients",
       all(le(m() / 64 - n() / 64, 1), ge(m() / 64 - n() / 64, 0)),
       {},
       47,
       16},
      {"slope", le(n() * 3, m() * 2 + 5), {}, 192, 155},
      {"far and causal", all(gt(abs(m() - n()), 256), causal()), {}, 210, 182},
      {"leading keys or window", any(lt(n(), 4), window(512)), {}, 151, 84},
  };
  for (const Known &known : table) {
    SCOPED_TRACE(known.name);
    Counts counts = check(known.mask, kLarge, known.inputs);
    EXPECT_EQ(counts.total, 512);
    EXPECT_EQ(counts.computed, counts.needed);
    EXPECT_EQ(counts.computed, known.computed);
    EXPECT_EQ(counts.full, counts.unmasked);
    EXPECT_EQ(counts.full, known.full);
  }
}

TEST(SkipMaskedBlocks, causalWithShift) {
  std::vector<Sizes> all = kOddSizes;
  all.push_back({1536, 2048, 128, 64});
  all.push_back({2048, 1024, 128, 64}); // the first rows see nothing
  for (const Sizes &sizes : all)
    expectLeast(le(n(), m() + scalar("shift")), sizes,
                {{{"shift", sizes.keys - sizes.rows}}, {}, {}});
}

TEST(SkipMaskedBlocks, windowsOfAnyWidth) {
  constexpr int64_t kHuge = int64_t(1) << 62;
  for (int64_t width :
       {int64_t(0), int64_t(1), int64_t(7), int64_t(16), int64_t(40),
        int64_t(-3), kHuge, -kHuge, std::numeric_limits<int64_t>::max() - 64})
    for (const Sizes &sizes : kOddSizes) {
      MaskInputs inputs{{{"w", width}}, {}, {}};
      expectLeast(lt(m() - n(), scalar("w")), sizes, inputs);
      Counts oneSided = check(window(scalar("w")), sizes, inputs);
      Counts twoSided = check(le(abs(m() - n()), scalar("w")), sizes, inputs);
      // That n <= m and n > m + 3 exclude each other is seen for each row, not
      // for a tile of rows.
      if (width < 1)
        continue;
      EXPECT_EQ(oneSided.computed, oneSided.needed);
      EXPECT_EQ(twoSided.computed, twoSided.needed);
      EXPECT_EQ(oneSided.full, oneSided.unmasked);
      EXPECT_EQ(twoSided.full, twoSided.unmasked);
    }
}

// Two scalars that may be anything are added in more than 64 bits.
TEST(SkipMaskedBlocks, hugeScalars) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  for (auto [a, b] : {std::pair(kHuge, kHuge - 5), std::pair(kHuge - 9, kHuge),
                      std::pair(int64_t(5), kHuge), std::pair(-kHuge, -kHuge)})
    for (const Sizes &sizes : kOddSizes)
      check(le(n() + scalar("from") - scalar("by"), m()), sizes,
            {{{"from", a}, {"by", b}}, {}, {}});
}

TEST(SkipMaskedBlocks, lengthsAndPrefixes) {
  std::vector<Sizes> all = kOddSizes;
  all.push_back(kLarge);
  for (const Sizes &sizes : all) {
    std::vector<int64_t> batches = {0, sizes.keys / 3, sizes.keys + 5};
    MaskInputs inputs{{{"a", sizes.rows / 2}}, {}, {{"prefix", batches}}};
    expectLeast(any(lt(n(), perBatch("prefix")), causal()), sizes, inputs, 3);
    expectLeast(lt(n(), perBatch("prefix")), sizes, inputs, 3);
    std::vector<int64_t> last(sizes.rows);
    for (int64_t m = 0; m < sizes.rows; ++m)
      last[m] = m * 37 % 23 + m / 2;
    inputs.rows["last"] = last;
    expectLeast(le(n(), perRow("last")), sizes, inputs);
    // A row tile on both sides of m < a: between all and none.
    check(select(lt(m(), scalar("a")), lt(n(), scalar("a")), causal()), sizes,
          inputs);
    check(test::all(lt(n(), perBatch("prefix")), causal()), sizes, inputs, 3);
  }
}

TEST(SkipMaskedBlocks, quotients) {
  for (const Sizes &sizes : kOddSizes)
    for (int64_t c : {1, 3, 16, 100}) {
      expectLeast(eq(m() / c, n() / c), sizes, {});
      MaskInputs inputs{{{"c", c}}, {}, {}};
      expectLeast(eq(m() / scalar("c"), n() / scalar("c")), sizes, inputs);
      expectLeast(le(n() / scalar("c"), m() / scalar("c") - 1), sizes, inputs);
    }
  // What no block is known of: computed, with the mask.
  for (const Sizes &sizes : kOddSizes)
    for (int64_t c : {int64_t(0), int64_t(-4), int64_t(1) << 62})
      check(le(n() / scalar("c"), m() / 2), sizes, {{{"c", c}}, {}, {}});
}

TEST(SkipMaskedBlocks, twoPieces) {
  for (const Sizes &sizes : kOddSizes) {
    check(any(lt(n(), 4), window(8)), sizes, {});
    check(any(window(3), lt(n(), scalar("a"))), sizes, {{{"a", 12}}, {}, {}});
    // Two bands, either of which may come first, be inside the other or empty.
    for (int64_t a : {-60, -20, 0, 5, 30})
      check(any(le(abs(m() - n()), 3), le(abs(m() - n() + scalar("a")), 9)),
            sizes, {{{"a", a}}, {}, {}});
    // Four.
    check(any(any(le(abs(m() - n()), 3), le(abs(m() - n() + 40), 2)),
              any(eq(n(), scalar("a")), eq(n(), 33))),
          sizes, {{{"a", 12}}, {}, {}});
  }
}

TEST(SkipMaskedBlocks, conditionsWithoutAClosedForm) {
  for (const Sizes &sizes : kOddSizes) {
    check(eq(n() % 3, 0), sizes, {});
    Counts counts = check(all(eq(n() % 3, m() % 3), causal()), sizes, {});
    EXPECT_EQ(counts.full, 0);
    check(all(causal(), le(m() * m(), 400)), sizes, {});
    check(le(n() * m(), 400), sizes, {});
  }
}

//===----------------------------------------------------------------------===//
// Lists of blocks
//===----------------------------------------------------------------------===//

/// Documents of changing length, one behind the other.
MaskTable packedDocuments(int64_t count, int64_t longest) {
  MaskTable table{{count}, {}};
  std::mt19937 random(5);
  for (int64_t document = 1; int64_t(table.data.size()) < count; ++document)
    for (int64_t left = 1 + random() % longest;
         left > 0 && int64_t(table.data.size()) < count; --left)
      table.data.push_back(document);
  return table;
}

/// Booleans, one in `period` of them true, in runs of `run`.
MaskTable sparseBooleans(std::vector<int64_t> shape, int64_t run,
                         int64_t period) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  MaskTable table{std::move(shape), {}, /*isCondition=*/true};
  std::mt19937 random(7);
  for (int64_t i = 0; i < count; ++i)
    table.data.push_back(i % run ? table.data.back() : random() % period == 0);
  return table;
}

Expr neighbourhood(Expr width, Expr radius) {
  return all(le(abs(m() / width - n() / width), radius),
             le(abs(m() % width - n() % width), radius));
}

struct Listed {
  const char *name;
  Expr mask;
  MaskInputs inputs;
  int64_t computed = -1, full = -1; // where they do not depend on drawn values
};

std::vector<Listed> masksWithLists(int64_t count) {
  Expr same = eq(load("doc", {m()}), load("doc", {n()}));
  MaskInputs documents;
  documents.tables["doc"] = packedDocuments(count, count / 4 + 1);
  auto booleans = [&](std::vector<int64_t> shape, int64_t run, int64_t period) {
    MaskInputs inputs;
    inputs.tables["k"] = sparseBooleans(std::move(shape), run, period);
    return inputs;
  };
  auto bounds = [&](int64_t c) {
    MaskInputs inputs;
    MaskTable from{{count / c + 1}, {}}, to{{count / c + 1}, {}};
    for (int64_t i = 0; i <= count / c; ++i) {
      from.data.push_back(i * c * 37 % std::max<int64_t>(count, 1));
      to.data.push_back(from.data.back() + c / 2);
    }
    inputs.tables = {{"from", from}, {"to", to}};
    return inputs;
  };
  auto between = [&](int64_t c) {
    return all(ge(m(), load("from", {n() / c})),
               lt(m(), load("to", {n() / c})));
  };
  auto order = [&] {
    Expr a = m() % scalar("chunk") / scalar("line"),
         b = n() % scalar("chunk") / scalar("line");
    return all(eq(m() / scalar("chunk"), n() / scalar("chunk")), le(b, a));
  };
  int64_t blocks = (count + 127) / 128;
  return {
      {"documents, causal", all(same, causal()), documents},
      {"documents, causal or prefix", any(all(same, causal()), lt(n(), 100)),
       documents},
      {"neighbourhood 32, 3", neighbourhood(32, 3), {}, 92, 0},
      {"neighbourhood 64, 4",
       neighbourhood(scalar("width"), scalar("radius")),
       {{{"width", 64}, {"radius", 4}}, {}, {}},
       148,
       0},
      {"neighbourhood 256, 3", neighbourhood(256, 3), {}, 264, 0},
      {"quotients of remainders",
       order(),
       {{{"chunk", 1024}, {"line", 64}}, {}, {}}},
      {"leading keys or every third of a window",
       all(causal(),
           any(lt(n(), 4), all(gt(n(), m() - 512), eq((m() - n()) % 3, 0)))),
       {},
       151,
       0},
      {"dilated",
       all(causal(), all(eq((m() - n()) % 192, 0), lt((m() - n()) / 192, 4))),
       {}},
      {"blocks of 128", ask("k", {m() / 128, n() / 128}),
       booleans({blocks, blocks}, 1, 3)},
      {"blocks of 48", ask("k", {m() / 48, n() / 48}),
       booleans({count / 48 + 1, count / 48 + 1}, 1, 7)},
      {"window, rows or keys",
       any(le(abs(m() - n()), 100), any(ask("k", {m()}), ask("k", {n()}))),
       booleans({count}, 100, 5)},
      {"keys", ask("k", {n()}), booleans({count}, 100, 5)},
      {"prefix or matrix", any(lt(n(), 300), ask("k", {m(), n() - 40})),
       booleans({count, count}, 97, 60)},
      {"between, 700", between(700), bounds(700)},
      {"between, 16", between(16), bounds(16)},
      {"product", le(n() * m(), 100000), {}},
      {"four bands",
       any(any(le(abs(m() - n()), 3), le(abs(m() - n() + 700), 2)),
           any(eq(n(), scalar("a")), eq(n(), 1000))),
       {{{"a", 12}}, {}, {}}},
      {"not one document", no(same), documents},
      {"chosen", lt(choose(same, m() - n(), Expr(200)), 100), documents},
  };
}

constexpr const char *kOneKernel = "tile-list-blocks,tile-skip-masked-blocks";
constexpr const char *kTwoKernels =
    "tile-list-blocks{blocks-at-once=3},tile-skip-masked-blocks";

// The table of tile-level algorithms: the blocks of a list are the needed ones,
// and full is what needs no mask.
TEST(SkipMaskedBlocks, lists) {
  // One kernel writes the list, or one judges and another collects.
  auto expect = [](const Listed &listed, const Sizes &sizes) {
    SCOPED_TRACE(listed.name);
    Counts counts;
    for (const char *passes : {kOneKernel, kTwoKernels}) {
      SCOPED_TRACE(passes);
      counts = check(listed.mask, sizes, listed.inputs, 1, passes);
      EXPECT_EQ(counts.computed, counts.needed);
      EXPECT_EQ(counts.full, counts.unmasked);
    }
    return counts;
  };
  for (const Listed &listed : masksWithLists(2048)) {
    if (listed.computed < 0)
      continue;
    Counts counts = expect(listed, kLarge);
    EXPECT_EQ(counts.total, 512);
    EXPECT_EQ(counts.computed, listed.computed) << listed.name;
    EXPECT_EQ(counts.full, listed.full) << listed.name;
  }
  for (const Listed &listed : masksWithLists(512)) {
    Counts counts = expect(listed, {512, 512, 64, 32});
    EXPECT_EQ(counts.total, 128);
  }
}

TEST(SkipMaskedBlocks, listsAtOddSizes) {
  for (const Sizes &sizes : kOddSizes)
    for (const Listed &listed :
         masksWithLists(std::max(sizes.rows, sizes.keys))) {
      SCOPED_TRACE(listed.name);
      for (const char *passes : {kOneKernel, kTwoKernels}) {
        SCOPED_TRACE(passes);
        Counts counts = check(listed.mask, sizes, listed.inputs, 1, passes);
        EXPECT_EQ(counts.computed, counts.needed);
        if (sizes.keys % sizes.tileN == 0)
          EXPECT_EQ(counts.full, counts.unmasked);
      }
    }
}

// Before and after the pass, fused in either form or not, the results agree.
TEST(SkipMaskedBlocks, resultsStay) {
  for (const char *fusion : {"", "tile-fuse-online-softmax,",
                             "tile-fuse-online-softmax{normalize=each-step},"})
    for (auto [M, N] : {std::pair(33, 50), std::pair(50, 33), std::pair(16, 16),
                        std::pair(1, 70), std::pair(40, 0)}) {
      TileFile plain("Loops/Inputs/unfused-causal.mlir");
      TileFile skipped("Loops/Inputs/unfused-causal.mlir");
      ASSERT_TRUE(plain.run(fusion + std::string("canonicalize,cse")));
      ASSERT_TRUE(skipped.run(
          fusion +
          std::string(
              "canonicalize,cse,tile-skip-masked-blocks,canonicalize")));
      Values expected = plain.draw({{"B", 1}, {"M", M}, {"N", N}}, /*seed=*/1);
      Values values = expected;
      BlockCounts all, counts;
      ASSERT_TRUE(interpret(plain.program(), expected, &all));
      ASSERT_TRUE(interpret(skipped.program(), values, &counts));
      EXPECT_EQ(counts.computed, counts.partial + counts.full);
      if (M > N && N > 0) // the first rows see nothing
        EXPECT_LT(counts.computed, all.computed);
      for (const char *name : {"O", "L"})
        EXPECT_LT(difference(values[name], expected[name]), 1e-12)
            << fusion << M << " x " << N;
    }
}

TEST(SkipMaskedBlocks, randomMasks) {
  unsigned seed = 20261121;
  if (const char *given = std::getenv("ATTENTILE_TEST_SEED"))
    seed = std::atoi(given);
  int64_t count = 400;
  if (const char *given = std::getenv("ATTENTILE_TEST_COUNT"))
    count = std::atoll(given);
  std::mt19937 random(seed);
  Counts all;
  for (int64_t i = 0; i < count && !HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", mask " +
                 std::to_string(i));
    Sizes sizes = kOddSizes[random() % kOddSizes.size()];
    Expr mask =
        drawMask(random, std::max(sizes.rows, sizes.keys), random() % 4);
    MaskInputs inputs;
    for (const char *name : {"s0", "s1", "s2"})
      inputs.scalars[name] = int64_t(random() % 60) - 2;
    for (int64_t m = 0; m < sizes.rows; ++m)
      inputs.rows["r0"].push_back(int64_t(random() % 80) - 10);
    inputs.rows["r0"];
    MaskTable &keys = inputs.tables["k0"];
    keys.shape = {sizes.keys};
    for (int64_t n = 0; n < sizes.keys; ++n)
      keys.data.push_back(int64_t(random() % 40) - 5 + n / 2);
    Counts counts = check(mask, sizes, inputs);
    all.total += counts.total;
    all.needed += counts.needed;
    all.computed += counts.computed;
    all.unmasked += counts.unmasked;
    all.full += counts.full;
  }
  std::printf("seed %u: of %lld blocks %lld needed, %lld computed; %lld "
              "without a mask, %lld found\n",
              seed, (long long)all.total, (long long)all.needed,
              (long long)all.computed, (long long)all.unmasked,
              (long long)all.full);
}

} // namespace
