//===- FloatFacts.cpp - where a float is 0, infinite or NaN ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of VisibilityAnalysis::getFacts, one for each operation. What is
// said to hold surely must; what may hold is found by the formula alone, so
// elements of tensors count as finite, and underflow and overflow do not count.
//
//===----------------------------------------------------------------------===//

#include "VisibilityFormula.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attentile {

Formula VisibilityAnalysis::getJ(const FloatFacts &facts) {
  return formulas.getOr(facts.mayNaN,
                        formulas.getOr(facts.mayMinusInf, facts.mayPlusInf));
}

FloatFacts VisibilityAnalysis::getMay(May may) {
  Formula no = formulas.get(false);
  return {no,
          no,
          no,
          formulas.get(may.minusInf),
          formulas.get(may.plusInf),
          formulas.get(may.nan)};
}

VisibilityAnalysis::May VisibilityAnalysis::summarize(const FloatFacts &facts) {
  return {!facts.mayMinusInf->isFalse(), !facts.mayPlusInf->isFalse(),
          !facts.mayNaN->isFalse()};
}

FloatFacts VisibilityAnalysis::negate(const FloatFacts &facts) {
  return {facts.plusInf,    facts.minusInf,    facts.zero,
          facts.mayPlusInf, facts.mayMinusInf, facts.mayNaN};
}

FloatFacts VisibilityAnalysis::getConstant(const APFloat &value) {
  FloatFacts facts =
      getMay({value.isInfinity() && value.isNegative(),
              value.isInfinity() && !value.isNegative(), value.isNaN()});
  facts.minusInf = facts.mayMinusInf;
  facts.plusInf = facts.mayPlusInf;
  facts.zero = formulas.get(value.isZero());
  return facts;
}

FloatFacts VisibilityAnalysis::getSum(const FloatFacts &a,
                                      const FloatFacts &b) {
  auto both = [&](Formula x, Formula y) { return formulas.getAnd(x, y); };
  auto any = [&](Formula x, Formula y) { return formulas.getOr(x, y); };
  // -inf plus what is not +inf or NaN.
  auto keeps = [&](Formula x, Formula opposite, Formula nan) {
    return both(x, formulas.getNot(any(opposite, nan)));
  };
  return {any(keeps(a.minusInf, b.mayPlusInf, b.mayNaN),
              keeps(b.minusInf, a.mayPlusInf, a.mayNaN)),
          any(keeps(a.plusInf, b.mayMinusInf, b.mayNaN),
              keeps(b.plusInf, a.mayMinusInf, a.mayNaN)),
          both(a.zero, b.zero),
          any(a.mayMinusInf, b.mayMinusInf),
          any(a.mayPlusInf, b.mayPlusInf),
          any(any(a.mayNaN, b.mayNaN), any(both(a.mayMinusInf, b.mayPlusInf),
                                           both(a.mayPlusInf, b.mayMinusInf)))};
}

FloatFacts VisibilityAnalysis::getMaximum(const FloatFacts &a,
                                          const FloatFacts &b) {
  auto both = [&](Formula x, Formula y) { return formulas.getAnd(x, y); };
  auto any = [&](Formula x, Formula y) { return formulas.getOr(x, y); };
  auto unlessNaN = [&](Formula x, Formula nan) {
    return both(x, formulas.getNot(nan));
  };
  return {both(a.minusInf, b.minusInf),
          any(unlessNaN(a.plusInf, b.mayNaN), unlessNaN(b.plusInf, a.mayNaN)),
          any(both(a.zero, any(b.zero, b.minusInf)), both(a.minusInf, b.zero)),
          // maxnum takes the other operand for a NaN.
          both(any(a.mayMinusInf, a.mayNaN), any(b.mayMinusInf, b.mayNaN)),
          any(a.mayPlusInf, b.mayPlusInf), any(a.mayNaN, b.mayNaN)};
}

FloatFacts VisibilityAnalysis::getProduct(Value lhs, Value rhs) {
  FloatFacts a = getFacts(lhs), b = getFacts(rhs);
  if (isKnownPositive(lhs) && getJ(a)->isFalse()) {
    std::swap(lhs, rhs);
    std::swap(a, b);
  }
  if (isKnownPositive(rhs) && getJ(b)->isFalse())
    return a;
  Formula any = formulas.getOr(getJ(a), getJ(b));
  Formula no = formulas.get(false);
  Formula zero =
      formulas.getOr(formulas.getAnd(a.zero, formulas.getNot(getJ(b))),
                     formulas.getAnd(b.zero, formulas.getNot(getJ(a))));
  bool positive = isKnownNonNegative(lhs) && isKnownNonNegative(rhs);
  return {no, no, zero, positive ? no : any, any, any};
}

