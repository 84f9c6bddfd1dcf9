//===- GpuTileSizes.cpp - tiles that fit a GPU ----------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every combination of a few sizes is looked at: some 200, each a sum over the
// grid's tiles. Of those that fit, the nearest to the table's wins.
//
//===----------------------------------------------------------------------===//

#include "GpuTileSizes.h"
#include "WholeAxes.h"
#include "attentile/Loops/Targets.h"
#include "attentile/Philox.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

#define DEBUG_TYPE "attn-to-tile"

using namespace mlir;

namespace attentile {
namespace {

/// Axes come in multiples of it: rows of a matrix instruction, and what one
/// takes of the reduced axis.
constexpr int64_t kGranularity = 16;

/// Predicted registers above which some spill; the prediction may be 15 % low,
/// and is lower where a warp has 16 rows and its operands serve fewer products.
constexpr int64_t kRegisterLimit = 256, kRegisterLimitOfFewRows = 231;
/// So many more where warps meet at mbarriers: ptxas leaves room in a loop
/// without barriers.
constexpr int64_t kMoreAtMbarriers = 8;

/// Where scores are sums of terms that are no products (tile-slice-reductions):
/// at head size 128 L1 distances take 0.8 of the time that they have with 32
/// rows a warp, and 0.65 of that with one warp of 16 keys (an H200).
constexpr GpuTiles kTilesOfSums = {.rowsPerWarp = kGranularity,
                                   .warps = 4,
                                   .loop = 64,
                                   .stages = 0,
                                   .keepLeft = false};

/// Predicted registers of which most live in memory: a row by itself is faster
/// then, and compiled in far less time.
constexpr int64_t kFarTooMany = 4 * kRegisterLimit;

/// What a doubling of a loop's work weighs beside one of its tiles.
constexpr double kWaste = 1.5;

/// Split-K: warps that share out the keys, as tile-partition-warps does.
constexpr int64_t kKeyWarps = 4;

struct Candidate {
  llvm::DenseMap<Value, int64_t> sizes;
  GpuTiles tiles;
  GpuUse use;
  double distance = 0;
};

class Chooser {
public:
  Chooser(attn::GridOp grid, attn::KernelOp kernel, attn::AxesAnalysis &axes,
          const RequestedSizes &requested, const GpuTarget &target,
          GpuTiling tiling)
      : grid(grid), kernel(kernel), requested(requested), target(target),
        tiling(tiling), splitReduced(tiling.splitReduced), model(grid, axes) {}

  LogicalResult choose();
  /// Predicted of a thread by the tiles chosen, more than there are if they
  /// spill.
  int64_t registers() const { return chosen->use.registers; }
  /// What was chosen, told in remarks.
  TileChoice finish();

private:
  int64_t registerLimit(const GpuTiles &tiles, const GpuUse &use) const;
  bool meetsAtMbarriers() const {
    return target.waitsAtMbarriers && model.canMeetAtMbarriers();
  }
  LogicalResult setFixedSizes();
  /// `stages`: as the table has it, or 0. Without a limit on registers the
  /// fewest come first.
  std::optional<Candidate> find(const RequestedSizes &requests, int64_t stages,
                                bool limitRegisters);
  std::optional<Candidate> findAny(bool isForced);
  Candidate make(const RequestedSizes &requests, GpuTiles tiles);
  double distanceOf(const GpuTiles &tiles);
  int64_t extentLimit(Value axis, int64_t size);
  double wasteOf(Value axis, int64_t size);
  void bufferTwice(Candidate &candidate) const;
  InFlightDiagnostic failToFit(const Candidate &wanted);
  StringRef nameOf(Value axis) {
    return kernel.nameOf(cast<BlockArgument>(axis));
  }
  int64_t blocksOf(const GpuUse &use) const;

