//===- VisibilityFormula.cpp - where a loop's elements matter -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts about values stand in FloatFacts.cpp; here is what a loop's reductions
// and masks make of them.
//
//===----------------------------------------------------------------------===//

#include "VisibilityFormula.h"
#include "attentile/KnownFactor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <numeric>

using namespace mlir;

namespace attentile {

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value stripBroadcast(Value value) {
  while (auto broadcast = value.getDefiningOp<tile::BroadcastOp>())
    value = broadcast.getOperand();
  return value;
}

bool isUniform(Value value) {
  value = stripBroadcast(value);
  return !tile::isTile(value.getType()) ||
         matchPattern(value, m_Constant<SplatElementsAttr>(nullptr));
}

Value getUniform(OpBuilder &builder, Value value) {
  value = stripBroadcast(value);
  SplatElementsAttr splat;
  if (!tile::isTile(value.getType()) ||
      !matchPattern(value, m_Constant(&splat)))
    return value;
  return arith::ConstantOp::create(builder, value.getLoc(),
                                   splat.getSplatValue<TypedAttr>());
}

std::optional<APInt> getIntegerConstant(Value value) {
  value = stripBroadcast(value);
  IntegerAttr scalar;
  if (matchPattern(value, m_Constant(&scalar)))
    return scalar.getValue();
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)) &&
      splat.getElementType().isIntOrIndex())
    return splat.getSplatValue<APInt>();
  return std::nullopt;
}

bool isUncut(tile::IndexOp indices, Value divisor) {
  std::optional<APInt> by = getIntegerConstant(divisor);
  if (!by || !by->isStrictlyPositive())
    return false;
  int64_t factor = knownFactor(indices.getBase(), /*limit=*/int64_t(1) << 31);
  return std::gcd(factor, by->getSExtValue()) >=
         indices.getType().getDimSize(0);
}

AffineMap getTensorShape(Value tensor) {
  if (auto workspace = tensor.getDefiningOp<attn::WorkspaceOp>())
    return workspace.getShape();
  auto argument = cast<BlockArgument>(tensor);
  attn::SignatureOpInterface program =
      cast<tile::ProgramOp>(argument.getOwner()->getParentOp());
  return program.getShape(argument);
}

bool isLoopIndex(Value value, scf::ForOp loop) {
  auto index = stripBroadcast(value).getDefiningOp<tile::IndexOp>();
  return index && tile::getBlockLoop(index) == loop;
}

/// The value of "n < N", N the upper bound of the loop that visits n, as this
/// comparison or its opposite; nothing if it is another one.
static std::optional<bool> matchTail(arith::CmpIOp op, bool tail) {
  Value n = stripBroadcast(op.getLhs()), bound = stripBroadcast(op.getRhs());
  auto predicate = op.getPredicate();
  using P = arith::CmpIPredicate;
  if (!n.getDefiningOp<tile::IndexOp>()) {
    std::swap(n, bound);
    predicate = predicate == P::sgt || predicate == P::ugt   ? P::slt
                : predicate == P::sle || predicate == P::ule ? P::sge
                                                             : P::eq;
  }
  auto index = n.getDefiningOp<tile::IndexOp>();
  auto iv = index ? dyn_cast<BlockArgument>(index.getBase()) : BlockArgument();
  auto loop =
      iv ? dyn_cast<scf::ForOp>(iv.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || iv != loop.getInductionVar())
    return std::nullopt;
  auto constant = getIntegerConstant(bound);
  auto upper = getIntegerConstant(loop.getUpperBound());
  if (bound != loop.getUpperBound() &&
      !(constant && upper && *constant == *upper))
    return std::nullopt;
  if (predicate == P::slt || predicate == P::ult)
    return tail;
  if (predicate == P::sge || predicate == P::uge)
    return !tail;
  return std::nullopt;
}

