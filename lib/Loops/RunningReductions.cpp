//===- RunningReductions.cpp - reductions that rescale as they run --------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunningReductions.h"
#include "Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace attentile::fusion {

using attn::ReduceKind;

namespace {

class Finder {
public:
  Finder(Graph &graph, LoopNest &nest, ArrayRef<RunningValue> values,
         llvm::function_ref<Expr *(Expr *, ReduceKind, bool &)> withoutTail)
      : graph(graph), nest(nest), values(values), withoutTail(withoutTail),
        numbers(values.size(), unknown) {}

  std::string why;

  FailureOr<SmallVector<unsigned>> find() {
    for (unsigned i = 0; i < values.size(); ++i)
      readMaximum(i);
    hot.resize(nest.statistics.size());
    for (unsigned i : numbers)
      if (i != unknown)
        hot.set(i);
    for (unsigned i = 0; i < values.size(); ++i)
      if (numbers[i] == unknown && failed(readReduction(i)))
        return failure();
    return numbers;
  }

private:
  static constexpr unsigned unknown = ~0u;

  LogicalResult fail(const char *reason) {
    if (why.empty())
      why = reason;
    return failure();
  }

  /// Whether `x` has nothing of what the loop carries.
  bool isFree(Expr *x) {
    auto [known, isNew] = free.try_emplace(x, true);
    if (!isNew)
      return known->second;
    bool result = llvm::none_of(
        values, [&](const RunningValue &value) { return value.inside == x; });
    for (Expr *operand : x->operands)
      result = result && isFree(operand);
    return free[x] = result;
  }

  bool isOverAxis(const Expr *reduce) const {
    auto over = cast<ArrayAttr>(reduce->attributes.get("over"));
    return llvm::is_contained(over, Attribute(nest.range.axis));
  }

  /// The reduction over a tile that `next` adds to the carried value by itself,
  /// with `kind`; null if it is none.
  Expr *reductionBeside(const RunningValue &value, Expr *carried) {
    if (value.next->operands.size() != 2)
      return nullptr;
    for (unsigned i : {0u, 1u}) {
      Expr *other = value.next->operands[1 - i];
      if (value.next->operands[i] == carried && other->is<tile::ReduceOp>() &&
          isOverAxis(other))
        return other;
    }
    return nullptr;
  }

  static ReduceKind kindOf(const Expr *reduce) {
    return cast<attn::ReduceKindAttr>(reduce->attributes.get("kind"))
        .getValue();
  }

  Statistic start(const RunningValue &value, ReduceKind kind, ArrayAttr over) {
    Statistic statistic;
    statistic.kind = kind;
    statistic.over = over;
    statistic.op = value.op;
    return statistic;
  }

  /// Appends the statistic with the leaf that stands for its value.
  void finish(unsigned i, Statistic statistic, Type type) {
    numbers[i] = nest.statistics.size();
    statistic.leaf = graph.leaf(type, statistic.op->getLoc(), /*varies=*/false);
    statistic.leaf->statistics.resize(numbers[i] + 1);
    statistic.leaf->statistics.set(numbers[i]);
    nest.statistics.push_back(statistic);
  }

  /// mx' = max(mx, max[n](a)). Its exact value may matter behind the loop.
  void readMaximum(unsigned i) {
    const RunningValue &value = values[i];
    if (!value.next->is<arith::MaximumFOp>() &&
        !value.next->is<arith::MaxNumFOp>())
      return;
    Expr *reduce = reductionBeside(value, value.inside);
    if (!reduce || !isFree(reduce) ||
        (kindOf(reduce) != ReduceKind::Max &&
         kindOf(reduce) != ReduceKind::Ref) ||
        !isConstant(value.init, -HUGE_VAL))
      return;
    Statistic statistic =
        start(value, value.isUsed ? ReduceKind::Max : ReduceKind::Ref,
              cast<ArrayAttr>(reduce->attributes.get("over")));
    statistic.lhs =
        withoutTail(reduce->operands[0], ReduceKind::Max, statistic.lhsTailed);
    Type type =
        graph.reduce(statistic.kind, statistic.lhs, statistic.over)->type;
    finish(i, statistic, type);
  }

