//===- FusedLoop.cpp - one loop that carries many reductions --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The step of the loop, for every exponent a with running maximum mu and every
// accumulator A (mu starts at -inf, A at 0):
//
//   mu' = max(mu, max over the tile of a)
//   A'  = A * prod exp(kappa * (mu - ref(mu')))
//         + sum over the tile of prod exp(kappa * (a - ref(mu'))) * g
//
// ref(x) is x, or 0 for -inf. The old maximum enters raw: a row that has seen
// nothing is then rescaled by exp(-inf) = 0, where ref would give
// exp(0 - mu'), possibly infinite, times 0.
//
//===----------------------------------------------------------------------===//

#include "FusedLoop.h"
#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace attentile::fusion {

Maximum *FusedLoop::findMaximum(Expr *a, ArrayAttr over) {
  for (Maximum &maximum : maxima)
    if (maximum.a == a && maximum.over == over)
      return &maximum;
  return nullptr;
}

/// exp of the sum of multiple * value. Multiples of ln 2 come from exp2, and
/// give one again.
static Expr *exponentialOfSum(Graph &graph,
                              ArrayRef<std::pair<double, Expr *>> summands,
                              Location loc) {
  auto inBase2 = [](double multiple) { return multiple / std::numbers::ln2; };
  bool base2 = llvm::all_of(summands, [&](auto &summand) {
    double twice = 2 * inBase2(summand.first);
    return std::fabs(twice - std::round(twice)) < 1e-9;
  });
  Expr *sum = nullptr;
  for (auto [multiple, x] : summands) {
    if (base2)
      multiple = std::round(2 * inBase2(multiple)) / 2;
    if (multiple != 1)
      x = graph.make<arith::MulFOp>({graph.constant(multiple, loc), x});
    sum = sum ? graph.make<arith::AddFOp>({sum, x}) : x;
  }
  if (base2)
    return graph.make<math::Exp2Op>({sum});
  return graph.make<math::ExpOp>({sum});
}

namespace {

class StepBuilder {
public:
  StepBuilder(Graph &graph, const LoopNest &nest, FusedLoop &loop,
              function_ref<Accumulator &(unsigned)> sumOf)
      : graph(graph), nest(nest), loop(loop), sumOf(sumOf) {}

  /// Fills in start, leaves and next of everything that the loop carries.
  void build() {
    for (Maximum &maximum : loop.maxima) {
      Expr *tile = graph.reduce(maximum.kind, inRange(maximum), maximum.over);
      begin(maximum, tile->type, maximum.kind, tile->loc);
      maximum.next = combine(maximum.kind, maximum.inside, tile);
    }
    for (auto &[statistic, carried] : loop.plain) {
      const Statistic &source = nest.statistics[statistic];
      Expr *tile = graph.reduce(
          source.kind, tailed(source.lhs, source.lhsTailed, source.kind),
          source.over);
      begin(carried, tile->type, source.kind, tile->loc);
      carried.next = combine(source.kind, carried.inside, tile);
    }
    for (Presence &presence : loop.presences) {
      constexpr attn::ReduceKind any = attn::ReduceKind::Any;
      Expr *tile = graph.reduce(any, tailed(presence.condition, true, any),
                                presence.over);
      begin(presence, tile->type, any, tile->loc);
      presence.next = combine(any, presence.inside, tile);
    }
    // Row sums come before what is divided by them.
    for (bool divided : {false, true})
      for (Accumulator &accumulator : loop.accumulators)
        if (accumulator.inverses.empty() != divided)
          build(accumulator);
  }

private:
  void begin(Carried &carried, Type type, attn::ReduceKind kind, Location loc) {
    carried.start = neutralElement(kind, type);
    carried.reduces = kind;
    carried.inside = graph.leaf(type, loc, /*varies=*/true);
    carried.after = graph.leaf(type, loc, /*varies=*/false);
  }