bool isMadeOfIntegers(Value value) {
  llvm::SmallPtrSet<Value, 16> seen;
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (isa<FloatType>(tile::getElementType(next.getType())) ||
        next.getDefiningOp<attn::RandomOp>())
      return false;
    if (auto load = next.getDefiningOp<tile::LoadOp>())
      llvm::append_range(open, load.getIndices());
    else if (Operation *op = next.getDefiningOp())
      llvm::append_range(open, op->getOperands());
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

Formula VisibilityAnalysis::getCondition(Value value) {
  value = stripBroadcast(value);
  if (Formula known = conditions.lookup(value))
    return known;
  Formula formula = computeCondition(value);
  return conditions[value] = formula;
}

Formula VisibilityAnalysis::computeCondition(Value value) {
  if (auto constant = getIntegerConstant(value))
    return formulas.get(!constant->isZero());
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned i) { return getCondition(op->getOperand(i)); };
  auto isTrueExactlyOnce = [&] {
    Formula a = operand(0), b = operand(1);
    return formulas.getSelect(a, formulas.getNot(b), b, false);
  };
  if (isa_and_nonnull<arith::AndIOp>(op))
    return formulas.getAnd(operand(0), operand(1));
  if (isa_and_nonnull<arith::OrIOp>(op))
    return formulas.getOr(operand(0), operand(1));
  if (isa_and_nonnull<arith::XOrIOp>(op))
    return isTrueExactlyOnce();
  if (isa_and_nonnull<arith::SelectOp>(op))
    return formulas.getSelect(operand(0), operand(1), operand(2), false);
  if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op)) {
    if (auto known = matchTail(compare, tail))
      return formulas.get(*known);
    if (tile::getElementType(compare.getLhs().getType()).isInteger(1)) {
      if (compare.getPredicate() == arith::CmpIPredicate::ne)
        return isTrueExactlyOnce();
      if (compare.getPredicate() == arith::CmpIPredicate::eq)
        return formulas.getNot(isTrueExactlyOnce());
    }
  }
  Formula atom = formulas.getAtom(value);
  auto compare = dyn_cast_or_null<arith::CmpFOp>(op);
  return compare ? getComparison(compare, atom) : atom;
}

/// A comparison of a float with a constant: `atom`, but for where it is known
/// to be 0 or infinite.
Formula VisibilityAnalysis::getComparison(arith::CmpFOp compare, Formula atom) {
  std::optional<APFloat> constant = getFloatConstant(compare.getRhs());
  if (!constant)
    return atom;
  FloatFacts facts = getFacts(compare.getLhs());
  auto decide = [&](Formula where, const APFloat &lhs) {
    atom = arith::applyCmpPredicate(compare.getPredicate(), lhs, *constant)
               ? formulas.getOr(atom, where)
               : formulas.getAnd(atom, formulas.getNot(where));
  };
  const llvm::fltSemantics &form = constant->getSemantics();
  decide(facts.zero, APFloat::getZero(form));
  decide(facts.minusInf, APFloat::getInf(form, /*Negative=*/true));
  decide(facts.plusInf, APFloat::getInf(form));
  return atom;
}

Formula VisibilityAnalysis::isInteger(Value value, const APInt &constant) {
  value = stripBroadcast(value);
  if (auto known = getIntegerConstant(value))
    return formulas.get(*known == constant);
  Operation *op = value.getDefiningOp();
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return formulas.getSelect(getCondition(select.getCondition()),
                              isInteger(select.getTrueValue(), constant),
                              isInteger(select.getFalseValue(), constant),
                              /*consensus=*/true);
  if (isa_and_nonnull<arith::ExtUIOp, arith::IndexCastUIOp>(op) &&
      tile::getElementType(op->getOperand(0).getType()).isInteger(1)) {
    Formula condition = getCondition(op->getOperand(0));
    return constant.isZero()  ? formulas.getNot(condition)
           : constant.isOne() ? condition
                              : formulas.get(false);
  }
  if (isa_and_nonnull<arith::MulIOp>(op) && constant.isZero())
    return formulas.getOr(isInteger(op->getOperand(0), constant),
                          isInteger(op->getOperand(1), constant));
  return formulas.get(false);
}

//===----------------------------------------------------------------------===//
// Reductions of a loop
//===----------------------------------------------------------------------===//

/// Whether two values of a loop's body are equal when the step changes no
/// carried value (a reference counts as the maximum it is of: a maximum of -inf
/// comes with accumulators of 0).
static bool isSameAtRest(Value a, Value b, scf::ForOp loop) {
  auto normalize = [&](Value value) {
    while (true) {
      value = stripBroadcast(value);
      if (auto ref = value.getDefiningOp<tile::RefOp>())
        value = ref.getOperand();
      else
        break;
    }
    for (auto [next, carried] :
         llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs()))
      if (next == value)
        return Value(carried);
    return value;
  };
  a = normalize(a);
  b = normalize(b);
  if (a == b)
    return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  return x && y && x->getName() == y->getName() &&
         x->getAttrDictionary() == y->getAttrDictionary() &&
         x->getNumRegions() == 0 && x->getNumOperands() > 0 && isPure(x) &&
         llvm::equal(x->getOperands(), y->getOperands(), [&](Value a, Value b) {
           return isSameAtRest(a, b, loop);
         });
}

/// Whether an exponent is 0 when the step changes no carried value.
static bool isZeroAtRest(Value value, scf::ForOp loop) {
  value = stripBroadcast(value);
  if (auto difference = value.getDefiningOp<arith::SubFOp>())
    return isSameAtRest(difference.getLhs(), difference.getRhs(), loop);
  if (auto product = value.getDefiningOp<arith::MulFOp>())
    return isZeroAtRest(product.getLhs(), loop) ||
           isZeroAtRest(product.getRhs(), loop);
  return false;
}

