//===- IntervalSets.cpp - which indices may meet a condition --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From formulas to sets. What a value that does not depend on n may be over the
// row tile stands in RowRanges.cpp.
//
//===----------------------------------------------------------------------===//

#include "IntervalSets.h"
#include "VisibilityFormula.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile {

/// Whether a value is the index that the loop visits: of a tile's elements, or
/// of a loop over single indices that itself.
bool IntervalSets::isIndex(Value value) {
  return stripBroadcast(value) == loop.getInductionVar()
             ? tile::isIndexByIndex(loop)
             : isLoopIndex(value, loop);
}

/// Everything, or nothing: always right.
IntervalSet IntervalSets::getUnknown(Side side) {
  // That a comparison of scores is not known is no missed optimisation.
  if (current && !current.getDefiningOp<arith::CmpFOp>() &&
      !llvm::is_contained(open, current))
    open.push_back(current);
  return side == Side::Possible ? algebra.all() : IntervalSet();
}

/// An intersection of unions has as many pieces as pairs. Formulas that people
/// write stay far below this; beyond, the set is rounded to its safe side.
static constexpr size_t kMaxPieces = 16;

/// Each choice of two in a comparison, a maximum's or an absolute value's, asks
/// twice what lies behind it. Those that people write ask a few times.
static constexpr unsigned kMostQuestions = 256;

IntervalSet IntervalSets::get(Formula formula, Side side) {
  auto known = sets.find({formula, side});
  if (known != sets.end())
    return known->second;
  IntervalSet result;
  switch (formula->kind) {
  case FormulaNode::False:
    break;
  case FormulaNode::True:
    result = algebra.all();
    break;
  case FormulaNode::Atom:
    questions = 0;
    result = getCondition(formula->atom, formula->negated, side);
    break;
  case FormulaNode::And:
    result =
        algebra.intersect(get(formula->lhs, side), get(formula->rhs, side));
    break;
  case FormulaNode::Or:
    result = algebra.unite(get(formula->lhs, side), get(formula->rhs, side));
    break;
  }
  if (result.size() > kMaxPieces) {
    if (side == Side::Possible)
      result = algebra.all();
    else
      result.resize(kMaxPieces);
  }
  sets[{formula, side}] = result;
  return result;
}

IntervalSet IntervalSets::getCondition(Value condition, bool negated,
                                       Side side) {
  current = condition;
  if (auto compare = condition.getDefiningOp<arith::CmpIOp>();
      compare && tile::getElementType(compare.getLhs().getType()).isIndex())
    return getComparison(compare, negated, side);
  if (isInvariant(condition))
    return getInvariant(condition, negated, side);
  return getUnknown(side);
}

/// A condition without n: holds for every n or for none, if one knew the row.
IntervalSet IntervalSets::getInvariant(Value condition, bool negated,
                                       Side side) {
  Value holds;
  if (isa<RankedTensorType>(condition.getType()))
    // Some row that fails is: not all hold.
    holds = reduceRows(condition, (side == Side::Possible) != negated
                                      ? attn::ReduceKind::Any
                                      : attn::ReduceKind::All);
  else
    holds = hoist(condition);
  return algebra.allIf(negated ? index.logicalNot(holds) : holds);
}

