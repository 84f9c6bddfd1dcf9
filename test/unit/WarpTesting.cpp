//===- WarpTesting.cpp - warp kernels against their tiles -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpTesting.h"
#include "SharedMemory.h"
#include "attentile/Mapping/Passes.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace attentile;
using namespace attentile::test;

static const char *const kToTiles =
    "attn-lower-softmax,attn-form-grids,attn-to-tile{%s},"
    "canonicalize,cse,tile-fuse-online-softmax{%s},canonicalize,cse,";
static const char *const kList = "tile-list-blocks,canonicalize,cse,";
static const char *const kSkip = "tile-skip-masked-blocks{%s},canonicalize,cse";
static const char *const kFold =
    ",tile-fold-exp2,canonicalize,cse,loop-invariant-code-motion";
static const char *const kGuard =
    ",tile-peel-tails,canonicalize,cse,tile-join-loops,"
    "canonicalize,cse,tile-vote-masks,"
    "canonicalize,cse,tile-merge-bounds,"
    "canonicalize,cse,tile-guard-softmax,"
    "canonicalize,cse,loop-invariant-code-motion";
const char *const attentile::test::kToWarps =
    "tile-partition-warps{%s},tile-narrow-columns,tile-assign-layouts,"
    "tile-sink-columns,"
    "tile-verify-layouts,tile-to-warp{%s},canonicalize,cse,"
    "warp-branch-tanh,cse";

std::string attentile::test::format(std::string text,
                                    const std::string &argument) {
  return text.replace(text.find("%s"), 2, argument);
}

TileFile attentile::test::compile(const KernelCase &run) {
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
  if (run.known)
    for (const auto &[name, value] : run.scalars)
      bound.push_back(name + "=" + std::to_string(value));
  TileFile file = TileFile::fromSource(text, bound, run.schedule);
  EXPECT_TRUE(file);
  EXPECT_TRUE(file.run(format(format(kToTiles, run.tiles), run.fusion) +
                       (run.lists ? kList : "") + format(kSkip, run.skipping)));
  if (run.warps)
    file.getModule().walk([&](tile::KernelOp kernel) {
      kernel->setAttr("tile.resources",
                      tile::ResourcesAttr::get(
                          kernel.getContext(), run.warps, /*stages=*/2,
                          /*registers=*/255, /*shared=*/98304, /*blocks=*/2,
                          /*keepLeft=*/false));
    });
  std::string hidden =
      run.hidden ? "tile-mark-hidden,canonicalize,cse" : "canonicalize";
  EXPECT_TRUE(file.run(hidden + kFold + (run.guard ? kGuard : "") + run.loops));
  return file;
}

Values attentile::test::drawRounded(TileFile &file, int64_t D, double cap) {
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
static void growScores(TileFile &file, Values &values) {
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

void attentile::test::expectSame(const KernelCase &run) {
  SCOPED_TRACE(std::string(run.example) + " " + run.type + " " + run.tiles +
               " " + run.partition + run.behind);
  TileFile file = compile(run);
  Values expected = drawRounded(file, run.D, run.cap);
  if (run.growing)
    growScores(file, expected);
  for (const auto &[name, elementOf] : run.elements)
    for (auto [i, x] : llvm::enumerate(expected.at(name).data))
      x = elementOf(i);
  if (!run.known)
    for (const auto &[name, value] : run.scalars)
      expected.at(name).data = {double(value)};
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