  /// `x`, or the neutral element where the tile reaches beyond the range.
  Expr *tailed(Expr *x, bool wanted, attn::ReduceKind kind) {
    if (!wanted || !nest.tail)
      return x;
    if (tile::getElementType(x->type).isInteger(1))
      return kind == attn::ReduceKind::Any
                 ? graph.make<arith::AndIOp>({nest.tail, x})
                 : graph.make<arith::OrIOp>({graph.logicalNot(nest.tail), x});
    Expr *neutral = graph.constant(
        neutralElement(kind, tile::getElementType(x->type)), x->loc);
    return graph.select(nest.tail, x, neutral);
  }

  /// The exponent, -inf where the tile reaches beyond the range: the
  /// exponential is then 0 without a select of its own.
  Expr *inRange(const Maximum &maximum) {
    return tailed(maximum.a, true, attn::ReduceKind::Ref);
  }

  Expr *combine(attn::ReduceKind kind, Expr *a, Expr *b) {
    bool isFloat = isa<FloatType>(tile::getElementType(a->type));
    switch (kind) {
    case attn::ReduceKind::Sum:
      return isFloat ? graph.make<arith::AddFOp>({a, b})
                     : graph.make<arith::AddIOp>({a, b});
    case attn::ReduceKind::Max:
      return isFloat ? graph.make<arith::MaximumFOp>({a, b})
                     : graph.make<arith::MaxSIOp>({a, b});
    case attn::ReduceKind::Ref:
      return graph.make<arith::MaxNumFOp>({a, b});
    case attn::ReduceKind::Min:
      return isFloat ? graph.make<arith::MinimumFOp>({a, b})
                     : graph.make<arith::MinSIOp>({a, b});
    case attn::ReduceKind::Any:
      return graph.make<arith::OrIOp>({a, b});
    case attn::ReduceKind::All:
      return graph.make<arith::AndIOp>({a, b});
    }
    llvm_unreachable("every kind is listed");
  }

  Expr *times(Expr *a, Expr *b) {
    return a && b ? graph.make<arith::MulFOp>({a, b}) : a ? a : b;
  }

  /// exp(kappa * (x - ref(mu'))).
  Expr *relative(Expr *x, const Exponential &exponential, ArrayAttr over) {
    Maximum *maximum = loop.findMaximum(exponential.a, over);
    Expr *ref = graph.make<tile::RefOp>({maximum->next});
    Expr *argument = graph.make<arith::SubFOp>({x, ref});
    return exponentialOfSum(graph, {{exponential.kappa, argument}}, x->loc);
  }

  /// What an accumulator adds up on one side, 0 beyond the range.
  Expr *summed(const Summed &side, bool wasTailed, ArrayAttr over,
               Location loc) {
    Expr *result = nullptr;
    for (const Exponential &exponential : side.exponentials)
      result = times(result,
                     relative(inRange(*loop.findMaximum(exponential.a, over)),
                              exponential, over));
    if (!side.factor && result)
      return result; // 0 beyond the range already
    result = times(result, side.factor ? side.factor : graph.constant(1, loc));
    if (!side.exponentials.empty() && isSurelyFinite(side.factor))
      return result; // 0 times a number
    return tailed(result, wasTailed || !side.exponentials.empty(),
                  attn::ReduceKind::Sum);
  }