  /// Any other reduction: sums, which may be rescaled, and what is reduced as
  /// it is.
  LogicalResult readReduction(unsigned i) {
    const RunningValue &value = values[i];
    Expr *next = value.next;
    if (next->is<tile::DotOp>() && next->operands.size() == 3 &&
        isOverAxis(next))
      return readSum(i, next->operands[2], next);
    if (next->is<arith::AddFOp>())
      for (unsigned k : {1u, 0u}) {
        Expr *reduce = next->operands[k];
        if (reduce->is<tile::ReduceOp>() && isOverAxis(reduce) &&
            kindOf(reduce) == ReduceKind::Sum)
          return readSum(i, next->operands[1 - k], reduce);
      }
    Expr *reduce = reductionBeside(value, value.inside);
    if (!reduce || !isFree(reduce) || !combines(next, kindOf(reduce)) ||
        !isNeutral(value.init, kindOf(reduce)))
      return fail("a carried value is no reduction");
    ReduceKind kind = kindOf(reduce);
    Statistic statistic =
        start(value, kind, cast<ArrayAttr>(reduce->attributes.get("over")));
    statistic.lhs = withoutTail(reduce->operands[0], kind, statistic.lhsTailed);
    Type type = graph.reduce(kind, statistic.lhs, statistic.over)->type;
    finish(i, statistic, type);
    return success();
  }

  static bool combines(const Expr *next, ReduceKind kind) {
    switch (kind) {
    case ReduceKind::Sum:
      return next->is<arith::AddIOp>();
    case ReduceKind::Max:
      return next->is<arith::MaximumFOp>() || next->is<arith::MaxSIOp>();
    case ReduceKind::Ref:
      return next->is<arith::MaxNumFOp>();
    case ReduceKind::Min:
      return next->is<arith::MinimumFOp>() || next->is<arith::MinSIOp>();
    case ReduceKind::Any:
      return next->is<arith::OrIOp>();
    case ReduceKind::All:
      return next->is<arith::AndIOp>();
    }
    return false;
  }

  static bool isNeutral(const Expr *init, ReduceKind kind) {
    return init->is<arith::ConstantOp>() &&
           init->attributes.get("value") ==
               neutralElement(kind, tile::getElementType(init->type));
  }

  //===--------------------------------------------------------------------===//
  // Sums
  //===--------------------------------------------------------------------===//

  /// An exponential's power and the maximum, by number, that it is taken
  /// against.
  using Rescale = std::pair<double, unsigned>;

  /// The sum `reduce`, a reduction or product, added to `before`, which is the
  /// carried value times what moves it to the new maxima.
  LogicalResult readSum(unsigned i, Expr *before, Expr *reduce) {
    const RunningValue &value = values[i];
    SmallVector<Rescale> rescales;
    bool isCarried = false;
    if (failed(readBefore(before, value.inside, isCarried, rescales)) ||
        !isCarried)
      return fail("the carried value's factor is no exponential of maxima");
    if (!isZero(value.init))
      return fail("a carried sum does not start at 0");
    Statistic sum = start(value, ReduceKind::Sum,
                          cast<ArrayAttr>(reduce->attributes.get("over")));
    sum.lhs = atTheEnd(reduce->operands[0]);
    if (!sum.lhs)
      return fail("what is summed depends on a carried value");
    sum.lhs = withoutTail(sum.lhs, ReduceKind::Sum, sum.lhsTailed);
    Type type;
    if (reduce->is<tile::DotOp>()) {
      sum.rhs = atTheEnd(reduce->operands[1]);
      if (!sum.rhs)
        return fail("what is summed depends on a carried value");
      sum.rhs = withoutTail(sum.rhs, ReduceKind::Sum, sum.rhsTailed);
      sum.product = cast<TypeAttr>(reduce->attributes.get("product"));
      sum.lhsType = reduce->operandTypes[0];
      sum.rhsType = reduce->operandTypes[1];
      type = reduce->type;
    } else {
      type = graph.reduce(sum.kind, sum.lhs, sum.over)->type;
    }
    FailureOr<SmallVector<Rescale>> wanted = findRescales(sum);
    if (failed(wanted))
      return fail("what is summed has no common reference");
    llvm::sort(rescales);
    llvm::sort(*wanted);
    bool agree =
        rescales.size() == wanted->size() &&
        llvm::all_of(llvm::zip(rescales, *wanted), [](auto pair) {
          auto &[a, b] = pair;
          return std::fabs(a.first - b.first) < 1e-9 && a.second == b.second;
        });
    if (!agree)
      return fail("the carried value's factor does not fit what is added");
    sum.isRunning = true;
    sum.powers = std::move(rescales);
    finish(i, sum, type);
    return success();
  }

