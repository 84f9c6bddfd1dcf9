//===- FuseOnlineSoftmaxTest.cpp - the fused program means the same -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"
#include "TileTesting.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>

using namespace attentile;
using namespace attentile::test;

namespace {

/// To unfused tiles, small enough that sizes need several and a tail.
const char *const toTiles =
    "attn-lower-softmax,attn-form-grids{tile-sizes=n=8},"
    "attn-to-tile{tile-sizes=m=16,n=8}";
const char *const clean =
    "canonicalize,cse,loop-invariant-code-motion,canonicalize,cse";

const std::string pipelines[] = {
    "tile-fuse-online-softmax",
    "canonicalize,cse,tile-fuse-online-softmax,canonicalize,cse,"
    "tile-skip-masked-blocks,canonicalize,cse,tile-fold-exp2,canonicalize,cse",
    "canonicalize,cse,loop-invariant-code-motion,tile-fuse-online-softmax,cse",
    "tile-fuse-online-softmax{normalize=each-step}",
    "tile-fold-exp2",
    "tile-fuse-online-softmax{normalize=each-step},tile-fold-exp2"};

/// Sizes, tile multiples and not; rows that see nothing; nothing at all.
const std::map<std::string, int64_t> allSizes[] = {
    {{"B", 1}, {"M", 35}, {"N", 26}}, {{"B", 1}, {"M", 20}, {"N", 0}},
    {{"B", 1}, {"M", 17}, {"N", 41}}, {{"B", 1}, {"M", 16}, {"N", 16}},
    {{"B", 2}, {"M", 1}, {"N", 70}},  {{"B", 1}, {"M", 1}, {"N", 1}}};

/// What may be special about the inputs.
enum class Inputs { Normal, Negative, Huge, Outlier, Growing };

void specialise(Values &values, Inputs inputs) {
  values["w"].data = {5};
  auto &keys = values["K"];
  double scale = 0.4;
  if (inputs == Inputs::Negative)
    scale = -0.7;
  if (inputs == Inputs::Huge)
    scale = 1000;
  values["scale"].data = {scale};
  if (inputs == Inputs::Outlier && keys.data.size() > 8)
    for (int i = 0; i < 8; ++i)
      keys.data[keys.data.size() / 16 * 8 + i] *= 1000;
  if (inputs == Inputs::Growing)
    for (size_t i = 0; i < keys.data.size(); ++i)
      keys.data[i] *= 1 + double(i) / 8;
}

/// Those around others count as one with them.
int loopsOf(tile::ProgramOp program) {
  int loops = 0;
  program.walk([&](mlir::scf::ForOp loop) {
    loops += !loop->getParentOfType<mlir::scf::ForOp>();
  });
  return loops;
}

/// Compares the program after each pipeline with the unfused one, the first
/// two over all sizes.
void compare(const std::string &source, llvm::ArrayRef<std::string> texts,
             llvm::ArrayRef<Inputs> kinds, double tolerance) {
  TileFile before = TileFile::fromSource(source);
  ASSERT_TRUE(before && before.run(toTiles)) << source;
  std::vector<TileFile> after;
  for (const std::string &pipeline : texts) {
    after.push_back(TileFile::fromSource(source));
    ASSERT_TRUE(after.back().run(std::string(toTiles) + "," + pipeline));
  }
  for (auto [i, size] : llvm::enumerate(allSizes))
    for (Inputs inputs : kinds) {
      Values drawn = before.draw(size, /*seed=*/7);
      specialise(drawn, inputs);
      Values expected = drawn;
      ASSERT_TRUE(interpret(before.program(), expected));
      for (size_t j = 0; j < (i < 2 ? after.size() : 2); ++j) {
        Values got = drawn;
        ASSERT_TRUE(interpret(after[j].program(), got));
        for (const char *out : {"O", "L"})
          EXPECT_LT(difference(got[out], expected[out]), tolerance)
              << out << " after " << texts[j] << ", M " << size.at("M")
              << ", N " << size.at("N") << ", inputs " << int(inputs) << "\n"
              << source;
      }
    }
}

TEST(FuseOnlineSoftmax, formulasTakeAsFewLoops) {
  for (const Formula &formula : formulas()) {
    TileFile file = TileFile::fromSource(kernelSource(formula.body));
    ASSERT_TRUE(file) << formula.name;
    ASSERT_TRUE(file.run(std::string(toTiles) + "," + clean +
                         ",tile-fuse-online-softmax"));
    EXPECT_EQ(loopsOf(file.program()), formula.loops) << formula.name;
  }
}

class FusedFormulas : public testing::TestWithParam<int> {};

TEST_P(FusedFormulas, keepTheirMeaning) {
  const Formula &formula = formulas()[GetParam()];
  SCOPED_TRACE(formula.name);
  std::vector<Inputs> kinds{Inputs::Normal, Inputs::Negative};
  // exp or log of what over- or underflows differs by design.
  if (!formula.log)
    kinds.insert(kinds.end(), {Inputs::Huge, Inputs::Outlier, Inputs::Growing});
  compare(kernelSource(formula.body), pipelines, kinds, 1e-9);
  // With a scale known to be positive it is folded in.
  kinds.erase(kinds.begin() + 1);
  compare(kernelSource(formula.body, "scale > 0, t > 0"),
          {pipelines[1], pipelines[4]}, kinds, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(All, FusedFormulas,
                         testing::Range(0, int(formulas().size())));

TEST(FuseOnlineSoftmax, randomFormulasKeepTheirMeaning) {
  const char *given = std::getenv("ATTENTILE_RANDOM_FORMULAS");
  int count = given ? std::atoi(given) : 40;
  for (int seed = 0; seed < count; ++seed)
    compare(kernelSource(randomFormula(seed)), {pipelines[0], pipelines[5]},
            {Inputs::Normal, Inputs::Negative}, 1e-7);
}

} // namespace
