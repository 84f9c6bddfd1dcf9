//===- PartitionWarps.cpp - which warp has which part of a tile -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: writes `tile.warps` on every tile.kernel: which axis is spread over how
// many warps. Expects: tiles whose rows are a multiple of 16 and columns of 8
// (attn-to-tile for a GPU). Leaves: types as they are. Does not handle: tiles
// of other sizes, an error.
//
//===----------------------------------------------------------------------===//

#include "KernelAxes.h"
#include "attentile/Mapping/Passes.h"
#include "llvm/ADT/bit.h"

namespace attentile {
#define GEN_PASS_DEF_TILEPARTITIONWARPS
#include "Mapping/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// What mma.m16n8 makes of a tile: rows and columns of one block.
constexpr int64_t kBlockRows = 16, kBlockColumns = 8;

/// Accumulators of a thread that leave registers for scores and operands.
/// Of f32 each operand takes two, and one element goes through two more.
constexpr int64_t kMostAccumulators = 128, kMostSplit = 64;

/// Split-K: warps that share out the keys, each of which leaves a sum of its
/// own for every element.
constexpr int64_t kMostKeyWarps = 4;

/// The largest power of two up to `wanted` of which `size` is a multiple, in
/// steps of `block`.
int64_t divideOverWarps(int64_t size, int64_t block, int64_t wanted) {
  int64_t warps = llvm::bit_floor(uint64_t(std::max<int64_t>(wanted, 1)));
  while (warps > 1 && size % (block * warps) != 0)
    warps /= 2;
  return warps;
}

/// Registers of a thread that hold what a loop carries over the rows and kept
/// columns, the rows spread over that many warps and the columns over one: the
/// most of any loop, or of a product outside of loops.
int64_t countAccumulators(tile::KernelOp kernel, const KernelAxes &axes,
                          int64_t warps) {
  int64_t most = 0;
  auto elementsOf = [&](Value value) -> int64_t {
    Type type = value.getType();
    if (!llvm::any_of(tile::getAxes(type),
                      [&](StringAttr axis) { return axes.isKeptColumn(axis); }))
      return 0;
    return cast<RankedTensorType>(type).getNumElements();
  };
  kernel.walk([&](Operation *op) {
    int64_t elements = 0;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (Value carried : loop.getRegionIterArgs())
        elements += elementsOf(carried);
    else if (auto dot = dyn_cast<tile::DotOp>(op))
      elements = elementsOf(dot.getResult());
    most = std::max(most, elements);
  });
  return most / (tile::Layout::kLanes * warps);
}

/// Whether warps decide over elements of this axis.
bool isVotedOn(tile::KernelOp kernel, StringAttr axis) {
  return kernel
      .walk([&](tile::VoteOp vote) {
        return tile::getAxisPosition(vote.getOperand().getType(), axis)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Over how many warps the kept columns go so that accumulators fit. Warps of
/// the same rows decide alike, so that each has all columns that they vote on.
int64_t divideColumns(tile::KernelOp kernel, const KernelAxes &axes,
                      int64_t rowWarps) {
  int64_t warps = 1;
  auto fits = [&](int64_t warps) {
    return llvm::all_of(axes.dots(), [&](tile::DotOp dot) {
      return llvm::all_of(tile::getAxes(dot.getType()), [&](StringAttr axis) {
        return !axes.isKeptColumn(axis) ||
               (axes.sizeOf(axis) % (kBlockColumns * warps) == 0 &&
                !isVotedOn(kernel, axis));
      });
    });
  };
  int64_t accumulators = countAccumulators(kernel, axes, rowWarps);
  int64_t most =
      llvm::any_of(axes.dots(),
                   [](tile::DotOp dot) { return dot.getProduct().isF32(); })
          ? kMostSplit
          : kMostAccumulators;
  while (accumulators / warps > most && fits(2 * warps))
    warps *= 2;
  return warps;
}

struct TilePartitionWarps : impl::TilePartitionWarpsBase<TilePartitionWarps> {
  using TilePartitionWarpsBase::TilePartitionWarpsBase;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](tile::KernelOp kernel) {
      return failed(partition(kernel)) ? WalkResult::interrupt()
                                       : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult partition(tile::KernelOp kernel) {
    KernelAxes axes(kernel);
    StringAttr rows = axes.findRows();
    MLIRContext *context = &getContext();
    if (!rows) // scalars, or one row: one warp
      rows = StringAttr::get(context, "");
    if (failed(checkSizes(kernel, axes, rows)))
      return failure();
    tile::ResourcesAttr resources =
        getDialect()->getResourcesAttrHelper().getAttr(kernel);
    int64_t wanted = warps ? warps : resources ? resources.getWarps() : 4;
    int64_t rowWarps = 1, columnWarps = 1, reducedWarps = 1;
    if (!rows.empty() && split == WarpSplit::Rows) {
      rowWarps = divideOverWarps(axes.sizeOf(rows), kBlockRows, wanted);
      columnWarps = divideColumns(kernel, axes, rowWarps);
      if (resources && !warps) // these are all warps
        rowWarps = divideOverWarps(axes.sizeOf(rows), kBlockRows,
                                   wanted / columnWarps);
    } else if (!rows.empty()) {
      columnWarps = reducedWarps =
          divideReduced(kernel, axes, std::min(wanted, kMostKeyWarps));
      if (!decides(kernel))
        rowWarps = divideOverWarps(axes.sizeOf(rows), kBlockRows,
                                   wanted / reducedWarps);
    }
    getDialect()->getWarpsAttrHelper().setAttr(
        kernel, tile::WarpsAttr::get(context, rows, rowWarps, columnWarps,
                                     reducedWarps));
    return success();
  }

  tile::TileDialect *getDialect() {
    return getContext().getLoadedDialect<tile::TileDialect>();
  }

  /// Split-K: over how many warps the reduced columns and the kept ones go. All
  /// warps decide alike, so that each has all kept columns that they vote on.
  static int64_t divideReduced(tile::KernelOp kernel, const KernelAxes &axes,
                               int64_t wanted) {
    for (tile::DotOp dot : axes.dots())
      for (StringAttr axis : tile::getAxes(dot.getType())) {
        // The next product takes its left factor 16 columns at a time.
        if (axes.isReducedColumn(axis))
          wanted = divideOverWarps(axes.sizeOf(axis), kBlockRows, wanted);
        else if (axes.isKeptColumn(axis) && isVotedOn(kernel, axis))
          wanted = 1;
        else if (axes.isKeptColumn(axis))
          wanted = divideOverWarps(axes.sizeOf(axis), kBlockColumns, wanted);
      }
    return axes.dots().empty() ? 1 : wanted;
  }

  /// Whether warps may go two ways. Split-K has barriers on both, so that all
  /// warps must decide over the same rows.
  static bool decides(tile::KernelOp kernel) {
    return kernel.walk([](tile::VoteOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  static LogicalResult checkSizes(tile::KernelOp kernel, const KernelAxes &axes,
                                  StringAttr rows) {
    for (RankedTensorType type : axes.tiles())
      for (StringAttr axis : tile::getAxes(type)) {
        int64_t block = axis == rows ? kBlockRows : kBlockColumns;
        if (axes.sizeOf(axis) % block)
          return kernel.emitError("expected a tile of a multiple of ")
                 << block << " elements on axis '" << axis.getValue()
                 << "' for matrix instructions, got " << axes.sizeOf(axis);
      }
    return success();
  }
};

} // namespace
} // namespace attentile