  void build(Accumulator &accumulator) {
    const Statistic &like = *accumulator.like;
    Location loc = like.op->getLoc();
    Expr *rescale = nullptr;
    for (const Summed *side : {&accumulator.lhs, &accumulator.rhs})
      for (const Exponential &exponential : side->exponentials)
        rescale =
            times(rescale,
                  relative(loop.findMaximum(exponential.a, like.over)->inside,
                           exponential, like.over));
    Expr *lhs = summed(accumulator.lhs, like.lhsTailed, like.over, loc);
    Expr *rhs = like.product
                    ? summed(accumulator.rhs, like.rhsTailed, like.over, loc)
                    : nullptr;
    // Weights are on either side.
    Expr *&weights = rhs && accumulator.lhs.exponentials.empty() ? rhs : lhs;
    for (unsigned statistic : accumulator.inverses) {
      Accumulator &sum = sumOf(statistic);
      Expr *zero = graph.constant(0, loc);
      Expr *inverse = graph.select(
          graph.compare(arith::CmpFPredicate::OEQ, sum.next, zero), zero,
          graph.make<arith::DivFOp>({graph.constant(1, loc), sum.next}));
      rescale = times(times(rescale, sum.inside), inverse);
      weights = times(weights, inverse);
    }
    if (!like.product) {
      Expr *tile = graph.reduce(attn::ReduceKind::Sum, lhs, like.over);
      begin(accumulator, tile->type, attn::ReduceKind::Sum, loc);
      Expr *old = times(accumulator.inside, rescale);
      accumulator.next = graph.make<arith::AddFOp>({old, tile});
      return;
    }
    begin(accumulator, like.leaf->type, attn::ReduceKind::Sum, loc);
    Expr *old = times(accumulator.inside, rescale);
    accumulator.next =
        graph.dot(lhs, like.lhsType, rhs, like.rhsType, old,
                  accumulator.inside->type, like.over, like.product);
  }

  Graph &graph;
  const LoopNest &nest;
  FusedLoop &loop;
  function_ref<Accumulator &(unsigned)> sumOf;
};

} // namespace

void emitLoop(Graph &graph, Emitter &emitter, const LoopNest &nest,
              FusedLoop &loop, function_ref<Accumulator &(unsigned)> sumOf) {
  StepBuilder(graph, nest, loop, sumOf).build();
  SmallVector<Carried *> carried;
  for (Maximum &maximum : loop.maxima)
    carried.push_back(&maximum);
  for (auto &[_, plain] : loop.plain)
    carried.push_back(&plain);
  for (Presence &presence : loop.presences)
    carried.push_back(&presence);
  for (Accumulator &accumulator : loop.accumulators)
    carried.push_back(&accumulator);

  Location loc = scf::ForOp(nest.loops.front()).getLoc();
  OpBuilder &rows = emitter.rowBuilder();
  SmallVector<Value> starts;
  for (Carried *value : carried)
    starts.push_back(arith::ConstantOp::create(rows, loc, value->start));
  scf::ForOp outermost, emitted;
  auto open = [&](OpBuilder &builder, const LoopNest::Range &range,
                  ValueRange inits) {
    Value lower = emitter.emit(range.lower), upper = emitter.emit(range.upper),
          step = emitter.emit(range.step);
    emitted = scf::ForOp::create(builder, loc, lower, upper, step, inits);
    emitted->setAttr("tile.axis", range.axis);
    if (inits.empty()) // with nothing to carry it is born with its end
      emitted.getBody()->getTerminator()->erase();
    emitter.bind(range.induction, emitted.getInductionVar());
  };
  SmallVector<LoopNest::Range> ranges(nest.around);
  ranges.push_back(nest.range);
  for (const LoopNest::Range &range : ranges) {
    if (!outermost) {
      open(rows, range, starts);
      outermost = emitted;
      rows.setInsertionPoint(outermost);
      continue;
    }
    OpBuilder inside = OpBuilder::atBlockEnd(emitted.getBody());
    scf::ForOp around = emitted;
    // Sums of parts lose less than one of all terms. Those that are rescaled
    // go on, as what rescales them does: two sets would not fit registers.
    if (!loop.maxima.empty()) {
      open(inside, range, around.getRegionIterArgs());
      scf::YieldOp::create(inside, loc, emitted.getResults());
      continue;
    }
    open(inside, range, starts);
    SmallVector<Value> sums;
    for (auto [value, before, part] : llvm::zip_equal(
             carried, around.getRegionIterArgs(), emitted.getResults()))
      sums.push_back(combineParts(inside, loc, value->reduces, before, part));
    scf::YieldOp::create(inside, loc, sums);
  }
  emitter.enterLoop(outermost, emitted);
  for (auto [value, argument] :
       llvm::zip_equal(carried, emitted.getRegionIterArgs()))
    emitter.bind(value->inside, argument);
  SmallVector<Value> nexts;
  for (Carried *value : carried)
    nexts.push_back(emitter.emit(value->next, value->inside->type));
  OpBuilder body = OpBuilder::atBlockEnd(emitted.getBody());
  for (const LoopNest::Store &store : loop.stores)
    emitStore(emitter, body, store);
  scf::YieldOp::create(body, loc, nexts);
  emitter.leaveLoop(outermost);
  for (auto [value, result] : llvm::zip_equal(carried, outermost.getResults()))
    emitter.bind(value->after, result);
}

