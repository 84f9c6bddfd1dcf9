//===- MaskedLoopTesting.cpp - bounds against brute force -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskedLoopTesting.h"
#include "BlockVisits.h"
#include "TileTesting.h"
#include "gtest/gtest.h"

using namespace attentile;
using namespace attentile::test;

namespace {

/// Online maximum and sum of the scores %X under a mask: fused already.
std::string makeProgram(const Expr &mask, const Sizes &sizes,
                        MaskInputs &inputs) {
  mask.collect(inputs);
  std::string code;
  int next = 0;
  auto [visible, axes] = mask.emit(code, sizes.tileM, sizes.tileN, next);
  std::string tm = std::to_string(sizes.tileM),
              tn = std::to_string(sizes.tileN);
  std::string m = "tensor<" + tm + "x", n = "tensor<" + tn + "x";
  std::string mn = "tensor<" + tm + "x" + tn + "x";
  std::string head;
  for (const auto &[name, value] : inputs.scalars)
    head += ", %" + name + ": i64";
  for (const auto &[name, values] : inputs.rows)
    head += ", %" + name + ": i32[M]";
  for (const auto &[name, values] : inputs.batches)
    head += ", %" + name + ": i32[B]";
  std::string sizeNames;
  for (const auto &[name, table] : inputs.tables) {
    head += ", %" + name + (table.isCondition ? ": i1[" : ": i32[");
    for (size_t i = 0; i < table.shape.size(); ++i) {
      sizeNames += ", %" + name + "_" + std::to_string(i);
      head += (i ? ", " : "") + name + "_" + std::to_string(i);
    }
    head += "]";
  }
  std::string own = axes == "mn"  ? ""
                    : axes == ""  ? "i1"
                    : axes == "m" ? m + "i1, #m>"
                                  : n + "i1, #n>";
  if (!own.empty()) {
    code += "      %wide = tile.broadcast " + visible + " : " + own + " to " +
            mn + "i1, #mn>\n";
    visible = "%wide";
  }
  return R"(
#m = #tile.axes<"m">
#n = #tile.axes<"n">
#mn = #tile.axes<"m", "n">
tile.program @test sizes(%B, %M, %N)" +
         sizeNames + ") ins(%X: f32[M, N]" + head + R"() outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %tm = arith.constant )" +
         tm + R"( : index
  %tn = arith.constant )" +
         tn + R"( : index
  %blocks = arith.ceildivsi %M, %tm : index
  tile.kernel @test_0 grid(%b < %B, %i < %blocks) {
    %m0 = arith.muli %i, %tm : index
    %m = tile.index %m0 : )" +
         m + R"(index, #m>
    %ninf = arith.constant dense<0xFF800000> : )" +
         mn + R"(f32, #mn>
    %zero = arith.constant dense<0.0> : )" +
         mn + R"(f32, #mn>
    %ninf_m = arith.constant dense<0xFF800000> : )" +
         m + R"(f32, #m>
    %zero_m = arith.constant dense<0.0> : )" +
         m + R"(f32, #m>
    %N_n = tile.broadcast %N : index to )" +
         n + R"(index, #n>
    %r:2 = scf.for %n0 = %c0 to %N step %tn iter_args(%mx = %ninf_m, %l = %zero_m) -> ()" +
         m + "f32, #m>, " + m + R"(f32, #m>) {
      %n = tile.index %n0 : )" +
         n + R"(index, #n>
      %s = tile.load %X[%m, %n] : tensor<?x?xf32>, ()" +
         m + "index, #m>, " + n + "index, #n>) -> " + mn + R"(f32, #mn>
)" + code +
         R"(
      %x = arith.select )" +
         visible + ", %s, %ninf : " + mn + "i1, #mn>, " + mn + R"(f32, #mn>
      %in_n = arith.cmpi slt, %n, %N_n : )" +
         n + R"(index, #n>
      %in = tile.broadcast %in_n : )" +
         n + "i1, #n> to " + mn + R"(i1, #mn>
      %y = arith.select %in, %x, %ninf : )" +
         mn + "i1, #mn>, " + mn + R"(f32, #mn>
      %t = tile.reduce ref %y over ["n"] : )" +
         mn + "f32, #mn> -> " + m + R"(f32, #m>
      %mx1 = arith.maxnumf %mx, %t : )" +
         m + R"(f32, #m>
      %ref = tile.ref %mx1 : )" +
         m + R"(f32, #m>
      %ref_mn = tile.broadcast %ref : )" +
         m + "f32, #m> to " + mn + R"(f32, #mn>
      %d = arith.subf %x, %ref_mn : )" +
         mn + R"(f32, #mn>
      %p0 = math.exp %d : )" +
         mn + R"(f32, #mn>
      %p = arith.select %in, %p0, %zero : )" +
         mn + "i1, #mn>, " + mn + R"(f32, #mn>
      %move = arith.subf %mx, %ref : )" +
         m + R"(f32, #m>
      %al = math.exp %move : )" +
         m + R"(f32, #m>
      %l0 = arith.mulf %l, %al : )" +
         m + R"(f32, #m>
      %sum = tile.reduce sum %p over ["n"] : )" +
         mn + "f32, #mn> -> " + m + R"(f32, #m>
      %l1 = arith.addf %l0, %sum : )" +
         m + R"(f32, #m>
      scf.yield %mx1, %l1 : )" +
         m + "f32, #m>, " + m + R"(f32, #m>
    } {tile.axis = "n"}
    %ref = tile.ref %r#0 : )" +
         m + R"(f32, #m>
    %log = math.log %r#1 : )" +
         m + R"(f32, #m>
    %lse = arith.addf %ref, %log : )" +
         m + R"(f32, #m>
    tile.store %lse, %Y[%m] : )" +
         m + "f32, #m>, tensor<?xf32>, (" + m + R"(index, #m>)
  }
}
)";
}

