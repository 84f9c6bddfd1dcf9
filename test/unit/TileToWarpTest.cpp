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
#include "TileTesting.h"
#include "Warp/Warp.h"
#include "WarpInterpreter.h"
#include "attentile/Mapping/Passes.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace attentile;
using namespace attentile::test;

namespace {

const char *kToTiles =
    "attn-lower-softmax,attn-form-grids,attn-to-tile{%s},"
    "canonicalize,cse,tile-fuse-online-softmax{%s},canonicalize,cse,"
    "tile-skip-masked-blocks{%s},canonicalize,cse,tile-fold-exp2,canonicalize,"
    "cse,"
    "loop-invariant-code-motion";
const char *kGuard = ",tile-peel-tails,canonicalize,cse,tile-join-loops,"
                     "canonicalize,cse,tile-vote-masks,"
                     "canonicalize,cse,tile-merge-bounds,"
                     "canonicalize,cse,tile-guard-softmax,"
                     "canonicalize,cse,loop-invariant-code-motion";
const char *kToWarps = "tile-partition-warps{%s},tile-assign-layouts,"
                       "tile-verify-layouts,tile-to-warp{%s},canonicalize,cse,"
                       "warp-branch-tanh,cse";

struct KernelCase {
  const char *example;
  const char *type;
  int64_t D, E;
  std::string tiles = "tile-sizes=m=64,n=32";
  std::string partition = "";
  std::string behind =
      ",warp-pipeline-copies,warp-allocate-shared,warp-narrow-barriers";
  bool guard = false;
  double cap = 50;
  std::string fusion = "normalize=late";
  std::string loops = ""; // passes behind those of tiles
  std::string schedule = "";
  /// Scores of every other 16 rows grow from key to key.
  bool growing = false;
  std::string decisions = ""; // options of tile-to-warp
  std::string skipping = "";
  std::string cache = "i8"; // of the quantized cache
};

std::string format(std::string text, const std::string &argument) {
  return text.replace(text.find("%s"), 2, argument);
}

/// The example as tiles; null after a failure.
TileFile compile(const KernelCase &run) {
  registerAttentileMappingPasses();
  registerAttentileNVVMPasses();
  auto source = llvm::MemoryBuffer::getFile(
      llvm::Twine(ATTENTILE_EXAMPLES "/") + run.example + ".attn");
  std::string text = source ? (*source)->getBuffer().str() : "";
  std::vector<std::string> bound{"D=" + std::to_string(run.D),
                                 std::string("T=") + run.type};
  if (text.find(", E]") != std::string::npos)
    bound.push_back("E=" + std::to_string(run.E));
  // Of latent attention: the rotary part of a head.
  if (text.find("Kr:") != std::string::npos)
    bound.push_back("R=16");
  if (text.find("type C") != std::string::npos)
    bound.push_back("C=" + run.cache);
  TileFile file = TileFile::fromSource(text, bound, run.schedule);
  EXPECT_TRUE(file);
  std::string passes =
      format(format(format(kToTiles, run.tiles), run.fusion), run.skipping);
  EXPECT_TRUE(file.run(passes + (run.guard ? kGuard : "") + run.loops));
  return file;
}

/// Inputs that their types hold, with scores near 1.
Values drawRounded(TileFile &file, int64_t D, double cap = 50) {
  Values values = file.draw({{"B", 1},
                             {"H", 2},
                             {"G", 1},
                             {"M", 70},
                             {"N", 91},
                             {"R", 40},
                             {"S", 75}},
                            /*seed=*/1);
  attn::SignatureOpInterface head = file.program();
  for (BlockArgument in : head.getInArgs())
    for (double &x : values[head.nameOf(in).str()].data)
      x = roundTo(tile::getElementType(in.getType()), x);
  if (auto it = values.find("scale"); it != values.end())
    it->second.data = {float(1 / std::sqrt(double(D)))};
  // Rotary embedding's tables: an angle's cosine and sine.
  if (auto it = values.find("Z"); it != values.end())
    for (auto [c, z] : llvm::zip(values.at("C").data, it->second.data)) {
      double angle = z;
      c = float(std::cos(angle));
      z = float(std::sin(angle));
    }
  if (auto it = values.find("cap"); it != values.end())
    it->second.data = {float(cap)};
  return values;
}

/// Every other 16 rows see scores that grow to about 60, the rest none
/// beyond 1.
void growScores(TileFile &file, Values &values) {
  attn::SignatureOpInterface head = file.program();
  for (BlockArgument in : head.getInArgs()) {
    std::string name = head.nameOf(in).str();
    if (name != "Q" && name != "K")
      continue;
    HostTensor &tensor = values.at(name);
    int64_t columns = tensor.shape.back(), rows = tensor.shape[2];
    for (auto [i, x] : llvm::enumerate(tensor.data)) {
      int64_t row = int64_t(i) / columns % rows;
      double factor =
          name == "K" ? 1 + 0.2 * double(row) : (row / 16 % 2 ? 0.02 : 3);
      x = roundTo(tile::getElementType(in.getType()),
                  factor * (name == "K" ? std::fabs(x) : x));
    }
  }
}

void expectSame(const KernelCase &run) {
  SCOPED_TRACE(std::string(run.example) + " " + run.type + " " + run.tiles +
               " " + run.partition + run.behind);
  TileFile file = compile(run);
  Values expected = drawRounded(file, run.D, run.cap);
  if (run.growing)
    growScores(file, expected);
  Values got = expected;
  ASSERT_TRUE(interpret(file.program(), expected));
  ASSERT_TRUE(file.run(format(format(kToWarps, run.partition), run.decisions) +
                       run.behind));
  ASSERT_TRUE(interpretWarps(file.program(), got));
  // What P and the output lose in 16 bits; in f32, what three products leave.
  std::string type = run.type;
  // Computed factors beside 8-bit ones are rounded to bf16.
  if (std::string(run.example) == "20-quantized-cache")
    type = "bf16";
  double bound = type == "bf16" ? 6e-3 : type == "f16" ? 8e-4 : 2e-5;
  attn::SignatureOpInterface head = file.program();
  for (BlockArgument out : head.getOutArgs()) {
    std::string name = head.nameOf(out).str();
    double largest = 1;
    for (double x : expected[name].data)
      if (std::isfinite(x))
        largest = std::max(largest, std::fabs(x));
    EXPECT_LT(difference(got[name], expected[name]), bound * largest) << name;
  }
}

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
  // All of a warp below the limit of the polynomial, some, and a factor that
  // scale / cap has no room for.
  for (double cap : {50.0, 1.5, 1e-33})
    for (const char *type : {"f32", "bf16"}) {
      KernelCase run = {"05-soft-cap", type, 16, 32};
      run.cap = cap;
      expectSame(run);
    }
}

