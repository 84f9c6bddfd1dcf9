//===- Pipeline.cpp - the table of contents -------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read this first: every stage of the compiler, in order, with what it
// establishes. The front end makes the module that the first stage starts from;
// lib/Native takes the last one's to machine code.
//
//===----------------------------------------------------------------------===//

#include "attentile/Pipeline.h"
#include "Tile/Tile.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Loops/Targets.h"
#include "attentile/Mapping/Passes.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace attentile {

static constexpr llvm::StringRef kOptimizing[] = {
    "canonicalize",
    "cse",
    "attn-compare-positions",
    "attn-merge-sums",
    "attn-gather-products",
    "attn-unroll-sums",
    "attn-unroll-columns",
    "attn-materialize-factors",
    "tile-fuse-online-softmax",
    "tile-list-blocks",
    "tile-skip-masked-blocks",
    "tile-mark-hidden",
    "tile-fold-exp2",
    "tile-fold-scales",
    "tile-peel-tails",
    "tile-join-loops",
    "tile-vote-masks",
    "tile-merge-bounds",
    "tile-guard-softmax",
    "tile-start-sums-at-bias",
    "tile-vote-far-rows",
    "tile-descend-blocks",
    "tile-sort-lists",
    "tile-order-programs",
    "tile-slice-reductions",
    "loop-invariant-code-motion",
};

/// What the CPU leaves out: its loops test a tile's bound once, not for each
/// element, for which it must stand alone; a maximum is cheap beside its
/// products (docs/decisions), and its threads take programs as they come.
static constexpr llvm::StringRef kOnlyForGpu[] = {
    "tile-peel-tails",         "tile-join-loops",       "tile-mark-hidden",
    "tile-vote-masks",         "tile-merge-bounds",     "tile-guard-softmax",
    "tile-start-sums-at-bias", "tile-vote-far-rows",    "tile-sort-lists",
    "tile-order-programs",     "tile-slice-reductions",
};

/// On a GPU programs judge so many blocks each for a list: few, since each
/// takes its time and there are many processors, but not one, since what they
/// load of the rows is shared.
static constexpr unsigned kBlocksJudgedAtOnce = 8;

llvm::ArrayRef<llvm::StringRef> optimizingPasses() { return kOptimizing; }

bool PipelineOptions::isEnabled(llvm::StringRef flag) const {
  bool isDefault = forGpu || !llvm::is_contained(kOnlyForGpu, flag);
  return !llvm::is_contained(disabledPasses, flag) &&
         (isDefault || llvm::is_contained(enabledPasses, flag));
}

PipelineOptions PipelineOptions::upTo(llvm::StringRef flag) const {
  PipelineOptions result = *this;
  bool behind = !llvm::is_contained(kOptimizing, flag);
  for (llvm::StringRef pass : kOptimizing) {
    if (behind)
      result.disabledPasses.push_back(pass.str());
    else
      result.enabledPasses.push_back(pass.str());
    behind |= pass == flag;
  }
  return result;
}

PipelineOptions PipelineOptions::forAnyStrides() const {
  PipelineOptions result = *this;
  result.byElement = true;
  result.programPerHead = result.splitReduced = false;
  for (const char *flag :
       {"tile-list-blocks", "tile-peel-tails", "tile-guard-softmax",
        "tile-sort-lists", "tile-order-programs", "tile-descend-blocks"})
    result.disabledPasses.push_back(flag);
  return result;
}

/// Folds constants and merges common terms, at either level.
static void simplify(OpPassManager &pm, const PipelineOptions &options) {
  if (options.isEnabled("canonicalize"))
    pm.addPass(createCanonicalizerPass());
  if (options.isEnabled("cse"))
    pm.addPass(createCSEPass());
}

/// The formula, with sizes that are known folded into it, each term once.
static void buildFormulaStage(OpPassManager &pm,
                              const PipelineOptions &options) {
  simplify(pm, options);
}

