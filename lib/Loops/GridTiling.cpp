//===- GridTiling.cpp - one grid to loops over tiles ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridTiling.h"
#include "TileEmitter.h"
#include "WholeAxes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace attentile {
namespace {

/// Makes the body of one tile.kernel.
class GridTiling {
public:
  GridTiling(attn::KernelOp kernel, attn::GridOp grid, attn::AxesAnalysis &axes,
             ExtentValues &values, const llvm::DenseMap<Value, Value> &extents,
             const llvm::DenseMap<Value, int64_t> &sizes, Dots dots)
      : kernel(kernel), grid(grid), axes(axes), values(values),
        extents(extents), emitter(kernel, grid, axes, extents, sizes, dots),
        loopAxes(axes.setOf(grid.getLoop())),
        walkAxes(axes.setOf(grid.getWalk())) {
    loopAxes |= walkAxes;
  }

  LogicalResult run(tile::KernelOp target, TileScope &root) {
    if (failed(checkAxes()))
      return failure();
    TileScope scope(OpBuilder::atBlockEnd(&target.getBody().front()), &root);
    for (auto [axis, id] :
         llvm::zip(grid.getStep(), target.getBody().getArguments()))
      scope.tiles[axis] = id;
    auto blocks =
        target.getBody().getArguments().drop_front(grid.getStep().size());
    for (auto [axis, id] : llvm::zip_equal(grid.getTile(), blocks)) {
      Value size = values.constant(emitter.sizeOf(axis));
      bindAxis(axis,
               arith::MulIOp::create(scope.builder, grid.getLoc(), id, size),
               scope);
    }
    for (Value axis : grid.getWhole())
      bindAxis(axis, values.constant(0), scope);
    for (auto &[place, reductions] : groupReductions()) {
      auto loop = dyn_cast<attn::ForOp>(reductions.front());
      if (failed(loop ? emitTileLoop(loop, scope)
                      : emitLoop(place.second, reductions, scope)))
        return failure();
    }
    return emitWrites(scope);
  }

private:
  /// Depth and axes of a loop, the axes from the outermost on.
  using LoopPlace = std::pair<unsigned, SmallVector<BlockArgument>>;