/// x if `value` is 1 / x, or 0 where x is 0.
static Value getInverted(Value value) {
  value = stripBroadcast(value);
  if (auto select = value.getDefiningOp<arith::SelectOp>()) {
    auto zero = getFloatConstant(select.getTrueValue());
    auto compare =
        stripBroadcast(select.getCondition()).getDefiningOp<arith::CmpFOp>();
    Value x = getInverted(select.getFalseValue());
    bool guards = zero && zero->isZero() && compare && x &&
                  compare.getPredicate() == arith::CmpFPredicate::OEQ &&
                  stripBroadcast(compare.getLhs()) == x;
    return guards ? x : Value();
  }
  auto quotient = value.getDefiningOp<arith::DivFOp>();
  auto one = quotient ? getFloatConstant(quotient.getLhs()) : std::nullopt;
  return one && one->isExactlyValue(1.0) ? stripBroadcast(quotient.getRhs())
                                         : Value();
}

/// Whether a factor of a carried value is 1 when the step changes no carried
/// value: exp(max - ref(max')), l * (1 / l'), and products and roots of such.
/// (Where l is 0, so is what it rescales.)
static bool isOneAtRest(Value factor, scf::ForOp loop) {
  SmallVector<Value> open = {factor}, others;
  while (!open.empty()) {
    Value value = stripBroadcast(open.pop_back_val());
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<arith::MulFOp>(op))
      llvm::append_range(open, op->getOperands());
    else if (!(isa_and_nonnull<math::SqrtOp>(op) &&
               isOneAtRest(op->getOperand(0), loop)) &&
             !(isa_and_nonnull<math::ExpOp, math::Exp2Op>(op) &&
               isZeroAtRest(op->getOperand(0), loop)))
      others.push_back(value);
  }
  while (!others.empty()) {
    Value value = others.pop_back_val(), inverted = getInverted(value);
    auto *match = llvm::find_if(others, [&](Value other) {
      Value otherInverted = getInverted(other);
      return inverted
                 ? isSameAtRest(inverted, other, loop)
                 : otherInverted && isSameAtRest(otherInverted, value, loop);
    });
    if (match == others.end())
      return false;
    others.erase(match);
  }
  return true;
}

Formula VisibilityAnalysis::getHidden(scf::ForOp loop) {
  Formula hidden = formulas.get(true);
  for (auto [next, carried, init] :
       llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs(),
                       loop.getInits())) {
    Formula neutral = getHidden(next, carried, init);
    if (!neutral)
      return nullptr;
    hidden = formulas.getAnd(hidden, neutral);
  }
  return hidden;
}

/// Where what `next` adds to `carried` is neutral; null if `next` is not made
/// of `carried` by a reduction.
Formula VisibilityAnalysis::getHidden(Value next, BlockArgument carried,
                                      Value init) {
  if (next == carried)
    return formulas.get(true);
  Operation *op = next.getDefiningOp();
  auto loop = cast<scf::ForOp>(carried.getOwner()->getParentOp());
  if (!op || op->getBlock() != loop.getBody())
    return nullptr;
  if (auto dot = dyn_cast<tile::DotOp>(op)) {
    Formula rest =
        dot.getAcc() ? getHidden(dot.getAcc(), carried, init) : nullptr;
    return rest ? formulas.getAnd(rest,
                                  getProduct(dot.getLhs(), dot.getRhs()).zero)
                : nullptr;
  }
  if (auto product = dyn_cast<arith::MulFOp>(op)) {
    for (auto [value, factor] : {std::pair(product.getLhs(), product.getRhs()),
                                 std::pair(product.getRhs(), product.getLhs())})
      if (Formula rest = getHidden(value, carried, init))
        return isOneAtRest(factor, loop) ? rest : nullptr;
    return nullptr;
  }
  if (!isa<arith::AddFOp, arith::MaximumFOp, arith::MaxNumFOp,
           arith::MinimumFOp, arith::MinNumFOp, arith::OrIOp, arith::AndIOp,
           arith::AddIOp, arith::MaxSIOp, arith::MinSIOp>(op))
    return nullptr;
  for (unsigned i : {0u, 1u})
    if (Formula rest = getHidden(op->getOperand(i), carried, init))
      return formulas.getAnd(rest, getNeutral(op, op->getOperand(1 - i), init));
  return nullptr;
}

