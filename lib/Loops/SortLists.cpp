//===- SortLists.cpp - the longest lists of blocks first ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where loops run over a list of blocks that each coordinate of the
// grid's last axis has, and that hangs on the elements of a tensor, a kernel
// before copies the lists in the order of their lengths, and the programs take
// them in this order, the longest first.
// Expects: tile.kernel with `tile.from_list` loops (tile-list-blocks).
// Leaves: workspace for sorted lists (SortedList.h), a kernel that writes it,
// the same programs under other numbers, `tile.common_bytes`. Does not handle:
// several lists of one kernel; the first that is found decides, unless it is
// read otherwise than by these loops.
//
//===----------------------------------------------------------------------===//
//
// A list's rank is the number of lists before it, which one warp counts for it
// (warp-collect-by-lanes): nothing waits for others but the launch. Programs
// that share a list, as heads do, run side by side, so that no head's long
// lists are left for the end. What follows from indices alone, as a
// neighbourhood, has lists that are much alike, and is not sorted.
// Packed documents by the highest bit of their lists' lengths, with a
// document's tiles one after the other: 5 % faster at 4096 keys on an H100 than
// by their lengths, as keys are still in the cache, and 1 % at 16384.
//
//===----------------------------------------------------------------------===//

#include "BlockLists.h"
#include "CommonBytes.h"
#include "IndexBuilder.h"
#include "ListOrigins.h"
#include "attentile/Loops/Passes.h"
#include "attentile/SortedList.h"
#include "mlir/IR/Matchers.h"

namespace attentile {
#define GEN_PASS_DEF_TILESORTLISTS
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// The tensor's element in `row` at `place`.
Value readNumber(IndexBuilder &index, Value tensor, ArrayRef<Value> row,
                 Value place) {
  SmallVector<Value> indices(row);
  indices.push_back(place);
  OpBuilder &builder = index.getBuilder();
  return tile::LoadOp::create(builder, index.getLoc(), builder.getI32Type(),
                              tensor, indices);
}

template <typename Place>
Value readNumber(IndexBuilder &index, Value tensor, ArrayRef<Value> row,
                 Place place) {
  return readNumber(index, tensor, row, index.constant(int64_t(place)));
}

Value toIndex(IndexBuilder &index, Value number) {
  OpBuilder &builder = index.getBuilder();
  return arith::IndexCastOp::create(builder, index.getLoc(),
                                    builder.getIndexType(), number);
}

void writeNumber(IndexBuilder &index, Value number, Value tensor,
                 ArrayRef<Value> row, Value place) {
  SmallVector<Value> indices(row);
  indices.push_back(place);
  tile::StoreOp::create(index.getBuilder(), index.getLoc(), number, tensor,
                        indices);
}

/// The place that a load reads, if it is one of the list's ends.
std::optional<ListPlace> getEnd(tile::LoadOp load) {
  APInt place;
  if (!matchPattern(load.getIndices().back(), m_ConstantInt(&place)) ||
      place.ugt(uint64_t(ListPlace::To)))
    return std::nullopt;
  return ListPlace(place.getZExtValue());
}

/// The list that a kernel's loops run over, which each coordinate of the grid's
/// last axis has, and all that is read of it.
class ListUses {
public:
  explicit ListUses(tile::KernelOp kernel) {
    BlockArgument last = kernel.getBody().front().getArguments().back();
    for (auto loop : kernel.getBody().getOps<scf::ForOp>()) {
      tile::LoadOp first = getListStart(loop);
      if (!list && first && first.getIndices().size() > 1 &&
          first.getIndices().drop_back().back() == last) {
        list = first.getTensor();
        row = first.getIndices().drop_back();
      }
    }
    if (list && !collect(kernel))
      list = {};
  }

