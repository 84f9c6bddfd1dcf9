//===- LoopReductions.cpp - what the loops of a kernel reduce -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopReductions.h"
#include "RunningReductions.h"
#include "attentile/Splat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <limits>

using namespace mlir;

namespace attentile::fusion {

using attn::ReduceKind;

TypedAttr neutralElement(ReduceKind kind, Type type) {
  Type element = tile::getElementType(type);
  TypedAttr scalar;
  Builder builder(type.getContext());
  bool most = kind == ReduceKind::Min,
       least = kind == ReduceKind::Max || kind == ReduceKind::Ref;
  if (isa<FloatType>(element)) {
    double inf = std::numeric_limits<double>::infinity();
    scalar = builder.getFloatAttr(element, most ? inf : least ? -inf : 0.0);
  } else if (element.isInteger(1)) {
    scalar = builder.getBoolAttr(kind == ReduceKind::All || most);
  } else {
    unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    scalar = IntegerAttr::get(element, most    ? APInt::getSignedMaxValue(width)
                                       : least ? APInt::getSignedMinValue(width)
                                               : APInt::getZero(width));
  }
  return splat(type, scalar);
}

bool combines(Operation *op, ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return isa<arith::AddFOp, arith::AddIOp>(op);
  case ReduceKind::Max:
    return isa<arith::MaximumFOp, arith::MaxSIOp>(op);
  case ReduceKind::Ref:
    return isa<arith::MaxNumFOp, arith::MaximumFOp>(op);
  case ReduceKind::Min:
    return isa<arith::MinimumFOp, arith::MinSIOp>(op);
  case ReduceKind::Any:
    return isa<arith::OrIOp>(op);
  case ReduceKind::All:
    return isa<arith::AndIOp>(op);
  }
  return false;
}

namespace {

bool isNeutral(const Expr *expr, ReduceKind kind) {
  if (!expr->is<arith::ConstantOp>())
    return false;
  Attribute value = expr->attributes.get("value");
  if (value == neutralElement(kind, tile::getElementType(expr->type)))
    return true;
  return kind == ReduceKind::Sum && isZero(expr); // -0.0 as well
}

class Reader {
public:
  Reader(Graph &graph, LoopNest &nest) : graph(graph), nest(nest) {}

  std::string why;
  Operation *where = nullptr;

  LogicalResult read(tile::KernelOp kernel) {
    if (!graph.valid)
      return fail(kernel, "one axis has two tile sizes");
    kernelRegion = &kernel.getBody();
    for (Operation &op : kernel.getBody().front()) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        if (failed(readLoop(loop)))
          return failure();
      } else if (isa<tile::StoreOp>(op)) {
        readStore(&op, nest.stores);
      } else if (failed(readOperation(&op))) {
        return failure();
      }
    }
    return success();
  }

