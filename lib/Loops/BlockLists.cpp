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

/// What a copy of the kernel does: all of it, or one of two steps. To judge, a
/// program has some of the blocks alone, and writes the class of each; where
/// these go in the list is a count, which goes from block to block.
enum class Task { All, Judge, Collect };

/// Classes, as one step hands them to the next.
enum : int64_t { kNotNeeded, kPartial, kFull };

class ListWriter {
public:
  ListWriter(tile::KernelOp kernel, scf::ForOp loop, ArrayRef<RowAxis> rows,
             Task task)
      : task(task), kernel(kernel), loop(loop), rows(rows), masked(loop),
        size(masked.getSize()), builder(loop), index(builder, loop.getLoc()) {
    masked.keepAskable();
    needed = masked.getNeeded();
    full = masked.getFull();
  }

  /// Gives the kernel a coordinate for the `parts` of the axis, of so many
  /// blocks, that programs judge apart.
  void divide(Value parts, int64_t blocks);
  /// Reads what was judged from here.
  void readFrom(Value tensor, ArrayRef<unsigned> coordinates);
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
  /// An entry of the list, or the class of a block; not written if its place is
  /// negative.
  struct Entry {
    Operation *after;
    Value value, place;
  };

  Choice judge(BlockTruth &truth);
  Choice judgeByRows(BlockTruth truth, Truth isNeeded, Truth isFull);
  Choice judgeByElements(BlockTruth truth, Truth isFull);
  Choice branch(Value condition, function_ref<Choice()> yes,
                function_ref<Choice()> no);
  Choice getChoice(IntervalSets &shared, Value block);
  void collect(scf::ForOp visit, Choice choice);
  SmallVector<Value> getRow(ArrayRef<unsigned> coordinates);

  Task task;
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
  Value from, to;             ///< the list's ends
  Value firstBlock, endBlock; ///< of the program's part
  Value judged;
  SmallVector<Value> judgedRow;
};

void ListWriter::divide(Value parts, int64_t blocks) {
  Value part =
      kernel.getBody().addArgument(builder.getIndexType(), loop.getLoc());
  SmallVector<Value> bounds(kernel.getBounds());
  bounds.push_back(parts);
  kernel.getBoundsMutable().assign(bounds);
  SmallVector<Attribute> names(kernel.getIds().getValue());
  names.push_back(builder.getStringAttr("part"));
  kernel.setIdsAttr(builder.getArrayAttr(names));
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
  return branch(
      settled, [&] { return Choice{isNeeded.can, isFull.sure}; },
      [&] { return judgeByRows(truth, isNeeded, isFull); });
}