  Value list; ///< null if there is none
  ValueRange row;
  SmallVector<tile::LoadOp> ends, entries;
  SmallVector<scf::ForOp> loops;

private:
  bool collect(tile::KernelOp kernel) {
    if (!llvm::all_of(row, llvm::IsaPred<BlockArgument>))
      return false;
    for (Operation *user : list.getUsers()) {
      auto load = dyn_cast<tile::LoadOp>(user);
      if (!kernel->isAncestor(user))
        continue;
      if (!load || !llvm::equal(load.getIndices().drop_back(), row))
        return false;
      if (load->getParentOp() == kernel && getEnd(load)) {
        ends.push_back(load);
        continue;
      }
      auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
      if (!loop || !loop->hasAttr("tile.from_list") ||
          load.getIndices().back() != loop.getInductionVar())
        return false;
      entries.push_back(load);
      if (!llvm::is_contained(loops, loop))
        loops.push_back(loop);
    }
    return true;
  }
};

class ListSorter {
public:
  ListSorter(tile::KernelOp kernel, ListUses uses, ArrayAttr names,
             bool keepsNeighbours)
      : kernel(kernel), uses(std::move(uses)), names(names),
        keepsNeighbours(keepsNeighbours), loc(kernel.getLoc()),
        bound(kernel.getBounds().back()) {}

  void run() {
    makeWorkspace();
    writeSorted();
    readSorted();
  }

private:
  void makeWorkspace();
  void writeSorted();
  Value isBefore(IndexBuilder &index, Value other, Value otherLength, Value row,
                 Value length);
  Value countBefore(IndexBuilder &index, ArrayRef<Value> row, Value length);
  void copyEntries(IndexBuilder &index, Value from, Value to,
                   ArrayRef<Value> row, ArrayRef<Value> place);
  void readSorted();
  void moveLoop(scf::ForOp loop, Value from, Value shift);

  tile::KernelOp kernel;
  ListUses uses;
  ArrayAttr names; ///< of the row's coordinates
  bool keepsNeighbours;
  Location loc;
  Value bound; ///< of the last coordinate
  attn::WorkspaceOp sorted;
};

void ListSorter::makeWorkspace() {
  auto lists = uses.list.getDefiningOp<attn::WorkspaceOp>();
  SmallVector<AffineExpr> shape(lists.getShape().getResults());
  // A list has room for its blocks twice.
  shape.back() =
      (shape.back() - kListEnds).floorDiv(2) + int64_t(SortedPlace::Entries);
  sorted =
      makeListWorkspace(kernel, (lists.getName() + "_sorted").str(), shape);
}

/// A loop that warp-collect-by-lanes divides.
scf::ForOp makeLoop(IndexBuilder &index, StringAttr axis, Value from, Value to,
                    ValueRange inits) {
  OpBuilder &builder = index.getBuilder();
  auto loop = scf::ForOp::create(builder, index.getLoc(), from, to,
                                 index.constant(1), inits);
  loop->setAttr("tile.axis", axis);
  loop->setAttr("tile.to_list", builder.getUnitAttr());
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

/// Whether the coordinate `other` comes before `row`: by the length of their
/// lists, of equal ones the lower. With neighbours kept, by the highest bit of
/// the length, and from the last coordinate on: tiles of a document, which need
/// much the same keys, then run one after the other.
Value ListSorter::isBefore(IndexBuilder &index, Value other, Value otherLength,
                           Value row, Value length) {
  OpBuilder &builder = index.getBuilder();
  auto compare = [&](arith::CmpIPredicate predicate, Value x,
                     Value y) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, x, y);
  };
  if (!keepsNeighbours) {
    Value isBehind = index.isLessOrEqual(row, other);
    Value least = arith::AddIOp::create(
        builder, loc, length,
        arith::ExtUIOp::create(builder, loc, length.getType(), isBehind));
    return compare(arith::CmpIPredicate::sle, least, otherLength);
  }
  // The highest bit of x is above that of y if what y has not of x is above y.
  auto without = [&](Value x, Value y) -> Value {
    Value ones = arith::ConstantIntOp::create(builder, loc, x.getType(), -1);
    return arith::AndIOp::create(builder, loc, x,
                                 arith::XOrIOp::create(builder, loc, y, ones));
  };
  Value isNoShorter = compare(arith::CmpIPredicate::sle,
                              without(length, otherLength), otherLength);
  Value isLonger =
      compare(arith::CmpIPredicate::sgt, without(otherLength, length), length);
  return arith::SelectOp::create(builder, loc,
                                 compare(arith::CmpIPredicate::slt, row, other),
                                 isNoShorter, isLonger);
}