/// Registers for fragments, offsets and loads shared: what code is made from.
const char kRegisters[] =
    ",warp-pipeline-copies,warp-allocate-shared,warp-unroll-fragments,cse,"
    "warp-share-random,warp-share-offsets,cse,warp-share-loads,cse,"
    "warp-hoist-loads,warp-sink-random,warp-narrow-indices,"
    "warp-fold-distances";

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

/// Loads at loaded indices, lanes sharing both; no rows; a loop within a loop.
TEST(Registers, otherPrograms) {
  const std::string folder = "../test/Execution/Inputs/", tiles = "tile-sizes=";
  for (auto [name, sizes] : {std::pair("gathered-scales", "m=16,n=16"),
                             {"decoding", "n=32"},
                             {"nine-rows", "j=16,x=16"}})
    expectSame({(folder + name).c_str(), "bf16", 16, 16, tiles + sizes, "",
                kRegisters, /*guard=*/true});
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

/// Outputs in the room of the queries: a warp waits for itself before it writes
/// and before it reads them, whatever tiles and warps there are.
TEST(NarrowBarriers, ofAWarpAlone) {
  for (const char *tiles : {"tile-sizes=m=64,n=16", "tile-sizes=m=128,n=32",
                            "tile-sizes=m=16,n=16"})
    for (int64_t size : {16, 64})
      expectSame({"02-causal", "bf16", size, size, tiles});
}

} // namespace
