//===- TileEmitter.cpp - formulas of the attn level on tiles --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileEmitter.h"
#include "WholeAxes.h"
#include "attentile/Splat.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {

Value TileScope::lookup(Value value) const {
  for (const TileScope *scope = this; scope; scope = scope->parent)
    if (Value found = scope->tiles.lookup(value))
      return found;
  return {};
}

std::pair<Value, Value> TileScope::boundsOf(Value axis) const {
  for (const TileScope *scope = this; scope; scope = scope->parent)
    if (auto found = scope->bounds.find(axis); found != scope->bounds.end())
      return found->second;
  return {};
}

TileEmitter::TileEmitter(attn::KernelOp kernel, attn::GridOp grid,
                         attn::AxesAnalysis &axes,
                         const llvm::DenseMap<Value, Value> &extents,
                         const llvm::DenseMap<Value, int64_t> &sizes, Dots dots)
    : kernel(kernel), grid(grid), axes(axes), extents(extents), sizes(sizes),
      dots(dots), steps(axes.setOf(grid.getSingle())) {
  for (OperandRange group : {grid.getTile(), grid.getLoop(), grid.getWhole()})
    for (Value axis : group)
      order.push_back(cast<BlockArgument>(axis));
}

//===----------------------------------------------------------------------===//
// Types, broadcasts, constants
//===----------------------------------------------------------------------===//

StringAttr TileEmitter::nameOf(Value axis) {
  return StringAttr::get(kernel.getContext(),
                         kernel.nameOf(cast<BlockArgument>(axis)));
}

Type TileEmitter::typeOf(Type element, const attn::Axes &set) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> shape;
  for (BlockArgument axis : order)
    if (set.test(axes.numberOf(axis))) {
      names.push_back(nameOf(axis));
      shape.push_back(sizeOf(axis));
    }
  if (names.empty())
    return element;
  return tile::getTileType(element, names, shape);
}

Type TileEmitter::typeOf(Value value) {
  return typeOf(value.getType(), axes.of(value));
}

Value TileEmitter::broadcast(OpBuilder &builder, Location loc, Value value,
                             const attn::Axes &set) {
  Type type = typeOf(tile::getElementType(value.getType()), set);
  if (type == value.getType())
    return value;
  return tile::BroadcastOp::create(builder, loc, type, value);
}

/// A constant with every element the same, or a scalar one.
static Value makeSplat(OpBuilder &builder, Location loc, Type type,
                       TypedAttr element) {
  return arith::ConstantOp::create(builder, loc, splat(type, element));
}

/// The number that changes nothing in a reduction. An integer maximum starts
/// at the smallest integer, though over nothing it is 0.
static TypedAttr getNeutral(attn::ReduceKind kind, Type type) {
  Builder builder(type.getContext());
  auto real = [&](double value) { return builder.getFloatAttr(type, value); };
  auto integer = [&](int64_t value) {
    return builder.getIntegerAttr(type, value);
  };
  bool isFloat = isa<FloatType>(type);
  double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
  case attn::ReduceKind::Sum:
    return isFloat ? TypedAttr(real(0)) : integer(0);
  case attn::ReduceKind::Max:
  case attn::ReduceKind::Ref:
    return isFloat ? TypedAttr(real(-infinity))
                   : integer(std::numeric_limits<int64_t>::min());
  case attn::ReduceKind::Min:
    return isFloat ? TypedAttr(real(infinity))
                   : integer(std::numeric_limits<int64_t>::max());
  case attn::ReduceKind::Any:
    return builder.getBoolAttr(false);
  case attn::ReduceKind::All:
    return builder.getBoolAttr(true);
  }
  llvm_unreachable("unknown kind of reduction");
}

Value TileEmitter::makeNeutral(attn::ReduceOp reduction, OpBuilder &builder) {
  Type element = reduction.getType();
  return makeSplat(builder, reduction.getLoc(), typeOf(reduction.getResult()),
                   getNeutral(reduction.getKind(), element));
}

//===----------------------------------------------------------------------===//
// Tails
//===----------------------------------------------------------------------===//

