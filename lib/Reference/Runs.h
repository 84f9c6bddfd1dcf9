//===- Runs.h - roundings of sums whose terms agree -------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_REFERENCE_RUNS_H
#define ATTENTILE_LIB_REFERENCE_RUNS_H

#include <algorithm>
#include <cmath>

namespace attentile::reference {

/// Runs of equal terms of a sum, in order; zeros, which round nothing, are none
/// and end none.
class Runs {
public:
  void add(double term) {
    if (term == 0)
      return;
    if (term != last) {
      ended += length * length;
      length = 0;
      last = term;
    }
    ++length;
  }
  /// The squares of their lengths, added up: the number of terms if all differ.
  double squares() const { return ended + length * length; }

private:
  double last = 0, length = 0, ended = 0;
};

/// How many roundings u sum |x| of an f32 sum of so many terms may make up, in
/// any order: 4 sqrt(k) as of roundings that are random; those of equal terms
/// have one direction, so that a run counts as one of its length. Never more
/// than k because of that.
inline double roundingsOf(double terms, double squares) {
  return std::max(4 * std::sqrt(terms),
                  std::min(terms, 4 * std::sqrt(squares)));
}

} // namespace attentile::reference

#endif