IntervalSet IntervalSets::getComparison(arith::CmpIOp compare, bool negated,
                                        Side side) {
  using P = arith::CmpIPredicate;
  P predicate = negated ? arith::invertPredicate(compare.getPredicate())
                        : compare.getPredicate();
  if (predicate >= P::ult) {
    if (getStaticRange(compare.getLhs()).lo < 0 ||
        getStaticRange(compare.getRhs()).lo < 0)
      return isInvariant(compare) ? getInvariant(compare, negated, side)
                                  : getUnknown(side);
    predicate = predicate == P::ult   ? P::slt
                : predicate == P::ule ? P::sle
                : predicate == P::ugt ? P::sgt
                                      : P::sge;
  }
  AffineForm less, greater, lhs = getAffineForm(compare.getLhs());
  AffineForm rhs = getAffineForm(compare.getRhs());
  if (!less.add(lhs, 1) || !less.add(rhs, -1) || !greater.add(rhs, 1) ||
      !greater.add(lhs, -1))
    return getUnknown(side);
  // As differences that are at most 0.
  auto atMost = [&](AffineForm form, int64_t distance) {
    return form.add({{}, distance}, 1) ? getAtMostZero(std::move(form), side)
                                       : getUnknown(side);
  };
  switch (predicate) {
  case P::slt:
    return atMost(less, 1);
  case P::sle:
    return atMost(less, 0);
  case P::sgt:
    return atMost(greater, 1);
  case P::sge:
    return atMost(greater, 0);
  case P::eq:
    return algebra.intersect(atMost(less, 0), atMost(greater, 0));
  default:
    break;
  }
  // All n but one: no block is without another, and two pieces would be two
  // loops.
  bool hasIndex = llvm::any_of(
      less.terms, [&](const auto &term) { return isIndex(term.first); });
  if (side == Side::Possible && hasIndex)
    return algebra.all();
  return algebra.unite(atMost(less, 1), atMost(greater, 1));
}

/// Terms beyond these do not fit what saturatingSum keeps exact.
static constexpr uint64_t kMaxTerm = uint64_t(1) << 40;
static constexpr int64_t kMaxFactor = int64_t(1) << 16;

/// form <= 0.
IntervalSet IntervalSets::getAtMostZero(AffineForm form, Side side) {
  AffineForm rest{{}, form.constant};
  Value term;
  int64_t factor = 0;
  for (auto [value, coefficient] : form.terms) {
    if (isInvariant(value)) {
      rest.terms.push_back({value, coefficient});
      continue;
    }
    if (term && term != value && !(isIndex(term) && isIndex(value)))
      return getUnknown(side);
    term = value;
    factor += coefficient;
  }
  bool possible = side == Side::Possible;
  if (factor == 0) {
    Value extreme = getExtreme(rest, /*largest=*/!possible);
    return extreme
               ? algebra.allIf(index.isLessOrEqual(extreme, index.constant(0)))
               : getUnknown(side);
  }
  if (std::abs(factor) > kMaxFactor ||
      getStaticRange(term).magnitude() > kMaxTerm)
    return getUnknown(side);
  if (factor > 0) {
    // term <= -rest / factor.
    AffineForm negated;
    Value extreme =
        negated.add(rest, -1) ? getExtreme(negated, possible) : Value();
    if (!extreme)
      return getUnknown(side);
    return getBounded(term, /*atMost=*/true,
                      index.floorDivide(extreme, index.constant(factor)), side);
  }
  // term >= rest / -factor, rounded up.
  Value extreme = getExtreme(rest, /*largest=*/!possible);
  if (!extreme)
    return getUnknown(side);
  Value bound = index.floorDivide(index.add(extreme, -factor - 1),
                                  index.constant(-factor));
  return getBounded(term, /*atMost=*/false, bound, side);
}

/// `value` as a form; constants are no atoms.
static AffineForm asForm(Value value) {
  if (auto constant = getIntegerConstant(value))
    return {{}, constant->getSExtValue()};
  return {{{value, 1}}, 0};
}

