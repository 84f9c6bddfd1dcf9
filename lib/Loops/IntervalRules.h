//===- IntervalRules.h - intervals of numbers, or of values -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows for a sum, a difference, an absolute value, a remainder and a
// comparison from the least and the largest that their operands can be. The
// compiler asks with numbers what a mask shows of all blocks (SeenColumns), and
// emits the same of values, for the kernel to ask of one (GroupTruth): what the
// first proves the second finds.
//
// `Arithmetic` has a Bound and a Truth, add, subtract, min, max and number of
// bounds, select(Truth, Bound, Bound), is(predicate, Bound, Bound) and
// both/either of truths.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_INTERVALRULES_H
#define ATTENTILE_LOOPS_INTERVALRULES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <optional>

namespace attentile {

template <typename Arithmetic> class IntervalRules {
public:
  using Bound = typename Arithmetic::Bound;
  using Truth = typename Arithmetic::Truth;
  using P = mlir::arith::CmpIPredicate;
  struct Range {
    Bound lo, hi;
  };

  explicit IntervalRules(Arithmetic arithmetic) : on(arithmetic) {}

  /// Of a sum, a difference or an absolute value (`b` is not looked at).
  Range combine(mlir::Operation *op, Range a, Range b) {
    if (mlir::isa<mlir::arith::AddIOp>(op))
      return {on.add(a.lo, b.lo), on.add(a.hi, b.hi)};
    if (mlir::isa<mlir::arith::SubIOp>(op))
      return {on.subtract(a.lo, b.hi), on.subtract(a.hi, b.lo)};
    // |x|: from the end nearer to 0, or 0 between them, to the farther one.
    Bound zero = on.number(0);
    Bound above = on.max(a.lo, on.subtract(zero, a.hi));
    return {on.max(above, zero), on.max(on.subtract(zero, a.lo), a.hi)};
  }
  static bool canCombine(mlir::Operation *op) {
    return mlir::isa_and_nonnull<mlir::arith::AddIOp, mlir::arith::SubIOp,
                                 mlir::math::AbsIOp>(op);
  }

  /// Of the remainders by a positive number of `span` + 1 that follow each
  /// other, the first of which has the remainder `first`: of an interval that
  /// no multiple cuts, else all that there are. No sum but of what fits 32
  /// bits, where the divisor does.
  Range getRemainders(Bound first, Bound span, Bound by) {
    Bound lastUncut = on.subtract(on.subtract(by, on.number(1)), span);
    return {on.select(on.is(P::sle, first, lastUncut), first, on.number(0)),
            on.add(on.min(first, lastUncut), span)};
  }

  /// Whether a comparison surely holds of all of both; nothing for one without
  /// sign.
  std::optional<Truth> getSure(P predicate, Range a, Range b) {
    switch (predicate) {
    case P::eq:
      return on.both(on.is(P::sle, a.hi, b.lo), on.is(P::sle, b.hi, a.lo));
    case P::ne:
      return on.either(on.is(P::slt, a.hi, b.lo), on.is(P::slt, b.hi, a.lo));
    case P::sgt:
    case P::sge:
      return on.is(predicate, a.lo, b.hi);
    case P::slt:
    case P::sle:
      return on.is(predicate, a.hi, b.lo);
    default:
      return std::nullopt;
    }
  }

private:
  Arithmetic on;
};

} // namespace attentile

#endif
