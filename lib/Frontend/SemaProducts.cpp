//===- SemaProducts.cpp - which sums are matrix products ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LANGUAGE, section 2, "Products". sum[k](x * y) is a matrix product if x and y
// share k and each has an axis that the other lacks. The multiplication under
// the sum is taken apart into factors, through lets:
//
//   sum[d](scale * Q * K)     factors without d leave the sum: scale * sum(Q*K)
//   sum[d](Q * k * rsqrt(sum[d](k * k)))
//                             unless k is projected: both are made once
//   sum[n](p * w * V)         p(m,n), w(n), V(n,e): w joins the computed side
//   sum[n]((p - l*r) * V)     p, r of two softmaxes: sum(p*V) - l*sum(r*V)
//   sum[d, f](Q * W * K)      Q(m,d), W(d,f), K(n,f): sum[f](sum[d](Q*W) * K)
//   sum[n](where(c, V, 0))    c(m,n), V(n,e), a read: where(c, 1, 0) * V
//
// and put together again as (left side) * (right side), which is what the
// attn dialect's `product` reads its two factors from.
//
//===----------------------------------------------------------------------===//

#include "Sema.h"

using namespace attentile;
using namespace attentile::frontend;

using Factors = llvm::SmallVector<const TypedExpr *, 4>;

/// More factors are no product anybody writes.
static constexpr unsigned maxFactors = 12;

/// How often a sum may be split into sums, each with half of it.
static constexpr unsigned kBudget = 8;

/// Takes a multiplication apart; false if it has too many factors.
static bool flatten(const TypedExpr *expr, Factors &factors) {
  if (expr->op != TypedExpr::Mul) {
    factors.push_back(expr);
    return factors.size() <= maxFactors;
  }
  return flatten(expr->operands[0], factors) &&
         flatten(expr->operands[1], factors);
}