/// `nonZero`: the divisor is known not to be 0.
FloatFacts VisibilityAnalysis::getQuotient(Value lhs, Value rhs, bool nonZero) {
  FloatFacts a = getFacts(lhs), b = getFacts(rhs);
  bool positive = isKnownPositive(rhs);
  auto constant = getFloatConstant(rhs);
  if (!positive && !nonZero && !(constant && !constant->isZero()))
    return getMay({true, true, true});
  if (positive && getJ(b)->isFalse())
    return a;
  Formula no = formulas.get(false), inverse = formulas.getNot(getJ(a));
  Formula zero = formulas.getOr(
      formulas.getAnd(a.zero, formulas.getNot(b.mayNaN)),
      formulas.getAnd(formulas.getOr(b.minusInf, b.plusInf), inverse));
  Formula infinite = formulas.getOr(a.mayMinusInf, a.mayPlusInf);
  Formula nan = formulas.getOr(
      formulas.getOr(a.mayNaN, b.mayNaN),
      formulas.getAnd(infinite, formulas.getOr(b.mayMinusInf, b.mayPlusInf)));
  return {no, no, zero, infinite, infinite, nan};
}

/// The value that `condition` says is not 0 where it is false ("x == 0") or,
/// with `sense`, where it is true ("x != 0").
static Value getNonZero(Value condition, bool sense) {
  auto compare = stripBroadcast(condition).getDefiningOp<arith::CmpFOp>();
  if (!compare)
    return {};
  auto zero = getFloatConstant(compare.getRhs());
  using P = arith::CmpFPredicate;
  P predicate = compare.getPredicate();
  bool matches =
      sense ? predicate == P::ONE || predicate == P::UNE || predicate == P::OGT
            : predicate == P::OEQ || predicate == P::UEQ;
  return zero && zero->isZero() && matches ? stripBroadcast(compare.getLhs())
                                           : Value();
}

FloatFacts VisibilityAnalysis::getSelect(arith::SelectOp op) {
  auto side = [&](Value value, bool sense) {
    Value nonZero = getNonZero(op.getCondition(), sense);
    auto quotient = stripBroadcast(value).getDefiningOp<arith::DivFOp>();
    if (nonZero && quotient && stripBroadcast(quotient.getRhs()) == nonZero)
      return getQuotient(quotient.getLhs(), quotient.getRhs(), true);
    return getFacts(value);
  };
  FloatFacts a = side(op.getTrueValue(), true);
  FloatFacts b = side(op.getFalseValue(), false);
  Formula condition = getCondition(op.getCondition());
  // Of a comparison of floats nothing is known: what both sides share is.
  bool consensus = Formulas::anyAtom(condition, [](Value atom) {
    return atom.getDefiningOp<arith::CmpFOp>() != nullptr;
  });
  auto merge = [&](Formula x, Formula y) {
    return formulas.getSelect(condition, x, y, consensus);
  };
  return {merge(a.minusInf, b.minusInf),
          merge(a.plusInf, b.plusInf),
          merge(a.zero, b.zero),
          merge(a.mayMinusInf, b.mayMinusInf),
          merge(a.mayPlusInf, b.mayPlusInf),
          merge(a.mayNaN, b.mayNaN)};
}

/// Facts of a reduction from those of what it reduces: a formula that speaks of
/// a reduced axis says nothing once its elements are joined.
FloatFacts VisibilityAnalysis::getReduced(FloatFacts facts, ArrayAttr over) {
  auto speaks = [&](Formula formula) {
    return Formulas::anyAtom(formula, [&](Value atom) {
      return llvm::any_of(over.getAsRange<StringAttr>(), [&](StringAttr axis) {
        return tile::getAxisPosition(atom.getType(), axis).has_value();
      });
    });
  };
  for (auto member :
       {&FloatFacts::minusInf, &FloatFacts::plusInf, &FloatFacts::zero})
    if (speaks(facts.*member))
      facts.*member = formulas.get(false);
  for (auto member :
       {&FloatFacts::mayMinusInf, &FloatFacts::mayPlusInf, &FloatFacts::mayNaN})
    if (speaks(facts.*member))
      facts.*member = formulas.get(true);
  return facts;
}

