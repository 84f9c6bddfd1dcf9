//===- ListWriter.cpp - kernels that find the needed blocks ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListWriter.h"
#include "BlockRanges.h"
#include "BlockTiles.h"
#include "MadeOf.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {

using Part = BlockTruth::Part;

/// Classes, as one step hands them to the next.
enum : int64_t { kNotNeeded, kPartial, kFull, kOpen };

Value getMiddlePlace(IndexBuilder &index, Value extent, int64_t size) {
  return index.add(
      index.divideUp(index.maximum(extent, index.constant(0)), size),
      kListEnds);
}

ListWriter::ListWriter(tile::KernelOp kernel, scf::ForOp loop,
                       ArrayRef<RowAxis> rows, ListTask task)
    : task(task), kernel(kernel), loop(loop), rows(rows), masked(loop),
      size(masked.getSize()), builder(loop), index(builder, loop.getLoc()) {
  masked.keepAskable();
  needed = masked.getNeeded();
  full = masked.getFull();
}

void ListWriter::divide(Value parts, int64_t blocks) {
  Value part =
      kernel.getBody().addArgument(builder.getIndexType(), loop.getLoc());
  SmallVector<Value> bounds(kernel.getBounds());
  bounds.push_back(parts);
  kernel.getBoundsMutable().assign(bounds);
  SmallVector<Attribute> names(kernel.getIds().getValue());
  names.push_back(builder.getStringAttr("part"));
  kernel.setIdsAttr(builder.getArrayAttr(names));
  blocksOfPart = blocks;
  firstBlock = index.multiply(part, blocks);
  endBlock = index.add(firstBlock, blocks);
}

void ListWriter::readFrom(Value tensor, ArrayRef<unsigned> coordinates) {
  judged = tensor;
  judgedRow = getRow(coordinates);
}

SmallVector<Value> ListWriter::getRow(ArrayRef<unsigned> coordinates) {
  SmallVector<Value> row;
  for (unsigned id : coordinates)
    row.push_back(kernel.getBody().getArgument(id));
  return row;
}