void emitStore(Emitter &emitter, OpBuilder &builder,
               const LoopNest::Store &store) {
  auto &[op, operands] = store;
  SmallVector<Value> values;
  for (auto [operand, type] : llvm::zip_equal(operands, op->getOperandTypes()))
    values.push_back(emitter.emit(operand, type));
  builder.clone(*op)->setOperands(values);
}

bool subtractsReferences(
    const Term &row,
    function_ref<bool(const Expr *, const Expr *)> isReference) {
  SmallVector<Exponential> left = row.exponentials;
  for (auto &[multiple, shift] : row.shifts) {
    auto *found = llvm::find_if(left, [&](const Exponential &exponential) {
      return exponential.kappa == -multiple &&
             isReference(shift, exponential.a);
    });
    if (found == left.end())
      return false;
    left.erase(found);
  }
  return left.empty();
}

/// exp(lc + sum of kappa * mu), or null if it is 1 because lc subtracts just
/// these references.
static Expr *
finalScale(Graph &graph, const Summand &summand, FusedLoop &loop,
           ArrayAttr over, Location loc,
           function_ref<bool(const Expr *, const Expr *)> isReference) {
  if (subtractsReferences(summand.row, isReference))
    return nullptr;
  SmallVector<std::pair<double, Expr *>> exponent(summand.row.shifts);
  for (const Exponential &exponential : summand.row.exponentials)
    exponent.emplace_back(exponential.kappa,
                          loop.findMaximum(exponential.a, over)->after);
  return exponent.empty() ? nullptr : exponentialOfSum(graph, exponent, loc);
}

Expr *rowValue(Graph &graph, const Statistic &statistic, FusedLoop &loop,
               ArrayRef<Summand> summands, Expr *isEmpty,
               function_ref<bool(const Expr *, const Expr *)> isReference,
               function_ref<bool(const Expr *)> isSafeInverse) {
  Location loc = statistic.op->getLoc();
  Expr *zero = graph.constant(0, loc), *result = nullptr;
  bool finite = true; // whether c and F are finite for an empty range
  for (const Summand &summand : summands) {
    const Term &row = summand.row;
    Expr *c = rowFactor(graph, row, loc);
    Expr *f =
        finalScale(graph, summand, loop, statistic.over, loc, isReference);
    finite &=
        summand.presence || (!f && !row.otherwise && row.denominators.empty() &&
                             llvm::all_of(row.numerators, isSafeInverse));
    if (f)
      c = c ? graph.make<arith::MulFOp>({c, f}) : f;
    Expr *sum = loop.accumulators[summand.accumulator].after;
    Expr *value = c ? graph.make<arith::MulFOp>({sum, c}) : sum;
    Expr *zeros = row.sumsOtherwise ? sum : zero;
    if (row.kept) {
      Expr *otherwise = row.otherwise
                            ? graph.make<arith::AddFOp>({row.otherwise, zeros})
                            : zeros;
      value = graph.select(row.kept, value, otherwise);
    }
    if (summand.presence)
      value =
          graph.select(loop.presences[*summand.presence].after, value, zeros);
    result = result ? graph.make<arith::AddFOp>({result, value}) : value;
  }
  if (!result)
    return zero;
  return finite || !isEmpty ? result : graph.select(isEmpty, zero, result);
}

} // namespace attentile::fusion