/// How many lists of the row come before its own.
Value ListSorter::countBefore(IndexBuilder &index, ArrayRef<Value> row,
                              Value length) {
  OpBuilder &builder = index.getBuilder();
  OpBuilder::InsertionGuard guard(builder);
  auto axis = cast<StringAttr>(kernel.getIds().getValue().back());
  scf::ForOp visit =
      makeLoop(index, axis, index.constant(0), bound, index.constant(0));
  SmallVector<Value> other(row);
  other.back() = visit.getInductionVar();
  Value otherLength = arith::SubIOp::create(
      builder, loc, readNumber(index, uses.list, other, ListPlace::To),
      readNumber(index, uses.list, other, ListPlace::From));
  Value isOtherBefore =
      isBefore(index, other.back(), otherLength, row.back(), length);
  Value count = visit.getRegionIterArg(0);
  Value next = arith::AddIOp::create(builder, loc, count, index.constant(1));
  scf::YieldOp::create(builder, loc, index.select(isOtherBefore, next, count));
  return visit.getResult(0);
}

/// Those of `row` from one place to another, to where `place`'s begin.
void ListSorter::copyEntries(IndexBuilder &index, Value from, Value to,
                             ArrayRef<Value> row, ArrayRef<Value> place) {
  OpBuilder &builder = index.getBuilder();
  OpBuilder::InsertionGuard guard(builder);
  Value shift =
      index.subtract(index.constant(int64_t(SortedPlace::Entries)), from);
  auto axis = uses.loops.front()->getAttrOfType<StringAttr>("tile.axis");
  scf::ForOp visit = makeLoop(index, axis, from, to, {});
  Value entry = visit.getInductionVar();
  writeNumber(index, readNumber(index, uses.list, row, entry), sorted, place,
              index.add(entry, shift));
}

void ListSorter::writeSorted() {
  OpBuilder builder(kernel);
  SmallVector<Value> bounds;
  for (Value id : uses.row)
    bounds.push_back(
        kernel.getBounds()[cast<BlockArgument>(id).getArgNumber()]);
  auto sorting = tile::KernelOp::create(
      builder, loc, (kernel.getName() + "_" + sorted.getName()).str(), names,
      bounds);
  for (StringRef name : {"tile.block_list", "tile.sorted_list"})
    sorting->setAttr(name, builder.getUnitAttr());
  Block &body = sorting.getBody().emplaceBlock();
  SmallVector<Value> row;
  for (size_t i = 0; i < bounds.size(); ++i)
    row.push_back(body.addArgument(builder.getIndexType(), loc));
  builder.setInsertionPointToStart(&body);
  IndexBuilder index(builder, loc);
  Value from = readNumber(index, uses.list, row, ListPlace::From);
  Value to = readNumber(index, uses.list, row, ListPlace::To);
  SmallVector<Value> place(row);
  place.back() =
      countBefore(index, row, arith::SubIOp::create(builder, loc, to, from));
  for (auto [number, at] :
       {std::pair(row.back(), SortedPlace::Coordinate),
        std::pair(from, SortedPlace::From), std::pair(to, SortedPlace::To)})
    writeNumber(index, number, sorted, place, index.constant(int64_t(at)));
  copyEntries(index, toIndex(index, from), toIndex(index, to), row, place);
}

