//===- BlockRanges.h - from sets of indices to ranges of blocks -*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_BLOCKRANGES_H
#define ATTENTILE_LOOPS_BLOCKRANGES_H

#include "IntervalSets.h"

namespace attentile {

/// Blocks from `from` to before `to`, numbered from 0, of one class.
struct BlockRange {
  mlir::Value from, to;
  tile::BlockClass blocks;
};

/// The blocks of `size` indices, of an axis of `extent`, that hold an index of
/// `possible`, in order and each once; full where all of a block's indices are
/// in one interval of `certain`:
///
///     possible         [lo ................................ hi]
///     certain                   [.................]
///     blocks     |  partial | full | full | full | partial |
///
/// Each interval of `possible` gives up to three ranges; ranges that are
/// provably empty are left out. Of more than two intervals the hull is taken.
llvm::SmallVector<BlockRange> getBlockRanges(IndexBuilder &index,
                                             mlir::Value extent, int64_t size,
                                             const IntervalSet &possible,
                                             const IntervalSet &certain);

/// How many intervals `getBlockRanges` keeps apart.
inline constexpr size_t kMaxIntervals = 2;

} // namespace attentile

#endif
