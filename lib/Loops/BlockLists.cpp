//===- BlockLists.cpp - lists of needed blocks from a grid before ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel that writes a list is a copy of the one that reads it. In place of
// the loop stands one that evaluates the same formulas for each block, and of
// all else what these need is left.
//
//===----------------------------------------------------------------------===//

#include "BlockLists.h"
#include "BlockRanges.h"
#include "BlockTruth.h"
#include "ExtentValues.h"
#include "MaskedLoops.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace attentile {
namespace {

/// Entries in front of a row's blocks: where they begin and end.
constexpr int64_t kEnds = 2;

Value getMiddlePlace(IndexBuilder &index, Value extent, int64_t size) {
  return index.add(
      index.divideUp(index.maximum(extent, index.constant(0)), size), kEnds);
}

class ListWriter {
public:
  ListWriter(tile::KernelOp kernel, scf::ForOp loop, ArrayRef<RowAxis> rows)
      : kernel(kernel), loop(loop), rows(rows), masked(loop),
        size(masked.getSize()), needed(masked.getNeeded()),
        full(masked.getFull()), builder(loop), index(builder, loop.getLoc()) {}

  /// Emits the loops over blocks.
  void choose();
  int64_t getSize() const { return size; }
  /// The kernel's coordinates that the list depends on.
  SmallVector<unsigned> getCoordinates();
  /// Writes to `list`, of these coordinates, and drops what else there is.
  void write(Value list, ArrayRef<unsigned> coordinates);

private:
  struct Choice {
    Value needed, full;
  };
  /// An entry of the list; not written if its place is negative.
  struct Entry {
    Operation *after;
    Value block, place;
  };

  Choice judge(BlockTruth &truth);
  void visit(Value block, Value from, Value to);

