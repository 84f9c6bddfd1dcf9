//===- Terms.h - exponentials, row values and a factor ----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_TERMS_H
#define ATTENTILE_LIB_LOOPS_TERMS_H

#include "Expressions.h"

namespace attentile::fusion {

/// exp(kappa * a); `a` changes along the loop and has no hot statistic.
struct Exponential {
  double kappa;
  Expr *a;
  bool operator==(const Exponential &) const = default;
};

/// weight * prod(numerators) / prod(denominators) * exp(sum of `shifts`)
///   * prod(exponentials) * factor   where `kept`, else `otherwise`.
struct Term {
  double weight = 1;
  llvm::SmallVector<Expr *> numerators, denominators; ///< row values: c
  /// lc: multiples of row values.
  llvm::SmallVector<std::pair<double, Expr *>> shifts;
  llvm::SmallVector<Exponential> exponentials;
  Expr *factor = nullptr;    ///< g; null: 1
  Expr *kept = nullptr;      ///< a row's condition; null: always
  Expr *otherwise = nullptr; ///< 0 times what is NaN or infinite; null: 0
  /// Where not `kept` or not `present`, the sum without c is the term's too: of
  /// zeros times a factor that may be infinite.
  bool sumsOtherwise = false;
  /// Where an element is false here it is 0 whatever the row values are; null:
  /// nowhere.
  Expr *present = nullptr;
};

/// Makes the term's elements 0 where a row's condition is false.
void zeroUnless(Graph &graph, Term &term, Expr *condition);

/// Lets a term's sum stand for it where it is not kept or present, if a factor
/// that it is multiplied by, null for 1, divides by what may be 0:
/// where(c, p, 0) / x is NaN there.
void sumOtherwise(Graph &graph, Term &term, const Expr *factor);

/// The product of two terms; of `factor` only one may be set unless `join`
/// multiplies them.
Term multiply(Graph &graph, Term a, Term b, bool joinFactors);

/// The row value numerators / denominators * weight, or null if it is 1.
Expr *rowFactor(Graph &graph, const Term &term, mlir::Location loc);

/// Lets half of a large or tiny gain multiply the factor, and half the sum. A
/// factor may fit f16 with all of it alone, as 1e5 * (p / z) does for a z of
/// 1e5, or without it alone; with half of it little is lost of either.
void shareGain(Graph &graph, Term &term);

} // namespace attentile::fusion

#endif