Value TileEmitter::makeInRange(Value axis, TileScope &scope, Location loc) {
  auto index = cast<BlockArgument>(axis);
  std::optional<int64_t> extent = getConstantExtent(kernel, index);
  Value upper = extents.lookup(axis);
  if (auto [from, to] = scope.boundsOf(axis); to) {
    auto first = getConstantIntValue(from), last = getConstantIntValue(to);
    extent.reset();
    if (first && last)
      extent = *last - *first;
    upper = to;
  }
  if (!sizes.contains(axis) ||
      (extent && *extent > 0 && *extent % sizeOf(axis) == 0))
    return {};
  for (TileScope *outer = &scope; outer; outer = outer->parent)
    if (Value known = outer->inRange.lookup(axis))
      return known;
  Value indices = scope.lookup(axis);
  Value end = broadcast(scope.builder, loc, upper, axes.setOf(axis));
  Value test = arith::CmpIOp::create(scope.builder, loc,
                                     arith::CmpIPredicate::slt, indices, end);
  scope.inRange[axis] = test;
  return test;
}

/// Puts the neutral element where an index of `over` is outside its extent.
/// `set` are the tile's axes, `over` among them.
Value TileEmitter::clip(Value tile, const attn::Axes &set, ValueRange over,
                        TypedAttr neutral, TileScope &scope, Location loc) {
  Value inside;
  for (Value axis : over) {
    Value test = makeInRange(axis, scope, loc);
    if (!test)
      continue;
    test = broadcast(scope.builder, loc, test, set);
    inside =
        inside ? Value(arith::AndIOp::create(scope.builder, loc, inside, test))
               : test;
  }
  if (!inside)
    return tile;
  Value outside = makeSplat(scope.builder, loc, tile.getType(), neutral);
  return arith::SelectOp::create(scope.builder, loc, inside, tile, outside);
}

bool standsPlainly(attn::KernelOp kernel, Value tensor, ValueRange indices,
                   BlockArgument axis) {
  AffineMap shape;
  if (auto workspace = tensor.getDefiningOp<attn::WorkspaceOp>())
    shape = workspace.getShape();
  else // by number: the program's argument has taken the kernel's place
    shape = cast<AffineMapAttr>(
                kernel.getShapes()[cast<BlockArgument>(tensor).getArgNumber()])
                .getValue();
  AffineExpr extent = kernel.getExtent(axis).getResult(0);
  for (auto [index, dimension] : llvm::zip_equal(indices, shape.getResults()))
    if (index == axis && dimension == extent)
      return true;
  return false;
}

/// Whether a read gives 0 wherever `axis` is outside its extent: it is an
/// index by itself, of a dimension of that extent.
static bool readsZeroOutside(Value value, BlockArgument axis,
                             attn::KernelOp kernel) {
  if (auto extension = value.getDefiningOp<arith::ExtFOp>())
    value = extension.getIn();
  auto read = value.getDefiningOp<attn::ReadOp>();
  if (!read)
    return false;
  return standsPlainly(kernel, read.getTensor(), read.getIndices(), axis);
}

