//===- EmitTransfers.cpp - tile-to-warp: loads and stores of tensors ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Into registers each thread loads its own elements, those that lie side by
// side in tensor and registers together. Into shared memory the block copies a
// window: asynchronously where the window's rows are the tensor's, else element
// by element.
//
//===----------------------------------------------------------------------===//

#include "IndexRuns.h"
#include "TensorAccess.h"
#include "attentile/Splat.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace attentile {

bool isMultipleOf(Value index, int64_t factor) {
  if (factor == 1)
    return true;
  if (std::optional<int64_t> known = getConstantIntValue(index))
    return *known % factor == 0;
  if (auto add = index.getDefiningOp<arith::AddIOp>())
    return isMultipleOf(add.getLhs(), factor) &&
           isMultipleOf(add.getRhs(), factor);
  if (auto sub = index.getDefiningOp<arith::SubIOp>())
    return isMultipleOf(sub.getLhs(), factor) &&
           isMultipleOf(sub.getRhs(), factor);
  if (auto mul = index.getDefiningOp<arith::MulIOp>())
    return isMultipleOf(mul.getLhs(), factor) ||
           isMultipleOf(mul.getRhs(), factor);
  if (auto choice = index.getDefiningOp<arith::SelectOp>())
    return isMultipleOf(choice.getTrueValue(), factor) &&
           isMultipleOf(choice.getFalseValue(), factor);
  if (auto argument = dyn_cast<BlockArgument>(index))
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
      return argument == loop.getInductionVar() &&
             isMultipleOf(loop.getLowerBound(), factor) &&
             isMultipleOf(loop.getStep(), factor);
  return false;
}

//===----------------------------------------------------------------------===//
// TensorAccess
//===----------------------------------------------------------------------===//

/// The extent of a tensor's dimension, as an expression of the sizes; null for
/// a tensor that is none of the program's.
static AffineExpr extentOf(Value tensor, unsigned dim) {
  if (auto workspace = tensor.getDefiningOp<attn::WorkspaceOp>())
    return workspace.getShape().getResult(dim);
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto program =
      argument ? dyn_cast<tile::ProgramOp>(argument.getOwner()->getParentOp())
               : tile::ProgramOp();
  if (!program)
    return {};
  return attn::SignatureOpInterface(program).getShape(argument).getResult(dim);
}

bool TensorAccess::isInside(unsigned dim, Value first, int64_t count) {
  AffineExpr extent = extentOf(tensor, dim);
  auto known = dyn_cast_or_null<AffineConstantExpr>(extent);
  if (std::optional<int64_t> start = getConstantIntValue(first))
    return known && *start >= 0 && *start + count <= known.getValue();
  // A coordinate of the grid, below its bound.
  auto id = dyn_cast<BlockArgument>(first);
  if (!id || id.getOwner()->getParentOp() != emitter.kernel || count != 1)
    return false;
  Value bound = emitter.kernel.getBounds()[id.getArgNumber()];
  if (std::optional<int64_t> end = getConstantIntValue(bound))
    return known && *end <= known.getValue();
  auto symbol = dyn_cast_or_null<AffineSymbolExpr>(extent);
  auto program = emitter.kernel->getParentOfType<tile::ProgramOp>();
  return symbol && bound == attn::SignatureOpInterface(program)
                                .getSizeArgs()[symbol.getPosition()];
}

TensorAccess::TensorAccess(WarpEmitter &emitter, Value tensor,
                           OperandRange indices, Type value)
    : emitter(emitter), tensor(tensor), axes(tile::getAxes(value)) {
  tile::Layout whole;
  if (auto fragment = tile::getFragment(value)) {
    whole = fragment.getLayout();
    layout = emitter.layoutOf(value);
  }
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Index &made = dims.emplace_back();
    made.axes = tile::getAxes(index.getType());
    int64_t count = 1;
    Value first = index;
    if (auto consecutive = index.getDefiningOp<tile::IndexOp>()) {
      first = consecutive.getBase();
      count = consecutive.getType().getDimSize(0);
    }
    made.isConsecutive = first != index;
    made.first = first;
    if (made.axes.empty() || made.isConsecutive) {
      inBounds.push_back(isInside(dim, first, count) ||
                         tile::isInside(tensor, dim, index));
      made.base = emitter.get(first);
      // Of this thread, where each has elements of its own.
      if (made.isConsecutive && layout.rank() != 0) {
        made.base = emitter.sum(
            made.base, emitter.threadPart(whole, axisOf(made.axes.front())));
        made.base = emitter.sum(made.base, emitter.startOf(made.axes.front()));
      }
      continue;
    }
    inBounds.push_back(false);
    made.gathered = emitter.elements(emitter.get(index));
    if (tile::getFragment(index.getType()))
      made.layout = emitter.layoutOf(index.getType());
    made.run = runInRegisters(index);
  }
}