/// The program of a rank becomes that of the coordinate which has it.
void ListSorter::readSorted() {
  Block &body = kernel.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  IndexBuilder index(builder, loc);
  SmallVector<Value> row(uses.row);
  auto readPlace = [&](SortedPlace place) {
    return toIndex(index, readNumber(index, sorted, row, place));
  };
  // Within its bound, which ranges of what is loaded do not tell.
  Value coordinate =
      index.maximum(index.minimum(readPlace(SortedPlace::Coordinate),
                                  index.subtract(bound, index.constant(1))),
                    index.constant(0));
  Value from = readPlace(SortedPlace::From);
  Value to = readPlace(SortedPlace::To);
  Value shift =
      index.subtract(from, index.constant(int64_t(SortedPlace::Entries)));
  for (tile::LoadOp load : uses.ends)
    for (Operation *user : llvm::to_vector(load->getUsers())) {
      Value known = *getEnd(load) == ListPlace::From ? from : to;
      if (isa<arith::IndexCastOp>(user))
        user->getResult(0).replaceAllUsesWith(known);
    }
  for (scf::ForOp loop : uses.loops)
    moveLoop(loop, from, shift);
  for (tile::LoadOp load : uses.entries)
    load.getTensorMutable().assign(sorted);
  row.back().replaceUsesWithIf(coordinate, [&](OpOperand &use) {
    auto load = dyn_cast<tile::LoadOp>(use.getOwner());
    return !load || load.getTensor() != sorted;
  });
}

/// Entries begin at one place; what a loop else asks of its place, such as
/// whether it is before the middle, stays the same.
void ListSorter::moveLoop(scf::ForOp loop, Value from, Value shift) {
  OpBuilder before(loop), inside(&loop.getBody()->front());
  IndexBuilder outer(before, loc), inner(inside, loc);
  loop.setLowerBound(loop.getLowerBound() == from
                         ? outer.constant(int64_t(SortedPlace::Entries))
                         : outer.subtract(loop.getLowerBound(), shift));
  loop.setUpperBound(outer.subtract(loop.getUpperBound(), shift));
  Value place = loop.getInductionVar(), old;
  for (OpOperand &use : llvm::make_early_inc_range(place.getUses())) {
    Operation *user = use.getOwner();
    if (llvm::is_contained(uses.entries, user))
      continue;
    if (auto compare = dyn_cast<arith::CmpIOp>(user);
        compare && use.getOperandNumber() == 0 &&
        loop.isDefinedOutsideOfLoop(compare.getRhs())) {
      compare.getRhsMutable().assign(outer.subtract(compare.getRhs(), shift));
      continue;
    }
    if (!old)
      old = inner.add(place, shift);
    if (user != old.getDefiningOp())
      use.set(old);
  }
}

void sortLists(tile::KernelOp kernel) {
  if (kernel.getBounds().empty() || kernel->hasAttr("tile.block_list") ||
      matchPattern(kernel.getBounds().back(), m_One()))
    return;
  ListUses uses(kernel);
  if (!uses.list || uses.loops.empty())
    return;
  SmallVector<Attribute> names;
  for (Value id : uses.row)
    names.push_back(kernel.getIds()[cast<BlockArgument>(id).getArgNumber()]);
  auto coordinates = ArrayAttr::get(kernel.getContext(), names);
  ListOrigin origin = findOrigin(uses.list, coordinates);
  if (origin == ListOrigin::Indices)
    return;
  Block &body = kernel.getBody().front();
  bool isShared =
      body.getNumArguments() > 1 &&
      !llvm::is_contained(uses.row, body.getArguments().drop_back().back());
  setCommonBytes(kernel, isShared ? 1 : getCommonBytes(kernel));
  ListSorter(kernel, std::move(uses), coordinates, origin == ListOrigin::Sides)
      .run();
}

struct TileSortLists : impl::TileSortListsBase<TileSortLists> {
  void runOnOperation() override {
    SmallVector<tile::KernelOp> kernels;
    getOperation()->walk(
        [&](tile::KernelOp kernel) { kernels.push_back(kernel); });
    for (tile::KernelOp kernel : kernels)
      sortLists(kernel);
  }
};

} // namespace
} // namespace attentile