  /// Refuses `op` for the first axis of `strange`, where there is one, which
  /// the message ends in.
  WalkResult refuse(Operation *op, const attn::Axes &strange,
                    const Twine &message) {
    for (BlockArgument axis : axes.indicesOf(strange)) {
      op->emitError(message) << " '" << kernel.nameOf(axis) << "'";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  }

  /// Every axis must be one of the grid; what a loop reduces may not depend on
  /// a loop.
  LogicalResult checkAxes() {
    attn::Axes known = axes.setOf(grid.getOperands());
    attn::Axes reducible = loopAxes;
    reducible |= axes.setOf(grid.getWhole());
    WalkResult result = grid->walk<WalkOrder::PreOrder>([&](Operation *op) {
      attn::Axes strange = axes.ofAny(op->getOperands()).reset(known);
      if (strange.any())
        return refuse(op, strange, "expected an axis of the grid, got");
      if (auto loop = dyn_cast<attn::ForOp>(op))
        return checkLoop(loop);
      if (auto reduction = dyn_cast<attn::ReduceOp>(op))
        return checkReduction(reduction, reducible);
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  WalkResult checkReduction(attn::ReduceOp reduction,
                            const attn::Axes &reducible) {
    attn::Axes bound = axes.setOf(reduction.getAxes());
    attn::Axes inLoop = bound;
    inLoop &= loopAxes;
    bound.reset(reducible);
    if (bound.any())
      return refuse(reduction, bound,
                    "expected to reduce over loop and whole axes of the grid, "
                    "got");
    if (auto loop = dyn_cast<attn::ForOp>(reduction->getParentOp())) {
      attn::Axes others = inLoop;
      others.reset(axes.setOf(loop.getAxis()));
      // [L5.8]
      if (others.any())
        return refuse(
            reduction, others,
            "expected a reduction within a loop over '" +
                kernel.nameOf(cast<BlockArgument>(loop.getAxis())) +
                "' to be over that axis or one that stands whole in the tile, "
                "got");
    }
    if (inLoop.none())
      return WalkResult::advance();
    attn::Axes free = axes.of(reduction);
    free &= loopAxes;
    return refuse(reduction, free,
                  "expected the result of a loop not to depend on the loop "
                  "axis");
  }

  WalkResult checkLoop(attn::ForOp loop) {
    attn::Axes free = axes.ofAny(loop.getResults());
    free &= loopAxes;
    if (free.any())
      return refuse(loop, free,
                    "expected what a loop over tiles carries not to depend on "
                    "the loop axis");
    attn::Axes bounds = axes.of(loop.getLower());
    bounds |= axes.of(loop.getUpper());
    bounds.reset(axes.setOf(grid.getStep()));
    // [L5.9]
    return refuse(loop, bounds,
                  "expected a loop's bounds to be the same for a whole tile, "
                  "got some that depend on");
  }

  void bindAxis(Value axis, Value base, TileScope &scope) {
    Type type = emitter.typeOf(base.getType(), axes.setOf(axis));
    scope.tiles[axis] =
        tile::IndexOp::create(scope.builder, grid.getLoc(), type, base);
  }

  /// In the order of declaration, but those of one index at a time first.
  SmallVector<BlockArgument> inLoopOrder(const attn::Axes &set) {
    attn::Axes walked = set, tiled = set;
    walked &= walkAxes;
    SmallVector<BlockArgument> order = axes.indicesOf(walked);
    llvm::append_range(order, axes.indicesOf(tiled.reset(walked)));
    return order;
  }

  /// The reductions over loop axes, those of one depth and the same axes
  /// together, so that those they need come first.
  SmallVector<std::pair<LoopPlace, SmallVector<Operation *>>>
  groupReductions() {
    SmallVector<std::pair<LoopPlace, SmallVector<Operation *>>> groups;
    llvm::DenseMap<Operation *, unsigned> depths;
    for (Operation &op : grid.getBody().front()) {
      unsigned depth = 0;
      auto use = [&](Value value) {
        if (Operation *def = value.getDefiningOp())
          depth = std::max(depth, depths.lookup(def));
      };
      auto loop = dyn_cast<attn::ForOp>(op);
      if (loop)
        loop.forEachUsed(use);
      else
        llvm::for_each(op.getOperands(), use);
      auto reduction = dyn_cast<attn::ReduceOp>(op);
      attn::Axes bound = axes.setOf(reduction ? ValueRange(reduction.getAxes())
                                    : loop    ? ValueRange(loop.getAxis())
                                              : ValueRange());
      bound &= loopAxes;
      if (bound.any()) {
        LoopPlace place(++depth, inLoopOrder(bound));
        auto group = llvm::find_if(groups, [&](const auto &other) {
          return other.first == place && !loop &&
                 isa<attn::ReduceOp>(other.second.front());
        });
        if (group == groups.end())
          group = groups.insert(llvm::find_if(groups,
                                              [&](const auto &other) {
                                                return other.first.first >
                                                       place.first;
                                              }),
                                {place, {}});
        group->second.push_back(&op);
      }
      depths[&op] = depth;
    }
    return groups;
  }

  using BodyFn = llvm::function_ref<FailureOr<SmallVector<Value>>(
      TileScope &, ValueRange carried)>;
  using MergeFn = llvm::function_ref<SmallVector<Value>(
      OpBuilder &, ValueRange carried, ValueRange parts)>;

  /// Nested loops over the tiles, or indices, of `over`, the first outermost,
  /// that carry values through `body`. What the loops within one over single
  /// indices carry is a part, which starts anew, for `merge` to add: of all
  /// terms in turn a sum would lose more.
  FailureOr<SmallVector<Value>> nest(ArrayRef<BlockArgument> over,
                                     ValueRange carried, TileScope &scope,
                                     BodyFn body, MergeFn merge = nullptr) {
    if (over.empty())
      return body(scope, carried);
    Value axis = over.front();
    bool isWalked = walkAxes.test(axes.numberOf(axis));
    auto leaveOpen = [](OpBuilder &, Location, Value, ValueRange) {};
    auto loop = scf::ForOp::create(
        scope.builder, grid.getLoc(), values.constant(0), extents.lookup(axis),
        values.constant(isWalked ? 1 : emitter.sizeOf(axis)), carried,
        leaveOpen);
    loop->setAttr("tile.axis", emitter.nameOf(axis));
    TileScope inner(OpBuilder::atBlockEnd(loop.getBody()), &scope);
    if (isWalked)
      inner.tiles[axis] = loop.getInductionVar();
    else
      bindAxis(axis, loop.getInductionVar(), inner);
    ValueRange arguments = loop.getRegionIterArgs();
    bool hasParts = isWalked && over.size() > 1 && !carried.empty() &&
                    !(over.size() == 2 && isOneBlock(over[1]));
    auto results = nest(over.drop_front(), hasParts ? carried : arguments,
                        inner, body, merge);
    if (failed(results))
      return failure();
    if (hasParts)
      results = merge(inner.builder, arguments, *results);
    scf::YieldOp::create(inner.builder, grid.getLoc(), *results);
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// Whether an axis is known to be no longer than its tiles: what a loop over
  /// it adds up is no sum of its own.
  bool isOneBlock(BlockArgument axis) {
    std::optional<int64_t> extent = getConstantExtent(kernel, axis);
    return extent && *extent <= emitter.sizeOf(axis);
  }

  LogicalResult emitLoop(ArrayRef<BlockArgument> over,
                         ArrayRef<Operation *> ops, TileScope &scope) {
    auto reductions = llvm::map_to_vector(
        ops, [](Operation *op) { return cast<attn::ReduceOp>(op); });
    SmallVector<Value> start;
    for (attn::ReduceOp reduction : reductions)
      start.push_back(emitter.makeNeutral(reduction, scope.builder));
    auto results = nest(
        over, start, scope,
        [&](TileScope &inner,
            ValueRange carried) -> FailureOr<SmallVector<Value>> {
          SmallVector<Value> next;
          for (auto [reduction, value] : llvm::zip_equal(reductions, carried)) {
            FailureOr<Value> tile =
                emitter.emitReduction(reduction, inner, value);
            if (failed(tile))
              return failure();
            next.push_back(*tile);
          }
          return next;
        },
        [&](OpBuilder &builder, ValueRange carried, ValueRange parts) {
          SmallVector<Value> sums;
          for (auto [made, a, b] :
               llvm::zip_equal(reductions, carried, parts)) {
            attn::ReduceOp reduction = made;
            sums.push_back(combineParts(builder, reduction.getLoc(),
                                        reduction.getKind(), a, b));
          }
          return sums;
        });
    if (failed(results))
      return failure();
    for (auto [made, value] : llvm::zip_equal(reductions, *results)) {
      attn::ReduceOp reduction = made;
      scope.tiles[Value(reduction.getResult())] =
          finish(reduction, value, scope.builder);
    }
    return success();
  }

  /// Whether a written loop gives something else where its tiles come in
  /// another order: unless all that it carries takes in what does not depend on
  /// what it carries.
  static bool isInOrder(attn::ForOp op) {
    auto takesIn = [](Value next, Value carried) {
      Operation *update = next.getDefiningOp();
      return next == carried ||
             (carried.hasOneUse() && next.hasOneUse() &&
              *carried.user_begin() == update &&
              isa<arith::AddFOp, arith::AddIOp, arith::MaximumFOp,
                  arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                  arith::MaxSIOp, arith::MinSIOp, arith::AndIOp, arith::OrIOp>(
                  update));
    };
    return !llvm::all_of(llvm::zip_equal(op.getNexts(), op.getCarried()),
                         [&](auto pair) {
                           return takesIn(std::get<0>(pair), std::get<1>(pair));
                         });
  }

  /// A loop that the kernel itself writes.
  LogicalResult emitTileLoop(attn::ForOp op, TileScope &scope) {
    Location loc = op.getLoc();
    auto axis = cast<BlockArgument>(op.getAxis());
    SmallVector<Value> bounds, starts;
    for (Value bound : {op.getLower(), op.getUpper()}) {
      FailureOr<Value> value = emitter.emit(bound, scope);
      if (failed(value))
        return failure();
      // A number is the same value wherever it is.
      if (std::optional<int64_t> known = getConstantIntValue(*value))
        value = values.constant(*known);
      bounds.push_back(*value);
    }
    for (auto [start, carried] :
         llvm::zip_equal(op.getStarts(), op.getCarried())) {
      FailureOr<Value> value = emitter.emit(start, scope);
      if (failed(value))
        return failure();
      starts.push_back(
          emitter.broadcast(scope.builder, loc, *value, axes.of(carried)));
    }
    auto leaveOpen = [](OpBuilder &, Location, Value, ValueRange) {};
    Value size = values.constant(op.getSize());
    auto loop = scf::ForOp::create(scope.builder, loc, bounds[0], bounds[1],
                                   size, starts, leaveOpen);
    loop->setAttr("tile.axis", emitter.nameOf(axis));
    if (isInOrder(op))
      loop->setAttr("tile.in_order", UnitAttr::get(loop.getContext()));
    TileScope inner(OpBuilder::atBlockEnd(loop.getBody()), &scope);
    if (walkAxes.test(axes.numberOf(axis))) {
      inner.tiles[axis] = loop.getInductionVar();
    } else {
      if (int64_t(op.getSize()) < emitter.sizeOf(axis)) { // padded for a GPU
        bounds[0] = loop.getInductionVar();
        bounds[1] = arith::MinSIOp::create(
            inner.builder, loc, bounds[1],
            arith::AddIOp::create(inner.builder, loc, bounds[0], size));
      }
      inner.bounds[axis] = {bounds[0], bounds[1]};
      bindAxis(axis, loop.getInductionVar(), inner);
    }
    for (auto [carried, value] :
         llvm::zip_equal(op.getCarried(), loop.getRegionIterArgs()))
      inner.tiles[carried] = value;
    SmallVector<Value> nexts;
    for (auto [next, carried] :
         llvm::zip_equal(op.getNexts(), op.getCarried())) {
      FailureOr<Value> value = emitter.emit(next, inner);
      if (failed(value))
        return failure();
      nexts.push_back(
          emitter.broadcast(inner.builder, loc, *value, axes.of(carried)));
    }
    scf::YieldOp::create(inner.builder, loc, nexts);
    for (auto [result, value] :
         llvm::zip_equal(op.getResults(), loop.getResults()))
      scope.tiles[result] = value;
    return success();
  }

  /// What follows a loop: a reference is finite, an integer maximum or minimum
  /// of nothing 0.
  Value finish(attn::ReduceOp reduction, Value value, OpBuilder &builder) {
    Location loc = reduction.getLoc();
    attn::ReduceKind kind = reduction.getKind();
    if (kind == attn::ReduceKind::Ref)
      return tile::RefOp::create(builder, loc, value);
    bool isExtremum =
        kind == attn::ReduceKind::Max || kind == attn::ReduceKind::Min;
    if (!isExtremum || !reduction.getType().isIndex())
      return value;
    Value count;
    for (Value axis : reduction.getAxes()) {
      Value extent = extents.lookup(axis);
      count = count ? Value(arith::MulIOp::create(builder, loc, count, extent))
                    : extent;
    }
    Value zero = values.constant(0);
    Value empty = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        count, zero);
    Value none = emitter.broadcast(builder, loc, zero, axes.of(reduction));
    return arith::SelectOp::create(builder, loc, empty, none, value);
  }

  /// Stores, after all reductions; in loops those that have a loop axis.
  LogicalResult emitWrites(TileScope &scope) {
    llvm::MapVector<SmallVector<BlockArgument>, SmallVector<attn::WriteOp>>
        groups;
    for (auto write : grid.getBody().getOps<attn::WriteOp>()) {
      attn::Axes own = axes.ofAny(write.getIndices());
      own &= loopAxes;
      groups[inLoopOrder(own)].push_back(write);
    }
    for (auto &[over, writes] : groups) {
      auto results = nest(over, {}, scope,
                          [&, &writes = writes](TileScope &inner, ValueRange)
                              -> FailureOr<SmallVector<Value>> {
                            for (attn::WriteOp write : writes)
                              if (failed(emitWrite(write, inner)))
                                return failure();
                            return SmallVector<Value>();
                          });
      if (failed(results))
        return failure();
    }
    return success();
  }

  LogicalResult emitWrite(attn::WriteOp write, TileScope &scope) {
    Location loc = write.getLoc();
    FailureOr<Value> value = emitter.emit(write.getValue(), scope);
    if (failed(value))
      return failure();
    SmallVector<Value> indices;
    for (Value index : write.getIndices()) {
      FailureOr<Value> tile = emitter.emit(index, scope);
      if (failed(tile))
        return failure();
      indices.push_back(*tile);
    }
    attn::Axes set = axes.ofAny(write.getIndices());
    dropTails(write, indices, scope);
    tile::StoreOp::create(scope.builder, loc,
                          emitter.broadcast(scope.builder, loc, *value, set),
                          write.getTensor(), indices);
    return success();
  }

  /// An axis that is an index by itself, of a dimension of its own extent,
  /// needs nothing: its tail lies outside the tensor. The tails of others are
  /// sent there.
  void dropTails(attn::WriteOp write, SmallVector<Value> &indices,
                 TileScope &scope) {
    attn::Axes set = axes.ofAny(write.getIndices());
    for (BlockArgument axis : axes.indicesOf(set)) {
      if (standsPlainly(kernel, write.getTensor(), write.getIndices(), axis))
        continue;
      Value inside = emitter.makeInRange(axis, scope, write.getLoc());
      if (!inside)
        continue;
      OpBuilder &builder = scope.builder;
      Location loc = write.getLoc();
      unsigned position = 0;
      while (!axes.dependsOn(write.getIndices()[position], axis))
        ++position;
      const attn::Axes &own = axes.of(write.getIndices()[position]);
      Value outside = emitter.broadcast(builder, loc, values.constant(-1), own);
      inside = emitter.broadcast(builder, loc, inside, own);
      indices[position] = arith::SelectOp::create(builder, loc, inside,
                                                  indices[position], outside);
    }
  }

  attn::KernelOp kernel;
  attn::GridOp grid;
  attn::AxesAnalysis &axes;
  ExtentValues &values;
  const llvm::DenseMap<Value, Value> &extents;
  TileEmitter emitter;
  attn::Axes loopAxes, walkAxes; // those of loops, and of one index at a time
};

} // namespace

LogicalResult tileGrid(attn::KernelOp kernel, attn::GridOp grid,
                       attn::AxesAnalysis &axes, ExtentValues &values,
                       const llvm::DenseMap<Value, Value> &extents,
                       const llvm::DenseMap<Value, int64_t> &sizes, Dots dots,
                       tile::ProgramOp program, tile::KernelOp target) {
  // What is as it was: the program's arguments and values.
  TileScope root(OpBuilder(target), nullptr);
  for (BlockArgument argument : program.getHeadBlock().getArguments())
    root.tiles[argument] = argument;
  for (Operation &op : program.getHeadBlock())
    for (Value result : op.getResults())
      root.tiles[result] = result;
  return GridTiling(kernel, grid, axes, values, extents, sizes, dots)
      .run(target, root);
}

} // namespace attentile