ListWriter::Choice ListWriter::branch(Value condition,
                                      function_ref<Choice()> yes,
                                      function_ref<Choice()> no) {
  if (auto known = getIntegerConstant(condition))
    return known->isZero() ? no() : yes();
  Type i1 = builder.getI1Type();
  Location loc = loop.getLoc();
  auto result = scf::IfOp::create(builder, loc, TypeRange{i1, i1}, condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (auto [block, side] : {std::pair(result.thenBlock(), yes),
                             std::pair(result.elseBlock(), no)}) {
    builder.setInsertionPointToEnd(block);
    Choice choice = side();
    scf::YieldOp::create(builder, loc, ValueRange{choice.needed, choice.full});
  }
  return {result.getResult(0), result.getResult(1)};
}

/// Whether some element of the block is needed, and whether no mask hides one.
ListWriter::Judgement ListWriter::judge(BlockTruth &truth) {
  Judgement result;
  result.needed = truth.get(needed);
  result.full = {index.boolean(false), index.boolean(false)};
  if (full)
    result.full = truth.get(full);
  result.settled = isSettled(result.needed, result.full);
  return result;
}

/// Hidden everywhere, or needed somewhere and full or surely not.
Value ListWriter::isSettled(Truth needs, Truth isFull) {
  return index.logicalOr(
      index.logicalNot(needs.can),
      index.logicalAnd(
          needs.sure,
          index.logicalOr(isFull.sure, index.logicalNot(isFull.can))));
}

/// Some elements mostly tell that one is needed and one is hidden.
void ListWriter::addSamples(BlockTruth &truth, Judgement &judgement) {
  Truth needs = judgement.needed, isFull = judgement.full;
  std::optional<Truth> needed = truth.getOf(Part::Samples, this->needed), seen;
  if (full)
    seen = truth.getOf(Part::Samples, full);
  if (!needed || (full && !seen))
    return;
  needs.sure = index.logicalOr(needs.sure, needed->can);
  if (seen)
    isFull.can = index.logicalAnd(isFull.can, seen->sure);
  judgement.settled = isSettled(needs, isFull);
}

/// By the elements of a row or two: whether one needs an element, and has one
/// that is hidden.
ListWriter::Choice ListWriter::judgeByRows(BlockTruth &truth,
                                           const Judgement &judgement,
                                           ArrayRef<Part> asked) {
  Truth isFull = judgement.full;
  Value some = judgement.needed.sure;
  Value known = index.logicalOr(isFull.sure, index.logicalNot(isFull.can));
  for (Part row : asked) {
    std::optional<Truth> needs = truth.getOf(row, needed), sees;
    if (full)
      sees = truth.getOf(row, full);
    if (!needs || (full && !sees))
      return judgeByElements(truth, isFull);
    some = index.logicalOr(some, needs->can);
    if (full)
      known = index.logicalOr(known, index.logicalNot(sees->sure));
  }
  return branch(
      index.logicalAnd(some, known),
      [&] { return Choice{index.boolean(true), isFull.sure}; },
      [&] { return judgeByElements(truth, isFull); });
}

ListWriter::Choice ListWriter::judgeByElements(BlockTruth &truth,
                                               Truth isFull) {
  Value any = truth.askAny(needed);
  return {any, full ? truth.askAll(full) : isFull.sure};
}

ListWriter::Choice ListWriter::judgeWholly(IntervalSets &shared, Value block) {
  BlockTruth truth(index, shared, loop, rows, index.multiply(block, size),
                   size);
  Judgement judgement = judge(truth);
  Choice choice = branch(
      judgement.settled,
      [&] { return Choice{judgement.needed.can, judgement.full.sure}; },
      [&] {
        return judgeByRows(truth, judgement, {Part::FirstRow, Part::LastRow});
      });
  choice.full = isWhollyFull(choice, block);
  return choice;
}

/// A block's class, or that it is open.
Value ListWriter::classify(IntervalSets &shared, Value block) {
  BlockTruth truth(index, shared, loop, rows, index.multiply(block, size),
                   size);
  Judgement judgement = judge(truth);
  auto known = getIntegerConstant(judgement.settled);
  if (!known || known->isZero()) {
    addSamples(truth, judgement);
    known = getIntegerConstant(judgement.settled);
  }
  isOpen = !known || known->isZero();
  Value isFull =
      isWhollyFull({judgement.needed.can, judgement.full.sure}, block);
  return index.select(judgement.settled,
                      getClass({judgement.needed.can, isFull}),
                      index.constant(kOpen));
}

/// The class of a block, of those that were left open by its elements.
Value ListWriter::ask(Value block) {
  Value number = readClass(block);
  Choice choice = branch(
      index.isLessOrEqual(index.constant(kOpen), number),
      [&] {
        // Few blocks are open, behind samples: what they share is theirs to
        // compute, and a second row would settle few more.
        OpBuilder before(index.constant(0).getDefiningOp());
        IndexBuilder outer(before, loop.getLoc());
        IntervalSets shared(outer, loop, rows);
        BlockTruth truth(index, shared, loop, rows, index.multiply(block, size),
                         size);
        Choice found = judgeByRows(truth, judge(truth), Part::FirstRow);
        found.full = isWhollyFull(found, block);
        return found;
      },
      [&] { return getChoiceOf(number); });
  return getClass(choice);
}

Value ListWriter::readClass(Value block) {
  SmallVector<Value> indices(judgedRow);
  indices.push_back(block);
  Value number = tile::LoadOp::create(builder, loop.getLoc(),
                                      builder.getI32Type(), judged, indices);
  return arith::IndexCastOp::create(builder, loop.getLoc(),
                                    builder.getIndexType(), number);
}

ListWriter::Choice ListWriter::getChoiceOf(Value number) {
  return {index.isLessOrEqual(index.constant(kPartial), number),
          index.isLessOrEqual(index.constant(kFull), number)};
}

/// A block that reaches beyond the axis evaluates its end.
Value ListWriter::isWhollyFull(Choice choice, Value block) {
  Value end = index.add(index.multiply(block, size), size);
  return index.logicalAnd(index.logicalAnd(choice.needed, choice.full),
                          index.isLessOrEqual(end, loop.getUpperBound()));
}

Value ListWriter::getClass(Choice choice) {
  return index.select(choice.full, index.constant(kFull),
                      index.select(choice.needed, index.constant(kPartial),
                                   index.constant(kNotNeeded)));
}

/// Gives a block its place, from the middle down or up.
void ListWriter::collect(scf::ForOp visit, Value block, Choice choice) {
  Value first = visit.getRegionIterArg(0), last = visit.getRegionIterArg(1);
  Value before = index.add(first, -1), after = index.add(last, 1);
  Value isPartial =
      index.logicalAnd(choice.needed, index.logicalNot(choice.full));
  Value place =
      index.select(choice.full, before,
                   index.select(choice.needed, last, index.constant(-1)));
  auto yield =
      scf::YieldOp::create(builder, loop.getLoc(),
                           ValueRange{index.select(choice.full, before, first),
                                      index.select(isPartial, after, last)});
  entries.push_back({yield, block, place});
}

/// What is computed of each block of a part, computed of all at once.
LogicalResult ListWriter::setSideBySide(scf::ForOp visit, Value found) {
  BlockTiles tiles(visit, firstBlock, blocksOfPart);
  Value classes = tiles.get(found);
  if (!classes || !tile::isTile(classes.getType()))
    return failure();
  entries.push_back({loop, classes, tiles.getBlocks()});
  choosing.clear();
  visit.erase();
  return success();
}

/// Whether the mask compares elements of a tensor, as of packed documents. Its
/// blocks are visited from the last one on: under a causal mask each row sees a
/// key there, and has a reference for all others (tile-guard-softmax).
bool ListWriter::readsElements() {
  return Formulas::anyAtom(needed, [](Value atom) {
    return isMadeOf(atom, llvm::IsaPred<tile::LoadOp>);
  });
}

LogicalResult ListWriter::choose() {
  Location loc = loop.getLoc();
  IntervalSets sets(index, loop, rows);
  SmallVector<BlockRange> ranges;
  if (task == ListTask::Classify)
    ranges.push_back({firstBlock, endBlock, tile::BlockClass::Mixed});
  else
    ranges = getBlockRanges(index, loop.getUpperBound(), size,
                            sets.get(needed, Side::Possible), IntervalSet());
  Value one = index.constant(1);
  SmallVector<Value> ends;
  bool descends = !givesClasses() && readsElements();
  if (!givesClasses())
    ends.assign(2, getMiddlePlace(index, loop.getUpperBound(), size));
  if (descends)
    std::reverse(ranges.begin(), ranges.end());
  for (BlockRange range : ranges) {
    if (endBlock) {
      range.from = index.maximum(range.from, firstBlock);
      range.to = index.minimum(range.to, endBlock);
    }
    auto visit =
        scf::ForOp::create(builder, loc, range.from, range.to, one, ends);
    visit->setAttr("tile.axis", loop->getAttr("tile.axis"));
    visit->setAttr("tile.to_list", builder.getUnitAttr());
    choosing.push_back(visit);
    ends.assign(visit.getResults().begin(), visit.getResults().end());
    OpBuilder::InsertionGuard guard(builder);
    // What every block shares goes before the first of the loops.
    OpBuilder before(choosing.front());
    IndexBuilder outer(before, loc);
    IntervalSets shared(outer, loop, rows);
    if (!visit.getBody()->empty())
      visit.getBody()->back().erase();
    builder.setInsertionPointToEnd(visit.getBody());
    Value block = visit.getInductionVar();
    if (descends)
      block =
          index.subtract(outer.add(outer.add(range.from, range.to), -1), block);
    if (!givesClasses()) {
      collect(visit, block,
              task == ListTask::Collect ? getChoiceOf(readClass(block))
                                        : judgeWholly(shared, block));
      continue;
    }
    Value found = task == ListTask::Classify ? classify(shared, block)
                  : task == ListTask::Ask
                      ? ask(block)
                      : getClass(judgeWholly(shared, block));
    auto yield = scf::YieldOp::create(builder, loc);
    if (task == ListTask::Classify)
      return setSideBySide(visit, found);
    entries.push_back({yield, found, block});
  }
  if (!givesClasses()) {
    from = ends[0];
    to = ends[1];
  }
  eraseUnused();
  return success();
}

/// Coordinates are those of what is left.
void ListWriter::eraseUnused() {
  for (scf::ForOp visit : choosing)
    visit.getBody()->walk<WalkOrder::PostOrder, mlir::ReverseIterator>(
        [&](Operation *op) {
          bool isWritten = llvm::any_of(entries, [&](Entry &entry) {
            return entry.place.getDefiningOp() == op ||
                   entry.value.getDefiningOp() == op;
          });
          if (!isWritten && isOpTriviallyDead(op))
            op->erase();
        });
}

SmallVector<unsigned> ListWriter::getCoordinates() {
  llvm::SetVector<Value> values;
  auto add = [&](Value value) {
    // The loop that is copied is no part of it.
    if (value.getDefiningOp() != loop)
      values.insert(value);
  };
  for (scf::ForOp visit : choosing) {
    for (Value operand : visit->getOperands())
      add(operand);
    visit.getBody()->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        add(operand);
    });
  }
  for (Entry &entry : entries) {
    add(entry.value);
    add(entry.place);
  }
  for (size_t i = 0; i < values.size(); ++i)
    if (Operation *op = values[i].getDefiningOp();
        op && kernel->isProperAncestor(op))
      for (Value operand : op->getOperands())
        add(operand);
  SmallVector<unsigned> result;
  auto ids = kernel.getBody().getArguments();
  for (BlockArgument id : firstBlock ? ids.drop_back() : ids) // the part
    if (values.contains(id))
      result.push_back(id.getArgNumber());
  return result;
}

