//===- TileToWarpTest.cpp - warp kernels against their tiles --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel runs twice: its tiles in float64, and its warps thread by thread.
// The sizes leave rows, keys and columns over at every tile's edge.
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"
#include "Warp/Warp.h"
#include "WarpTesting.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace attentile;
using namespace attentile::test;

namespace {

const char *const kExamples[] = {"01-attention",      "02-causal",
                                 "03-sliding-window", "04-alibi",
                                 "05-soft-cap",       "06-learned-bias",
                                 "07-column-sums",    "08-two-softmaxes",
                                 "09-prefix-lm",      "10-packed-documents",
                                 "11-pair-bias",      "12-neighbourhood",
                                 "13-block-sparse",   "14-sigmoid",
                                 "15-differential",   "16-latent",
                                 "17-rotary",         "18-attention-sink",
                                 "19-dropout",        "20-quantized-cache"};

class Examples : public testing::TestWithParam<const char *> {};

TEST_P(Examples, bf16) { expectSame({GetParam(), "bf16", 32, 48}); }
TEST_P(Examples, f32) { expectSame({GetParam(), "f32", 16, 32}); }

/// As a GPU has them: one loop over full and partial blocks, under the guard.
TEST_P(Examples, joined) {
  for (const char *type : {"f16", "f32"}) {
    KernelCase run{GetParam(), type, 16, 32, "tile-sizes=m=64,n=16"};
    run.guard = true;
    expectSame(run);
  }
}

/// The same from the last block to the first; the tile level goes the other
/// way.
TEST_P(Examples, descending) {
  for (const char *type : {"bf16", "f32"}) {
    KernelCase run{GetParam(), type, 16, 32, "tile-sizes=m=64,n=16"};
    run.guard = true;
    run.loops = ",tile-descend-blocks{all}";
    expectSame(run);
  }
}

INSTANTIATE_TEST_SUITE_P(TileToWarp, Examples, testing::ValuesIn(kExamples),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(TileToWarp, softCapsOfAllSizes) {
  // All of a warp below the limits of both polynomials, some, and factors that
  // scale / cap has no room for; of few registers and of many.
  for (double cap : {50.0, 1.5, 1e-33, 1e7})
    for (const char *type : {"f32", "bf16"})
      for (const char *tiles : {"m=64,n=32", "m=128,n=64"}) {
        KernelCase run = {"05-soft-cap", type, 16, 32,
                          std::string("tile-sizes=") + tiles};
        run.cap = cap;
        expectSame(run);
      }
}

/// Registers for fragments, offsets and loads shared: what code is made from.
const char kRegisters[] =
    ",warp-pipeline-copies,warp-allocate-shared,warp-dependent-launch,"
    "warp-unroll-fragments,cse,"
    "warp-share-random,warp-share-offsets,cse,warp-share-loads,warp-join-loads,cse,"
    "warp-hoist-loads,warp-sink-random,warp-narrow-indices,"
    "warp-step-quotients,warp-fold-distances";

TEST(Registers, sameAsFragments) {
  for (const char *example : kExamples)
    for (const char *order : {"", ",tile-descend-blocks{all}"}) {
      KernelCase run{example, "bf16",    16, 32, "tile-sizes=m=64,n=32",
                     "",      kRegisters};
      run.loops = order;
      expectSame(run);
      run.type = "f32";
      run.tiles = "tile-sizes=m=128,n=16";
      expectSame(run);
    }
}

/// Loads at loaded indices, lanes sharing both; no rows; a loop within a loop;
/// products of what the tile has made by products; masks of sums for each key.
TEST(Registers, otherPrograms) {
  const std::string folder = "../test/Execution/Inputs/", tiles = "tile-sizes=";
  for (auto [name, sizes] : {std::pair("gathered-scales", "m=16,n=16"),
                             {"decoding", "n=32"},
                             {"nine-rows", "j=16,x=16"},
                             {"crossed-products", "n=32"}})
    expectSame({(folder + name).c_str(), "bf16", 16, 16, tiles + sizes, "",
                kRegisters, /*guard=*/true});
  expectSame({(folder + "both-ways").c_str(), "bf16", 16, 32, /*tiles=*/"", "",
              kRegisters});
  const std::string name = folder + "counted-documents";
  KernelCase documents{name.c_str(), "bf16", 16, 16};
  documents.guard = documents.lists = true;
  expectSame(documents);
}

/// A bias that starts the scores' product, with the guard and without it.
TEST(TileToWarp, sumsStartAtBias) {
  for (const char *type : {"bf16", "f16"})
    for (bool guard : {false, true}) {
      KernelCase run{"04-alibi", type, 16, 32};
      run.guard = guard;
      run.loops = ",tile-start-sums-at-bias,canonicalize,cse,"
                  "loop-invariant-code-motion";
      run.behind = ",warp-defer-sums,warp-pipeline-copies,"
                   "warp-allocate-shared";
      expectSame(run);
    }
}

TEST(TileToWarp, copiesWaitedForAtOnce) {
  expectSame({"02-causal", "bf16", 32, 16, "tile-sizes=m=64,n=32", "", ""});
}

TEST(TileToWarp, severalRowBlocksAWarp) {
  expectSame({"02-causal", "f16", 64, 64, "tile-sizes=m=128,n=64"});
}

TEST(TileToWarp, columnsSplitOverWarps) {
  expectSame({"02-causal", "bf16", 32, 272, "tile-sizes=m=64,n=32"});
}

TEST(TileToWarp, splitReducedAxis) {
  for (const char *example : {"02-causal", "07-column-sums"})
    expectSame(
        {example, "bf16", 32, 64, "tile-sizes=m=32,n=64", "split=reduced"});
  expectSame(
      {"02-causal", "f32", 16, 32, "tile-sizes=m=32,n=32", "split=reduced"});
  // Rows are more than a warp takes: they are split as well.
  expectSame({"02-causal", "bf16", 32, 64, "tile-sizes=m=128,n=64",
              "split=reduced warps=8"});
  // What a warp leaves at a time is a part of its rows and columns, of which
  // the last ones are fewer; and one block.
  expectSame({"02-causal", "bf16", 16, 192, "tile-sizes=m=256,n=64",
              "split=reduced warps=8"});
  expectSame(
      {"02-causal", "f16", 16, 32, "tile-sizes=m=16,n=64", "split=reduced"});
}

/// FlashAttention-1's form: sums normalised at each step, a program that loops
/// over a head's tiles, warps that share out the keys.
TEST(TileToWarp, flashAttention1) {
  KernelCase run{"02-causal",    "bf16", 32, 32, "tile-sizes=m=32,n=64",
                 "split=reduced"};
  run.fusion = "normalize=each-step";
  run.loops = ",tile-sequence-programs,loop-invariant-code-motion";
  expectSame(run);
  // Buffers of a loop's turn share room where all do not fit (30720 bytes).
  run.behind = ",warp-pipeline-copies,warp-allocate-shared{limit=18432}";
  expectSame(run);
}

/// Three grids, with scores and probabilities in memory between them.
TEST(TileToWarp, standardAttention) {
  for (const char *split : {"", "split=reduced"}) {
    KernelCase run{"02-causal", "bf16", 32, 48, "tile-sizes=m=64,n=32", split};
    run.schedule = "standard";
    expectSame(run);
  }
}

/// Bytes are copied, converted once and multiplied as bf16 or, beside f32
/// queries, as f32; with odd sizes element by element.
TEST(TileToWarp, eightBitNumbers) {
  for (const char *cache : {"i8", "f8e4m3", "f8e5m2"})
    for (const char *type : {"bf16", "f16", "f32"})
      for (int64_t size : {16, 64, 80}) {
        KernelCase run{"20-quantized-cache", type, size, size};
        run.cache = cache;
        expectSame(run);
      }
}

/// Tiles as a target's table has them: padded heads, columns over two warps,
/// factors that take turns in one buffer.
TEST(TileToWarp, headSizes) {
  KernelCase cases[] = {{"02-causal", "bf16", 8, 72, "target=sm_80"},
                        {"02-causal", "f32", 80, 8, "target=sm_90"},
                        {"08-two-softmaxes", "f16", 20, 33, "target=sm_86"},
                        {"01-attention", "bf16", 256, 512, "target=sm_90"},
                        {"08-two-softmaxes", "f32", 512, 512, "target=sm_86"},
                        {"07-column-sums", "bf16", 96, 40, "target=sm_89"},
                        {"17-rotary", "f32", 32, 16, "tile-sizes=m=64,n=8"}};
  for (KernelCase &run : cases) {
    run.guard = true;
    expectSame(run);
  }
}

TEST(TileToWarp, guardedSoftmax) {
  for (const char *type : {"bf16", "f32"})
    for (const char *example : {"01-attention", "02-causal", "05-soft-cap"}) {
      KernelCase run{example, type, 16, 32, "tile-sizes=m=64,n=16"};
      run.guard = true;
      expectSame(run);
    }
  KernelCase split{"02-causal",    "bf16", 16, 32, "tile-sizes=m=32,n=32",
                   "split=reduced"};
  split.guard = true;
  expectSame(split);
  split.tiles = "tile-sizes=m=128,n=32";
  expectSame(split);
}

/// Rows of a warp that decide apart: some take new references, some keep
/// theirs.
TEST(TileToWarp, blocksOfRowsDecideApart) {
  for (const char *type : {"bf16", "f32"})
    for (const char *example :
         {"01-attention", "02-causal", "08-two-softmaxes"})
      for (bool growing : {false, true}) {
        KernelCase run{example, type, 16, 32, "tile-sizes=m=128,n=16"};
        run.behind = ",warp-defer-sums,warp-pipeline-copies,"
                     "warp-allocate-shared";
        run.guard = true;
        run.growing = growing;
        run.decisions = "registers-at-once=0";
        expectSame(run);
      }
}

/// Masks of scalars, whose elements share comparisons.
TEST(TileToWarp, sharedComparisons) {
  for (const char *example :
       {"02-causal", "03-sliding-window", "12-neighbourhood"})
    for (bool guard : {false, true}) {
      KernelCase run{example, "bf16", 16, 32, "tile-sizes=m=64,n=16"};
      run.guard = guard;
      run.behind = ",warp-pipeline-copies,warp-allocate-shared,"
                   "warp-unroll-fragments,cse,warp-share-comparisons,cse";
      expectSame(run);
    }
}

/// The form for tensors of any strides: small tiles, one loop, every element by
/// itself.
TEST(TileToWarp, anyStrides) {
  KernelCase cases[] = {{"01-attention", "bf16", 32, 48},
                        {"02-causal", "f32", 80, 8},
                        {"02-causal", "f16", 16, 272},
                        {"03-sliding-window", "f16", 16, 32},
                        {"06-learned-bias", "bf16", 16, 160},
                        {"07-column-sums", "f32", 8, 20},
                        {"08-two-softmaxes", "bf16", 20, 33},
                        {"02-causal", "f32", 16, 512}};
  for (KernelCase &run : cases) {
    run.tiles = "target=sm_90 small-tiles=true";
    run.skipping = "keep-masks=true";
    run.loops = ",tile-merge-bounds,canonicalize,cse";
    run.behind = ",warp-mark-elements{all=true},warp-allocate-shared";
    expectSame(run);
  }
  KernelCase standard = cases[0];
  standard.example = "02-causal";
  standard.schedule = "standard";
  expectSame(standard);
}

/// Factors that are computed a piece at a time: rows of half a warp and of
/// four, of packets that divide a row or leave some over, columns that no
/// packet has.
TEST(TileToWarp, computedFactors) {
  for (auto [type, D] : {std::pair("bf16", 128), std::pair("f16", 96),
                         std::pair("f32", 64), std::pair("bf16", 20)}) {
    KernelCase run{"17-rotary", type, D, 16, "tile-sizes=m=64,n=64"};
    if (D == 20) // in tiles of 32
      run.tiles = "target=sm_90";
    run.guard = true;
    expectSame(run);
    run.behind = ",warp-mark-elements{all=true},warp-allocate-shared,"
                 "warp-unroll-fragments,cse";
    expectSame(run);
  }
}

TEST(DeferSums, lanesMeetAfterTheLoop) {
  for (const char *example : {"02-causal", "08-two-softmaxes"})
    expectSame({example, "f32", 16, 16, "tile-sizes=m=64,n=32", "",
                ",warp-defer-sums,warp-pipeline-copies,warp-allocate-shared"});
}

TEST(PipelineCopies, stages) {
  for (std::string options : {"stages=2", "stages=3", "stages=2 mbarriers"})
    for (bool guard : {false, true}) {
      KernelCase run{"03-sliding-window", "bf16", 16, 16,
                     "tile-sizes=m=64,n=16"};
      run.behind =
          ",warp-pipeline-copies{" + options + "},warp-allocate-shared";
      run.guard = guard;
      run.loops = guard ? ",tile-descend-blocks{all}" : "";
      expectSame(run);
    }
}

/// Outputs in the room of the queries: a warp waits for itself before it writes
/// and before it reads them, whatever tiles and warps there are.
TEST(NarrowBarriers, ofAWarpAlone) {
  for (const char *tiles : {"tile-sizes=m=64,n=16", "tile-sizes=m=128,n=32",
                            "tile-sizes=m=16,n=16"})
    for (int64_t size : {16, 64})
      expectSame({"02-causal", "bf16", size, size, tiles});
}

} // namespace
