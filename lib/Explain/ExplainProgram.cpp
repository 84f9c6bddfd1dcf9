//===- ExplainProgram.cpp - work and traffic of a program -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Counter.h"
#include "IntegerTiles.h"
#include "attentile/SortedList.h"
#include "attentile/Tensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace attentile {

/// The shape of a tensor that a kernel reads or writes: an argument of the
/// program's head or a workspace.
static AffineMap shapeOf(Value tensor) {
  if (auto workspace = tensor.getDefiningOp<attn::WorkspaceOp>())
    return workspace.getShape();
  auto argument = cast<BlockArgument>(tensor);
  attn::SignatureOpInterface head =
      cast<tile::ProgramOp>(argument.getOwner()->getParentOp());
  return head.getShape(argument);
}

static int64_t bytesOf(Type type) {
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

llvm::Expected<int64_t> Counter::need(Value value, const llvm::Twine &what) {
  if (std::optional<int64_t> number = scalars.get(value))
    return *number;
  for (Value argument : ScalarValues::argumentsOf(value)) {
    auto parameter = dyn_cast<BlockArgument>(argument);
    if (!parameter || parameter.getOwner() != &head.getHeadBlock() ||
        scalars.get(parameter))
      continue;
    if (isa<RankedTensorType>(parameter.getType()))
      return llvm::createStringError((what + " of '" + kernel.getName() +
                                      "' depends on the elements of '" +
                                      head.nameOf(parameter) + "'")
                                         .str());
    return llvm::createStringError(
        ("expected a value of '" + head.nameOf(parameter) + "', on which " +
         what + " of '" + kernel.getName() + "' depends")
            .str());
  }
  return llvm::createStringError(
      (what + " of '" + kernel.getName() + "' cannot be evaluated").str());
}

/// Whether a value follows from a scalar of the head that is not given.
bool Counter::lacksScalar(Value value) {
  return llvm::any_of(ScalarValues::argumentsOf(value), [&](Value argument) {
    auto parameter = dyn_cast<BlockArgument>(argument);
    return parameter && parameter.getOwner() == &head.getHeadBlock() &&
           !isa<RankedTensorType>(parameter.getType()) &&
           !scalars.get(parameter);
  });
}

int64_t Counter::extentOf(Value tensor, unsigned dimension) {
  SmallVector<Attribute> sizes;
  for (BlockArgument size : head.getSizeArgs())
    sizes.push_back(IntegerAttr::get(IndexType::get(kernel.getContext()),
                                     scalars.get(size).value_or(0)));
  SmallVector<Attribute> extent;
  AffineMap one = shapeOf(tensor).getSubMap({dimension});
  if (failed(one.constantFold(sizes, extent)))
    return 0; // a floordiv by a size that is 0
  return cast<IntegerAttr>(extent[0]).getInt();
}

/// How many elements of a tile lie inside the tensor; those of a gather all.
double Counter::elementsInside(ValueRange indices, Value tensor) {
  double count = 1;
  for (auto [dimension, index] : llvm::enumerate(indices)) {
    auto type = dyn_cast<RankedTensorType>(index.getType());
    if (!type)
      continue;
    // A gather's tile may have axes that another index has too.
    int64_t size = type.getRank() == 1 ? type.getDimSize(0) : 1;
    if (auto consecutive = index.getDefiningOp<tile::IndexOp>())
      if (std::optional<int64_t> base = scalars.get(consecutive.getBase()))
        size =
            std::clamp<int64_t>(extentOf(tensor, dimension) - *base, 0, size);
    count *= size;
  }
  return count;
}

/// Notes a block in the map.
void Counter::visit(scf::ForOp loop, int64_t block, bool masked) {
  StringRef axis = loop->getAttrOfType<StringAttr>("tile.axis").getValue();
  if (!mapRow ||
      (!figures.map.columnAxis.empty() && figures.map.columnAxis != axis))
    return;
  figures.map.columnAxis = axis.str();
  auto &rows = figures.map.blocks;
  if (int64_t(rows.size()) <= *mapRow)
    rows.resize(*mapRow + 1);
  std::vector<uint8_t> &row = rows[*mapRow];
  if (int64_t(row.size()) <= block)
    row.resize(block + 1, BlockMap::Skipped);
  row[block] =
      std::max<uint8_t>(row[block], masked ? BlockMap::Masked : BlockMap::Full);
}

/// Names of the map's axes, rows of one length.
void Counter::finishMap() {
  BlockMap &map = figures.map;
  if (map.columnAxis.empty())
    return;
  for (auto [axis, size] : tiles)
    if (axis.getValue() == map.columnAxis)
      map.columnTile = size;
  if (!tiles.empty()) {
    map.rowAxis = tiles.front().first.str();
    map.rowTile = tiles.front().second;
  }
  size_t columns = mapColumns;
  for (const std::vector<uint8_t> &row : map.blocks)
    columns = std::max(columns, row.size());
  for (std::vector<uint8_t> &row : map.blocks)
    row.resize(columns, BlockMap::Skipped);
}

llvm::Error Counter::block(Block &block, double times) {
  for (Operation &op : block) {
    for (Type type : op.getResultTypes())
      if (tile::isTile(type))
        for (auto [axis, size] : llvm::zip_equal(
                 tile::getAxes(type), cast<RankedTensorType>(type).getShape()))
          tiles.insert({axis, size});
    if (auto inner = dyn_cast<scf::ForOp>(op)) {
      if (llvm::Error error = loop(inner, times))
        return error;
    } else if (auto choice = dyn_cast<scf::IfOp>(op)) {
      bool other = scalars.get(choice.getCondition()) == 0 &&
                   !choice.getElseRegion().empty();
      Block &side = other ? *choice.elseBlock() : *choice.thenBlock();
      if (llvm::Error error = this->block(side, times))
        return error;
    } else if (auto dot = dyn_cast<tile::DotOp>(op)) {
      auto type = dyn_cast<RankedTensorType>(dot.getType());
      double work = 2. * (type ? type.getNumElements() : 1);
      for (Attribute axis : dot.getOver())
        work *= dot.getLhs().getType().getDimSize(*tile::getAxisPosition(
            dot.getLhs().getType(), cast<StringAttr>(axis)));
      figures.flops += times * work;
    } else if (isa<math::ExpOp, math::Exp2Op>(op)) {
      auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
      figures.exponentials += times * (type ? type.getNumElements() : 1);
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      touched.insert(load.getTensor());
      figures.readBytes += times *
                           elementsInside(load.getIndices(), load.getTensor()) *
                           bytesOf(load.getTensor().getType().getElementType());
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      touched.insert(store.getTensor());
      figures.writtenBytes +=
          times * elementsInside(store.getIndices(), store.getTensor()) *
          bytesOf(store.getTensor().getType().getElementType());
    }
  }
  return llvm::Error::success();
}

/// The coordinates that bounds and tiles depend on; programs that differ in the
/// others do the same.
llvm::SetVector<Value> Counter::idsThatMatter() {
  llvm::SetVector<Value> ids;
  kernel->walk([&](Operation *op) {
    SmallVector<Value> counted;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      counted = {loop.getLowerBound(), loop.getUpperBound()};
    else if (auto index = dyn_cast<tile::IndexOp>(op))
      counted = {index.getBase()};
    else if (auto choice = dyn_cast<scf::IfOp>(op))
      counted = {choice.getCondition()};
    for (Value value : counted)
      for (Value argument : ScalarValues::argumentsOf(value))
        if (argument.getParentBlock() == &kernel.getBody().front())
          ids.insert(argument);
  });
  return ids;
}

/// The number of the program's tile along the first axis that `id` moves.
std::optional<int64_t> Counter::rowOf(Value id) {
  for (auto index : kernel.getBody().getOps<tile::IndexOp>())
    if (llvm::is_contained(ScalarValues::argumentsOf(index.getBase()), id)) {
      std::optional<int64_t> first = scalars.get(index.getBase());
      return first ? std::optional(*first / index.getType().getNumElements())
                   : std::nullopt;
    }
  return std::nullopt;
}

llvm::Expected<GridFigures> Counter::run() {
  figures.name = kernel.getName().str();
  llvm::SetVector<Value> open = idsThatMatter();
  SmallVector<std::pair<Value, int64_t>> walked;
  double times = 1;
  figures.programs = 1;
  for (auto [id, bound] :
       llvm::zip_equal(kernel.getBody().getArguments(), kernel.getBounds())) {
    llvm::Expected<int64_t> extent = need(bound, "the grid");
    if (!extent)
      return extent.takeError();
    int64_t count = std::max<int64_t>(*extent, 0);
    figures.programs *= count;
    scalars.set(id, 0);
    if (open.contains(id))
      walked.push_back({id, count});
    else
      times *= count;
  }
  int64_t cells = 1;
  for (auto [_, count] : walked)
    cells *= count;
  for (int64_t cell = 0; cell < cells; ++cell) {
    int64_t rest = cell;
    mapRow = 0;
    for (auto [id, count] : walked) {
      int64_t coordinate = rest % count;
      scalars.set(id, coordinate);
      rest /= count;
      // The tiles of rows are the last coordinate, perhaps from their end on.
      if (id == walked.back().first && mapRow)
        mapRow = rowOf(id).value_or(coordinate);
      else if (coordinate != 0)
        mapRow.reset();
    }
    if (llvm::Error error = block(kernel.getBody().front(), times))
      return error;
  }
  for (Value tensor : touched) {
    double elements = 1;
    for (unsigned i = 0; i < shapeOf(tensor).getNumResults(); ++i)
      elements *= extentOf(tensor, i);
    figures.leastBytes +=
        elements *
        bytesOf(cast<RankedTensorType>(tensor.getType()).getElementType());
  }
  for (auto [axis, size] : tiles)
    figures.tiles.push_back({axis.str(), size});
  finishMap();
  return figures;
}

/// Makes the list of blocks that a kernel writes; whether that can be done.
static bool makeList(tile::KernelOp kernel, ScalarValues &scalars) {
  std::vector<int64_t> counts, ids(kernel.getBounds().size());
  for (Value bound : kernel.getBounds())
    counts.push_back(scalars.get(bound).value_or(0));
  if (llvm::any_of(counts, [](int64_t count) { return count <= 0; }))
    return false;
  do
    if (!runOnIntegers(kernel, ids, scalars))
      return false;
  while (nextIndex(ids, counts));
  return true;
}

/// In place of lists in the order of their lengths, in which the same programs
/// run, those that are sorted, as far as they are known, where they are.
static void keepLists(tile::KernelOp kernel, ScalarValues &scalars) {
  std::vector<int64_t> counts, ids(kernel.getBounds().size());
  for (Value bound : kernel.getBounds())
    counts.push_back(scalars.get(bound).value_or(0));
  if (llvm::any_of(counts, [](int64_t count) { return count <= 0; }))
    return;
  Value list = (*kernel.getBody().getOps<tile::LoadOp>().begin()).getTensor();
  Value sorted =
      (*kernel.getBody().getOps<tile::StoreOp>().begin()).getTensor();
  auto placeOf = [&](int64_t place) {
    SmallVector<int64_t> at(ids.begin(), ids.end());
    at.push_back(place);
    return at;
  };
  auto write = [&](SortedPlace place, int64_t number) {
    scalars.setElement(sorted, placeOf(int64_t(place)), number);
  };
  do {
    write(SortedPlace::Coordinate, ids.back());
    auto from = scalars.getElement(list, placeOf(int64_t(ListPlace::From)));
    auto to = scalars.getElement(list, placeOf(int64_t(ListPlace::To)));
    if (!from || !to)
      continue;
    write(SortedPlace::From, *from);
    write(SortedPlace::To, *to);
    for (int64_t place = *from; place < *to; ++place)
      if (auto entry = scalars.getElement(list, placeOf(place)))
        scalars.setElement(
            sorted, placeOf(place - *from + int64_t(SortedPlace::Entries)),
            *entry);
  } while (nextIndex(ids, counts));
}

llvm::Expected<std::vector<GridFigures>>
explainProgram(tile::ProgramOp program,
               const llvm::StringMap<int64_t> &values) {
  ScalarValues scalars;
  attn::SignatureOpInterface head = program;
  for (BlockArgument argument : head.getHeadBlock().getArguments())
    if (auto value = values.find(head.nameOf(argument));
        value != values.end() && argument.getType().isIntOrIndex())
      scalars.set(argument, value->second);
  for (BlockArgument size : head.getSizeArgs())
    if (!scalars.get(size))
      return llvm::createStringError("expected a value of size '" +
                                     head.nameOf(size) + "'");
  for (auto op : head.getHeadBlock().getOps<attn::DefaultOp>())
    if (std::optional<int64_t> value = scalars.get(op.getValue());
        value && !scalars.get(op.getParameter()))
      scalars.set(op.getParameter(), *value);
  std::vector<GridFigures> result;
  llvm::DenseSet<Operation *> lists;
  for (auto kernel : head.getHeadBlock().getOps<tile::KernelOp>()) {
    if (kernel->hasAttr("tile.sorted_list"))
      keepLists(kernel, scalars);
    else if (kernel->hasAttr("tile.block_list") && makeList(kernel, scalars))
      lists.insert(kernel);
    llvm::Expected<GridFigures> figures =
        Counter(program, kernel, scalars, lists).run();
    if (!figures)
      return figures.takeError();
    result.push_back(std::move(*figures));
  }
  return result;
}

} // namespace attentile