void ListWriter::write(Value list, ArrayRef<unsigned> coordinates) {
  Location loc = loop.getLoc();
  SmallVector<Operation *> old;
  kernel->walk([&](tile::StoreOp store) { old.push_back(store); });
  for (Operation *store : old)
    store->erase();
  SmallVector<Value> row = getRow(coordinates);
  auto store = [&](Value value, Value place) {
    SmallVector<Value> indices(row);
    indices.push_back(place);
    tile::StoreOp::create(builder, loc, value, list, indices);
  };
  for (Entry &entry : entries) {
    builder.setInsertionPoint(entry.after);
    store(entry.value, entry.place);
  }
  builder.setInsertionPoint(loop);
  if (!givesClasses()) {
    store(from, index.constant(0));
    store(to, index.constant(1));
  }
  eraseDead(kernel.getBody().front());
  // Coordinates on which no block depends.
  SmallVector<Value> bounds;
  SmallVector<Attribute> names;
  SmallVector<unsigned> kept(coordinates);
  if (firstBlock)
    kept.push_back(kernel.getBounds().size() - 1);
  for (unsigned id : kept) {
    bounds.push_back(kernel.getBounds()[id]);
    names.push_back(kernel.getIds()[id]);
  }
  Block &body = kernel.getBody().front();
  body.eraseArguments([&](BlockArgument argument) {
    return !llvm::is_contained(kept, argument.getArgNumber());
  });
  kernel.getBoundsMutable().assign(bounds);
  kernel.setIdsAttr(builder.getArrayAttr(names));
}

} // namespace attentile