/// What a workspace's elements may be: what is stored there.
FloatFacts VisibilityAnalysis::getStored(Value workspace) {
  May may;
  for (Operation *user : workspace.getUsers()) {
    auto store = dyn_cast<tile::StoreOp>(user);
    if (!store ||
        !isa<FloatType>(tile::getElementType(store.getValue().getType())))
      continue;
    May stored = summarize(getFacts(store.getValue()));
    may = {may.minusInf || stored.minusInf, may.plusInf || stored.plusInf,
           may.nan || stored.nan};
  }
  return getMay(may);
}

/// Whether a load along a loop's axis reads nothing beyond the loop's end,
/// since the tensor ends there too.
static bool endsWithLoop(tile::LoadOp load) {
  attn::SignatureOpInterface program = load->getParentOfType<tile::ProgramOp>();
  for (auto [at, extent] : llvm::zip_equal(
           load.getIndices(), getTensorShape(load.getTensor()).getResults())) {
    auto index = stripBroadcast(at).getDefiningOp<tile::IndexOp>();
    auto iv =
        index ? dyn_cast<BlockArgument>(index.getBase()) : BlockArgument();
    auto loop =
        iv ? dyn_cast<scf::ForOp>(iv.getOwner()->getParentOp()) : scf::ForOp();
    if (!loop || iv != loop.getInductionVar())
      continue;
    Value end = loop.getUpperBound();
    auto last = getIntegerConstant(end);
    if (auto symbol = dyn_cast<AffineSymbolExpr>(extent);
        symbol && program.getSizeArgs()[symbol.getPosition()] == end)
      return true;
    if (auto constant = dyn_cast<AffineConstantExpr>(extent);
        constant && last && *last == constant.getValue())
      return true;
  }
  return false;
}

/// What a carried value may be, before, in and after its loop: the least
/// solution, from its initial value on.
FloatFacts VisibilityAnalysis::getCarried(scf::ForOp loop, unsigned number) {
  auto known = carried.find(loop);
  if (known != carried.end())
    return getMay(known->second[number]);
  SmallVector<May> state;
  auto isFloat = [](Value value) {
    return isa<FloatType>(tile::getElementType(value.getType()));
  };
  for (Value init : loop.getInits())
    state.push_back(isFloat(init) ? summarize(getFacts(init)) : May());
  for (bool changed = true; changed;) {
    changed = false;
    carried[loop] = state;
    // Every fact so far may rest on an earlier state.
    memo.clear();
    conditions.clear();
    for (auto [i, next] : llvm::enumerate(loop.getYieldedValues())) {
      if (!isFloat(next))
        continue;
      May may = summarize(getFacts(next));
      May joined = {state[i].minusInf || may.minusInf,
                    state[i].plusInf || may.plusInf, state[i].nan || may.nan};
      changed |= joined != state[i];
      state[i] = joined;
    }
  }
  return getMay(state[number]);
}

/// Functions of one float.
FloatFacts VisibilityAnalysis::getUnary(Operation *op) {
  Value operand = op->getOperand(0);
  FloatFacts x = getFacts(operand);
  Formula no = formulas.get(false), yes = formulas.get(true);
  Formula infinite = formulas.getOr(x.mayMinusInf, x.mayPlusInf);
  Formula invalid = isKnownNonNegative(operand) ? x.mayNaN : yes;
  return llvm::TypeSwitch<Operation *, FloatFacts>(op)
      .Case<arith::NegFOp>([&](auto) { return negate(x); })
      .Case<arith::ExtFOp, arith::TruncFOp, math::FloorOp, math::CeilOp,
            math::TruncOp, math::RoundOp, math::RoundEvenOp>(
          [&](auto) { return x; })
      .Case<math::ExpOp, math::Exp2Op>([&](auto) {
        return FloatFacts{no, x.plusInf,    x.minusInf,
                          no, x.mayPlusInf, x.mayNaN};
      })
      .Case<math::LogOp, math::Log2Op>([&](auto) {
        return FloatFacts{x.zero,       x.plusInf,
                          no,           isKnownPositive(operand) ? no : yes,
                          x.mayPlusInf, invalid};
      })
      .Case<math::SqrtOp>([&](auto) {
        return FloatFacts{no, x.plusInf, x.zero, no, x.mayPlusInf, invalid};
      })
      .Case<math::RsqrtOp>([&](auto) {
        return FloatFacts{
            no,     no, x.plusInf, no, isKnownPositive(operand) ? no : yes,
            invalid};
      })
      .Case<math::AbsFOp>([&](auto) {
        return FloatFacts{no,       formulas.getOr(x.minusInf, x.plusInf),
                          x.zero,   no,
                          infinite, x.mayNaN};
      })
      .Case<math::TanhOp, math::ErfOp>(
          [&](auto) { return FloatFacts{no, no, x.zero, no, no, x.mayNaN}; })
      .Case<math::SinOp>(
          [&](auto) { return FloatFacts{no, no, x.zero, no, no, getJ(x)}; })
      .Case<math::CosOp>(
          [&](auto) { return FloatFacts{no, no, no, no, no, getJ(x)}; })
      .Default([&](auto) { return getMay({true, true, true}); });
}

