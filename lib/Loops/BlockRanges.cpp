//===- BlockRanges.cpp - from sets of indices to ranges of blocks ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockRanges.h"

using namespace mlir;

namespace attentile {
namespace {

struct Span {
  Value from, to;
};

class BlockRanges {
public:
  BlockRanges(IndexBuilder &index, Value extent, int64_t size)
      : index(index), extent(extent), size(size), last(index.add(extent, -1)),
        count(index.divideUp(index.maximum(extent, index.constant(0)), size)) {}

  Span getNeeded(Interval interval);
  Span getFull(const Interval &interval, Span needed);
  Span getLongest(Span a, Span b);
  void separate(Span &a, Span &b, bool inAnyOrder, bool toSecond);
  Interval getHull(const IntervalSet &set);

  IndexBuilder &index;

private:
  /// A first index as one that is at least 0.
  Value fromZero(Value lo) { return index.maximum(lo, index.constant(0)); }
  /// The number of indices up to a last one, at least 0.
  Value countUpTo(Value hi) {
    return index.add(index.maximum(hi, index.constant(-1)), 1);
  }

  Value extent;
  int64_t size;
  Value last, count;
};

} // namespace

/// The blocks that hold an index of the interval.
Span BlockRanges::getNeeded(Interval interval) {
  Value none = index.constant(0);
  if (interval.guard)
    return {none, index.select(interval.guard, count, none)};
  Value hi = interval.hi ? index.minimum(interval.hi, last) : last;
  Value to = interval.hi ? index.divideUp(countUpTo(hi), size) : count;
  if (!interval.lo)
    return {none, to};
  Value lo = fromZero(interval.lo);
  Value from = index.divideUnsigned(lo, size);
  return {from, index.select(index.isLessOrEqual(lo, hi), to, from)};
}

/// The blocks of `needed` all of whose indices are in the interval.
Span BlockRanges::getFull(const Interval &interval, Span needed) {
  if (interval.guard)
    return {needed.from, index.select(interval.guard, needed.to, needed.from)};
  Span full = needed;
  if (interval.lo)
    full.from = index.minimum(
        index.maximum(index.divideUp(fromZero(interval.lo), size), needed.from),
        needed.to);
  if (interval.hi) {
    // The last block may be short: the axis's end is not a condition.
    Value whole =
        index.divideUnsigned(countUpTo(index.minimum(interval.hi, last)), size);
    Value to =
        index.select(index.isLessOrEqual(last, interval.hi), count, whole);
    full.to = index.maximum(full.from, index.minimum(to, needed.to));
  }
  return full;
}

Span BlockRanges::getLongest(Span a, Span b) {
  Value isLonger = index.isLessOrEqual(index.subtract(b.to, b.from),
                                       index.subtract(a.to, a.from));
  return {index.select(isLonger, a.from, b.from),
          index.select(isLonger, a.to, b.to)};
}

/// Makes two spans of blocks follow each other without a common block. Without
/// `inAnyOrder`, one of them starts or ends with the axis. Common blocks go to
/// the first or, if `toSecond`, to the second.
void BlockRanges::separate(Span &a, Span &b, bool inAnyOrder, bool toSecond) {
  // An empty span that may stand second goes to the axis's end, where it is in
  // nobody's way.
  for (Span *span : {&a, &b}) {
    if (span == &a && !inAnyOrder)
      continue;
    Value isEmpty = index.isLessOrEqual(span->to, span->from);
    *span = {index.select(isEmpty, count, span->from),
             index.select(isEmpty, count, span->to)};
  }
  if (inAnyOrder) {
    Value inOrder = index.isLessOrEqual(a.from, b.from);
    Span first = {index.select(inOrder, a.from, b.from),
                  index.select(inOrder, a.to, b.to)};
    b = {index.select(inOrder, b.from, a.from),
         index.select(inOrder, b.to, a.to)};
    a = first;
  }
  if (toSecond) {
    Value apart = index.isLessOrEqual(a.to, b.from);
    Value end = index.minimum(index.maximum(a.to, b.to), count);
    b.to = index.select(apart, b.to, end);
    a.to = index.maximum(a.from, index.minimum(a.to, b.from));
  } else {
    b.from = index.maximum(b.from, a.to);
    b.to = index.maximum(b.to, b.from);
  }
}

/// The least interval that holds all of the set.
Interval BlockRanges::getHull(const IntervalSet &set) {
  Interval hull = set.front();
  auto isEmpty = [&](const Interval &interval) {
    return index.logicalNot(index.isLessOrEqual(interval.lo, interval.hi));
  };
  Value lo, hi;
  bool toStart = false, toEnd = false;
  for (const Interval &interval : set) {
    bool isBand = interval.lo && interval.hi;
    Value empty = isBand ? isEmpty(interval) : Value();
    toStart |= !interval.lo;
    toEnd |= !interval.hi;
    if (interval.lo) {
      Value bound =
          isBand ? index.select(empty, extent, interval.lo) : interval.lo;
      lo = lo ? index.minimum(lo, bound) : bound;
    }
    if (interval.hi) {
      Value bound = isBand
                        ? index.select(empty, index.constant(-1), interval.hi)
                        : interval.hi;
      hi = hi ? index.maximum(hi, bound) : bound;
    }
  }
  hull.lo = toStart ? Value() : lo;
  hull.hi = toEnd ? Value() : hi;
  return hull;
}

/// Whether an interval is provably too short to hold a block. (The axis's last
/// block may be shorter yet; a loop for that one alone is not worth its code.)
static bool isNarrow(IndexBuilder &index, const Interval &interval,
                     int64_t size) {
  if (!interval.hi)
    return false;
  Value lo = interval.lo ? interval.lo : index.constant(0);
  return isProvablyAtLeast(lo, interval.hi, 2 - size);
}

SmallVector<BlockRange> getBlockRanges(IndexBuilder &index, Value extent,
                                       int64_t size,
                                       const IntervalSet &possible,
                                       const IntervalSet &certain) {
  BlockRanges ranges(index, extent, size);
  SmallVector<Span> spans;
  SmallVector<bool> narrow; // holds no full block
  if (possible.size() > kMaxIntervals) {
    spans.push_back(ranges.getNeeded(ranges.getHull(possible)));
    narrow.push_back(false);
  } else {
    for (const Interval &interval : possible) {
      spans.push_back(ranges.getNeeded(interval));
      narrow.push_back(isNarrow(index, interval, size));
    }
  }
  if (spans.size() == 2) {
    // Only where it stays first, and apart from the second, is a short interval
    // without a full block.
    narrow[0] = narrow[0] && !possible[0].lo;
    narrow[1] = false;
    ranges.separate(spans[0], spans[1], possible[0].lo && possible[1].hi,
                    /*toSecond=*/narrow[0] || !possible[1].hi);
  }
  SmallVector<BlockRange> result;
  auto append = [&](Value from, Value to, tile::BlockClass blocks) {
    if (!isProvablyAtLeast(from, to))
      result.push_back({from, to, blocks});
  };
  for (auto [number, needed] : llvm::enumerate(spans)) {
    std::optional<Span> full;
    for (const Interval &interval : certain) {
      if (narrow[number] || isNarrow(index, interval, size))
        continue;
      Span other = ranges.getFull(interval, needed);
      full = full ? ranges.getLongest(*full, other) : other;
    }
    if (!full) {
      append(needed.from, needed.to, tile::BlockClass::Partial);
      continue;
    }
    append(needed.from, full->from, tile::BlockClass::Partial);
    append(full->from, full->to, tile::BlockClass::Full);
    append(full->to, needed.to, tile::BlockClass::Partial);
  }
  return result;
}

} // namespace attentile
