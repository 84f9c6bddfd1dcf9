//===- Decompose.h - sums of exponentials, term by term ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// softmax times V is sum[n](exp(s - r) / l * v), where r and l are reductions
// over the same n. It can be summed in one loop because the summand is
//
//   c * exp(lc) * exp(a(n)) * g(n)      c = 1 / l,  lc = -r,  a = s,  g = v
//
// in which what stands for the row, c and lc, may be applied when the loop is
// over, and exp(a(n)) may be taken against any reference, as long as it is put
// right afterwards. In general a summand is a list of such terms, each with
// several exponentials exp(kappa * a(n)), and kept or not by a row's
// condition. decompose() finds them, or says which operation stands in the
// way.
//
// Splitting a sum is algebra, not numerics. (s - mu) * p with a statistic mu
// of this loop would be sum(s * p) - mu * sum(p), two large numbers that
// cancel; such a sum is refused and waits until mu is known. So is p - 0.5 as a
// factor that a product rounds to 16 bits: p and 0.5 would be rounded, not
// their difference. Of two softmaxes it is not refused, as the language says.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_DECOMPOSE_H
#define ATTENTILE_LIB_LOOPS_DECOMPOSE_H

#include "Terms.h"

namespace attentile::fusion {

class Decomposer {
public:
  /// `hot`: the statistics that are not known before the loop. `over`: the
  /// axes that the sum binds. `isRef(stat, a)`: whether the statistic is the
  /// softmax reference of `a`. `rounds`: whether terms are rounded to fewer
  /// bits than f32 has.
  Decomposer(Graph &graph, const llvm::BitVector &hot, mlir::ArrayAttr over,
             llvm::function_ref<bool(const Expr *, const Expr *)> isReferenceOf,
             bool rounds)
      : graph(graph), hot(hot), over(over), isReferenceOf(isReferenceOf),
        rounds(rounds) {}

  /// The terms of `x`, at most 8. Without any: the sum is 0.
  mlir::FailureOr<std::vector<Term>> decompose(Expr *x);

  /// What stood in the way, and why.
  Expr *obstacle = nullptr;
  std::string reason;

private:
  using Terms = std::vector<Term>;
  using Result = mlir::FailureOr<Terms>;

  bool isHot(const Expr *x) const { return x->statistics.anyCommon(hot); }
  bool isRow(const Expr *x) const;
  bool holdsExponential(const Expr *x) const;
  void findSumsOfSoftmaxes(const Expr *x);
  Result fail(Expr *x, const char *why);

  Result visit(Expr *x, bool inExponent);
  Result sum(Expr *x, bool inExponent);
  Result quotient(Expr *x, bool inExponent);
  Result exponential(Expr *x, Expr *argument, double scale);
  Result logarithm(Expr *x);
  Result squareRoot(Expr *x);
  Result power(Expr *x);
  Result select(Expr *x);
  Result products(Expr *x, const Terms &a, const Terms &b);
  void keep(Term &term, Expr *condition);
  void mask(Term &term, Expr *condition);

  Graph &graph;
  const llvm::BitVector &hot;
  mlir::ArrayAttr over;
  llvm::function_ref<bool(const Expr *, const Expr *)> isReferenceOf;
  bool rounds;
  /// The factor, or sums that it is made of, whose terms are softmaxes.
  llvm::SmallPtrSet<const Expr *, 4> sumsOfSoftmaxes;
};

} // namespace attentile::fusion

#endif
