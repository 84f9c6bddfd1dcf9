//===- SkipMaskedBlocks.cpp - loop bounds from the masks' formulas --------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: loops over the tiles of an axis visit only blocks that some row of the
// program needs, and evaluate masks only in blocks where some row is masked;
// loops around them, over single indices, go from the first needed to the last.
// Expects: tile.kernel with scf.for from 0, fused or not. Leaves: chained loops
// with `tile.blocks`, bounds before them, remarks. Does not handle: conditions
// whose set of indices has no closed form (computed everywhere, with the mask).
//
//===----------------------------------------------------------------------===//

#include "BlockRanges.h"
#include "LoopsAround.h"
#include "MaskedLoops.h"
#include "attentile/Loops/Passes.h"
#include "mlir/IR/Remarks.h"

namespace attentile {
#define GEN_PASS_DEF_TILESKIPMASKEDBLOCKS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-skip-masked-blocks"

using namespace mlir;

namespace attentile {
namespace {

/// A copy of `loop` over some of its blocks, going on from `inits`; the
/// conditions that `known` maps are not evaluated.
scf::ForOp cloneLoop(IndexBuilder &index, scf::ForOp loop, BlockRange range,
                     int64_t size, ValueRange inits, IRMapping known) {
  auto copy = scf::ForOp::create(
      index.getBuilder(), loop.getLoc(), index.multiply(range.from, size),
      index.multiply(range.to, size), loop.getStep(), inits);
  copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  copy->setAttr("tile.blocks",
                tile::BlockClassAttr::get(loop.getContext(), range.blocks));
  known.map(loop.getBody()->getArguments(), copy.getBody()->getArguments());
  if (!copy.getBody()->empty())
    copy.getBody()->getTerminator()->erase();
  copyBody(loop, copy, known);
  return copy;
}

class LoopSkipper {
public:
  /// `rows`: all of the kernel's; those that come after the loop are not used.
  LoopSkipper(tile::KernelOp kernel, scf::ForOp loop, ArrayRef<RowAxis> rows,
              bool keepMasks)
      : kernel(kernel), loop(loop), keepMasks(keepMasks), allRows(rows),
        rows(getRowsBefore(rows, loop)), masked(loop) {}

  void run();

private:
  remark::detail::InFlightRemark missed(StringRef name, Location loc) {
    return remark::missed(loc, getOptions(name));
  }
  remark::RemarkOpts getOptions(StringRef name) {
    return remark::RemarkOpts::name(name)
        .category(DEBUG_TYPE)
        .function(kernel.getName());
  }
  void mark(tile::BlockClass blocks) {
    loop->setAttr("tile.blocks",
                  tile::BlockClassAttr::get(loop.getContext(), blocks));
  }
  void narrowAround();
  void replace(IndexBuilder &index, ArrayRef<BlockRange> ranges);

  tile::KernelOp kernel;
  scf::ForOp loop;
  bool keepMasks;
  ArrayRef<RowAxis> allRows;
  SmallVector<RowAxis> rows;
  MaskedLoop masked;
};

void LoopSkipper::replace(IndexBuilder &index, ArrayRef<BlockRange> ranges) {
  IRMapping visible = masked.getVisible(index.getBuilder());
  SmallVector<Value> carried(loop.getInits());
  for (BlockRange range : ranges) {
    bool isFull = range.blocks == tile::BlockClass::Full;
    scf::ForOp part = cloneLoop(index, loop, range, masked.getSize(), carried,
                                isFull ? visible : IRMapping());
    carried.assign(part.getResults().begin(), part.getResults().end());
  }
  loop.replaceAllUsesWith(carried);
  loop.erase();
}

/// Loops around this one visit the indices where it may need something.
void LoopSkipper::narrowAround() {
  for (scf::ForOp around : getLoopsAround(loop))
    if (narrow(around, masked.getNeeded(), getRowsBefore(allRows, around)))
      remark::passed(around.getLoc(), getOptions("indices-around"))
          << remark::add("a loop over {0} visits the indices from the first to "
                         "the last that masks leave",
                         around->getAttrOfType<StringAttr>("tile.axis").str());
}

void LoopSkipper::run() {
  if (masked.isPadded())
    missed("padded-tiles", loop.getLoc()) << remark::add(
        "every block is computed: tiles of {0} are padded", masked.getSize());
  if (!masked.isOpen())
    return;
  int64_t size = masked.getSize();
  if (!masked.getNeeded()) {
    missed("not-a-reduction", loop.getLoc())
        << "every block is computed: what the loop carries is not updated as a "
           "reduction";
    return;
  }
  if (!masked.hasMask()) {
    // Of the scores, not of a row's sum.
    auto axis = loop->getAttrOfType<StringAttr>("tile.axis");
    Formulas::anyAtom(masked.getNeeded(), [&](Value atom) {
      if (!tile::getAxisPosition(atom.getType(), axis))
        return false;
      missed("float-condition", atom.getLoc())
          << "every block is computed: what a comparison of floats leaves is "
             "not known for blocks";
      return true;
    });
    return mark(tile::BlockClass::Full);
  }
  if (!masked.isSafeBeyond()) {
    missed("end-not-selected", loop.getLoc())
        << "every block is computed: indices beyond the axis's end are not "
           "neutral";
    return;
  }

  narrowAround();
  OpBuilder builder(loop);
  IndexBuilder index(builder, loop.getLoc());
  IntervalSets sets(index, loop, rows);
  IntervalSet possible = sets.get(masked.getNeeded(), Side::Possible);
  IntervalSet certain;
  if (masked.getFull() && !keepMasks)
    certain = sets.get(masked.getFull(), Side::Certain);
  for (Value condition : sets.getOpenConditions())
    missed("condition-not-closed", condition.getLoc())
        << "no bounds in closed form: this condition is taken to hold or fail "
           "anywhere";
  if (possible.size() > kMaxIntervals)
    missed("hull-of-intervals", loop.getLoc())
        << "needed indices lie in several intervals: blocks between the first "
           "and the last are computed"
        << remark::metric("Intervals", possible.size());
  SmallVector<BlockRange> ranges =
      getBlockRanges(index, loop.getUpperBound(), size, possible, certain);
  size_t full = llvm::count_if(ranges, [](BlockRange range) {
    return range.blocks == tile::BlockClass::Full;
  });
  remark::passed(loop.getLoc(), getOptions("block-ranges"))
      << "loop over blocks split" << remark::metric("Loops", ranges.size())
      << remark::metric("FullLoops", full);
  replace(index, ranges);
}

struct TileSkipMaskedBlocks
    : impl::TileSkipMaskedBlocksBase<TileSkipMaskedBlocks> {
  using TileSkipMaskedBlocksBase::TileSkipMaskedBlocksBase;

  void runOnOperation() override {
    getOperation()->walk([&](tile::KernelOp kernel) {
      SmallVector<scf::ForOp> loops = getLoops(kernel);
      // Once, before reductions over rows are added for bounds.
      SmallVector<RowAxis> rows = getRowAxes(kernel);
      for (scf::ForOp loop : loops)
        LoopSkipper(kernel, loop, rows, keepMasks).run();
      eraseDead(kernel.getBody().front());
    });
  }
};

} // namespace
} // namespace attentile