/// For each program: 0 for a block that is not visited, 1: with the mask, 2:
/// without.
using Visits = std::map<std::vector<int64_t>, std::vector<int>>;

/// With tile-peel-tails the same blocks are visited; one that reaches beyond
/// the axis is in no loop that promises to stay inside.
void checkPeeled(TileFile &file, const Sizes &sizes, const MaskInputs &inputs,
                 int64_t batches, const Visits &before) {
  EXPECT_TRUE(file.run("cse,tile-peel-tails"));
  bool ran = visitLoops(
      file.program(), {{"B", batches}, {"M", sizes.rows}, {"N", sizes.keys}},
      inputs,
      [&](llvm::ArrayRef<int64_t> ids, llvm::ArrayRef<LoopVisit> loops) {
        std::vector<int> expected = before.at(ids.vec());
        if (sizes.keys % sizes.tileN != 0 && !expected.empty())
          expected.back() = std::min(expected.back(), 1);
        std::vector<int> visits(expected.size(), 0);
        int64_t last = -1;
        for (const LoopVisit &loop : loops)
          for (int64_t n0 = loop.from; n0 < loop.to; n0 += loop.step) {
            ASSERT_TRUE(loop.listed || last < n0) << "out of order";
            last = n0;
            ASSERT_LT(n0 / sizes.tileN, int64_t(visits.size()));
            visits[n0 / sizes.tileN] =
                loop.blocks == tile::BlockClass::Full ? 2 : 1;
          }
        EXPECT_EQ(visits, expected);
      });
  EXPECT_TRUE(ran);
}

} // namespace

Counts attentile::test::check(const Expr &mask, const Sizes &sizes,
                              MaskInputs inputs, int64_t batches,
                              const char *passes) {
  Counts counts;
  SCOPED_TRACE(mask.toString() + " at " + std::to_string(sizes.rows) + " x " +
               std::to_string(sizes.keys) + ", tiles " +
               std::to_string(sizes.tileM) + " x " +
               std::to_string(sizes.tileN));
  TileFile file = TileFile::fromText(makeProgram(mask, sizes, inputs));
  EXPECT_TRUE(file && file.run(passes));
  if (testing::Test::HasFailure())
    return counts;
  Visits all;
  bool ran = visitLoops(
      file.program(), {{"B", batches}, {"M", sizes.rows}, {"N", sizes.keys}},
      inputs,
      [&](llvm::ArrayRef<int64_t> ids, llvm::ArrayRef<LoopVisit> loops) {
        int64_t blocks = llvm::divideCeil(sizes.keys, sizes.tileN);
        std::vector<int> visits(blocks, 0);
        for (const LoopVisit &loop : loops)
          for (int64_t n0 = loop.from; n0 < loop.to; n0 += loop.step) {
            ASSERT_EQ(n0 % sizes.tileN, 0);
            ASSERT_TRUE(n0 >= 0 && n0 / sizes.tileN < blocks) << n0;
            ASSERT_EQ(visits[n0 / sizes.tileN], 0) << "visited twice";
            visits[n0 / sizes.tileN] =
                loop.blocks == tile::BlockClass::Full ? 2 : 1;
          }
        int64_t m0 = ids[1] * sizes.tileM;
        int64_t mEnd = std::min(m0 + sizes.tileM, sizes.rows);
        for (int64_t block = 0; block < blocks; ++block) {
          int64_t n0 = block * sizes.tileN;
          int64_t nEnd = std::min(n0 + sizes.tileN, sizes.keys);
          bool needed = false, unmasked = true;
          for (int64_t m = m0; m < mEnd; ++m)
            for (int64_t n = n0; n < nEnd && (!needed || unmasked); ++n) {
              bool visible = mask.evaluate(inputs, ids[0], m, n) != 0;
              needed |= visible;
              unmasked &= visible;
            }
          ASSERT_TRUE(!needed || visits[block])
              << "program " << ids[0] << ", " << ids[1] << ": block " << block
              << " is needed";
          ASSERT_TRUE(unmasked || visits[block] != 2)
              << "program " << ids[0] << ", " << ids[1] << ": block " << block
              << " needs its mask";
          ++counts.total;
          counts.needed += needed;
          counts.computed += visits[block] != 0;
          counts.unmasked += needed && unmasked;
          counts.full += visits[block] == 2;
        }
        all[ids.vec()] = visits;
      });
  EXPECT_TRUE(ran);
  if (!testing::Test::HasFailure())
    checkPeeled(file, sizes, inputs, batches, all);
  return counts;
}

void attentile::test::expectLeast(const Expr &mask, const Sizes &sizes,
                                  MaskInputs inputs, int64_t batches) {
  Counts counts = check(mask, sizes, inputs, batches);
  SCOPED_TRACE(mask.toString() + " at " + std::to_string(sizes.rows) + " x " +
               std::to_string(sizes.keys));
  EXPECT_EQ(counts.computed, counts.needed);
  // The last block of a list's rows evaluates the axis's end.
  EXPECT_EQ(counts.full, counts.unmasked);
}