  tile::KernelOp kernel;
  scf::ForOp loop;
  ArrayRef<RowAxis> rows;
  MaskedLoop masked;
  int64_t size;
  Formula needed, full;
  OpBuilder builder;
  IndexBuilder index;
  SmallVector<Entry> entries;
  SmallVector<scf::ForOp> choosing;
  Value from, to;
};

/// Whether some element of the block is needed, and whether no mask hides one.
ListWriter::Choice ListWriter::judge(BlockTruth &truth) {
  Truth isNeeded = truth.get(needed);
  Truth isFull = {index.boolean(false), index.boolean(false)};
  if (full)
    isFull = truth.get(full);
  // Settled: hidden everywhere, or needed somewhere and full or surely not.
  Value settled = index.logicalOr(
      index.logicalNot(isNeeded.can),
      index.logicalAnd(
          isNeeded.sure,
          index.logicalOr(isFull.sure, index.logicalNot(isFull.can))));
  auto known = getIntegerConstant(settled);
  bool ask = truth.canAsk(needed) || (full && truth.canAsk(full));
  if ((known && !known->isZero()) || !ask)
    return {isNeeded.can, isFull.sure};
  Type i1 = builder.getI1Type();
  auto branch = scf::IfOp::create(builder, loop.getLoc(), TypeRange{i1, i1},
                                  settled, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(builder, loop.getLoc(),
                       ValueRange{isNeeded.can, isFull.sure});
  builder.setInsertionPointToEnd(branch.elseBlock());
  BlockTruth asking = truth;
  SmallVector<Value> answers = {isNeeded.can, isFull.sure};
  if (truth.canAsk(needed))
    answers[0] = asking.askAny(needed);
  if (full && truth.canAsk(full))
    answers[1] = asking.askAll(full);
  scf::YieldOp::create(builder, loop.getLoc(), answers);
  return {branch.getResult(0), branch.getResult(1)};
}

void ListWriter::choose() {
  IntervalSets sets(index, loop, rows);
  SmallVector<BlockRange> ranges =
      getBlockRanges(index, loop.getUpperBound(), size,
                     sets.get(needed, Side::Possible), IntervalSet());
  from = to = getMiddlePlace(index, loop.getUpperBound(), size);
  Location loc = loop.getLoc();
  Value one = index.constant(1);
  for (BlockRange range : ranges) {
    auto visit = scf::ForOp::create(builder, loc, range.from, range.to, one,
                                    ValueRange{from, to});
    visit->setAttr("tile.axis", loop->getAttr("tile.axis"));
    visit->setAttr("tile.to_list", builder.getUnitAttr());
    choosing.push_back(visit);
    OpBuilder::InsertionGuard guard(builder);
    // What every block shares goes before the first of the loops.
    OpBuilder before(choosing.front());
    IndexBuilder outer(before, loc);
    IntervalSets shared(outer, loop, rows);
    if (!visit.getBody()->empty())
      visit.getBody()->back().erase();
    builder.setInsertionPointToEnd(visit.getBody());
    Value block = visit.getInductionVar();
    BlockTruth truth(index, shared, loop, rows, index.multiply(block, size),
                     size);
    Choice choice = judge(truth);
    // A block that reaches beyond the axis evaluates its end.
    Value end = index.add(index.multiply(block, size), size);
    Value isFull =
        index.logicalAnd(index.logicalAnd(choice.needed, choice.full),
                         index.isLessOrEqual(end, loop.getUpperBound()));
    Value first = visit.getRegionIterArg(0), last = visit.getRegionIterArg(1);
    Value before1 = index.add(first, -1), after = index.add(last, 1);
    Value isPartial = index.logicalAnd(choice.needed, index.logicalNot(isFull));
    Value place = index.select(
        isFull, before1, index.select(choice.needed, last, index.constant(-1)));
    auto yield =
        scf::YieldOp::create(builder, loc,
                             ValueRange{index.select(isFull, before1, first),
                                        index.select(isPartial, after, last)});
    entries.push_back({yield, block, place});
    from = visit.getResult(0);
    to = visit.getResult(1);
  }
  // Coordinates are those of what is left.
  for (scf::ForOp visit : choosing)
    visit.getBody()->walk<WalkOrder::PostOrder, mlir::ReverseIterator>(
        [&](Operation *op) {
          bool isPlace = llvm::any_of(entries, [&](Entry &entry) {
            return entry.place.getDefiningOp() == op;
          });
          if (!isPlace && isOpTriviallyDead(op))
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
  for (size_t i = 0; i < values.size(); ++i)
    if (Operation *op = values[i].getDefiningOp();
        op && kernel->isProperAncestor(op))
      for (Value operand : op->getOperands())
        add(operand);
  SmallVector<unsigned> result;
  for (BlockArgument id : kernel.getBody().getArguments())
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
  SmallVector<Value> row;
  for (unsigned id : coordinates)
    row.push_back(kernel.getBody().getArgument(id));
  auto store = [&](Value value, Value place) {
    SmallVector<Value> indices(row);
    indices.push_back(place);
    tile::StoreOp::create(builder, loc, value, list, indices);
  };
  for (Entry &entry : entries) {
    builder.setInsertionPoint(entry.after);
    store(entry.block, entry.place);
  }
  builder.setInsertionPoint(loop);
  store(from, index.constant(0));
  store(to, index.constant(1));
  eraseDead(kernel.getBody().front());
  // Coordinates on which no block depends.
  SmallVector<Value> bounds;
  SmallVector<Attribute> names;
  for (unsigned id : coordinates) {
    bounds.push_back(kernel.getBounds()[id]);
    names.push_back(kernel.getIds()[id]);
  }
  Block &body = kernel.getBody().front();
  body.eraseArguments([&](BlockArgument argument) {
    return !llvm::is_contained(coordinates, argument.getArgNumber());
  });
  kernel.getBoundsMutable().assign(bounds);
  kernel.setIdsAttr(builder.getArrayAttr(names));
}

/// A name that no workspace of the program has.
std::string getFreeName(tile::ProgramOp program) {
  llvm::StringSet<> taken;
  for (auto workspace : program.getBody().front().getOps<attn::WorkspaceOp>())
    taken.insert(workspace.getName());
  for (auto kernel : program.getBody().front().getOps<tile::KernelOp>())
    taken.insert(kernel.getName());
  std::string name = "blocks";
  for (unsigned i = 1; taken.contains(name); ++i)
    name = "blocks_" + std::to_string(i);
  return name;
}

} // namespace

std::optional<BlockList> BlockList::create(scf::ForOp loop,
                                           ArrayRef<RowAxis> rows) {
  auto kernel = loop->getParentOfType<tile::KernelOp>();
  auto program = kernel->getParentOfType<tile::ProgramOp>();
  MLIRContext *context = kernel.getContext();
  AffineExpr extent = getExtent(loop.getUpperBound());
  if (!extent || loop->getParentOp() != kernel)
    return std::nullopt;
  std::string name = getFreeName(program);
  OpBuilder builder(kernel);
  IRMapping mapping;
  auto writer = cast<tile::KernelOp>(builder.clone(*kernel, mapping));
  writer.setName((kernel.getName() + "_" + name).str());
  SmallVector<RowAxis> copied;
  for (RowAxis row : rows)
    copied.push_back(
        {mapping.lookup(row.index.getResult()).getDefiningOp<tile::IndexOp>(),
         row.extent ? mapping.lookupOrDefault(row.extent) : Value()});
  ListWriter list(writer, cast<scf::ForOp>(mapping.lookup(loop.getOperation())),
                  copied);
  list.choose();
  SmallVector<unsigned> coordinates = list.getCoordinates();

  SmallVector<AffineExpr> shape;
  for (unsigned id : coordinates)
    shape.push_back(getExtent(kernel.getBounds()[id]));
  shape.push_back(extent.ceilDiv(list.getSize()) * 2 + kEnds);
  if (llvm::is_contained(shape, AffineExpr())) {
    writer.erase();
    return std::nullopt;
  }
  SmallVector<int64_t> dims;
  for (AffineExpr expression : shape) {
    auto constant = dyn_cast<AffineConstantExpr>(expression);
    dims.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
  }
  attn::SignatureOpInterface head = program;
  BlockList result;
  builder.setInsertionPoint(writer);
  result.tensor = attn::WorkspaceOp::create(
      builder, loop.getLoc(), RankedTensorType::get(dims, builder.getI32Type()),
      name, AffineMap::get(0, head.getSizeArgs().size(), shape, context));
  list.write(result.tensor, coordinates);
  for (unsigned id : coordinates)
    result.row.push_back(kernel.getBody().getArgument(id));
  result.extent = loop.getUpperBound();
  result.size = list.getSize();
  return result;
}

Value BlockList::getMiddle(IndexBuilder &index) {
  return getMiddlePlace(index, extent, size);
}

Value BlockList::read(IndexBuilder &index, int64_t place) {
  return readEntry(index, index.constant(place));
}

Value BlockList::readEntry(IndexBuilder &index, Value entry) {
  OpBuilder &builder = index.getBuilder();
  SmallVector<Value> indices(row);
  indices.push_back(entry);
  Value number = tile::LoadOp::create(builder, index.getLoc(),
                                      builder.getI32Type(), tensor, indices);
  return arith::IndexCastOp::create(builder, index.getLoc(),
                                    builder.getIndexType(), number);
}

Value BlockList::getStart(IndexBuilder &index, Value entry) {
  Value block = readEntry(index, entry);
  return arith::MulIOp::create(index.getBuilder(), index.getLoc(), block,
                               index.constant(size));
}

} // namespace attentile
