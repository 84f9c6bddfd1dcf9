//===- BlockLists.cpp - lists of needed blocks from a grid before ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels that write a list are copies of the one that reads it. On a GPU
// there are several, as a program waits for each block that it judges: the
// classes of most blocks follow from the least and the largest of what is
// compared, many blocks side by side; the elements of the others are asked;
// then each row's blocks go into its list, one after the other.
//
//===----------------------------------------------------------------------===//

#include "BlockLists.h"
#include "ExtentValues.h"
#include "ListWriter.h"
#include "attentile/AssumedBounds.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace attentile {

attn::WorkspaceOp makeListWorkspace(tile::KernelOp kernel, StringRef name,
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

tile::LoadOp getListStart(scf::ForOp loop) {
  Value first = loop.getLowerBound();
  while (auto cast = first.getDefiningOp<arith::IndexCastOp>())
    first = cast.getIn();
  return loop->hasAttr("tile.from_list") ? first.getDefiningOp<tile::LoadOp>()
                                         : tile::LoadOp();
}

namespace {

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

/// A kernel that writes a list, or helps to.
struct Step {
  /// With `blocks`, its programs have so many of the axis each.
  Step(scf::ForOp loop, ArrayRef<RowAxis> rows, ListTask task, StringRef suffix,
       int64_t blocks)
      : copy(loop, rows, suffix),
        writer(copy.kernel, copy.loop, copy.rows, task) {
    if (blocks == 0)
      return;
    attn::SignatureOpInterface head =
        copy.kernel->getParentOfType<tile::ProgramOp>();
    ExtentValues extents(OpBuilder(copy.kernel), loop.getLoc(),
                         head.getSizeArgs());
    writer.divide(extents.tiles(getExtent(loop.getUpperBound()),
                                writer.getSize() * blocks),
                  blocks);
  }

  Copied copy;
  ListWriter writer;
};

/// How many blocks stand side by side: two rows of matrix instructions' tiles.
constexpr int64_t kBlocksSideBySide = 32;

/// What a step wrote, by these coordinates of the kernel and a number.
struct Written {
  Value tensor;
  SmallVector<unsigned> coordinates;
};

/// Writes what a step found for the next one, in workspace of its own:
/// `getLast` says how many numbers a row has of so many blocks.
Written write(Step &step, StringRef name, const Written *before,
              function_ref<AffineExpr(AffineExpr)> getLast, AffineExpr extent) {
  // What one step's blocks depend on may be folded away in another's.
  Written result{{}, step.writer.getCoordinates()};
  if (before)
    llvm::append_range(result.coordinates, before->coordinates);
  llvm::sort(result.coordinates);
  result.coordinates.erase(llvm::unique(result.coordinates),
                           result.coordinates.end());
  SmallVector<AffineExpr> shape;
  for (unsigned id : result.coordinates)
    shape.push_back(getExtent(step.copy.kernel.getBounds()[id]));
  shape.push_back(getLast(extent.ceilDiv(step.writer.getSize())));
  result.tensor = makeListWorkspace(step.copy.kernel, name, shape);
  step.writer.write(result.tensor, result.coordinates);
  return result;
}

/// Writes the class of each block in one or two steps: many side by side, of
/// which some may be left to be asked, or one after the other.
Written writeClasses(scf::ForOp loop, ArrayRef<RowAxis> rows, const Twine &name,
                     int64_t blocksAtOnce, AffineExpr extent) {
  auto one = [](AffineExpr blocks) { return blocks; };
  std::string classesName = (name + "_classes").str();
  Step classify(loop, rows, ListTask::Classify, classesName, kBlocksSideBySide);
  if (failed(classify.writer.choose())) {
    classify.copy.kernel.erase();
    Step judge(loop, rows, ListTask::Judge, classesName, blocksAtOnce);
    (void)judge.writer.choose();
    return write(judge, classesName, nullptr, one, extent);
  }
  Written classes = write(classify, classesName, nullptr, one, extent);
  if (!classify.writer.leavesOpen())
    return classes;
  std::string askedName = (name + "_asked").str();
  Step ask(loop, rows, ListTask::Ask, askedName, blocksAtOnce);
  ask.writer.readFrom(classes.tensor, classes.coordinates);
  (void)ask.writer.choose();
  return write(ask, askedName, &classes, one, extent);
}

} // namespace

std::optional<BlockList> BlockList::create(scf::ForOp loop,
                                           ArrayRef<RowAxis> rows,
                                           int64_t blocksAtOnce) {
  auto kernel = loop->getParentOfType<tile::KernelOp>();
  AffineExpr extent = getExtent(loop.getUpperBound());
  bool isKnown = extent && llvm::all_of(kernel.getBounds(), [](Value bound) {
                   return static_cast<bool>(getExtent(bound));
                 });
  if (!isKnown || loop->getParentOp() != kernel)
    return std::nullopt;
  std::string name = getFreeName(kernel->getParentOfType<tile::ProgramOp>());
  // One step on a CPU; more where programs wait for each block they judge.
  std::optional<Written> classes;
  if (blocksAtOnce != 0)
    classes = writeClasses(loop, rows, name, blocksAtOnce, extent);
  Step last(loop, rows, classes ? ListTask::Collect : ListTask::All, name, 0);
  if (classes)
    last.writer.readFrom(classes->tensor, classes->coordinates);
  (void)last.writer.choose();
  auto ofRow = [](AffineExpr blocks) { return blocks * 2 + kListEnds; };
  Written list =
      write(last, name, classes ? &*classes : nullptr, ofRow, extent);
  BlockList result;
  result.extent = loop.getUpperBound();
  result.size = last.writer.getSize();
  result.tensor = list.tensor;
  for (unsigned id : list.coordinates)
    result.row.push_back(kernel.getBody().getArgument(id));
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
      index.clamp(readEntry(index, entry), 0, kLargestPosition / size);
  return arith::MulIOp::create(index.getBuilder(), index.getLoc(), block,
                               index.constant(size));
}

} // namespace attentile
