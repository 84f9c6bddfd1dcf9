//===- IntervalAlgebra.cpp - unions of intervals with run-time bounds
//------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntervalSets.h"
#include "VisibilityFormula.h"

using namespace mlir;

namespace attentile {

static bool isWhole(const Interval &interval) {
  return !interval.lo && !interval.hi;
}

/// Makes `interval` empty unless `guard`.
void IntervalAlgebra::addGuard(Interval &interval, Value guard) {
  if (isWhole(interval))
    interval.guard =
        interval.guard ? index.logicalAnd(interval.guard, guard) : guard;
  else if (interval.hi)
    interval.hi = index.select(guard, interval.hi, index.constant(-1));
  else
    interval.lo = index.select(guard, interval.lo, extent);
}

IntervalSet IntervalAlgebra::allIf(Value guard) {
  if (auto constant = getIntegerConstant(guard))
    return constant->isZero() ? IntervalSet() : all();
  return {Interval{{}, {}, guard}};
}

Interval IntervalAlgebra::intersect(const Interval &a, const Interval &b) {
  Interval result;
  result.lo = a.lo && b.lo ? index.maximum(a.lo, b.lo) : a.lo ? a.lo : b.lo;
  result.hi = a.hi && b.hi ? index.minimum(a.hi, b.hi) : a.hi ? a.hi : b.hi;
  for (Value guard : {a.guard, b.guard})
    if (guard)
      addGuard(result, guard);
  return result;
}

IntervalSet IntervalAlgebra::intersect(const IntervalSet &a,
                                       const IntervalSet &b) {
  IntervalSet result;
  for (const Interval &x : a)
    for (const Interval &y : b)
      result.push_back(intersect(x, y));
  return simplify(std::move(result));
}

IntervalSet IntervalAlgebra::unite(const IntervalSet &a, const IntervalSet &b) {
  IntervalSet result = a;
  llvm::append_range(result, b);
  return simplify(std::move(result));
}

IntervalSet IntervalAlgebra::simplify(IntervalSet set) {
  Value guard;
  Interval below, above;
  IntervalSet bands;
  for (const Interval &piece : set) {
    if (isWhole(piece)) {
      if (!piece.guard)
        return all();
      guard = guard ? index.logicalOr(guard, piece.guard) : piece.guard;
    } else if (!piece.lo) {
      below.hi = below.hi ? index.maximum(below.hi, piece.hi) : piece.hi;
    } else if (!piece.hi) {
      above.lo = above.lo ? index.minimum(above.lo, piece.lo) : piece.lo;
    } else if (!isProvablyAtLeast(piece.lo, piece.hi, 1)) {
      bands.push_back(piece);
    }
  }
  // A half line that a band provably touches grows to the band's end; if the
  // band is empty, its end is not beyond.
  IntervalSet separate;
  for (const Interval &band : bands) {
    auto covers = [&](const Interval &other) {
      return isProvablyAtLeast(band.lo, other.lo) &&
             isProvablyAtLeast(other.hi, band.hi);
    };
    if (below.hi && isProvablyAtLeast(below.hi, band.lo, -1))
      below.hi = index.maximum(below.hi, band.hi);
    else if (above.lo && isProvablyAtLeast(band.hi, above.lo, -1))
      above.lo = index.minimum(above.lo, band.lo);
    else if (llvm::none_of(separate, covers))
      separate.push_back(band);
  }
  if (below.hi && above.lo && isProvablyAtLeast(below.hi, above.lo, -1))
    return all();
  IntervalSet result;
  if (below.hi)
    result.push_back(below);
  llvm::append_range(result, separate);
  if (above.lo)
    result.push_back(above);
  if (!guard)
    return result;
  if (result.empty())
    return allIf(guard);
  // Everything, or what is there: one of the pieces may as well grow.
  Interval &first = result.front();
  if (first.lo)
    first.lo = index.select(guard, index.constant(0), first.lo);
  if (first.hi)
    first.hi = index.select(guard, index.add(extent, -1), first.hi);
  return result;
}

} // namespace attentile