FloatFacts VisibilityAnalysis::computeFacts(Value value) {
  if (auto constant = getFloatConstant(value))
    return getConstant(*constant);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
      return getCarried(loop, argument.getArgNumber() - 1);
    return getMay({});
  }
  Operation *op = value.getDefiningOp();
  return llvm::TypeSwitch<Operation *, FloatFacts>(op)
      .Case<scf::ForOp>([&](auto loop) {
        return getCarried(loop, cast<OpResult>(value).getResultNumber());
      })
      .Case<tile::LoadOp>([&](tile::LoadOp load) {
        if (!tail && endsWithLoop(load))
          return getConstant(APFloat(0.0));
        return load.getTensor().getDefiningOp<attn::WorkspaceOp>()
                   ? getStored(load.getTensor())
                   : getMay({});
      })
      .Case<tile::RefOp>([&](auto) {
        FloatFacts x = getFacts(op->getOperand(0));
        return FloatFacts{formulas.get(false),
                          x.plusInf,
                          formulas.getOr(x.zero, x.minusInf),
                          formulas.get(false),
                          x.mayPlusInf,
                          x.mayNaN};
      })
      .Case<tile::ReduceOp>([&](auto reduce) {
        FloatFacts x = getFacts(reduce.getOperand());
        if (reduce.getKind() == attn::ReduceKind::Sum)
          x = getSum(x, x);
        return getReduced(x, reduce.getOver());
      })
      .Case<tile::DotOp>([&](auto dot) {
        FloatFacts product =
            getReduced(getProduct(dot.getLhs(), dot.getRhs()), dot.getOver());
        return dot.getAcc() ? getSum(product, getFacts(dot.getAcc())) : product;
      })
      .Case<arith::AddFOp>([&](auto) {
        return getSum(getFacts(op->getOperand(0)), getFacts(op->getOperand(1)));
      })
      .Case<arith::SubFOp>([&](auto) {
        return getSum(getFacts(op->getOperand(0)),
                      negate(getFacts(op->getOperand(1))));
      })
      .Case<arith::MulFOp>([&](auto) {
        return getProduct(op->getOperand(0), op->getOperand(1));
      })
      .Case<arith::DivFOp>([&](auto) {
        return getQuotient(op->getOperand(0), op->getOperand(1), false);
      })
      .Case<math::FmaOp>([&](auto) {
        return getSum(getProduct(op->getOperand(0), op->getOperand(1)),
                      getFacts(op->getOperand(2)));
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) {
        FloatFacts a = getFacts(op->getOperand(0));
        FloatFacts b = getFacts(op->getOperand(1));
        FloatFacts most = getMaximum(a, b);
        // A softmax's reference is NaN only if nothing else was seen: what a
        // visible score makes of NaN hides nothing that masks hide.
        if (isa<arith::MaxNumFOp>(op))
          most.mayNaN = formulas.getAnd(a.mayNaN, b.mayNaN);
        return most;
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
        return negate(getMaximum(negate(getFacts(op->getOperand(0))),
                                 negate(getFacts(op->getOperand(1)))));
      })
      .Case<arith::SelectOp>([&](auto select) { return getSelect(select); })
      .Case<arith::UIToFPOp, arith::SIToFPOp>([&](auto) {
        FloatFacts facts = getMay({});
        Value operand = op->getOperand(0);
        if (tile::getElementType(operand.getType()).isInteger(1))
          facts.zero = formulas.getNot(getCondition(operand));
        return facts;
      })
      .Default([&](auto) {
        if (op->getNumOperands() == 1 && op->getNumResults() == 1 &&
            isa<FloatType>(tile::getElementType(op->getOperand(0).getType())))
          return getUnary(op);
        return getMay({true, true, true});
      });
}

FloatFacts VisibilityAnalysis::getFacts(Value value) {
  value = stripBroadcast(value);
  if (auto known = memo.find(value); known != memo.end())
    return known->second;
  FloatFacts facts = computeFacts(value);
  memo[value] = facts;
  return facts;
}

} // namespace attentile