/// The memory type of a read factor: an element or a cast of one.
static std::optional<ElementType> readType(const TypedExpr *factor,
                                           const CheckedKernel &kernel) {
  switch (factor->op) {
  case TypedExpr::Read:
    return kernel.ins[factor->id].type;
  case TypedExpr::IntToFloat:
    return readType(factor->operands[0], kernel);
  case TypedExpr::Round:
    if (readType(factor->operands[0], kernel))
      return factor->element;
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

static uint8_t sixteenBit(ElementType type) {
  return type == ElementType::BF16  ? readsBF16
         : type == ElementType::F16 ? readsF16
                                    : 0;
}

static bool isEightBit(std::optional<ElementType> type) {
  return type == ElementType::I8 || type == ElementType::F8E4M3 ||
         type == ElementType::F8E5M2;
}

/// The type in which the factors of a product enter. An 8-bit number enters as
/// bf16, which holds every one; so does one beside another of its type.
static ElementType productType(const TypedExpr *x, const TypedExpr *y,
                               const CheckedKernel &kernel) {
  auto readX = readType(x, kernel), readY = readType(y, kernel);
  uint8_t wide = x->reads16 | y->reads16;
  for (auto read : {readX, readY})
    if (read)
      wide |= sixteenBit(*read);
  ElementType only = wide == readsBF16  ? ElementType::BF16
                     : wide == readsF16 ? ElementType::F16
                                        : ElementType::F32;
  if (readX && readY && *readX == *readY)
    return sixteenBit(*readX)  ? *readX
           : isEightBit(readX) ? ElementType::BF16
                               : ElementType::F32;
  if ((isEightBit(readX) && !readY) || (isEightBit(readY) && !readX))
    return ElementType::BF16;
  for (auto read : {readX, readY})
    if (read && sixteenBit(*read))
      return only; // f32 if another 16-bit type takes part
  return readX || readY ? ElementType::F32 : only;
}

namespace {
/// The two factors of a matrix product, each still a list.
struct Sides {
  Factors left, right;
};
} // namespace

/// Whether two factors have all that is summed, and each an axis of its own.
static bool isCrossed(const TypedExpr &left, const TypedExpr &right,
                      AxisSet bound) {
  return left.axes & ~right.axes && right.axes & ~left.axes &&
         (left.axes & right.axes & bound) == bound;
}

/// Splits the factors at two that can be the sides' first; every other one
/// must have one side's axes.
static std::optional<Sides> split(AxisSet bound,
                                  llvm::ArrayRef<const TypedExpr *> factors,
                                  const CheckedKernel &kernel) {
  for (size_t i = 0; i < factors.size(); ++i)
    for (size_t j = i + 1; j < factors.size(); ++j) {
      AxisSet left = factors[i]->axes, right = factors[j]->axes;
      if (!isCrossed(*factors[i], *factors[j], bound))
        continue;
      // A read that is multiplied by nothing can go to memory's own type.
      bool leftIsRead = readType(factors[i], kernel).has_value();
      Sides sides;
      bool fits = true;
      for (size_t k = 0; k < factors.size() && fits; ++k) {
        AxisSet axes = factors[k]->axes;
        bool inLeft = !(axes & ~left), inRight = !(axes & ~right);
        bool toLeft = inLeft && (!inRight || !leftIsRead);
        if (k == i || (k != j && toLeft))
          sides.left.push_back(factors[k]);
        else if (k == j || inRight)
          sides.right.push_back(factors[k]);
        else
          fits = false;
      }
      if (fits)
        return sides;
    }
  return std::nullopt;
}

const TypedExpr *Sema::multiply(llvm::ArrayRef<const TypedExpr *> factors,
                                SourceRange range) {
  const TypedExpr *result = nullptr;
  for (const TypedExpr *factor : factors) {
    result =
        result ? make(TypedExpr::Mul, ValueType::Float, range, {result, factor})
               : factor;
    if (!result)
      return nullptr;
  }
  return result;
}

/// (x +- y) * rest, with x and y of different softmaxes, as two products; null
/// if there is no such factor.
const TypedExpr *Sema::distribute(AxisSet bound,
                                  llvm::ArrayRef<const TypedExpr *> factors,
                                  SourceRange range, unsigned budget) {
  for (auto [i, factor] : llvm::enumerate(factors)) {
    if (factor->op != TypedExpr::Add && factor->op != TypedExpr::Sub)
      continue;
    const TypedExpr *x = factor->operands[0], *y = factor->operands[1];
    if (!x->softmaxes || !y->softmaxes || (x->softmaxes & y->softmaxes))
      continue;
    const TypedExpr *sums[2];
    for (unsigned side : {0, 1}) {
      Factors one(factors);
      one[i] = factor->operands[side];
      const TypedExpr *operand = multiply(one, range);
      sums[side] =
          operand ? product(bound, operand, range, budget / 2) : nullptr;
      if (!sums[side])
        return nullptr;
    }
    return make(factor->op, ValueType::Float, range, {sums[0], sums[1]});
  }
  return nullptr;
}

/// A sum of products of 8-bit integers as a matrix product of floats, exact as
/// long as it stays below 2^23: of 512 terms. Null if it is none.
const TypedExpr *Sema::byteProduct(AxisSet bound, const TypedExpr *operand,
                                   SourceRange range, unsigned budget) {
  Factors factors;
  if (!flatten(operand, factors) || factors.size() != 2)
    return nullptr;
  int64_t terms = 1;
  for (auto [i, index] : llvm::enumerate(kernel.indices))
    if (bound >> i & 1) {
      std::optional<int64_t> extent = kernel.evaluate(*index.extent);
      if (!extent || *extent > 512)
        return nullptr;
      terms *= *extent;
      if (terms > 512)
        return nullptr;
    }
  for (const TypedExpr *&factor : factors) {
    if (factor->op != TypedExpr::Read ||
        kernel.ins[factor->id].type != ElementType::I8)
      return nullptr;
    factor = toFloat(factor);
    if (!factor)
      return nullptr;
  }
  const TypedExpr *multiplied = multiply(factors, range);
  const TypedExpr *sum =
      multiplied ? product(bound, multiplied, range, budget) : nullptr;
  if (!sum)
    return nullptr;
  // To the nearest, as the bound of a float's sum counts roundings.
  const TypedExpr *half = make(TypedExpr::Add, ValueType::Float, range,
                               {sum, floatConst(0.5, range)});
  TypedExpr whole{};
  whole.op = TypedExpr::ToInt;
  whole.type = ValueType::Int;
  whole.element = ElementType::I32;
  whole.range = range;
  return node(whole, make(TypedExpr::Floor, ValueType::Float, range, half));
}

/// Whether a factor is projected, a sum for each of its elements: it is made
/// once then (SemaFactors.cpp).
static bool isProjected(const TypedExpr *factor, AxisSet bound) {
  while (factor->op == TypedExpr::Round)
    factor = factor->operands[0];
  return factor->op == TypedExpr::Sum && factor->reduced == factor->bound &&
         !(factor->bound & bound);
}

/// A product over several axes of which some factors lack one: what has that is
/// summed over it first. Null if that leaves no product either; not of weights,
/// whose own sums go with the product in one loop.
const TypedExpr *Sema::sumFirst(AxisSet bound,
                                llvm::ArrayRef<const TypedExpr *> factors,
                                SourceRange range, unsigned budget) {
  for (size_t i = 0; i < kernel.indices.size(); ++i) {
    const AxisSet axis = AxisSet(1) << i;
    if (!(bound & axis) || bound == axis)
      continue;
    Factors with, rest;
    for (const TypedExpr *factor : factors)
      (factor->axes & axis ? with : rest).push_back(factor);
    bool isPlain = llvm::all_of(with, [&](const TypedExpr *factor) {
      return factor->reduced == 0 || isProjected(factor, bound);
    });
    if (with.empty() || rest.empty() || !isPlain)
      continue;
    const TypedExpr *multiplied = multiply(with, range);
    const TypedExpr *first =
        multiplied ? sum(axis, multiplied, range) : nullptr;
    if (!first)
      return nullptr;
    rest.push_back(first);
    const TypedExpr *all = multiply(rest, range);
    if (!all)
      return nullptr;
    if (const TypedExpr *result =
            product(bound & ~axis, all, range, budget / 2))
      return result;
  }
  return nullptr;
}

/// A sum of a multiplication's two factors, a matrix product if each has an
/// axis that the other lacks.
const TypedExpr *Sema::sumOfFactors(AxisSet bound, const TypedExpr &multiplied,
                                    SourceRange range) {
  const TypedExpr *left = multiplied.operands[0],
                  *right = multiplied.operands[1];
  TypedExpr sum{};
  sum.op = TypedExpr::Sum;
  sum.type = ValueType::Float;
  sum.range = range;
  sum.bound = bound;
  sum.isProduct = isCrossed(*left, *right, bound);
  if (sum.isProduct)
    sum.element = productType(left, right, kernel);
  return node(sum, &multiplied);
}

/// The sum as matrix products, or null if it is none.
const TypedExpr *Sema::product(AxisSet bound, const TypedExpr *operand,
                               SourceRange range, unsigned budget) {
  if (budget != 0 && operand->type == ValueType::Int)
    return byteProduct(bound, operand, range, budget);
  Factors factors;
  if (budget == 0 || operand->type != ValueType::Float ||
      !flatten(operand, factors))
    return nullptr;
  Factors outer, inner;
  for (const TypedExpr *factor : factors)
    (factor->axes & bound ? inner : outer).push_back(factor);
  // What a projected factor is reduced to stays with it, as its norm.
  auto isOfInner = [&](const TypedExpr *factor) {
    return factor->reduced & bound &&
           llvm::any_of(inner, [&](const TypedExpr *other) {
             return !(factor->axes & ~other->axes) && isProjected(other, bound);
           });
  };
  Factors left;
  for (const TypedExpr *factor : outer)
    (isOfInner(factor) ? inner : left).push_back(factor);
  outer = left;
  if (inner.size() < 2)
    return nullptr;
  const TypedExpr *result = distribute(bound, inner, range, budget);
  auto sides = result ? std::nullopt : split(bound, inner, kernel);
  if (!result && !sides) {
    result = sumFirst(bound, inner, range, budget);
    if (!result)
      return nullptr;
  }
  if (!result) {
    const TypedExpr *left = multiply(sides->left, range);
    const TypedExpr *right = multiply(sides->right, range);
    if (!left || !right)
      return nullptr;
    // The multiplication as it was written stays, if its sides are the factors.
    const TypedExpr *multiplied =
        operand->op == TypedExpr::Mul && operand->operands[0] == left &&
                operand->operands[1] == right
            ? operand
            : make(TypedExpr::Mul, ValueType::Float, range, {left, right});
    result = multiplied ? sumOfFactors(bound, *multiplied, range) : nullptr;
  }
  if (!result || outer.empty())
    return result;
  outer.push_back(result);
  return multiply(outer, range);
}

/// What a sum's factor is under where(c, x, 0) or where(c, 0, x), and c or what
/// it must not be; null if it is neither.
static const TypedExpr *underCondition(const TypedExpr &factor) {
  auto isZero = [](const TypedExpr *value) {
    return value->op == TypedExpr::FloatConst && value->floatValue == 0;
  };
  if (factor.op != TypedExpr::Select || factor.type != ValueType::Float)
    return nullptr;
  return isZero(factor.operands[2])   ? factor.operands[1]
         : isZero(factor.operands[1]) ? factor.operands[2]
                                      : nullptr;
}

/// Whether a value is a matrix product, through memory or not.
static bool isMatrixProduct(const TypedExpr *value) {
  while (value->op == TypedExpr::Materialize)
    value = value->operands[0];
  return value->isProduct;
}

/// Takes conditions beside the factors of a multiplication, beside a read or a
/// matrix product, for factors: another computed value would be rounded. False
/// if there are none or too many.
static bool splitConditions(const CheckedKernel &kernel, Factors &factors,
                            Factors &conditions) {
  for (size_t i = 0; i < factors.size(); ++i)
    while (const TypedExpr *value = underCondition(*factors[i])) {
      const TypedExpr *innermost = value;
      while (const TypedExpr *next = underCondition(*innermost))
        innermost = next;
      Factors inner;
      if ((innermost->op != TypedExpr::Mul && !isMatrixProduct(innermost) &&
           !readType(innermost, kernel)) ||
          !flatten(value, inner))
        break;
      conditions.push_back(factors[i]);
      factors[i] = inner.front();
      factors.append(inner.begin() + 1, inner.end());
      if (factors.size() + conditions.size() > maxFactors)
        return false;
    }
  return !conditions.empty();
}

/// Whether factors are a matrix's, conditions or not: a product without them,
/// one that is summed again, or a read whose rows the sum does not run along. A
/// row's running sum, of all heads, is none: it would lose bits on tensor
/// cores.
static bool areOfMatrix(AxisSet bound, const Factors &factors,
                        const CheckedKernel &kernel) {
  auto isMatrix = [&](const TypedExpr *factor) {
    if (isMatrixProduct(factor))
      return true;
    if (!readType(factor, kernel))
      return false;
    while (factor->op != TypedExpr::Read)
      factor = factor->operands[0];
    return !(factor->operands.back()->axes & bound);
  };
  return llvm::any_of(factors, isMatrix) || split(bound, factors, kernel);
}

/// The same as matrix products, with conditions as factors of 1 and 0; null if
/// it is none.
const TypedExpr *Sema::productOfHidden(AxisSet bound, const TypedExpr *operand,
                                       SourceRange range) {
  Factors factors, conditions, around;
  if (operand->type != ValueType::Float || !flatten(operand, factors) ||
      !splitConditions(kernel, factors, conditions) ||
      !areOfMatrix(bound, factors, kernel))
    return nullptr;
  auto withValues = [&](const TypedExpr &hidden, const TypedExpr *value) {
    bool isFirst = underCondition(hidden) == hidden.operands[1];
    const TypedExpr *zero = hidden.operands[isFirst ? 2 : 1];
    return make(
        TypedExpr::Select, ValueType::Float, hidden.range,
        {hidden.operands[0], isFirst ? value : zero, isFirst ? zero : value});
  };
  for (const TypedExpr *hidden : conditions) {
    if (!(hidden->operands[0]->axes & bound)) {
      around.push_back(hidden);
      continue;
    }
    const TypedExpr *one = floatConst(1, hidden->range);
    const TypedExpr *factor = one ? withValues(*hidden, one) : nullptr;
    if (!factor)
      return nullptr;
    factors.insert(factors.begin(), factor);
  }
  const TypedExpr *multiplied = multiply(factors, range);
  const TypedExpr *result =
      multiplied ? product(bound, multiplied, range, kBudget) : nullptr;
  for (const TypedExpr *hidden : around)
    result = result ? withValues(*hidden, result) : nullptr;
  return result;
}

const TypedExpr *Sema::sum(AxisSet bound, const TypedExpr *operand,
                           SourceRange range) {
  const TypedExpr *result = product(bound, operand, range, kBudget);
  if (!result)
    result = productOfHidden(bound, operand, range);
  if (!result) {
    TypedExpr sum{};
    sum.op = TypedExpr::Sum;
    sum.type = operand->type;
    sum.range = range;
    sum.bound = bound;
    result = node(sum, operand);
  }
  if (result)
    writtenSums[result] = {bound, operand};
  return result;
}
