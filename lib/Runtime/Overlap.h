//===- Overlap.h - whether strided tensors share memory ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_RUNTIME_OVERLAP_H
#define ATTENTILE_LIB_RUNTIME_OVERLAP_H

#include "Manifest.h"

namespace attentile::runtime {

/// Where a tensor's elements lie: the first at `origin`, an element every
/// stride (bytes) along dimensions of more than one element. `low` and `high`
/// bound the bytes, `high` excluded. Without elements: no bytes.
struct Extent {
  uint64_t origin, low, high;
  unsigned bytes; // of an element
  unsigned rank;
  int64_t sizes[kMaxRank], strides[kMaxRank];
};

/// Fills an extent; false if it leaves the 64-bit address space.
bool makeExtent(uint64_t origin, unsigned elementBytes, unsigned rank,
                const int64_t *sizes, const int64_t *strides, Extent &extent);

/// Whether two elements of one tensor share a byte.
bool overlapsItself(const Extent &extent);

/// Whether an element of one shares a byte with one of the other. Interleaved
/// tensors (slices of one packed tensor) do not. Where finding out takes too
/// many steps the answer is yes.
bool overlap(const Extent &a, const Extent &b);

} // namespace attentile::runtime

#endif