/// term <= bound, or >=; the term depends on n, the bound is a scalar.
IntervalSet IntervalSets::getBounded(Value term, bool atMost, Value bound,
                                     Side side) {
  if (isIndex(term))
    return atMost ? IntervalSet{{{}, bound, {}}} : IntervalSet{{bound, {}, {}}};
  if (++questions > kMostQuestions)
    return getUnknown(side);
  // factor * x <= bound (or >=).
  auto compare = [&](Value x, bool atMost, int64_t factor = 1) {
    AffineForm form;
    int64_t sign = atMost ? 1 : -1;
    return form.add(getAffineForm(x), sign * factor) &&
                   form.add(asForm(bound), -sign)
               ? getAtMostZero(form, side)
               : getUnknown(side);
  };
  Operation *op = term.getDefiningOp();
  if (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op)) {
    IntervalSet a = compare(op->getOperand(0), atMost);
    IntervalSet b = compare(op->getOperand(1), atMost);
    return isa<arith::MinSIOp>(op) == atMost ? algebra.unite(a, b)
                                             : algebra.intersect(a, b);
  }
  if (isa_and_nonnull<math::AbsIOp>(op)) {
    Value x = op->getOperand(0);
    IntervalSet a = compare(x, atMost), b = compare(x, atMost, -1);
    return atMost ? algebra.intersect(a, b) : algebra.unite(a, b);
  }
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
    Value saved = current;
    Value condition = stripBroadcast(select.getCondition());
    IntervalSet holds = getCondition(condition, false, side);
    IntervalSet fails = getCondition(condition, true, side);
    current = saved;
    return algebra.unite(
        algebra.intersect(holds, compare(select.getTrueValue(), atMost)),
        algebra.intersect(fails, compare(select.getFalseValue(), atMost)));
  }
  if (isa_and_nonnull<attn::FloorDivOp, arith::FloorDivSIOp, arith::DivSIOp,
                      arith::DivUIOp>(op))
    return getBoundedQuotient(op, atMost, bound, side);
  return getUnknown(side);
}

/// x / c <= q is x <= q * c + c - 1, x / c >= q is x >= q * c, for c > 0.
IntervalSet IntervalSets::getBoundedQuotient(Operation *quotient, bool atMost,
                                             Value bound, Side side) {
  Value x = quotient->getOperand(0);
  Value divisor = stripBroadcast(quotient->getOperand(1));
  StaticRange range = getStaticRange(x);
  bool isFloor = isa<attn::FloorDivOp, arith::FloorDivSIOp>(quotient);
  if (isa<RankedTensorType>(divisor.getType()) && !getIntegerConstant(divisor))
    return getUnknown(side);
  if (!isInvariant(divisor) || range.magnitude() > kMaxTerm ||
      (!isFloor && range.lo < 0))
    return getUnknown(side);
  int64_t most = int64_t(range.magnitude());
  Value positive;
  if (auto constant = getIntegerConstant(divisor)) {
    if (!constant->isStrictlyPositive())
      return getUnknown(side);
    divisor = index.constant(constant->getSExtValue());
  } else {
    divisor = hoist(divisor);
    positive = index.isLessOrEqual(index.constant(1), divisor);
    // Beyond the largest |x| every quotient is 0 or -1.
    divisor = index.clamp(divisor, 1, most + 1);
  }
  // Beyond the quotients that there are every bound is as good; in between the
  // product fits.
  auto divisorRange = getStaticRange(divisor);
  if (__int128(getStaticRange(bound).magnitude()) * divisorRange.hi >=
      __int128(1) << 62) {
    Value limit = index.add(index.getBuilder().createOrFold<arith::DivUIOp>(
                                index.getLoc(), index.constant(most), divisor),
                            2);
    bound = index.minimum(bound, limit);
    bound = index.maximum(bound, index.subtract(index.constant(0), limit));
  }
  Value limit = index.multiply(bound, divisor);
  if (atMost)
    limit = index.add(limit, index.add(divisor, -1));
  AffineForm form;
  int64_t sign = atMost ? 1 : -1;
  if (!form.add(getAffineForm(x), sign) || !form.add(asForm(limit), -sign))
    return getUnknown(side);
  IntervalSet set = getAtMostZero(form, side);
  if (!positive || getIntegerConstant(positive))
    return set;
  return side == Side::Possible
             ? algebra.unite(set, algebra.allIf(index.logicalNot(positive)))
             : algebra.intersect(set, algebra.allIf(positive));
}

} // namespace attentile