  /// The carried value, or a product of it and factors.
  LogicalResult readBefore(Expr *x, Expr *carried, bool &isCarried,
                           SmallVectorImpl<Rescale> &rescales) {
    if (x == carried) {
      bool once = !std::exchange(isCarried, true);
      return success(once);
    }
    if (x->is<arith::MulFOp>())
      return success(
          succeeded(readBefore(x->operands[0], carried, isCarried, rescales)) &&
          succeeded(readBefore(x->operands[1], carried, isCarried, rescales)));
    double power = x->is<math::ExpOp>()    ? 1
                   : x->is<math::Exp2Op>() ? std::log(2.0)
                                           : 0;
    if (power == 0)
      return failure();
    Expr *argument = x->operands[0];
    while (argument->is<arith::MulFOp>()) {
      std::optional<double> a = constantOf(argument->operands[0]),
                            b = constantOf(argument->operands[1]);
      if (!a && !b)
        return failure();
      power *= a ? *a : *b;
      argument = argument->operands[a ? 1 : 0];
    }
    if (!argument->is<arith::SubFOp>())
      return failure();
    std::optional<unsigned> maximum = referenceOf(argument->operands[1]);
    if (!maximum || argument->operands[0] != values[*maximum].inside)
      return failure();
    rescales.emplace_back(power, numbers[*maximum]);
    return success();
  }

  /// The value, by number, if `x` is its next, or 0 where that is -inf.
  std::optional<unsigned> referenceOf(const Expr *x) {
    const Expr *maximum = nullptr;
    if (x->is<tile::RefOp>())
      maximum = x->operands[0];
    if (x->is<arith::SelectOp>() && isZero(x->operands[1]) &&
        x->operands[0]->is<arith::CmpFOp>()) {
      const Expr *test = x->operands[0];
      auto predicate =
          cast<arith::CmpFPredicateAttr>(test->attributes.get("predicate"))
              .getValue();
      if (predicate == arith::CmpFPredicate::OEQ &&
          test->operands[0] == x->operands[2] &&
          isConstant(test->operands[1], -HUGE_VAL))
        maximum = x->operands[2];
    }
    for (auto [i, value] : llvm::enumerate(values))
      if (maximum && numbers[i] != unknown && value.next == maximum &&
          nest.statistics[numbers[i]].isMaximum())
        return i;
    return std::nullopt;
  }

  /// `x` with the maxima over all tiles in place of those so far; null if it
  /// uses what is carried in another way.
  Expr *atTheEnd(Expr *x) {
    if (isFree(x))
      return x;
    auto [known, isNew] = ends.try_emplace(x, nullptr);
    if (!isNew)
      return known->second;
    if (std::optional<unsigned> maximum = referenceOf(x))
      return ends[x] = graph.make<tile::RefOp>(
                 {nest.statistics[numbers[*maximum]].leaf});
    if (!x->name)
      return nullptr; // a carried value
    SmallVector<Expr *> operands;
    for (Expr *operand : x->operands) {
      operands.push_back(atTheEnd(operand));
      if (!operands.back())
        return nullptr;
    }
    return ends[x] = graph.withOperands(x, operands);
  }

