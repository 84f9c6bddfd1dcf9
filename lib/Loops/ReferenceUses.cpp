//===- ReferenceUses.cpp - what depends on a sum's reference --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of exp(a - r) is as good with one reference r as with another where
// what is stored is a quotient: moving r by x multiplies sum and divisor alike
// by exp(-x). Each value is a multiple of exp(-k r), k its degree:
//
//   l 1    acc 1    1 / l -1    acc * (1 / l) 0    l * u 1
//
// and what is stored, or compared with anything but 0, must be of degree 0. A
// loop that a kernel writes itself may store its sums as they are; then the
// maximum that they are relative to is part of the result.
//
//===----------------------------------------------------------------------===//

#include "RunningReductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>
#include <map>

using namespace mlir;

namespace attentile::fusion {

namespace {

/// Of each maximum, by number; absent: 0.
using Degree = std::map<unsigned, double>;

/// Nothing: no multiple of a power of references.
using MaybeDegree = std::optional<Degree>;

class DegreeFinder {
public:
  explicit DegreeFinder(const LoopNest &nest) : nest(nest) {}

  bool isFree(Expr *x) {
    MaybeDegree degree = find(x);
    return degree && degree->empty();
  }

private:
  static Degree combine(Degree a, const Degree &b, double sign) {
    for (auto [number, power] : b)
      if (double &sum = a[number] += sign * power; std::fabs(sum) < 1e-9)
        a.erase(number);
    return a;
  }

  MaybeDegree find(Expr *x) {
    if (auto known = degrees.find(x); known != degrees.end())
      return known->second;
    MaybeDegree degree = compute(x); // no value comes from itself
    degrees[x] = degree;
    return degree;
  }

  /// One degree for all of them; 0 has any.
  MaybeDegree common(ArrayRef<Expr *> values) {
    MaybeDegree result;
    for (Expr *value : values) {
      if (isZero(value))
        continue;
      MaybeDegree own = find(value);
      if (!own || (result && *result != *own))
        return std::nullopt;
      result = own;
    }
    return result ? result : Degree();
  }

  MaybeDegree product(Expr *x, Expr *y, double sign = 1) {
    MaybeDegree a = find(x), b = find(y);
    if (!a || !b)
      return std::nullopt;
    return combine(*a, *b, sign);
  }

  MaybeDegree compute(Expr *x);
  MaybeDegree ofStatistic(const Statistic &statistic);

  const LoopNest &nest;
  llvm::DenseMap<Expr *, MaybeDegree> degrees;
};

MaybeDegree DegreeFinder::ofStatistic(const Statistic &statistic) {
  if (statistic.isRunning) {
    Degree degree;
    for (auto [power, number] : statistic.powers)
      degree = combine(degree, {{number, power}}, 1);
    return degree;
  }
  return statistic.rhs ? product(statistic.lhs, statistic.rhs)
                       : find(statistic.lhs);
}

MaybeDegree DegreeFinder::compute(Expr *x) {
  if (!x->name) {
    for (const Statistic &statistic : nest.statistics)
      if (statistic.leaf == x)
        return ofStatistic(statistic);
    return Degree();
  }
  ArrayRef<Expr *> operands = x->operands;
  if (x->is<arith::MulFOp>())
    return product(operands[0], operands[1]);
  if (x->is<arith::DivFOp>())
    return product(operands[0], operands[1], -1);
  if (x->is<arith::CmpFOp>())
    return common(operands) ? MaybeDegree(Degree()) : std::nullopt;
  if (x->is<arith::SelectOp>())
    return isFree(operands[0]) ? common(operands.drop_front()) : std::nullopt;
  if (x->is<tile::DotOp>()) {
    MaybeDegree terms = product(operands[0], operands[1]);
    bool sameAsSum = operands.size() == 2 || isZero(operands[2]) ||
                     (terms && find(operands[2]) == terms);
    return sameAsSum ? terms : std::nullopt;
  }
  if (x->is<arith::AddFOp>() || x->is<arith::SubFOp>() ||
      x->is<arith::NegFOp>() || x->is<arith::ExtFOp>() ||
      x->is<arith::TruncFOp>() || x->is<tile::ReduceOp>())
    return common(operands);
  if (llvm::all_of(operands, [&](Expr *y) { return isFree(y); }))
    return Degree();
  return std::nullopt;
}

} // namespace

bool dependsOnReferences(const LoopNest &nest) {
  DegreeFinder finder(nest);
  for (const auto *stores : {&nest.stores, &nest.storesInLoops})
    for (const LoopNest::Store &store : *stores)
      for (Expr *operand : store.second)
        if (operand && !finder.isFree(operand))
          return true;
  return false;
}

} // namespace attentile::fusion
