//===- Terms.cpp - exponentials, row values and a factor ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A formula gives NaN where 0 meets what is infinite: where(c, p, 0) / x for an
// x of 0. So a term that is 0 for some rows or elements remembers what it was
// multiplied by since.
//
//===----------------------------------------------------------------------===//

#include "Terms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace attentile::fusion {

/// Whether the statistics of a row may make the term infinite or NaN.
static bool dependsOnStatistics(const Term &term) {
  auto depends = [](const Expr *x) { return x->statistics.any(); };
  return !term.shifts.empty() || llvm::any_of(term.numerators, depends) ||
         llvm::any_of(term.denominators, depends);
}

/// Where the product of two terms is not surely 0. A factor that statistics
/// make NaN spoils another's 0.
static Expr *presence(Graph &graph, const Term &a, const Term &b) {
  if (!dependsOnStatistics(b))
    return a.present;
  if (!dependsOnStatistics(a))
    return b.present;
  return a.present && b.present
             ? graph.make<arith::OrIOp>({a.present, b.present})
             : nullptr;
}

static bool mayBeZero(const Expr *x) { return constantOf(x).value_or(0) == 0; }

/// Whether a value may be infinite or NaN though what it is computed from is
/// finite: it divides, or takes a logarithm.
static bool mayDivideByZero(const Expr *x) {
  SmallVector<const Expr *> stack{x};
  llvm::SmallPtrSet<const Expr *, 16> seen;
  while (!stack.empty()) {
    const Expr *next = stack.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if ((next->is<arith::DivFOp>() && mayBeZero(next->operands[1])) ||
        next->is<math::RsqrtOp>() || next->is<math::LogOp>() ||
        next->is<math::Log2Op>() || next->is<math::PowFOp>())
      return true;
    llvm::append_range(stack, next->operands);
  }
  return false;
}

/// What the term makes of another's 0: 0 times its row values, or null where
/// they are finite if what they are computed from is.
static Expr *timesZero(Graph &graph, const Term &term, Location loc) {
  if (!dependsOnStatistics(term) && std::isfinite(term.weight) &&
      llvm::none_of(term.numerators, mayDivideByZero) &&
      llvm::none_of(term.denominators, mayBeZero))
    return nullptr;
  Expr *result = graph.constant(0, loc);
  if (Expr *row = rowFactor(graph, term, loc))
    result = graph.make<arith::MulFOp>({result, row});
  for (auto &[_, shift] : term.shifts)
    result = graph.make<arith::MulFOp>({result, shift});
  return result;
}

/// The product of two terms where they are not both kept.
static Expr *otherwise(Graph &graph, const Term &a, const Term &b) {
  Location loc = (a.kept ? a.kept : b.kept)->loc;
  Expr *result = nullptr;
  for (const Term *term : {&a, &b}) {
    const Term *other = term == &a ? &b : &a;
    Expr *factor = term->otherwise;
    if (!term->kept) {
      factor = timesZero(graph, *term, loc);
    } else if (other->kept && other->kept != term->kept) {
      Expr *kept = timesZero(graph, *term, loc);
      Expr *zero = graph.constant(0, loc);
      if (kept || factor)
        factor = graph.select(term->kept, kept ? kept : zero,
                              factor ? factor : zero);
    }
    if (factor)
      result = result ? graph.make<arith::MulFOp>({result, factor}) : factor;
  }
  return result;
}

void zeroUnless(Graph &graph, Term &term, Expr *condition) {
  Location loc = condition->loc;
  for (Exponential &exponential : term.exponentials)
    exponential.a = graph.select(
        condition, exponential.a,
        graph.constant(-std::numeric_limits<double>::infinity(), loc));
  if (term.factor || term.exponentials.empty())
    term.factor = graph.select(
        condition, term.factor ? term.factor : graph.constant(1, loc),
        graph.constant(0, loc));
}

void sumOtherwise(Graph &graph, Term &term, const Expr *factor) {
  if ((!term.kept && !term.present) || term.sumsOtherwise || !factor ||
      !mayDivideByZero(factor))
    return;
  term.sumsOtherwise = true;
  if (term.kept)
    zeroUnless(graph, term, term.kept);
}

Term multiply(Graph &graph, Term a, Term b, bool joinFactors) {
  sumOtherwise(graph, a, b.factor);
  sumOtherwise(graph, b, a.factor);
  Term result = a;
  result.sumsOtherwise |= b.sumsOtherwise;
  result.present = presence(graph, a, b);
  if (a.kept || b.kept)
    result.otherwise = otherwise(graph, a, b);
  result.weight *= b.weight;
  llvm::append_range(result.numerators, b.numerators);
  llvm::append_range(result.denominators, b.denominators);
  llvm::append_range(result.shifts, b.shifts);
  if (joinFactors) {
    llvm::append_range(result.exponentials, b.exponentials);
    if (a.factor && b.factor)
      result.factor = graph.make<arith::MulFOp>({a.factor, b.factor});
    else if (b.factor)
      result.factor = b.factor;
  }
  if (a.kept && b.kept && a.kept != b.kept)
    result.kept = graph.make<arith::AndIOp>({a.kept, b.kept});
  else if (b.kept)
    result.kept = b.kept;
  return result;
}

Expr *rowFactor(Graph &graph, const Term &term, Location loc) {
  Expr *result = nullptr;
  auto times = [&](Expr *x) {
    result = result ? graph.make<arith::MulFOp>({result, x}) : x;
  };
  if (term.weight != 1)
    times(graph.constant(term.weight, loc));
  for (Expr *x : term.numerators)
    times(x);
  for (Expr *x : term.denominators)
    result = graph.make<arith::DivFOp>(
        {result ? result : graph.constant(1, loc), x});
  return result;
}

void shareGain(Graph &graph, Term &term) {
  constexpr int kLarge = 8; // 256 times, or a 256th
  const Expr *factor = term.factor;
  while (factor && factor->is<arith::ExtFOp>())
    factor = factor->operands[0];
  if (!factor || factor->is<tile::LoadOp>() || term.weight == 0 ||
      !std::isfinite(term.weight))
    return;
  int exponent = std::ilogb(term.weight);
  if (std::abs(exponent) < kLarge)
    return;
  double half = std::ldexp(1.0, exponent / 2);
  term.weight /= half;
  term.factor = graph.make<arith::MulFOp>(
      {term.factor, graph.constant(half, term.factor->loc)});
}

} // namespace attentile::fusion
