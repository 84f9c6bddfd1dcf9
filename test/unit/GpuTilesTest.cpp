//===- GpuTilesTest.cpp - every example fits every GPU --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the examples, every type and head sizes from 8 to 512 for each target
// from the formula to tiles with layouts. Expects tiles within the target's
// limits, and the bytes of shared memory that were predicted from the formula
// to be those of the tiles that the program then has there.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "attentile/EmitIR.h"
#include "attentile/Frontend.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <set>

using namespace attentile;
using namespace mlir;

namespace {

struct Limits {
  const char *target;
  int64_t shared;
};
constexpr Limits kTargets[] = {
    {"sm_80", 163 * 1024}, {"sm_86", 99 * 1024}, {"sm_90", 227 * 1024}};

/// The attn level of a file's kernel with its head sizes and type bound.
OwningOpRef<ModuleOp> readKernel(MLIRContext &context, StringRef path,
                                 StringRef bind) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return {};
  SourceFile file(path.str(), (*buffer)->getBuffer().str());
  Diagnostics diagnostics;
  SyntaxTree tree = parse(file, diagnostics, findBesideOrInLibrary);
  Bindings bindings;
  bindings.add(bind, diagnostics);
  OwningOpRef<ModuleOp> module;
  if (!diagnostics.hasErrors())
    if (auto kernel = check(tree, bindings, {}, diagnostics))
      module = emit(context, *kernel);
  if (diagnostics.hasErrors())
    diagnostics.print(llvm::errs());
  return module;
}

bool runPasses(ModuleOp module, StringRef target, StringRef tileOptions = "") {
  std::string tidy = "canonicalize,cse,";
  std::string pipeline =
      tidy + "attn-lower-softmax,attn-form-grids," +
      "attn-to-tile{target=" + target.str() + " " + tileOptions.str() + "}," +
      tidy + "tile-fuse-online-softmax," + tidy + "tile-skip-masked-blocks," +
      tidy + "tile-fold-exp2," + tidy + "loop-invariant-code-motion,cse," +
      "tile-verify,tile-partition-warps,tile-assign-layouts," +
      "tile-verify-layouts";
  PassManager manager(module.getContext());
  return succeeded(parsePassPipeline(pipeline, manager)) &&
         succeeded(manager.run(module));
}

/// The bytes of all tiles that the kernel has in shared memory. Loops that
/// follow each other have tiles of the same tensors one after the other.
/// Without stages the tiles of a loop that have one shape take turns; with
/// several each that is copied has so many buffers.
int64_t countShared(tile::KernelOp kernel, int64_t stages) {
  auto bytesOf = [](Value value) -> int64_t {
    tile::SharedAttr layout = tile::getShared(value.getType());
    if (!layout)
      return 0; // not in shared memory, or no tile at all
    auto type = cast<RankedTensorType>(value.getType());
    return type.getDimSize(0) * layout.getPitch() *
           type.getElementTypeBitWidth() / 8;
  };
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape().vec();
  };
  int64_t outside = 0, mostInside = 0;
  llvm::DenseMap<Operation *, int64_t> loops;
  std::set<std::pair<Operation *, std::vector<int64_t>>> seen;
  kernel.walk([&](Operation *op) {
    for (Value result : op->getResults()) {
      scf::ForOp loop = op->getParentOfType<scf::ForOp>();
      if (!loop)
        outside += bytesOf(result);
      else if (int64_t bytes = bytesOf(result);
               bytes && (stages || seen.insert({loop, shapeOf(result)}).second))
        loops[loop] +=
            bytes * (isa<tile::LoadOp>(op) ? std::max<int64_t>(stages, 1) : 1);
    }
  });
  for (auto [loop, bytes] : loops)
    mostInside = std::max(mostInside, bytes);
  return outside + mostInside;
}

void expectFits(tile::KernelOp kernel, const Limits &limits,
                const std::string &what) {
  auto *dialect = kernel.getContext()->getLoadedDialect<tile::TileDialect>();
  tile::ResourcesAttr resources =
      dialect->getResourcesAttrHelper().getAttr(kernel);
  ASSERT_TRUE(resources) << what;
  EXPECT_LE(resources.getShared(), limits.shared) << what;
  EXPECT_LE(resources.getRegisters() * 32 * resources.getWarps(), 65536)
      << what;
  EXPECT_EQ(resources.getShared(), countShared(kernel, resources.getStages()))
      << what;
  tile::WarpsAttr warps = dialect->getWarpsAttrHelper().getAttr(kernel);
  EXPECT_EQ(resources.getWarps(), warps.getCount()) << what;
}

class GpuTiles : public testing::TestWithParam<const char *> {
protected:
  static void SetUpTestSuite() {
    static bool once = [] {
      registerAttentileLoopsPasses();
      registerAttentileMappingPasses();
      registerTransformsPasses();
      return true;
    }();
    (void)once;
  }
};

TEST_P(GpuTiles, EveryHeadSizeFits) {
  std::string path = std::string(ATTENTILE_EXAMPLES) + "/" + GetParam();
  const std::pair<int, int> heads[] = {{8, 8},     {64, 64},   {80, 48},
                                       {128, 128}, {192, 128}, {256, 256},
                                       {320, 320}, {512, 320}, {512, 512}};
  for (const char *type : {"f16", "f32"})
    for (auto [d, e] : heads)
      for (const Limits &limits : kTargets) {
        MLIRContext context;
        std::string bind =
            "D=" + std::to_string(d) + ",E=" + std::to_string(e) + ",T=" + type;
        if (StringRef(path).contains("cache"))
          bind += ",C=i8";
        std::string what =
            std::string(GetParam()) + " " + bind + " " + limits.target;
        auto module = readKernel(context, path, bind);
        ASSERT_TRUE(module) << what;
        ASSERT_TRUE(runPasses(*module, limits.target)) << what;
        module->walk(
            [&](tile::KernelOp kernel) { expectFits(kernel, limits, what); });
      }
}

INSTANTIATE_TEST_SUITE_P(
    Examples, GpuTiles,
    testing::Values("01-attention.attn", "02-causal.attn",
                    "03-sliding-window.attn", "04-alibi.attn",
                    "05-soft-cap.attn", "06-learned-bias.attn",
                    "07-column-sums.attn", "08-two-softmaxes.attn",
                    "12-neighbourhood.attn", "13-block-sparse.attn",
                    "15-differential.attn", "17-rotary.attn"),
    [](const auto &info) { return std::string(info.param).substr(0, 2); });

} // namespace
