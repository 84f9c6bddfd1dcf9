//===- ListBlocks.cpp - loops over lists of needed blocks -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where the blocks that masks leave are not one or two intervals in
// closed form, a kernel that runs before lists them for each tile of rows, and
// the loop runs over the list: full blocks without masks, then partial ones.
// Expects: tile.kernel with scf.for from 0, fused or not, before
// tile-skip-masked-blocks, which keeps closed forms. Leaves: workspace, kernels
// whose loops have `tile.to_list`, chained loops with `tile.from_list` and
// `tile.blocks`, remarks. Does not handle: loops within loops, extents that are
// no expression of sizes, conditions of scores.
//
//===----------------------------------------------------------------------===//

#include "BlockLists.h"
#include "BlockRanges.h"
#include "BlockTruth.h"
#include "MaskedLoops.h"
#include "attentile/Loops/Passes.h"
#include "mlir/IR/Remarks.h"

namespace attentile {
#define GEN_PASS_DEF_TILELISTBLOCKS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-list-blocks"

using namespace mlir;

namespace attentile {
namespace {

/// Whether the loop's blocks have a closed form.
bool isClosed(MaskedLoop &masked, scf::ForOp loop, ArrayRef<RowAxis> rows) {
  OpBuilder builder(loop);
  IndexBuilder index(builder, loop.getLoc());
  IntervalSets sets(index, loop, rows);
  IntervalSet possible = sets.get(masked.getNeeded(), Side::Possible);
  if (masked.getFull())
    sets.get(masked.getFull(), Side::Certain);
  return possible.empty() ||
         (possible.size() <= kMaxIntervals && sets.getOpenConditions().empty());
}

/// Masks that hide nothing of a block that is listed, such as those of a table
/// of blocks.
IRMapping getSurelyVisible(MaskedLoop &masked, scf::ForOp loop,
                           ArrayRef<RowAxis> rows) {
  OpBuilder builder(loop), inside(&loop.getBody()->front());
  IndexBuilder before(builder, loop.getLoc()), index(inside, loop.getLoc());
  IntervalSets sets(before, loop, rows);
  // What this emits is not used.
  BlockTruth truth(index, sets, loop, rows, loop.getInductionVar(),
                   masked.getSize());
  return masked.getVisibleIfNeeded(
      builder, [&](Value condition) { return truth.isUniform(condition); });
}

/// A copy of `loop` over the list's entries from one place to another.
scf::ForOp runOverList(IndexBuilder &index, scf::ForOp loop, BlockList &list,
                       Value from, Value to, tile::BlockClass blocks,
                       ValueRange inits, IRMapping known) {
  OpBuilder &builder = index.getBuilder();
  auto copy = scf::ForOp::create(builder, loop.getLoc(), from, to,
                                 index.constant(1), inits);
  copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  copy->setAttr("tile.blocks",
                tile::BlockClassAttr::get(loop.getContext(), blocks));
  copy->setAttr("tile.from_list", builder.getUnitAttr());
  known.map(loop.getBody()->getArguments(), copy.getBody()->getArguments());
  if (!copy.getBody()->empty())
    copy.getBody()->getTerminator()->erase();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(copy.getBody());
  known.map(loop.getInductionVar(),
            list.getStart(index, copy.getInductionVar()));
  copyBody(loop, copy, known);
  return copy;
}

void listBlocks(tile::KernelOp kernel, scf::ForOp loop,
                ArrayRef<RowAxis> allRows, int64_t blocksAtOnce) {
  auto getOptions = [&](StringRef name) {
    return remark::RemarkOpts::name(name)
        .category(DEBUG_TYPE)
        .function(kernel.getName());
  };
  MaskedLoop masked(loop);
  SmallVector<RowAxis> rows = getRowsBefore(allRows, loop);
  if (!masked.isOpen() || !masked.getNeeded() || !masked.hasMask() ||
      !masked.isSafeBeyond())
    return;
  masked.keepAskable();
  // Where something else decides too what is needed (a row sum that is 0),
  // bounds may still be found for it.
  if (masked.getNeeded()->isTrue() || isClosed(masked, loop, rows))
    return;
  if (loop->hasAttr("tile.in_order")) {
    remark::missed(loop.getLoc(), getOptions("in-order"))
        << "no list of the blocks that are needed: full ones come first in it, "
           "and the loop reads what it carries";
    return;
  }
  // A GPU's tiles have no axis of one index.
  std::optional<BlockList> list;
  if (blocksAtOnce == 0 || masked.getSize() > 1)
    list = BlockList::create(loop, rows, blocksAtOnce);
  if (!list) {
    remark::missed(loop.getLoc(), getOptions("no-list"))
        << "no list of the blocks that are needed: the loop stands in another "
           "or visits single indices, or an extent is no expression of the "
           "sizes";
    return;
  }
  OpBuilder builder(loop);
  IndexBuilder index(builder, loop.getLoc());
  Value from = list->getFrom(index), middle = list->getMiddle(index);
  Value to = list->getTo(index);
  ValueRange carried = loop.getInits();
  if (masked.getFull())
    carried =
        runOverList(index, loop, *list, from, middle, tile::BlockClass::Full,
                    carried, masked.getVisible(builder))
            .getResults();
  carried =
      runOverList(index, loop, *list, middle, to, tile::BlockClass::Partial,
                  carried, getSurelyVisible(masked, loop, rows))
          .getResults();
  remark::passed(loop.getLoc(), getOptions("block-list"))
      << "loop over the blocks that are needed: a grid before lists them for "
         "each tile of rows";
  loop.replaceAllUsesWith(carried);
  loop.erase();
}

struct TileListBlocks : impl::TileListBlocksBase<TileListBlocks> {
  using TileListBlocksBase::TileListBlocksBase;

  void runOnOperation() override {
    SmallVector<tile::KernelOp> kernels;
    getOperation()->walk(
        [&](tile::KernelOp kernel) { kernels.push_back(kernel); });
    for (tile::KernelOp kernel : kernels) {
      SmallVector<scf::ForOp> loops = getLoops(kernel);
      // Once, before reductions over rows are added for bounds.
      SmallVector<RowAxis> rows = getRowAxes(kernel);
      for (scf::ForOp loop : loops)
        listBlocks(kernel, loop, rows, blocksAtOnce);
      eraseDead(kernel.getBody().front());
    }
  }
};

} // namespace
} // namespace attentile