/// Where adding `contribution` to a carried value by `combiner` changes
/// nothing. Reductions along the loop's axis stand for their operand: a block
/// is left out only if all of it is hidden.
Formula VisibilityAnalysis::getNeutral(Operation *combiner, Value contribution,
                                       Value init) {
  if (isa<arith::AddFOp>(combiner))
    return getVanishing(contribution);
  Value operand = stripBroadcast(contribution);
  if (auto reduce = operand.getDefiningOp<tile::ReduceOp>())
    operand = stripBroadcast(reduce.getOperand());
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(combiner))
    return getFacts(operand).minusInf;
  if (isa<arith::MinimumFOp, arith::MinNumFOp>(combiner))
    return getFacts(operand).plusInf;
  if (tile::getElementType(operand.getType()).isInteger(1)) {
    Formula condition = getCondition(operand);
    return isa<arith::AndIOp>(combiner) ? condition
                                        : formulas.getNot(condition);
  }
  if (isa<arith::AddIOp>(combiner))
    return isInteger(
        operand,
        APInt::getZero(tile::getElementType(operand.getType()).isIndex()
                           ? IndexType::kInternalStorageBitWidth
                           : tile::getElementType(operand.getType())
                                 .getIntOrFloatBitWidth()));
  auto start = getIntegerConstant(init);
  return start && isa<arith::MaxSIOp, arith::MinSIOp>(combiner)
             ? isInteger(operand, *start)
             : formulas.get(false);
}

/// Where a term of a sum is 0.
Formula VisibilityAnalysis::getVanishing(Value term) {
  term = stripBroadcast(term);
  if (auto reduce = term.getDefiningOp<tile::ReduceOp>();
      reduce && reduce.getKind() == attn::ReduceKind::Sum)
    return getFacts(reduce.getOperand()).zero;
  if (auto dot = term.getDefiningOp<tile::DotOp>(); dot && !dot.getAcc())
    return getProduct(dot.getLhs(), dot.getRhs()).zero;
  if (auto sum = term.getDefiningOp<arith::AddFOp>())
    return formulas.getAnd(getVanishing(sum.getLhs()),
                           getVanishing(sum.getRhs()));
  if (auto product = term.getDefiningOp<arith::MulFOp>()) {
    auto vanishes = [&](Value value, Value factor) {
      return formulas.getAnd(getVanishing(value),
                             formulas.getNot(getJ(getFacts(factor))));
    };
    // One side only: that a product of two reductions vanishes does not follow
    // from every element's vanishing in one or the other.
    Formula lhs = vanishes(product.getLhs(), product.getRhs());
    return lhs->isFalse() ? vanishes(product.getRhs(), product.getLhs()) : lhs;
  }
  return getFacts(term).zero;
}

//===----------------------------------------------------------------------===//
// Mask conditions
//===----------------------------------------------------------------------===//

void forEachForced(Value condition, bool visible, bool strips,
                   llvm::function_ref<void(MaskCondition)> visit) {
  if (strips)
    condition = stripBroadcast(condition);
  Operation *op = condition.getDefiningOp();
  if (visible ? isa_and_nonnull<arith::AndIOp>(op)
              : isa_and_nonnull<arith::OrIOp>(op)) {
    for (Value part : op->getOperands())
      forEachForced(part, visible, strips, visit);
    return;
  }
  if (isa_and_nonnull<arith::XOrIOp>(op)) {
    for (unsigned i : {0u, 1u})
      if (auto constant = getIntegerConstant(op->getOperand(i)))
        return forEachForced(op->getOperand(1 - i),
                             visible == constant->isZero(), strips, visit);
  }
  visit({condition, visible});
}

SmallVector<MaskCondition>
VisibilityAnalysis::getMaskConditions(scf::ForOp loop) {
  SmallVector<MaskCondition> conditions;
  auto add = [&](MaskCondition part) {
    auto compare = part.value.getDefiningOp<arith::CmpIOp>();
    bool isKnown = llvm::any_of(conditions, [&](const MaskCondition &known) {
      return known.value == part.value && known.visible == part.visible;
    });
    if (!isKnown && !getIntegerConstant(part.value) &&
        !(compare && matchTail(compare, tail)) && isMadeOfIntegers(part.value))
      conditions.push_back(part);
  };
  loop.getBody()->walk([&](arith::SelectOp select) {
    if (!isa<FloatType>(tile::getElementType(select.getType())))
      return;
    FloatFacts a = getFacts(select.getTrueValue());
    FloatFacts b = getFacts(select.getFalseValue());
    // -inf hides more surely than 0: `s + where(k, 0, -inf)` is a mask too.
    for (auto neutral :
         {&FloatFacts::minusInf, &FloatFacts::plusInf, &FloatFacts::zero}) {
      bool hidesTrue = (a.*neutral)->isTrue(),
           hidesFalse = (b.*neutral)->isTrue();
      if (hidesTrue != hidesFalse)
        return forEachForced(select.getCondition(), hidesFalse,
                             /*strips=*/true, add);
      if (hidesTrue)
        return;
    }
  });
  return conditions;
}

} // namespace attentile