/// A list of grids: no softmax; what goes through memory, and the roles of
/// axes.
void buildGrids(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createAttnLowerSoftmax());
  if (options.isEnabled("attn-compare-positions"))
    pm.addPass(createAttnComparePositions());
  if (options.isEnabled("attn-merge-sums"))
    pm.addPass(createAttnMergeSums());
  if (options.isEnabled("attn-gather-products"))
    pm.addPass(createAttnGatherProducts());
  // On a CPU a sum of products is one chain, whatever its form.
  bool multiplyAdds = !options.forGpu;
  if (options.isEnabled("attn-unroll-sums"))
    pm.addPass(createAttnUnrollSums({multiplyAdds}));
  if (options.isEnabled("attn-unroll-columns"))
    pm.addPass(createAttnUnrollColumns({multiplyAdds}));
  if (options.isEnabled("attn-materialize-factors"))
    pm.addPass(createAttnMaterializeFactors());
  AttnFormGridsOptions forming;
  forming.tileSizes.assign(options.tileSizes.begin(), options.tileSizes.end());
  forming.tileTerms = options.target != "cpu";
  forming.wideFactors = !options.forGpu;
  pm.addPass(createAttnFormGrids(forming));
}

/// Grids over tiles: no index notation; one loop over tiles for each depth of
/// reductions, each recomputing the scores.
void buildTiling(OpPassManager &pm, const PipelineOptions &options) {
  buildGrids(pm, options);
  AttnToTileOptions tiling;
  tiling.tileSizes.assign(options.tileSizes.begin(), options.tileSizes.end());
  tiling.target = options.target;
  tiling.sharedBytes = options.sharedBytes;
  tiling.multiplyAdds = !options.forGpu;
  tiling.splitReduced = options.splitReduced;
  tiling.smallTiles = options.byElement;
  pm.addPass(createAttnToTile(tiling));
  pm.addPass(createTileVerify());
}

/// The program that runs: one loop over the keys that keeps running statistics,
/// over the blocks that some row sees, without work that each iteration would
/// repeat.
static void buildLoopStage(OpPassManager &pm, const PipelineOptions &options) {
  simplify(pm, options);
  // Before skipping: bounds are found for the fused loop, once.
  if (options.isEnabled("tile-fuse-online-softmax")) {
    TileFuseOnlineSoftmaxOptions fusion;
    fusion.normalize =
        options.normalizeEachStep ? Normalize::EachStep : Normalize::Late;
    fusion.wideFactors = !options.forGpu;
    pm.addPass(createTileFuseOnlineSoftmax(fusion));
    simplify(pm, options);
  }
  // What has no list keeps bounds.
  if (options.isEnabled("tile-list-blocks")) {
    TileListBlocksOptions lists;
    lists.blocksAtOnce = options.forGpu ? kBlocksJudgedAtOnce : 0;
    pm.addPass(createTileListBlocks(lists));
    simplify(pm, options);
  }
  if (options.isEnabled("tile-skip-masked-blocks")) {
    TileSkipMaskedBlocksOptions skipping;
    skipping.keepMasks = options.byElement;
    pm.addPass(createTileSkipMaskedBlocks(skipping));
    simplify(pm, options);
  }
  // While a formula says that: exponentials are of scores, masks are whole.
  if (options.isEnabled("tile-mark-hidden")) {
    pm.addPass(createTileMarkHidden());
    simplify(pm, options);
  }
  // After those: they read exponentials of scores, not of scaled ones.
  if (options.isEnabled("tile-fold-exp2")) {
    pm.addPass(createTileFoldExp2());
    simplify(pm, options);
  }
  // After that, which looks for a softmax's natural exponentials.
  if (options.isEnabled("tile-fold-scales")) {
    pm.addPass(createTileFoldScales());
    simplify(pm, options);
  }
  // Before the guard: the copy of a loop for its last block stays as it is.
  if (options.isEnabled("tile-peel-tails")) {
    pm.addPass(createTilePeelTails());
    simplify(pm, options);
  }
  // After those: full blocks are known not to reach the axis's end.
  if (options.isEnabled("tile-join-loops")) {
    pm.addPass(createTileJoinLoops());
    simplify(pm, options);
  }
  // Behind the branch around full blocks, before bounds become one: the axis's
  // end is asked for apart, as what is left compares n - m with constants.
  if (options.isEnabled("tile-vote-masks")) {
    pm.addPass(createTileVoteMasks());
    simplify(pm, options);
  }
  // After those: they look for the axis's bound alone.
  if (options.isEnabled("tile-merge-bounds")) {
    pm.addPass(createTileMergeBounds());
    simplify(pm, options);
  }
  // Last of all that changes a loop's step: it stands twice from here on.
  if (options.isEnabled("tile-guard-softmax")) {
    pm.addPass(createTileGuardSoftmax());
    simplify(pm, options);
  }
  // After the guard, which looks for maxima as they were.
  if (options.isEnabled("tile-start-sums-at-bias")) {
    pm.addPass(createTileStartSumsAtBias());
    simplify(pm, options);
  }
  // After all that reads exponents.
  if (options.isEnabled("tile-vote-far-rows")) {
    pm.addPass(createTileVoteFarRows());
    simplify(pm, options);
  }
  // After those: of loops that are still chained the order stays.
  if (options.isEnabled("tile-descend-blocks")) {
    TileDescendBlocksOptions order;
    order.all =
        llvm::is_contained(options.enabledPasses, "tile-descend-blocks");
    pm.addPass(createTileDescendBlocks(order));
  }
  // One or the other: a head's tiles in one program have no order to choose.
  // Before invariants move: what all tiles of a head share leaves the new loop.
  if (options.programPerHead) {
    pm.addPass(createTileSequencePrograms());
  } else {
    if (options.isEnabled("tile-sort-lists"))
      pm.addPass(createTileSortLists());
    if (options.isEnabled("tile-order-programs"))
      pm.addPass(createTileOrderPrograms());
  }
  // After all that reads loops: those over slices are none of blocks.
  if (options.isEnabled("tile-slice-reductions"))
    pm.addPass(createTileSliceReductions());
  if (options.isEnabled("loop-invariant-code-motion")) {
    pm.addPass(createLoopInvariantCodeMotionPass());
    // What chained loops read alike now stands before each.
    simplify(pm, options);
  }
  pm.addPass(createTileVerify());
}