private:
  LogicalResult fail(Operation *op, const char *reason) {
    why = reason;
    where = op;
    return failure();
  }

  FailureOr<Expr *> lookup(Value value) {
    if (Expr *expr = env.lookup(value))
      return expr;
    if (kernelRegion->isAncestor(value.getParentRegion()) &&
        !isa<BlockArgument>(value))
      return failure();
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      return env[value] = graph.operation(constant, {});
    if (value.getParentRegion() != kernelRegion &&
        kernelRegion->isAncestor(value.getParentRegion()))
      return failure(); // a carried value
    Expr *leaf = graph.leaf(value.getType(), value.getLoc(), false);
    nest.outside[value] = leaf;
    return env[value] = leaf;
  }

  /// Of an operation, in the order of the text. What is not known is an update,
  /// which the loop's end alone uses, or a value that it alone is made of.
  SmallVector<Expr *> lookup(ValueRange values) {
    SmallVector<Expr *> operands;
    for (Value operand : values) {
      FailureOr<Expr *> expr = lookup(operand);
      assert(succeeded(expr) && "used before the loop has ended");
      operands.push_back(*expr);
    }
    return operands;
  }

  void readStore(Operation *op, SmallVectorImpl<LoopNest::Store> &stores) {
    stores.emplace_back(op, lookup(op->getOperands()));
  }

  LogicalResult readOperation(Operation *op) {
    if (op->getNumRegions() || op->getNumResults() != 1 ||
        !isMemoryEffectFree(op))
      return fail(op, "the operation is none on tiles");
    env[op->getResult(0)] = graph.operation(op, lookup(op->getOperands()));
    return success();
  }

  /// The loop of whose results `loop` carries sums, maxima and so on, if that
  /// is all that it does but for values before it.
  static scf::ForOp getInner(scf::ForOp loop) {
    scf::ForOp inner = *loop.getBody()->getOps<scf::ForOp>().begin();
    auto behind =
        std::distance(std::next(inner->getIterator()), loop.getBody()->end());
    bool addsParts = inner.getNumResults() == loop.getNumResults() &&
                     behind == loop.getNumResults() + 1;
    return addsParts ? inner : scf::ForOp();
  }

  /// Whether what `loop` carries at `index` starts from nothing and takes in
  /// the reduction that `inner` makes there.
  bool takesIn(scf::ForOp loop, scf::ForOp inner, unsigned index) {
    Operation *update = loop.getYieldedValues()[index].getDefiningOp();
    Value carried = loop.getRegionIterArg(index), part = inner.getResult(index);
    if (!update || update->getBlock() != loop.getBody() ||
        update->getNumOperands() != 2 || !carried.hasOneUse() ||
        !part.hasOneUse() || *carried.user_begin() != update ||
        *part.user_begin() != update)
      return false;
    FailureOr<Expr *> init = lookup(loop.getInitArgs()[index]);
    Expr *leaf = env.lookup(part);
    return succeeded(init) &&
           llvm::any_of(nest.statistics, [&](const Statistic &statistic) {
             return statistic.leaf == leaf &&
                    isNeutral(*init, statistic.kind) &&
                    combines(update, statistic.kind);
           });
  }

  FailureOr<LoopNest::Range> readRange(scf::ForOp loop) {
    auto axis = loop->getAttrOfType<StringAttr>("tile.axis");
    if (!axis || loop->hasAttr("tile.blocks"))
      return fail(loop, "the loop is none over all tiles of an axis");
    SmallVector<Expr *> bounds =
        lookup({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    if (llvm::any_of(bounds, [](Expr *bound) { return bound->varies; }))
      return fail(loop, "a loop's range depends on a loop");
    return LoopNest::Range{axis, nullptr, bounds[0], bounds[1], bounds[2]};
  }

  /// The same range for all loops of the kernel, and their induction variable.
  LogicalResult enter(scf::ForOp loop, LoopNest::Range &common, bool isFirst) {
    FailureOr<LoopNest::Range> range = readRange(loop);
    if (failed(range))
      return failure();
    if (isFirst) {
      common = *range;
      common.induction = graph.leaf(loop.getInductionVar().getType(),
                                    loop.getLoc(), /*varies=*/true);
    } else if (range->axis != common.axis || range->lower != common.lower ||
               range->upper != common.upper || range->step != common.step) {
      return fail(loop, "two loops have different ranges");
    }
    env[loop.getInductionVar()] = common.induction;
    return success();
  }

  /// Loops around the one over tiles, from `loop` on to that: of one index
  /// each, which has no tail.
  FailureOr<SmallVector<scf::ForOp>> enterAround(scf::ForOp loop,
                                                 bool isFirst) {
    SmallVector<scf::ForOp> loops{loop};
    while (tile::isAround(loop)) {
      if (!tile::isIndexByIndex(loop))
        return fail(loop, "loops over tiles of several axes nest");
      scf::ForOp inner = getInner(loop);
      if (!inner)
        return fail(loop, "a carried value is no reduction");
      unsigned depth = loops.size() - 1;
      if (isFirst)
        nest.around.emplace_back();
      if (depth == nest.around.size())
        return fail(loop, "two loops have different ranges");
      if (failed(enter(loop, nest.around[depth], isFirst)))
        return failure();
      for (Operation &op : *loop.getBody()) {
        if (&op == inner)
          break;
        if (failed(readOperation(&op)))
          return failure();
      }
      loops.push_back(loop = inner);
    }
    if (loops.size() - 1 != nest.around.size())
      return fail(loop, "two loops have different ranges");
    return loops;
  }

  LogicalResult readLoop(scf::ForOp outermost) {
    bool isFirst = nest.loops.empty();
    FailureOr<SmallVector<scf::ForOp>> loops = enterAround(outermost, isFirst);
    if (failed(loops) || failed(enter(loops->back(), nest.range, isFirst)))
      return failure();
    nest.loops.push_back(outermost);
    if (failed(readInner(loops->back())))
      return failure();
    while (loops->size() > 1) {
      scf::ForOp inner = loops->pop_back_val(), loop = loops->back();
      for (unsigned i = 0; i < loop.getNumResults(); ++i) {
        if (!takesIn(loop, inner, i))
          return fail(loop, "a carried value is no reduction");
        env[loop.getResult(i)] = env.lookup(inner.getResult(i));
      }
    }
    return success();
  }

  LogicalResult readInner(scf::ForOp loop) {
    // The operations that update carried values are reductions, not values of
    // the graph.
    SmallPtrSet<Operation *, 16> updates;
    SmallVector<Operation *> steps;
    if (!findUpdates(loop, updates, steps))
      return readRunning(loop);
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (isa<tile::StoreOp>(op))
        readStore(&op, nest.storesInLoops);
      else if (!updates.contains(&op) && failed(readOperation(&op)))
        return failure();
    }
    for (auto [i, step] : llvm::enumerate(steps))
      if (failed(readReduction(loop, i, step)))
        return failure();
    return success();
  }

  /// The reductions that a loop carries, and the operations that add them;
  /// false if it carries anything else.
  static bool findUpdates(scf::ForOp loop,
                          SmallPtrSetImpl<Operation *> &updates,
                          SmallVectorImpl<Operation *> &steps) {
    for (auto [carried, next] :
         llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
      Operation *update = next.getDefiningOp();
      if (!carried.hasOneUse() || !update || !next.hasOneUse() ||
          *carried.user_begin() != update)
        return false;
      updates.insert(update);
      Operation *step = update;
      if (!isa<tile::DotOp>(update)) {
        if (update->getNumOperands() != 2)
          return false;
        step = update->getOperand(update->getOperand(0) == carried)
                   .getDefiningOp();
        if (!isa_and_nonnull<tile::ReduceOp>(step) || !step->hasOneUse())
          return false;
        updates.insert(step);
      }
      steps.push_back(step);
    }
    return true;
  }

  /// A loop whose reductions are put right as they run.
  LogicalResult readRunning(scf::ForOp loop) {
    for (BlockArgument carried : loop.getRegionIterArgs())
      env[carried] =
          graph.leaf(carried.getType(), carried.getLoc(), /*varies=*/true);
    for (Operation &op : loop.getBody()->without_terminator())
      if (failed(readOperation(&op)))
        return failure();
    SmallVector<RunningValue> values;
    for (auto [i, carried] : llvm::enumerate(loop.getRegionIterArgs())) {
      FailureOr<Expr *> init = lookup(loop.getInitArgs()[i]);
      FailureOr<Expr *> next = lookup(loop.getYieldedValues()[i]);
      Operation *op = loop.getYieldedValues()[i].getDefiningOp();
      if (failed(init) || failed(next) || !op)
        return fail(loop, "a carried value is no reduction");
      values.push_back(
          {env[carried], *next, *init, op, !loop.getResult(i).use_empty()});
    }
    std::string reason;
    auto numbers = findRunningReductions(
        graph, nest, values,
        [&](Expr *x, ReduceKind kind, bool &removed) {
          return withoutTail(x, kind, removed);
        },
        reason);
    if (failed(numbers))
      return fail(loop, reason.c_str());
    for (auto [result, number] : llvm::zip_equal(loop.getResults(), *numbers))
      env[result] = nest.statistics[number].leaf;
    nest.hasRunning = true;
    return success();
  }

  LogicalResult readReduction(scf::ForOp loop, unsigned index,
                              Operation *step) {
    Statistic found;
    found.op = step;
    Operation *update = loop.getYieldedValues()[index].getDefiningOp();
    FailureOr<Expr *> init = lookup(loop.getInitArgs()[index]);
    // What is reduced may be a constant, or a value from before the loop.
    SmallVector<Value> reduced;
    if (auto dot = dyn_cast<tile::DotOp>(step))
      reduced = {dot.getLhs(), dot.getRhs()};
    else
      reduced = {cast<tile::ReduceOp>(step).getOperand()};
    SmallVector<Expr *> operands = lookup(reduced);
    Type type = loop.getResult(index).getType();
    if (auto dot = dyn_cast<tile::DotOp>(step)) {
      if (dot.getAcc() != loop.getRegionIterArg(index))
        return fail(step, "a carried value is no reduction");
      found.over = dot.getOver();
      found.product = dot.getProductAttr();
      found.lhsType = dot.getLhs().getType();
      found.rhsType = dot.getRhs().getType();
      found.lhs = operands[0];
      found.rhs = operands[1];
    } else {
      auto reduce = cast<tile::ReduceOp>(step);
      found.kind = reduce.getKind();
      found.over = reduce.getOver();
      found.lhs = operands[0];
      if (!combines(update, found.kind))
        return fail(update, "a carried value is no reduction");
    }
    // A loop over single indices adds what each has in a tile of other axes.
    bool overLoop =
        llvm::is_contained(found.over, Attribute(nest.range.axis)) ||
        tile::isIndexByIndex(loop);
    if (failed(init) || !isNeutral(*init, found.kind) || !overLoop)
      return fail(loop, "a carried value does not start from nothing");
    found.lhs = withoutTail(found.lhs, found.kind, found.lhsTailed);
    if (found.rhs)
      found.rhs = withoutTail(found.rhs, found.kind, found.rhsTailed);
    else
      // The row value has only the axes that its operand has.
      type = graph.reduce(found.kind, found.lhs, found.over)->type;
    found.leaf = graph.leaf(type, step->getLoc(), /*varies=*/false);
    found.leaf->statistics.resize(nest.statistics.size() + 1);
    found.leaf->statistics.set(nest.statistics.size());
    env[loop.getResult(index)] = found.leaf;
    nest.statistics.push_back(found);
    return success();
  }

  /// Whether `expr` says that the loop's axis is within its range.
  bool isTail(Expr *expr) {
    if (expr == nest.tail)
      return true;
    if (!expr->is<arith::CmpIOp>() || expr->operands[1] != nest.range.upper ||
        !expr->operands[0]->is<tile::IndexOp>() ||
        expr->operands[0]->operands[0] != nest.range.induction)
      return false;
    auto predicate =
        cast<arith::CmpIPredicateAttr>(expr->attributes.get("predicate"))
            .getValue();
    if (predicate != arith::CmpIPredicate::slt &&
        predicate != arith::CmpIPredicate::ult)
      return false;
    nest.tail = expr;
    return true;
  }

  /// A conjunction without the tail; `removed` says whether it was there.
  /// Null: nothing else is left.
  Expr *withoutTail(Expr *condition, bool &removed) {
    if (isTail(condition)) {
      removed = true;
      return nullptr;
    }
    if (!condition->is<arith::AndIOp>())
      return condition;
    Expr *lhs = withoutTail(condition->operands[0], removed);
    Expr *rhs = withoutTail(condition->operands[1], removed);
    if (!lhs || !rhs)
      return lhs ? lhs : rhs;
    return removed ? graph.make<arith::AndIOp>({lhs, rhs}) : condition;
  }

  /// The operand of a reduction without the select that gives the neutral
  /// element behind the end of the range.
  Expr *withoutTail(Expr *operand, ReduceKind kind, bool &removed) {
    if (kind == ReduceKind::Any && operand->is<arith::AndIOp>()) {
      Expr *rest = withoutTail(operand, removed);
      return rest ? rest : graph.boolean(true, operand->loc);
    }
    if (!operand->is<arith::SelectOp>() ||
        !isNeutral(operand->operands[2], kind))
      return operand;
    Expr *rest = withoutTail(operand->operands[0], removed);
    if (!removed)
      return operand;
    return rest ? graph.select(rest, operand->operands[1], operand->operands[2])
                : operand->operands[1];
  }

  Graph &graph;
  LoopNest &nest;
  Region *kernelRegion = nullptr;
  DenseMap<Value, Expr *> env;
};

} // namespace

FailureOr<LoopNest> readLoops(tile::KernelOp kernel, Graph &graph,
                              std::string &why, Operation *&where) {
  LoopNest nest;
  Reader reader(graph, nest);
  if (failed(reader.read(kernel))) {
    why = reader.why;
    where = reader.where;
    return failure();
  }
  if (nest.hasRunning && dependsOnReferences(nest))
    for (const Statistic &sum : nest.statistics)
      for (auto [_, maximum] : sum.powers)
        nest.statistics[maximum].kind = ReduceKind::Max;
  return nest;
}

} // namespace attentile::fusion