/// By the first and the last row: whether one needs an element, and has one
/// that is hidden.
ListWriter::Choice ListWriter::judgeByRows(BlockTruth truth, Truth isNeeded,
                                           Truth isFull) {
  Value some = isNeeded.sure;
  Value known = index.logicalOr(isFull.sure, index.logicalNot(isFull.can));
  for (BlockTruth::Row row : {BlockTruth::Row::First, BlockTruth::Row::Last}) {
    std::optional<Truth> needs = truth.getOfRow(needed, row), sees;
    if (full)
      sees = truth.getOfRow(full, row);
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

ListWriter::Choice ListWriter::judgeByElements(BlockTruth truth, Truth isFull) {
  Value any = truth.askAny(needed);
  return {any, full ? truth.askAll(full) : isFull.sure};
}

/// Of a block, in a loop over them.
ListWriter::Choice ListWriter::getChoice(IntervalSets &shared, Value block) {
  if (task == Task::Collect) {
    SmallVector<Value> indices(judgedRow);
    indices.push_back(block);
    Value number = tile::LoadOp::create(builder, loop.getLoc(),
                                        builder.getI32Type(), judged, indices);
    number = arith::IndexCastOp::create(builder, loop.getLoc(),
                                        builder.getIndexType(), number);
    return {index.isLessOrEqual(index.constant(kPartial), number),
            index.isLessOrEqual(index.constant(kFull), number)};
  }
  BlockTruth truth(index, shared, loop, rows, index.multiply(block, size),
                   size);
  Choice choice = judge(truth);
  // A block that reaches beyond the axis evaluates its end.
  Value end = index.add(index.multiply(block, size), size);
  choice.full =
      index.logicalAnd(index.logicalAnd(choice.needed, choice.full),
                       index.isLessOrEqual(end, loop.getUpperBound()));
  return choice;
}

/// Gives a block its place, from the middle down or up.
void ListWriter::collect(scf::ForOp visit, Choice choice) {
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
  entries.push_back({yield, visit.getInductionVar(), place});
}

void ListWriter::choose() {
  IntervalSets sets(index, loop, rows);
  SmallVector<BlockRange> ranges =
      getBlockRanges(index, loop.getUpperBound(), size,
                     sets.get(needed, Side::Possible), IntervalSet());
  Location loc = loop.getLoc();
  Value one = index.constant(1);
  SmallVector<Value> ends;
  if (task != Task::Judge)
    ends.assign(2, getMiddlePlace(index, loop.getUpperBound(), size));
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
    Choice choice = getChoice(shared, visit.getInductionVar());
    if (task != Task::Judge) {
      collect(visit, choice);
      continue;
    }
    Value found =
        index.select(choice.full, index.constant(kFull),
                     index.select(choice.needed, index.constant(kPartial),
                                  index.constant(kNotNeeded)));
    auto yield = scf::YieldOp::create(builder, loc);
    entries.push_back({yield, found, visit.getInductionVar()});
  }
  if (task != Task::Judge) {
    from = ends[0];
    to = ends[1];
  }
  // Coordinates are those of what is left.
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
  if (task != Task::Judge) {
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

/// A copy of a kernel, which is to write a list, and of its loop.
struct Copied {
  Copied(scf::ForOp loop, ArrayRef<RowAxis> rows, StringRef suffix) {
    auto original = loop->getParentOfType<tile::KernelOp>();
    OpBuilder builder(original);
    IRMapping mapping;
    kernel = cast<tile::KernelOp>(builder.clone(*original, mapping));
    kernel.setName((original.getName() + "_" + suffix).str());
    // What a GPU's tiles take is said of the kernel that was copied.
    kernel->removeAttr("tile.resources");
    kernel->setAttr("tile.block_list", builder.getUnitAttr());
    this->loop = cast<scf::ForOp>(mapping.lookup(loop.getOperation()));
    for (const RowAxis &row : rows)
      this->rows.push_back(
          {mapping.lookup(row.index->getResult(0))
               .getDefiningOp<tile::IndexOp>(),
           row.extent ? mapping.lookupOrDefault(row.extent) : Value()});
  }

  tile::KernelOp kernel;
  scf::ForOp loop;
  SmallVector<RowAxis> rows;
};

/// Workspace of 32-bit integers before a kernel.
Value makeWorkspace(tile::KernelOp kernel, StringRef name,
                    ArrayRef<AffineExpr> shape) {
  SmallVector<int64_t> dims;
  for (AffineExpr expression : shape) {
    auto constant = dyn_cast<AffineConstantExpr>(expression);
    dims.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
  }
  attn::SignatureOpInterface head = kernel->getParentOfType<tile::ProgramOp>();
  OpBuilder builder(kernel);
  return attn::WorkspaceOp::create(
      builder, kernel.getLoc(),
      RankedTensorType::get(dims, builder.getI32Type()), name,
      AffineMap::get(0, head.getSizeArgs().size(), shape, kernel.getContext()));
}

} // namespace

std::optional<BlockList> BlockList::create(scf::ForOp loop,
                                           ArrayRef<RowAxis> rows,
                                           int64_t blocksAtOnce) {
  auto kernel = loop->getParentOfType<tile::KernelOp>();
  auto program = kernel->getParentOfType<tile::ProgramOp>();
  AffineExpr extent = getExtent(loop.getUpperBound());
  if (!extent || loop->getParentOp() != kernel)
    return std::nullopt;
  std::string name = getFreeName(program);
  bool inSteps = blocksAtOnce != 0;
  Copied copy(loop, rows, inSteps ? name + "_classes" : name);
  ListWriter writer(copy.kernel, copy.loop, copy.rows,
                    inSteps ? Task::Judge : Task::All);
  int64_t size = writer.getSize();
  if (inSteps) {
    attn::SignatureOpInterface head = program;
    ExtentValues extents(OpBuilder(copy.kernel), loop.getLoc(),
                         head.getSizeArgs());
    writer.divide(extents.tiles(extent, size * blocksAtOnce), blocksAtOnce);
  }
  writer.choose();
  SmallVector<unsigned> coordinates = writer.getCoordinates();
  SmallVector<AffineExpr> shape;
  for (unsigned id : coordinates)
    shape.push_back(getExtent(kernel.getBounds()[id]));
  shape.push_back(extent.ceilDiv(size));
  if (llvm::is_contained(shape, AffineExpr())) {
    copy.kernel.erase();
    return std::nullopt;
  }
  BlockList result;
  Value classes;
  if (inSteps)
    classes = makeWorkspace(copy.kernel, name + "_classes", shape);
  shape.back() = shape.back() * 2 + kEnds;
  result.tensor = makeWorkspace(copy.kernel, name, shape);
  if (inSteps) {
    writer.write(classes, coordinates);
    Copied second(loop, rows, name);
    ListWriter collector(second.kernel, second.loop, second.rows,
                         Task::Collect);
    collector.readFrom(classes, coordinates);
    collector.choose();
    collector.write(result.tensor, coordinates);
  } else {
    writer.write(result.tensor, coordinates);
  }
  for (unsigned id : coordinates)
    result.row.push_back(kernel.getBody().getArgument(id));
  result.extent = loop.getUpperBound();
  result.size = size;
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
  // Below the least extent that no size has: so that it is known to fit 32
  // bits.
  Value block =
      index.clamp(readEntry(index, entry), 0, (INT32_MAX - (1 << 15)) / size);
  return arith::MulIOp::create(index.getBuilder(), index.getLoc(), block,
                               index.constant(size));
}

} // namespace attentile