/// A factor of a product, 0 outside the summed axes' extents. A read of a
/// tensor of that extent is 0 there already; anything else (a weight, a read
/// through a table) might be infinite, and 0 times that is not 0.
Value TileEmitter::clipFactor(Value factor, ArrayRef<Value> over,
                              TileScope &scope) {
  SmallVector<Value> open(over);
  llvm::erase_if(open, [&](Value axis) {
    Value end = scope.boundsOf(axis).second;
    return (!end || end == extents.lookup(axis)) &&
           readsZeroOutside(factor, cast<BlockArgument>(axis), kernel);
  });
  Builder builder(kernel.getContext());
  return clip(scope.lookup(factor), axes.of(factor), open,
              builder.getFloatAttr(factor.getType(), 0), scope,
              factor.getLoc());
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value combineParts(OpBuilder &builder, Location loc, attn::ReduceKind kind,
                   Value a, Value b) {
  bool isFloat = isa<FloatType>(tile::getElementType(a.getType()));
  switch (kind) {
  case attn::ReduceKind::Sum:
    return isFloat ? Value(arith::AddFOp::create(builder, loc, a, b))
                   : arith::AddIOp::create(builder, loc, a, b);
  case attn::ReduceKind::Max:
    return isFloat ? Value(arith::MaximumFOp::create(builder, loc, a, b))
                   : arith::MaxSIOp::create(builder, loc, a, b);
  case attn::ReduceKind::Ref:
    return arith::MaxNumFOp::create(builder, loc, a, b);
  case attn::ReduceKind::Min:
    return isFloat ? Value(arith::MinimumFOp::create(builder, loc, a, b))
                   : arith::MinSIOp::create(builder, loc, a, b);
  case attn::ReduceKind::Any:
    return arith::OrIOp::create(builder, loc, a, b);
  case attn::ReduceKind::All:
    return arith::AndIOp::create(builder, loc, a, b);
  }
  llvm_unreachable("unknown kind of reduction");
}

std::optional<Product> TileEmitter::matchDot(attn::ReduceOp reduction) {
  return dots == Dots::Matrices ? matchProduct(reduction, axes, steps)
                                : matchMultiplyAdds(reduction, axes, steps);
}

SmallVector<Value> TileEmitter::reducedAxes(attn::ReduceOp reduction) {
  attn::Axes bound = axes.setOf(reduction.getAxes());
  SmallVector<Value> result;
  for (BlockArgument axis : order)
    if (bound.test(axes.numberOf(axis)))
      result.push_back(axis);
  return result;
}

FailureOr<Value> TileEmitter::emitReduction(attn::ReduceOp reduction,
                                            TileScope &scope,
                                            Value accumulator) {
  Location loc = reduction.getLoc();
  OpBuilder &builder = scope.builder;
  SmallVector<Attribute> over;
  SmallVector<Value> bound = reducedAxes(reduction);
  for (Value axis : bound)
    over.push_back(nameOf(axis));
  ArrayAttr overAttr = builder.getArrayAttr(over);

  if (std::optional<Product> product = matchDot(reduction)) {
    if (failed(emit(product->lhs, scope)) || failed(emit(product->rhs, scope)))
      return failure();
    Value lhs = clipFactor(product->lhs, bound, scope);
    Value rhs = clipFactor(product->rhs, bound, scope);
    Type type = typeOf(reduction.getResult());
    // The factor of the result's first axis stands first.
    if (tile::isTile(type) &&
        !tile::getAxisPosition(lhs.getType(), tile::getAxes(type).front()))
      std::swap(lhs, rhs);
    return Value(tile::DotOp::create(
        builder, loc, type, lhs, rhs, accumulator, overAttr,
        reduction.getProduct().value_or(reduction.getType())));
  }

  // Of one index at a time: a loop's multiply-add.
  auto term = dots == Dots::MultiplyAdds ? findMultiplyAdds(reduction, axes)
                                         : arith::MulFOp();
  if (term && over.empty() && accumulator) {
    SmallVector<Value> factors;
    for (Value factor : term->getOperands()) {
      FailureOr<Value> tile = emit(factor, scope);
      if (failed(tile))
        return failure();
      factors.push_back(
          broadcast(builder, loc, *tile, axes.of(reduction.getResult())));
    }
    return Value(
        math::FmaOp::create(builder, loc, factors[0], factors[1], accumulator));
  }

  FailureOr<Value> operand = emit(reduction.getOperand(), scope);
  if (failed(operand))
    return failure();
  attn::Axes set = axes.of(reduction.getOperand());
  set |= axes.setOf(reduction.getAxes());
  Value tile = broadcast(builder, loc, *operand, set);
  tile = clip(tile, set, bound,
              getNeutral(reduction.getKind(), reduction.getType()), scope, loc);
  if (!over.empty()) // axes of one index at a time: what a loop adds up
    tile = tile::ReduceOp::create(builder, loc, typeOf(reduction.getResult()),
                                  reduction.getKind(), tile, overAttr);
  if (!accumulator)
    return tile;
  return combineParts(builder, loc, reduction.getKind(), accumulator, tile);
}

//===----------------------------------------------------------------------===//
// Everything else
//===----------------------------------------------------------------------===//

std::optional<TileEmitter::Accumulation>
TileEmitter::matchAccumulation(Operation *op) {
  if (!isa<arith::AddFOp>(op) || !isa<attn::ForOp>(op->getParentOp()))
    return std::nullopt;
  for (unsigned i : {1u, 0u}) {
    auto reduction = op->getOperand(i).getDefiningOp<attn::ReduceOp>();
    if (reduction && reduction->hasOneUse() &&
        reduction->getBlock() == op->getBlock() &&
        axes.of(reduction) == axes.of(op->getResult(0)) && matchDot(reduction))
      return Accumulation{reduction, op->getOperand(1 - i)};
  }
  return std::nullopt;
}

/// The operations that `value` needs and no scope has, operands first.
SmallVector<Operation *> TileEmitter::findMissing(Value value,
                                                  const TileScope &scope) {
  llvm::SetVector<Operation *> missing;
  auto require = [&](Value needed) {
    Operation *op = needed.getDefiningOp();
    if (op && !scope.lookup(needed))
      missing.insert(op);
  };
  require(value);
  for (size_t i = 0; i < missing.size(); ++i) {
    // A product needs its factors, not their element-by-element product.
    auto reduction = dyn_cast<attn::ReduceOp>(missing[i]);
    if (auto accumulation = matchAccumulation(missing[i])) {
      require(accumulation->before);
      reduction = accumulation->reduction;
    }
    auto product = reduction ? matchDot(reduction) : std::optional<Product>();
    if (product) {
      require(product->lhs);
      require(product->rhs);
      continue;
    }
    for (Value operand : missing[i]->getOperands())
      require(operand);
  }
  SmallVector<Operation *> ops = missing.takeVector();
  // A kernel's own operations come before those of its grids, and these before
  // those of a loop.
  auto rank = [](Operation *op) {
    return isa<attn::KernelOp>(op->getParentOp()) ? 0
           : isa<attn::GridOp>(op->getParentOp()) ? 1
                                                  : 2;
  };
  llvm::sort(ops, [&](Operation *a, Operation *b) {
    if (a->getBlock() != b->getBlock())
      return rank(a) < rank(b);
    return a->isBeforeInBlock(b);
  });
  return ops;
}

FailureOr<Value> TileEmitter::emit(Value value, TileScope &scope) {
  for (Operation *op : findMissing(value, scope))
    if (failed(emitOp(op, scope)))
      return failure();
  return scope.lookup(value);
}

LogicalResult TileEmitter::emitOp(Operation *op, TileScope &scope) {
  OpBuilder &builder = scope.builder;
  Location loc = op->getLoc();
  Value result = op->getResult(0);
  if (isa<arith::ConstantOp>(op)) {
    scope.tiles[result] = builder.clone(*op)->getResult(0);
    return success();
  }
  if (auto reduction = dyn_cast<attn::ReduceOp>(op)) {
    FailureOr<Value> tile = emitReduction(reduction, scope, {});
    if (succeeded(tile))
      scope.tiles[result] = *tile;
    // A reference is finite from here on, as behind a loop.
    if (succeeded(tile) && reduction.getKind() == attn::ReduceKind::Ref)
      scope.tiles[result] = tile::RefOp::create(builder, loc, *tile);
    return tile;
  }
  if (auto accumulation = matchAccumulation(op)) {
    Value before = scope.lookup(accumulation->before);
    before = broadcast(builder, loc, before, axes.of(result));
    FailureOr<Value> tile =
        emitReduction(accumulation->reduction, scope, before);
    if (succeeded(tile))
      scope.tiles[result] = *tile;
    return tile;
  }
  SmallVector<Value> operands;
  if (auto read = dyn_cast<attn::ReadOp>(op)) {
    for (Value index : read.getIndices())
      operands.push_back(scope.lookup(index));
    scope.tiles[result] = tile::LoadOp::create(builder, loc, typeOf(result),
                                               read.getTensor(), operands);
    return success();
  }
  if (!OpTrait::hasElementwiseMappableTraits(op))
    return op->emitError("expected an element-wise operation, got '")
           << op->getName() << "'";
  const attn::Axes &set = axes.of(result);
  bool isSelect = isa<arith::SelectOp>(op);
  for (Value operand : op->getOperands()) {
    Value tile = scope.lookup(operand);
    bool isScalarCondition =
        isSelect && operands.empty() && !tile::isTile(tile.getType());
    operands.push_back(isScalarCondition ? tile
                                         : broadcast(builder, loc, tile, set));
  }
  OperationState state(loc, op->getName(), operands, typeOf(result),
                       op->getAttrs());
  scope.tiles[result] = builder.create(state)->getResult(0);
  return success();
}

} // namespace attentile