void buildTilePipeline(OpPassManager &pm, const PipelineOptions &options) {
  buildFormulaStage(pm, options);
  buildTiling(pm, options);
  buildLoopStage(pm, options);
}

void buildWarpPipeline(OpPassManager &pm, const PipelineOptions &options) {
  // Who computes what, then where each value lives.
  TilePartitionWarpsOptions partition;
  partition.split = options.splitReduced ? WarpSplit::Reduced : WarpSplit::Rows;
  pm.addPass(createTilePartitionWarps(partition));
  pm.addPass(createTileNarrowColumns());
  pm.addPass(createTileAssignLayouts());
  pm.addPass(createTileSinkColumns());
  pm.addPass(createTileSpreadStores());
  pm.addPass(createTileVerifyLayouts());
  // Layouts are known: what is rounded behind a branch is rounded in it.
  pm.addPass(createTileNarrowBranches());
  // What each thread does; tiles are gone.
  pm.addPass(createTileToWarp());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createWarpDeferSums());
  pm.addPass(createWarpBranchTanh());
  pm.addPass(createCSEPass());
  WarpMarkElementsOptions marks;
  marks.all = options.byElement;
  pm.addPass(createWarpMarkElements(marks));
  // Copies have their buffers and places in the loop before lives are known.
  if (!options.byElement) {
    WarpPipelineCopiesOptions copies;
    copies.mbarriers = waitsAtMbarriers(options.target);
    pm.addPass(createWarpPipelineCopies(copies));
  }
  WarpAllocateSharedOptions room;
  room.limit = mostSharedBytes(options.target);
  pm.addPass(createWarpAllocateShared(room));
  // Rooms are known: which barriers a warp alone needs.
  pm.addPass(createWarpNarrowBarriers());
  // Warps that share rows decide alike: what they vote on they have exchanged.
  if (!options.splitReduced)
    pm.addPass(createWarpVerifyBarriers());
  // Last: nothing that reads memory moves from here on.
  if (launchesDependents(options.target))
    pm.addPass(createWarpDependentLaunch());
}

void configurePassManager(PassManager &pm) {
  (void)applyPassManagerCLOptions(pm);
  applyDefaultTimingPassManagerCLOptions(pm);
}

bool runPasses(ModuleOp module, llvm::function_ref<void(PassManager &)> build) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName(),
                 PassManager::Nesting::Implicit);
  configurePassManager(pm);
#ifdef NDEBUG
  pm.enableVerifier(false);
#endif
  build(pm);
  return succeeded(pm.run(module)) && succeeded(verify(module));
}

} // namespace attentile
