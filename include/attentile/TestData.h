//===- TestData.h - tensors that can be drawn again -------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `attentile check` draws, and `attentile-run` draws again on a machine
// without the compiler, from a few numbers. No LLVM here.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TESTDATA_H
#define ATTENTILE_TESTDATA_H

#include "attentile/Tensor.h"
#include <utility>

namespace attentile {

/// SplitMix64 (Steele et al., 2014): small, fast, and the same everywhere.
struct Random {
  uint64_t state;

  uint64_t next();
  /// 0 to count - 1; 0 for a count of 0.
  int64_t below(int64_t count);
  /// Nearly normal, of deviation 1: the sum of four uniform numbers.
  double normal();
};

/// How the elements of a tensor are drawn, in row-major order.
struct Recipe {
  uint64_t seed = 0; ///< the state of Random before the first element
  bool integers = false;
  // Floats:
  double factor = 1;      ///< of normal numbers
  bool equalRows = false; ///< one row is drawn, and stands in all
  // Integers and bools:
  int64_t limit = 1;    ///< from 0 to limit - 1
  bool outside = false; ///< 5 % of them outside that range
  /// Elements that are set last, by row-major number.
  struct Patch {
    int64_t number;
    double value;
  };
  std::vector<Patch> patches;
};

/// Fills the elements of a tensor.
void draw(HostTensor &tensor, const Recipe &recipe);

/// The index of the element of a row-major number.
std::vector<int64_t> indexOf(int64_t number, const std::vector<int64_t> &sizes);

/// Memory of its own for a tensor of sizes and strides, also of negative ones:
/// sets data and offset. `sparse` takes address space alone, and may fail: data
/// is null then.
void giveMemory(HostTensor &tensor, bool sparse);

/// The bytes from a tensor's first element to its last, in memory order.
std::pair<uint8_t *, size_t> memoryOf(const HostTensor &tensor);

/// Whether a tensor spans more than is read or written as a whole.
bool isFar(const HostTensor &tensor);

/// What outputs hold before a kernel writes them: NaN in every float type.
inline constexpr uint8_t kPoison = 0xFF;

/// Fills an output's memory, elements and gaps, with that (where it is far, the
/// elements alone).
void poison(const HostTensor &tensor);

/// Whether the gaps between an output's elements are as poison left them.
/// Destroys the elements. Far tensors are not looked at.
bool gapsAreUntouched(const HostTensor &tensor);

/// |got - expected| against what is allowed; infinite where one is NaN or an
/// infinity that the other is not.
double errorRatio(double got, double expected, double allowed);

/// Row-major numbers of at most `most` elements of `count`, rising: all, or one
/// drawn of each of `most` equal parts.
std::vector<int64_t> sampleElements(int64_t count, int64_t most, uint64_t seed);

} // namespace attentile

#endif