  attn::GridOp grid;
  attn::KernelOp kernel;
  const RequestedSizes &requested;
  const GpuTarget &target;
  GpuTiling tiling;
  bool splitReduced;
  GpuModel model;
  llvm::DenseMap<Value, int64_t> fixed; // whole axes
  int64_t columns = 1;                  // of the widest of them
  GpuTiles preferred;
  std::optional<Candidate> chosen;
};

/// Whole axes have their extent, padded.
LogicalResult Chooser::setFixedSizes() {
  for (Value axis : grid.getWhole()) {
    auto index = cast<BlockArgument>(axis);
    std::optional<int64_t> extent = getConstantExtent(kernel, index);
    if (!extent)
      return grid.emitError("expected the size of axis '")
             << kernel.nameOf(index)
             << "' to be known, as it stands whole in the tile";
    fixed[axis] = llvm::alignTo(std::max<int64_t>(*extent, 1), kGranularity);
    columns = std::max(columns, fixed[axis]);
  }
  int64_t bytes = model.hasProducts() ? model.elementBytes() : 0;
  preferred = tiling.small && bytes ? getSmallTiles(columns, bytes)
                                    : getPreferredTiles(target, columns, bytes,
                                                        meetsAtMbarriers());
  if (model.hasSums()) {
    preferred.rowsPerWarp = kTilesOfSums.rowsPerWarp;
    preferred.warps = kTilesOfSums.warps;
    preferred.loop = kTilesOfSums.loop;
  }
  return success();
}

/// No larger than a known extent, padded.
int64_t Chooser::extentLimit(Value axis, int64_t size) {
  auto extent = getConstantExtent(kernel, cast<BlockArgument>(axis));
  if (!extent)
    return size;
  return std::min<int64_t>(
      size, llvm::alignTo(std::max<int64_t>(*extent, 1), kGranularity));
}

/// What tiles of this size compute beyond a known extent, in doublings.
double Chooser::wasteOf(Value axis, int64_t size) {
  auto extent = getConstantExtent(kernel, cast<BlockArgument>(axis));
  if (!extent || *extent <= 0)
    return 0;
  return std::log2(double(llvm::alignTo(*extent, size)) /
                   double(llvm::alignTo(*extent, kGranularity)));
}

double Chooser::distanceOf(const GpuTiles &tiles) {
  auto steps = [](int64_t a, int64_t b) {
    return std::abs(std::log2(double(a) / double(b)));
  };
  // Rows decide how often keys are read, those of a warp how many products an
  // operand from shared memory serves, keys only how often loops turn. At head
  // size 128, of 32 rows, 4 warps and 64 keys: 0.96 with 48 keys, 0.92 with 32,
  // 0.83 with 16 rows; with 8 warps of 16 rows what a score's own computation
  // adds has little to hide behind (0.52 with dropout, 0.63 with 4 warps).
  return steps(tiles.loop, preferred.loop) +
         2.2 * steps(tiles.rowsPerWarp, preferred.rowsPerWarp) +
         2.5 * steps(tiles.warps, preferred.warps) +
         (model.hasRandoms() && tiles.loop % kRandomSpan != 0
              ? 2 * steps(tiles.loop, kRandomSpan)
              : 0) +
         (tiles.keepLeft != preferred.keepLeft ? 0.25 : 0);
}

/// These tiles on this grid.
Candidate Chooser::make(const RequestedSizes &requests, GpuTiles tiles) {
  Candidate result;
  result.tiles = tiles;
  result.sizes = fixed;
  auto place = [&](Value axis, int64_t size) {
    auto request = requests.find(nameOf(axis));
    result.sizes[axis] =
        extentLimit(axis, request == requests.end() ? size : request->second);
  };
  for (Value axis : grid.getLoop())
    place(axis, tiles.loop);
  for (Value axis : grid.getTile())
    place(axis, axis == model.rows() ? tiles.rows() : tiles.loop);
  int64_t warps = 1;
  if (model.rows()) {
    // Fewer where a known extent or a request leaves fewer rows.
    int64_t rows = result.sizes.lookup(model.rows());
    warps = tiles.warps;
    int64_t sharing = splitReduced ? std::min(kKeyWarps, warps) : 1;
    while (warps > sharing && rows % (kGranularity * (warps / sharing)) != 0)
      warps /= 2;
  }
  result.use = model.use(result.sizes, warps, tiles.keepLeft, tiles.stages);
  if (splitReduced && model.hasProducts()) {
    // What each warp leaves for others: two turns of half a row block at all
    // columns, of a whole one if that is little.
    int64_t widest = columns;
    for (Value axis : grid.getTile())
      if (axis != model.rows())
        widest = std::max(widest, result.sizes.lookup(axis));
    int64_t bytes = warps * kGranularity * widest * 4;
    result.use.shared += bytes <= 32 * 1024 ? 2 * bytes : bytes;
  }
  result.distance = distanceOf(tiles);
  for (Value axis : grid.getLoop())
    result.distance += kWaste * wasteOf(axis, result.sizes.lookup(axis));
  return result;
}

/// What a thread may have, of those predicted, with these tiles.
int64_t Chooser::registerLimit(const GpuTiles &tiles, const GpuUse &use) const {
  int64_t more = meetsAtMbarriers() ? kMoreAtMbarriers : 0;
  return std::min(tiles.rowsPerWarp > kGranularity ? kRegisterLimit + more
                                                   : kRegisterLimitOfFewRows,
                  kRegistersPerMultiprocessor /
                      (tile::Layout::kLanes * use.warps()));
}

/// The nearest to the table's choice that fits.
std::optional<Candidate> Chooser::find(const RequestedSizes &requests,
                                       int64_t stages, bool limitRegisters) {
  std::optional<Candidate> best;
  GpuTiles tiles = preferred;
  tiles.stages = stages;
  for (int64_t rowsPerWarp : {16, 32})
    for (int64_t warps : {1, 2, 4, 8, 16})
      for (int64_t loop : {8, 16, 32, 48, 64, 96, 128})
        for (bool keepLeft : {false, true}) {
          if (warps > 8 && !splitReduced)
            continue;
          // Rows of a product go 16 at a time whatever their type.
          if (loop < kGranularity &&
              (!model.isAllF32() || model.hasProductOfOtherRows() ||
               !llvm::is_contained(grid.getTile(), model.rows())))
            continue;
          tiles.rowsPerWarp = rowsPerWarp;
          tiles.warps = warps;
          tiles.loop = loop;
          tiles.keepLeft = keepLeft;
          Candidate made = make(requests, tiles);
          int64_t excess = made.use.registers - registerLimit(tiles, made.use);
          if (made.use.shared > target.sharedPerBlock ||
              (limitRegisters && excess > 0))
            continue;
          made.distance += 100.0 * double(std::max<int64_t>(excess, 0));
          // Values of so many axes live in memory, also in shared memory where
          // they change layout: the fewer rows the better.
          if (excess > kRegisterLimit)
            made.distance += 100.0 * double(tiles.rows());
          if (!best || made.distance < best->distance)
            best = made;
        }
  return best;
}

/// Blocks that share a multiprocessor.
int64_t Chooser::blocksOf(const GpuUse &use) const {
  int64_t threads = tile::Layout::kLanes * use.warps();
  int64_t registers =
      llvm::alignTo(std::min(use.registers, kMostRegisters), 8) * threads;
  return std::max<int64_t>(1,
                           std::min({target.sharedPerMultiprocessor /
                                         (use.shared + kSharedPerBlockReserve),
                                     kRegistersPerMultiprocessor / registers,
                                     target.mostThreads / threads}));
}

/// Two buffers for each factor of a loop, where as many blocks fit with them:
/// threads meet once an iteration instead of twice, and copies have an
/// iteration to arrive (0.93 to 0.98 of the time at head size 128 on an H200).
void Chooser::bufferTwice(Candidate &candidate) const {
  if (candidate.tiles.stages != 1)
    return;
  auto shared = [&](int64_t stages) {
    return model
        .use(candidate.sizes, candidate.use.rowWarps, candidate.tiles.keepLeft,
             stages)
        .shared;
  };
  GpuUse twice = candidate.use;
  twice.shared += shared(2) - shared(1);
  // With mbarriers (warp-pipeline-copies): for what has arrived, keys, values.
  GpuUse whole = twice;
  whole.shared += 3 * kMbarrierBytes;
  if (whole.shared > target.sharedPerBlock ||
      blocksOf(whole) < blocksOf(candidate.use))
    return;
  candidate.tiles.stages = 2;
  candidate.use = twice;
}

InFlightDiagnostic Chooser::failToFit(const Candidate &wanted) {
  // [L7.6]
  InFlightDiagnostic error = grid.emitError("expected tiles that fit ")
                             << target.name << ", " << target.sharedPerBlock
                             << " bytes of shared memory and " << kMostRegisters
                             << " registers, got tiles that need "
                             << wanted.use.shared << " and "
                             << wanted.use.registers;
  if (std::optional<Candidate> nearest =
          find({}, preferred.stages, /*limitRegisters=*/true)) {
    Diagnostic &note = error.attachNote();
    note << "the nearest that fit: ";
    bool isFirst = true;
    for (OperandRange group : {grid.getTile(), grid.getLoop()})
      for (Value axis : group) {
        note << (isFirst ? "" : ", ") << nameOf(axis) << "="
             << nearest->sizes.lookup(axis);
        isFirst = false;
      }
    return error;
  }
  if (grid.getWhole().empty())
    return error;
  Diagnostic &note = error.attachNote();
  note << "tiles have all of ";
  llvm::interleaveComma(grid.getWhole(), note, [&](Value axis) {
    note << nameOf(axis) << "="
         << *getConstantExtent(kernel, cast<BlockArgument>(axis));
  });
  note << ": a let that a schedule materializes is computed in tiles of its "
          "own, and an output's index that no score sums (another one of the "
          "same size) is cut into tiles";
  return error;
}

/// The first choice that fits: with the table's buffers or without, within the
/// registers or, if no tiles are forced, with spills.
std::optional<Candidate> Chooser::findAny(bool isForced) {
  for (bool limitRegisters : {true, false})
    for (int64_t stages : {preferred.stages, int64_t(0)})
      if (limitRegisters || !isForced) // last of all, spills
        if (auto chosen = find(requested, stages, limitRegisters))
          return chosen;
  return std::nullopt;
}

LogicalResult Chooser::choose() {
  if (failed(setFixedSizes()))
    return failure();
  bool isForced = false;
  for (OperandRange group : {grid.getTile(), grid.getLoop()})
    for (Value axis : group) {
      auto request = requested.find(nameOf(axis));
      if (request == requested.end())
        continue;
      // A loop over tiles has its size from the formula, not from a schedule.
      isForced |= llvm::none_of(
          grid.getBody().getOps<attn::ForOp>(),
          [&](attn::ForOp loop) { return loop.getAxis() == axis; });
      // [L7.6]
      if (request->second % kGranularity)
        return grid.emitError("expected a tile size of a multiple of ")
               << kGranularity << " for '" << nameOf(axis) << "' on "
               << target.name << ", got " << request->second;
    }
  chosen = findAny(isForced);
  if (!chosen)
    return failToFit(make(requested, preferred));
  bufferTwice(*chosen);
  return success();
}

TileChoice Chooser::finish() {
  const GpuUse &use = chosen->use;
  GpuUse table = make(requested, preferred).use;
  if (int64_t limit = registerLimit(preferred, table);
      table.shared <= target.sharedPerBlock && table.registers > limit)
    remark::missed(grid.getLoc(),
                   remark::RemarkOpts::name("TableTiles").category(DEBUG_TYPE))
        << remark::add("tiles of the target's table")
        << remark::reason("{0} registers a thread would be needed, of {1}",
                          table.registers, limit);
  TileChoice choice;
  choice.sizes = std::move(chosen->sizes);
  choice.resources = tile::ResourcesAttr::get(
      grid.getContext(), use.warps(), chosen->tiles.stages,
      std::min(use.registers, kMostRegisters), use.shared, blocksOf(use),
      chosen->tiles.keepLeft);
  return choice;
}

} // namespace

/// Whether a loop reads tiles of two axes that all indices of this one have in
/// common, as rows their keys: programs would read them again for each.
static bool sharesTiles(attn::GridOp grid, Value axis,
                        attn::AxesAnalysis &axes) {
  attn::Axes loop = axes.setOf(grid.getLoop()), tile = loop,
             own = axes.setOf(axis);
  loop |= axes.setOf(grid.getWalk());
  tile |= axes.setOf(grid.getTile());
  tile |= axes.setOf(grid.getWhole());
  return grid
      .walk([&](attn::ReadOp read) {
        attn::Axes ofRead = axes.of(read), inTile = ofRead;
        inTile &= tile;
        bool isShared = ofRead.anyCommon(loop) && inTile.count() > 1 &&
                        !ofRead.anyCommon(own);
        return isShared ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Makes each index of a tile's axis a program of its own.
static void makePrograms(attn::GridOp grid, Value axis) {
  SmallVector<Value> tile(grid.getTile());
  llvm::erase(tile, axis);
  grid.getStepMutable().append(axis);
  grid.getTileMutable().assign(tile);
}

FailureOr<TileChoice>
chooseGpuTileSizes(attn::GridOp grid, attn::KernelOp kernel,
                   attn::AxesAnalysis &axes, const RequestedSizes &requested,
                   const GpuTarget &target, GpuTiling tiling) {
  RequestedSizes sizes = tiling.small ? RequestedSizes() : requested;
  for (auto loop : grid.getBody().getOps<attn::ForOp>())
    sizes[kernel.nameOf(cast<BlockArgument>(loop.getAxis()))] =
        llvm::alignTo(loop.getSize(), kGranularity);
  auto choose = [&] {
    auto chooser =
        std::make_unique<Chooser>(grid, kernel, axes, sizes, target, tiling);
    return succeeded(chooser->choose()) ? std::move(chooser) : nullptr;
  };
  // The axis whose indices leave the fewest registers as programs.
  auto findRows = [&](int64_t most) {
    BlockArgument best;
    const SmallVector<Value> step(grid.getStep()), tile(grid.getTile());
    for (Value axis : tile) {
      if (requested.contains(kernel.nameOf(cast<BlockArgument>(axis))) ||
          sharesTiles(grid, axis, axes))
        continue;
      makePrograms(grid, axis);
      ScopedDiagnosticHandler quiet(grid.getContext(),
                                    [](Diagnostic &) { return success(); });
      if (std::unique_ptr<Chooser> other = choose();
          other && other->registers() <= most) {
        best = cast<BlockArgument>(axis);
        most = other->registers();
      }
      grid.getStepMutable().assign(step);
      grid.getTileMutable().assign(tile);
    }
    return best;
  };
  std::unique_ptr<Chooser> chooser = choose();
  while (chooser && chooser->registers() > kFarTooMany) {
    BlockArgument rows = findRows(chooser->registers() / 2);
    if (!rows)
      break;
    makePrograms(grid, rows);
    chooser = choose();
    remark::passed(
        grid.getLoc(),
        remark::RemarkOpts::name("RowsAsPrograms").category(DEBUG_TYPE))
        << remark::add("each '{0}' is a program: registers do not hold several",
                       kernel.nameOf(rows));
  }
  if (!chooser)
    return failure();
  return chooser->finish();
}

} // namespace attentile