unsigned TensorAccess::axisOf(StringAttr axis) const {
  return llvm::find(axes, axis) - axes.begin();
}

SmallVector<Value> TensorAccess::indicesAt(int64_t reg) {
  SmallVector<int64_t> position;
  if (layout.rank() != 0)
    position = layout.positionOf({.reg = reg});
  SmallVector<Value> result;
  for (Index &index : dims) {
    if (!index.gathered.empty()) {
      SmallVector<int64_t> part;
      for (StringAttr axis : index.axes)
        part.push_back(position[axisOf(axis)]);
      // As the first of its run and a constant, which addresses take.
      int64_t behind = part.front() % index.run;
      part.front() -= behind;
      Value first = index.gathered[index.layout.placeOf(part).reg];
      result.push_back(emitter.offset(first, behind));
      continue;
    }
    int64_t relative =
        index.isConsecutive ? position[axisOf(index.axes.front())] : 0;
    Value &made = index.made[relative];
    if (!made)
      made = index.isConsecutive ? emitter.offset(index.base, relative)
                                 : index.base;
    result.push_back(made);
  }
  return result;
}

int64_t TensorAccess::packet(int64_t bytes) const {
  const Index &last = dims.back();
  if (last.axes.size() != 1)
    return 1;
  StringAttr axis = last.axes.front();
  for (const Index &other : ArrayRef<Index>(dims).drop_back())
    if (llvm::is_contained(other.axes, axis))
      return 1;
  ArrayRef<tile::Digit> digits = layout.digits(axisOf(axis));
  if (digits.empty() || digits.front().unit != tile::Unit::Register ||
      digits.front().stride != 1)
    return 1;
  int64_t count = 1;
  while (digits.front().extent % (2 * count) == 0 && 2 * count * bytes <= 16 &&
         (last.isConsecutive ? isMultipleOf(last.first, 2 * count)
                             : last.run % (2 * count) == 0))
    count *= 2;
  return count;
}

bool TensorAccess::findWindow(SmallVector<int64_t> &windowDims) const {
  for (StringAttr axis : axes) {
    int64_t found = -1;
    for (auto [dim, index] : llvm::enumerate(dims))
      if (llvm::is_contained(index.axes, axis)) {
        if (found != -1 || !index.isConsecutive)
          return false;
        found = dim;
      }
    windowDims.push_back(found);
  }
  return true;
}

