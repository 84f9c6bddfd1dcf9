//===- Overlap.cpp - whether strided tensors share memory -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two elements share a byte if their addresses differ by less than an element.
// The differences are all sums of t[k] * stride[k] with bounded integers t[k]
// (an index of one tensor or, of one tensor against itself, the difference of
// two indices). With the strides from large to small, at each stride only those
// t remain for which the smaller ones can make up the rest, mostly one or two.
// For example strides 6 and 2, each with t from -2 to 2, against themselves: a
// difference of 0 is 6 t + 2 u with t = 0, then u = 0: no two elements meet.
//
//===----------------------------------------------------------------------===//

#include "Overlap.h"
#include <algorithm>

namespace attentile::runtime {
namespace {

using Wide = __int128;

struct Term {
  int64_t stride;    // > 0
  int64_t low, high; // of t
};

/// A search for a sum within [low, high].
class Search {
public:
  void add(int64_t stride, int64_t low, int64_t high) {
    if (stride < 0)
      return add(-stride, -high, -low);
    terms[count++] = {stride, low, high};
  }

  /// The same, where only the sum matters: equal strides become one.
  void merge(int64_t stride, int64_t low, int64_t high) {
    if (stride < 0)
      return merge(-stride, -high, -low);
    for (unsigned i = 0; i < count; ++i)
      if (terms[i].stride == stride) {
        terms[i].low += low;
        terms[i].high += high;
        return;
      }
    add(stride, low, high);
  }

  /// `needsNonzero`: not the sum of which every t is 0.
  bool finds(Wide low, Wide high, bool needsNonzero) {
    std::sort(terms, terms + count,
              [](const Term &a, const Term &b) { return a.stride > b.stride; });
    reachLow[count] = reachHigh[count] = 0;
    for (unsigned i = count; i-- > 0;) {
      reachLow[i] = reachLow[i + 1] + Wide(terms[i].stride) * terms[i].low;
      reachHigh[i] = reachHigh[i + 1] + Wide(terms[i].stride) * terms[i].high;
    }
    return visit(0, low, high, needsNonzero);
  }

private:
  static Wide floorDiv(Wide a, Wide b) { return a / b - (a % b < 0); }

  bool visit(unsigned i, Wide low, Wide high, bool needsNonzero) {
    if (i == count)
      return low <= 0 && 0 <= high && !needsNonzero;
    if (--budget < 0)
      return true;
    // low <= t * stride + rest <= high for some rest within reach
    Wide stride = terms[i].stride;
    Wide first = -floorDiv(-(low - reachHigh[i + 1]), stride);
    Wide last = floorDiv(high - reachLow[i + 1], stride);
    first = std::max<Wide>(first, terms[i].low);
    last = std::min<Wide>(last, terms[i].high);
    for (Wide t = first; t <= last; ++t)
      if (visit(i + 1, low - t * stride, high - t * stride,
                needsNonzero && t == 0))
        return true;
    return false;
  }

  Term terms[2 * kMaxRank];
  Wide reachLow[2 * kMaxRank + 1], reachHigh[2 * kMaxRank + 1];
  unsigned count = 0;
  int budget = 10000;
};

} // namespace

bool makeExtent(uint64_t origin, unsigned elementBytes, unsigned rank,
                const int64_t *sizes, const int64_t *strides, Extent &extent) {
  extent.origin = extent.low = extent.high = origin;
  extent.bytes = elementBytes;
  extent.rank = 0;
  Wide low = 0, high = elementBytes;
  for (unsigned i = 0; i < rank; ++i) {
    if (sizes[i] == 0) {
      extent.rank = 0;
      return true;
    }
    if (sizes[i] == 1)
      continue;
    Wide reach = Wide(sizes[i] - 1) * strides[i] * elementBytes;
    (reach < 0 ? low : high) += reach;
    extent.sizes[extent.rank] = sizes[i];
    // Within 64 bits if the reach below is.
    extent.strides[extent.rank++] =
        static_cast<int64_t>(Wide(strides[i]) * elementBytes);
  }
  if (Wide(origin) + low < 0 || Wide(origin) + high > Wide(INT64_MAX))
    return false;
  extent.low = origin + static_cast<int64_t>(low);
  extent.high = origin + static_cast<int64_t>(high);
  return true;
}

bool overlapsItself(const Extent &extent) {
  // Each stride beyond what the smaller ones reach: the usual case.
  unsigned order[kMaxRank];
  auto size = [&](unsigned i) {
    return extent.strides[i] < 0 ? -extent.strides[i] : extent.strides[i];
  };
  for (unsigned i = 0; i < extent.rank; ++i) {
    unsigned k = i;
    for (; k > 0 && size(order[k - 1]) > size(i); --k)
      order[k] = order[k - 1];
    order[k] = i;
  }
  int64_t reach = extent.bytes;
  bool apart = true;
  for (unsigned k = 0; k < extent.rank; ++k) {
    unsigned i = order[k];
    if (size(i) == 0)
      return true;
    apart &= size(i) >= reach;
    reach += size(i) * (extent.sizes[i] - 1);
  }
  if (apart)
    return false;
  Search search;
  for (unsigned i = 0; i < extent.rank; ++i)
    search.add(extent.strides[i], 1 - extent.sizes[i], extent.sizes[i] - 1);
  int64_t within = extent.bytes - 1;
  return search.finds(-within, within, true);
}

bool overlap(const Extent &a, const Extent &b) {
  bool isEmpty = a.low == a.high || b.low == b.high;
  if (isEmpty || a.low >= b.high || b.low >= a.high)
    return false;
  // (a.origin + sum over a) - (b.origin + sum over b) within an element
  Search search;
  for (unsigned i = 0; i < a.rank; ++i)
    if (a.strides[i] != 0)
      search.merge(a.strides[i], 0, a.sizes[i] - 1);
  for (unsigned i = 0; i < b.rank; ++i)
    if (b.strides[i] != 0)
      search.merge(b.strides[i], 1 - b.sizes[i], 0);
  Wide apart = Wide(a.origin) - Wide(b.origin);
  // [x, x + a.bytes) meets [0, b.bytes)
  return search.finds(-Wide(a.bytes) + 1 - apart, Wide(b.bytes) - 1 - apart,
                      false);
}

} // namespace attentile::runtime