  /// How a sum's terms move with the maxima: the same for all of them.
  FailureOr<SmallVector<Rescale>> findRescales(const Statistic &sum) {
    auto isReferenceOf = [&](const Expr *x, const Expr *a) {
      return x->is<tile::RefOp>() && maximumOf(a, sum.over) &&
             nest.statistics[*maximumOf(a, sum.over)].leaf == x->operands[0];
    };
    Decomposer decomposer(graph, hot, sum.over, isReferenceOf,
                          /*rounds=*/false);
    FailureOr<std::vector<Term>> lhs = decomposer.decompose(sum.lhs);
    FailureOr<std::vector<Term>> rhs = std::vector<Term>(1);
    if (succeeded(lhs) && sum.rhs)
      rhs = decomposer.decompose(sum.rhs);
    if (failed(lhs) || failed(rhs))
      return failure();
    std::optional<SmallVector<Rescale>> common;
    for (const Term &left : *lhs)
      for (const Term &right : *rhs) {
        Term term = multiply(graph, left, right, /*joinFactors=*/false);
        llvm::append_range(term.exponentials, right.exponentials);
        FailureOr<SmallVector<Rescale>> own = rescalesOf(term, sum.over);
        if (failed(own) || (common && *common != *own))
          return failure();
        common = *own;
      }
    return common.value_or(SmallVector<Rescale>());
  }

  /// Of one term: each exponential against the maximum of its own exponent, and
  /// nothing else that a later tile would change.
  FailureOr<SmallVector<Rescale>> rescalesOf(const Term &term, ArrayAttr over) {
    auto isHot = [&](const Expr *x) { return x->statistics.anyCommon(hot); };
    if (llvm::any_of(term.numerators, isHot) ||
        llvm::any_of(term.denominators, isHot) ||
        (term.kept && isHot(term.kept)) ||
        (term.otherwise && isHot(term.otherwise)))
      return failure();
    SmallVector<Rescale> shifts, result;
    for (auto [multiple, x] : term.shifts) {
      if (!isHot(x))
        continue;
      if (!x->is<tile::RefOp>())
        return failure();
      for (unsigned number : numbers)
        if (number != unknown && nest.statistics[number].leaf == x->operands[0])
          shifts.emplace_back(-multiple, number);
    }
    for (const Exponential &exponential : term.exponentials)
      if (std::optional<unsigned> maximum = maximumOf(exponential.a, over))
        result.emplace_back(exponential.kappa, *maximum);
      else
        return failure();
    llvm::sort(shifts);
    llvm::sort(result);
    if (shifts != result)
      return failure();
    return result;
  }

  /// The maximum, by number, of exponents `a`.
  std::optional<unsigned> maximumOf(const Expr *a, ArrayAttr over) {
    for (unsigned number : numbers)
      if (number != unknown && nest.statistics[number].isMaximum() &&
          nest.statistics[number].lhs == a &&
          nest.statistics[number].over == over)
        return number;
    return std::nullopt;
  }

  Graph &graph;
  LoopNest &nest;
  ArrayRef<RunningValue> values;
  llvm::function_ref<Expr *(Expr *, ReduceKind, bool &)> withoutTail;
  SmallVector<unsigned> numbers; ///< of the values' statistics
  llvm::BitVector hot;
  DenseMap<Expr *, bool> free;
  DenseMap<Expr *, Expr *> ends;
};

} // namespace

FailureOr<SmallVector<unsigned>> findRunningReductions(
    Graph &graph, LoopNest &nest, ArrayRef<RunningValue> values,
    llvm::function_ref<Expr *(Expr *, ReduceKind, bool &)> withoutTail,
    std::string &why) {
  Finder finder(graph, nest, values, withoutTail);
  FailureOr<SmallVector<unsigned>> numbers = finder.find();
  why = finder.why;
  return numbers;
}

} // namespace attentile::fusion