DenseBoolArrayAttr TensorAccess::getInBounds() {
  if (!llvm::is_contained(inBounds, true))
    return {};
  return emitter.builder.getDenseBoolArrayAttr(inBounds);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

LogicalResult WarpEmitter::emitLoad(tile::LoadOp load) {
  if (tile::getShared(load.getType()))
    return emitLoadToShared(load);
  TensorAccess access(*this, load.getTensor(), load.getIndices(),
                      load.getType());
  Value tensor = get(load.getTensor());
  Type element = tile::getElementType(load.getType());
  auto emitOne = [&](int64_t reg, Type type) -> Value {
    return warp::LoadOp::create(builder, loc, type, tensor,
                                access.indicesAt(reg), IntegerAttr(),
                                access.getInBounds(), UnitAttr());
  };
  auto fragment = tile::getFragment(load.getType());
  if (!fragment) {
    set(load, emitOne(0, element));
    return success();
  }
  int64_t registers = layoutOf(load.getType()).registers();
  int64_t count = access.packet(warp::getElementBytes(element));
  SmallVector<Value> values;
  for (int64_t reg = 0; reg < registers; reg += count) {
    if (count == 1)
      values.push_back(emitOne(reg, element));
    else
      llvm::append_range(
          values, elements(emitOne(reg, VectorType::get({count}, element))));
  }
  set(load, fromElements(values));
  return success();
}

/// Whether an earlier load of a block has no use from `now` on.
static bool isReadBefore(tile::LoadOp earlier, Operation *now) {
  return llvm::all_of(earlier->getUsers(), [&](Operation *user) {
    Operation *inBlock = now->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && inBlock->isBeforeInBlock(now);
  });
}

/// Whether tiles fit the same buffer, whatever their axes' names.
static bool haveOneShape(Type a, Type b) {
  tile::SharedAttr layout = tile::getShared(a);
  return layout && layout == tile::getShared(b) &&
         tile::getElementType(a) == tile::getElementType(b) &&
         cast<RankedTensorType>(a).getShape() ==
             cast<RankedTensorType>(b).getShape();
}

/// Where a kernel has room for one factor of a loop at a time (`tile.resources`
/// with stages = 0): the buffer of earlier loads of this iteration that have
/// been read. Null if there is none.
static Value findBufferInTurn(tile::LoadOp load,
                              function_ref<Value(Value)> bufferOf) {
  auto kernel = load->getParentOfType<tile::KernelOp>();
  auto resources = kernel->getAttrOfType<tile::ResourcesAttr>("tile.resources");
  if (!resources || resources.getStages() != 0 ||
      !load->getParentOfType<scf::ForOp>())
    return {};
  llvm::MapVector<Value, bool> isFree;
  for (auto earlier : load->getBlock()->getOps<tile::LoadOp>()) {
    if (earlier == load)
      break;
    if (!haveOneShape(earlier.getType(), load.getType()))
      continue;
    bool isRead = isReadBefore(earlier, load);
    auto [entry, isNew] = isFree.insert({bufferOf(earlier), isRead});
    entry->second &= isRead;
  }
  for (auto [buffer, free] : isFree)
    if (free)
      return buffer;
  return {};
}

LogicalResult WarpEmitter::emitLoadToShared(tile::LoadOp load) {
  TensorAccess access(*this, load.getTensor(), load.getIndices(),
                      load.getType());
  SmallVector<int64_t> dims;
  if (!access.findWindow(dims))
    return load.emitError("expected a window of consecutive indices to copy "
                          "into shared memory, got ")
           << load.getType();
  Value buffer = findBufferInTurn(load, [&](Value tile) { return get(tile); });
  if (!buffer)
    buffer = makeBuffer(cast<RankedTensorType>(load.getType()));
  auto type = cast<warp::BufferType>(buffer.getType());
  int64_t chunk = 16 / warp::getElementBytes(type.getElementType());
  bool byElement = dims.back() != int64_t(load.getIndices().size()) - 1 ||
                   type.getShape().back() % chunk != 0 ||
                   !isMultipleOf(access.firstOf(dims.back()), chunk);
  // The buffer's last contents, of an earlier iteration, have been read by all.
  if (isInLoop())
    warp::BarrierOp::create(builder, loc);
  warp::CopyAsyncOp::create(builder, loc, get(load.getTensor()),
                            access.windowStart(), dims, buffer,
                            access.getInBounds(), byElement);
  warp::CommitGroupOp::create(builder, loc);
  warp::WaitGroupOp::create(builder, loc, 0);
  warp::BarrierOp::create(builder, loc); // the copies of all threads are there
  set(load, buffer);
  return success();
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Rounds or saturates a value (f32, index, i1) to a tensor's element.
static Value toElement(OpBuilder &builder, Location loc, Value value,
                       Type element) {
  Type from = warp::getElementType(value.getType());
  auto as = [&](Type type) -> Type {
    auto vector = dyn_cast<VectorType>(value.getType());
    return vector ? Type(vector.clone(type)) : type;
  };
  if (from.isInteger(1))
    return element.isInteger(1)
               ? value
               : arith::ExtUIOp::create(builder, loc, as(element), value);
  if (from.isIndex()) {
    from = builder.getI64Type();
    value = arith::IndexCastOp::create(builder, loc, as(from), value);
  }
  if (from == element)
    return value;
  unsigned width = element.getIntOrFloatBitWidth();
  auto bound = [&](APInt limit) -> Value {
    TypedAttr attr = builder.getIntegerAttr(from, limit.getSExtValue());
    return arith::ConstantOp::create(builder, loc,
                                     splat(value.getType(), attr));
  };
  value = arith::MaxSIOp::create(builder, loc, value,
                                 bound(APInt::getSignedMinValue(width)));
  value = arith::MinSIOp::create(builder, loc, value,
                                 bound(APInt::getSignedMaxValue(width)));
  return arith::TruncIOp::create(builder, loc, as(element), value);
}

LogicalResult WarpEmitter::emitStore(tile::StoreOp store) {
  Type type = store.getValue().getType();
  auto fragment = tile::getFragment(type);
  if (tile::isTile(type) && !fragment)
    return store.emitError("expected a value in registers, got ") << type;
  TensorAccess access(*this, store.getTensor(), store.getIndices(), type);
  Type element =
      cast<RankedTensorType>(store.getTensor().getType()).getElementType();
  Value value = get(store.getValue());
  value = isa<FloatType>(element) ? convertFloat(value, element)
                                  : toElement(builder, loc, value, element);
  Value tensor = get(store.getTensor());
  tile::Layout layout;
  if (fragment)
    layout = fragment.getLayout();
  Value first = isFirstHolder(layout);
  auto emitOne = [&](Value packet, int64_t reg) {
    warp::StoreOp::create(builder, loc, packet, tensor, access.indicesAt(reg),
                          first, IntegerAttr(), access.getInBounds(),
                          UnitAttr());
  };
  if (!fragment) {
    emitOne(value, 0);
    return success();
  }
  int64_t count = access.packet(warp::getElementBytes(element));
  SmallVector<Value> values = elements(value);
  for (int64_t reg = 0; reg < int64_t(values.size()); reg += count)
    if (count == 1)
      emitOne(values[reg], reg);
    else
      emitOne(gather(value, llvm::to_vector(llvm::seq(reg, reg + count))), reg);
  return success();
}

} // namespace attentile
