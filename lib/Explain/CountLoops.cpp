//===- CountLoops.cpp - loops over tiles, counted -------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Counter.h"
#include "attentile/SortedList.h"

using namespace mlir;

namespace attentile {

/// The extent of the axis that a loop goes over, from a load along it.
std::optional<int64_t> Counter::extentOfLoop(scf::ForOp loop) {
  std::optional<int64_t> extent;
  loop.getBody()->walk([&](tile::LoadOp load) {
    for (auto [dimension, index] : llvm::enumerate(load.getIndices())) {
      auto consecutive = index.getDefiningOp<tile::IndexOp>();
      bool isBlock = consecutive && tile::getBlockLoop(consecutive) == loop;
      bool isIndex =
          index == loop.getInductionVar() && tile::isIndexByIndex(loop);
      if (!isBlock && !isIndex)
        continue;
      extent = extentOf(load.getTensor(), dimension);
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return extent;
}

/// How many blocks there are for a loop that lists them, or their classes, or
/// copies a list: what it writes to has so many entries, or twice as many
/// behind the list's ends.
std::optional<int64_t> Counter::countListed(scf::ForOp loop) {
  std::optional<int64_t> count;
  auto writer = loop->getParentOfType<tile::KernelOp>();
  loop.getBody()->walk([&](tile::StoreOp store) {
    int64_t entries =
        extentOf(store.getTensor(), store.getIndices().size() - 1);
    if (writer->hasAttr("tile.sorted_list"))
      count = entries - int64_t(SortedPlace::Entries);
    else if (store.getIndices().back() == loop.getInductionVar())
      count = entries;
    else
      count = (entries - kListEnds) / 2;
  });
  return count;
}

/// Whether a block of a mixed loop evaluates masks: a branch takes its else
/// side, or elements of a tensor decide. What a loop carries decides about
/// other things.
bool Counter::mayEvaluateMask(scf::ForOp loop) {
  for (auto choice : loop.getBody()->getOps<scf::IfOp>()) {
    Value condition = choice.getCondition();
    if (std::optional<int64_t> number = scalars.get(condition)) {
      if (*number == 0)
        return true;
      continue;
    }
    SmallVector<Value> arguments = ScalarValues::argumentsOf(condition);
    bool isOfElements = llvm::any_of(arguments, [](Value argument) {
      return isa<RankedTensorType>(argument.getType());
    });
    bool isCarried = llvm::any_of(arguments, [&](Value argument) {
      return llvm::is_contained(loop.getRegionIterArgs(), argument);
    });
    if (isOfElements && !isCarried)
      return figures.isUpperBound = true;
  }
  return false;
}

/// The kernel that writes a list.
static tile::KernelOp getWriter(Value list) {
  for (Operation *user : list.getUsers())
    if (isa<tile::StoreOp>(user))
      return user->getParentOfType<tile::KernelOp>();
  return {};
}

/// The load of a block's number in a loop over a list, and the kernel that
/// writes the list, which another one may have sorted.
static std::pair<tile::LoadOp, tile::KernelOp> getList(scf::ForOp loop) {
  tile::LoadOp entry;
  for (auto load : loop.getBody()->getOps<tile::LoadOp>())
    if (load.getIndices().back() == loop.getInductionVar() &&
        !tile::isTile(load.getType()))
      entry = load;
  tile::KernelOp writer = getWriter(entry.getTensor());
  if (writer->hasAttr("tile.sorted_list"))
    writer = getWriter(
        (*writer.getBody().getOps<tile::LoadOp>().begin()).getTensor());
  return {entry, writer};
}

/// A loop over a list that follows from elements of tensors: as if it had every
/// block that was asked for, and each evaluated masks.
llvm::Error Counter::listed(scf::ForOp loop, double times) {
  auto blocks = loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks");
  if (blocks.getValue() == tile::BlockClass::Full)
    return llvm::Error::success();
  Value start = tile::getBlockStart(loop);
  auto [entry, writer] = getList(loop);
  for (auto [id, place] : llvm::zip(writer.getBody().getArguments(),
                                    entry.getIndices().drop_back())) {
    llvm::Expected<int64_t> at = need(place, "a list");
    if (!at)
      return at.takeError();
    scalars.set(id, *at);
  }
  llvm::Expected<int64_t> size =
      need(start.getDefiningOp()->getOperand(1), "a block's size");
  if (!size)
    return size.takeError();
  if (std::optional<int64_t> extent = extentOfLoop(loop)) {
    mapColumns =
        std::max<int64_t>(mapColumns, llvm::divideCeil(*extent, *size));
    figures.totalBlocks += times * llvm::divideCeil(*extent, *size);
  }
  figures.isUpperBound = true;
  for (auto asked : writer.getBody().getOps<scf::ForOp>()) {
    int64_t bounds[3];
    if (llvm::Error error = boundsOf(asked, countListed(asked), bounds))
      return error;
    for (int64_t block = bounds[0]; block < bounds[1]; ++block) {
      // Behind all full blocks.
      scalars.set(loop.getInductionVar(), std::numeric_limits<int32_t>::max());
      scalars.set(start, block * *size);
      figures.blocks += times;
      figures.maskedBlocks += times;
      visit(loop, block, /*masked=*/true);
      if (llvm::Error error = this->block(*loop.getBody(), times))
        return error;
    }
  }
  return llvm::Error::success();
}

/// The loop that goes on along the axis with what this one leaves.
static scf::ForOp getNext(scf::ForOp loop) {
  for (Operation *user : loop->getUsers())
    if (auto next = dyn_cast<scf::ForOp>(user))
      if (next->hasAttr("tile.axis") &&
          next->getAttr("tile.axis") == loop->getAttr("tile.axis"))
        return next;
  return {};
}

/// A loop's bounds and step. Where elements of a tensor decide, it takes what
/// its axis has; with another loop behind it that one does, as it may evaluate
/// masks.
llvm::Error Counter::boundsOf(scf::ForOp loop, std::optional<int64_t> extent,
                              int64_t (&bounds)[3]) {
  auto take = [&](unsigned i, Value value) -> llvm::Error {
    llvm::Expected<int64_t> number = need(value, "a loop's bound");
    if (!number)
      return number.takeError();
    bounds[i] = *number;
    return llvm::Error::success();
  };
  auto isOpen = [&](Value bound) {
    return extent && !scalars.get(bound) && !lacksScalar(bound);
  };
  if (llvm::Error error = take(2, loop.getStep()))
    return error;
  if (isOpen(loop.getLowerBound())) {
    figures.isUpperBound = true;
    bounds[0] = openFrom.lookup(loop);
  } else if (llvm::Error error = take(0, loop.getLowerBound())) {
    return error;
  }
  if (!isOpen(loop.getUpperBound()))
    return take(1, loop.getUpperBound());
  figures.isUpperBound = true;
  scf::ForOp next = getNext(loop);
  if (next)
    openFrom[next] = bounds[0];
  bounds[1] = next ? bounds[0] : *extent;
  return llvm::Error::success();
}

llvm::Error Counter::loop(scf::ForOp loop, double times) {
  Value start = loop.getInductionVar(), blockSize = loop.getStep();
  if (loop->hasAttr("tile.from_list")) {
    if (!knownLists.contains(getList(loop).second))
      return listed(loop, times);
    start = tile::getBlockStart(loop);
    blockSize = start.getDefiningOp()->getOperand(1);
  }
  std::optional<int64_t> extent;
  if (loop->hasAttr("tile.to_list"))
    extent = countListed(loop);
  else if (loop->hasAttr("tile.axis"))
    extent = extentOfLoop(loop);
  int64_t bounds[3];
  if (llvm::Error error = boundsOf(loop, extent, bounds))
    return error;
  llvm::Expected<int64_t> size = need(blockSize, "a block's size");
  if (!size)
    return size.takeError();
  auto [from, to, step] = bounds;
  int64_t count = to > from ? llvm::divideCeil(to - from, step) : 0;
  bool mixed = false, masked = false, counted = false;
  // A loop without results goes over programs or outputs, one around another
  // over single indices: no reduction's blocks.
  bool isAround = tile::isAround(loop);
  if (loop->hasAttr("tile.axis") && loop.getNumResults() > 0 && !isAround &&
      !loop->hasAttr("tile.to_list")) {
    auto blocks = loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks");
    counted = true;
    masked = blocks && blocks.getValue() == tile::BlockClass::Partial;
    mixed = blocks && blocks.getValue() == tile::BlockClass::Mixed;
    figures.blocks += times * count;
    figures.maskedBlocks += masked ? times * count : 0;
    // Chained loops share the axis: the first one stands for all of them.
    bool first = llvm::none_of(loop.getInits(), [](Value init) {
      return init.getDefiningOp<scf::ForOp>();
    });
    if (extent) {
      int64_t all = llvm::divideCeil(*extent, *size);
      figures.totalBlocks += first ? times * all : 0;
      mapColumns = std::max(mapColumns, all);
    }
  }
  int64_t totalBefore = figures.totalBlocks;
  // Of a head's tiles one after the other each is a row.
  bool isOverRows = loop->hasAttr("tile.axis") && loop.getNumResults() == 0 &&
                    mapRow && !loop->hasAttr("tile.to_list");
  for (int64_t i = from; i < to; i += step) {
    scalars.set(loop.getInductionVar(), i);
    bool isMasked = mixed && mayEvaluateMask(loop);
    figures.maskedBlocks += isMasked ? times : 0;
    if (counted)
      visit(loop, scalars.get(start).value_or(0) / *size, masked || isMasked);
    if (isOverRows)
      mapRow = (i - from) / step;
    if (llvm::Error error = block(*loop.getBody(), times))
      return error;
  }
  // A loop around others may leave indices out that masks hide: their blocks
  // are as many as those of each that it visits.
  if (isAround && extent && count > 0)
    figures.totalBlocks +=
        (figures.totalBlocks - totalBefore) / count * (*extent - count);
  return llvm::Error::success();
}

} // namespace attentile
