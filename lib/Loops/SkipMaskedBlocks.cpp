//===- SkipMaskedBlocks.cpp - loop bounds from the masks' formulas --------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: loops over the tiles of an axis visit only blocks that some row of the
// program needs, and evaluate masks only in blocks where some row is masked.
// Expects: tile.kernel with scf.for from 0, fused or not. Leaves: chained loops
// with `tile.blocks`, bounds before them, remarks. Does not handle: conditions
// whose set of indices has no closed form (computed everywhere, with the mask).
//
//===----------------------------------------------------------------------===//

#include "BlockRanges.h"
#include "VisibilityFormula.h"
#include "attentile/Loops/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attentile {
#define GEN_PASS_DEF_TILESKIPMASKEDBLOCKS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-skip-masked-blocks"

using namespace mlir;

namespace attentile {
namespace {

//===----------------------------------------------------------------------===//
// Rows that count
//===----------------------------------------------------------------------===//

/// An extent of a tensor as a value of the program; null for what is no size or
/// constant.
Value getSize(IndexBuilder &index, AffineExpr extent,
              attn::SignatureOpInterface program) {
  if (auto constant = dyn_cast<AffineConstantExpr>(extent))
    return index.constant(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(extent))
    return program.getSizeArgs()[symbol.getPosition()];
  return {};
}

/// The extent beyond which a store at the indices `row` writes nothing, or
/// nothing if it does not store at these indices.
std::optional<AffineExpr> getStoredExtent(tile::StoreOp store,
                                          tile::IndexOp row) {
  for (auto [at, extent] : llvm::zip_equal(
           store.getIndices(), getTensorShape(store.getTensor()).getResults()))
    if (stripBroadcast(at) == row.getResult())
      return extent;
  return std::nullopt;
}

/// The kernel's tiles of indices. Rows count that some store writes, if no
/// reduction joins rows.
SmallVector<RowAxis> getRowAxes(IndexBuilder &index, tile::KernelOp kernel) {
  attn::SignatureOpInterface program =
      kernel->getParentOfType<tile::ProgramOp>();
  SmallVector<RowAxis> rows;
  for (auto row : kernel.getBody().front().getOps<tile::IndexOp>()) {
    StringAttr axis = tile::getAxes(row.getType())[0];
    std::optional<AffineExpr> extent;
    WalkResult agree = kernel->walk([&](Operation *op) {
      ArrayAttr over;
      if (auto reduce = dyn_cast<tile::ReduceOp>(op))
        over = reduce.getOver();
      if (auto dot = dyn_cast<tile::DotOp>(op))
        over = dot.getOver();
      if (over && llvm::is_contained(over, axis))
        return WalkResult::interrupt();
      auto store = dyn_cast<tile::StoreOp>(op);
      if (!store || !tile::getAxisPosition(store.getValue().getType(), axis))
        return WalkResult::advance();
      auto stored = getStoredExtent(store, row);
      if (!stored || (extent && *extent != *stored))
        return WalkResult::interrupt();
      extent = stored;
      return WalkResult::advance();
    });
    Value size = extent && !agree.wasInterrupted()
                     ? getSize(index, *extent, program)
                     : Value();
    rows.push_back({row, size});
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A copy of `loop` over some of its blocks, going on from `inits`; the
/// conditions that `known` maps are not evaluated.
scf::ForOp cloneLoop(IndexBuilder &index, scf::ForOp loop, BlockRange range,
                     int64_t size, ValueRange inits, const IRMapping &known) {
  OpBuilder &builder = index.getBuilder();
  IRMapping mapping = known;
  auto copy = scf::ForOp::create(
      builder, loop.getLoc(), index.multiply(range.from, size),
      index.multiply(range.to, size), loop.getStep(), inits);
  copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  copy->setAttr("tile.blocks",
                tile::BlockClassAttr::get(loop.getContext(), range.blocks));
  mapping.map(loop.getBody()->getArguments(), copy.getBody()->getArguments());
  if (!copy.getBody()->empty())
    copy.getBody()->getTerminator()->erase();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(copy.getBody());
  for (Operation &op : *loop.getBody()) {
    // A known condition stays what it is known to be.
    if (op.getNumResults() == 1 && known.contains(op.getResult(0)))
      continue;
    Operation *clone = builder.clone(op, mapping);
    SmallVector<Value> folded;
    if (clone->getNumResults() == 1 &&
        succeeded(builder.tryFold(clone, folded)) && !folded.empty()) {
      mapping.map(op.getResults(), folded);
      clone->erase();
    }
  }
  return copy;
}

/// Erases what nothing uses of a block, from its end on.
void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

class LoopSkipper {
public:
  /// `rows`: all of the kernel's; those that come after the loop are not used.
  LoopSkipper(tile::KernelOp kernel, scf::ForOp loop, ArrayRef<RowAxis> rows,
              bool keepMasks)
      : kernel(kernel), loop(loop), keepMasks(keepMasks),
        inside(formulas, /*tail=*/true), beyond(formulas, /*tail=*/false) {
    Operation *place =
        kernel.getBody().front().findAncestorOpInBlock(*loop.getOperation());
    llvm::copy_if(rows, std::back_inserter(this->rows), [&](RowAxis row) {
      return row.index->isBeforeInBlock(place);
    });
  }

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
  bool isSafeBeyond(int64_t size);
  void replace(IndexBuilder &index, ArrayRef<BlockRange> ranges, int64_t size,
               ArrayRef<MaskCondition> masks);

  tile::KernelOp kernel;
  scf::ForOp loop;
  bool keepMasks;
  SmallVector<RowAxis> rows;
  Formulas formulas;
  VisibilityAnalysis inside, beyond;
};

/// Whether indices beyond the axis's end are neutral whatever the masks are: a
/// block where masks are not evaluated may reach there.
bool LoopSkipper::isSafeBeyond(int64_t size) {
  auto extent = getIntegerConstant(loop.getUpperBound());
  if (extent && extent->getSExtValue() % size == 0)
    return true;
  Formula hidden = beyond.getHidden(loop);
  return hidden && hidden->isTrue();
}

void LoopSkipper::replace(IndexBuilder &index, ArrayRef<BlockRange> ranges,
                          int64_t size, ArrayRef<MaskCondition> masks) {
  IRMapping visible;
  for (MaskCondition mask : masks) {
    Type type = mask.value.getType();
    Attribute value = index.getBuilder().getBoolAttr(mask.visible);
    if (auto tile = dyn_cast<RankedTensorType>(type))
      value = DenseElementsAttr::get(tile, value);
    visible.map(mask.value,
                arith::ConstantOp::create(index.getBuilder(), loop.getLoc(),
                                          cast<TypedAttr>(value)));
  }
  SmallVector<Value> carried(loop.getInits());
  for (BlockRange range : ranges) {
    bool isFull = range.blocks == tile::BlockClass::Full;
    scf::ForOp part = cloneLoop(index, loop, range, size, carried,
                                isFull ? visible : IRMapping());
    carried.assign(part.getResults().begin(), part.getResults().end());
    eraseDead(*part.getBody());
  }
  loop.replaceAllUsesWith(carried);
  loop.erase();
}

void LoopSkipper::run() {
  auto first = getIntegerConstant(loop.getLowerBound());
  auto step = getIntegerConstant(loop.getStep());
  if (!first || !first->isZero() || !step || loop->hasAttr("tile.blocks"))
    return;
  // Loops around a store, for outputs that no reduction makes, have no result.
  if (loop.getNumResults() == 0 || !isMemoryEffectFree(loop))
    return;
  int64_t size = step->getSExtValue();
  Formula hidden = inside.getHidden(loop);
  if (!hidden) {
    missed("not-a-reduction", loop.getLoc())
        << "every block is computed: what the loop carries is not updated as a "
           "reduction";
    return;
  }
  SmallVector<MaskCondition> masks = inside.getMaskConditions(loop);
  Formula needed = formulas.getNot(hidden);
  // Comparisons of scores (a row sum that is 0) say nothing about indices.
  bool hasCondition = Formulas::anyAtom(
      needed, [](Value atom) { return !atom.getDefiningOp<arith::CmpFOp>(); });
  if (masks.empty() && !hasCondition)
    return mark(tile::BlockClass::Full);
  if (!isSafeBeyond(size)) {
    missed("end-not-selected", loop.getLoc())
        << "every block is computed: indices beyond the axis's end are not "
           "neutral";
    return;
  }

  OpBuilder builder(loop);
  IndexBuilder index(builder, loop.getLoc());
  IntervalSets sets(index, loop, rows);
  IntervalSet possible = sets.get(needed, Side::Possible);
  IntervalSet certain;
  if (!masks.empty() && !keepMasks) {
    Formula full = formulas.get(true);
    for (MaskCondition mask : masks) {
      Formula condition = inside.getCondition(mask.value);
      full = formulas.getAnd(full, mask.visible ? condition
                                                : formulas.getNot(condition));
    }
    certain = sets.get(full, Side::Certain);
  }
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
  replace(index, ranges, size, masks);
}

struct TileSkipMaskedBlocks
    : impl::TileSkipMaskedBlocksBase<TileSkipMaskedBlocks> {
  using TileSkipMaskedBlocksBase::TileSkipMaskedBlocksBase;

  void runOnOperation() override {
    getOperation()->walk([&](tile::KernelOp kernel) {
      SmallVector<scf::ForOp> loops;
      kernel->walk([&](scf::ForOp loop) {
        if (loop->hasAttr("tile.axis"))
          loops.push_back(loop);
      });
      // Once, before reductions over rows are added for bounds.
      OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
      IndexBuilder index(builder, kernel.getLoc());
      SmallVector<RowAxis> rows = getRowAxes(index, kernel);
      for (scf::ForOp loop : loops)
        LoopSkipper(kernel, loop, rows, keepMasks).run();
      eraseDead(kernel.getBody().front());
    });
  }
};

} // namespace
} // namespace attentile
