//===- RowPositions.h - positions seen from their axis's end ----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NVVM_ROWPOSITIONS_H
#define ATTENTILE_LIB_NVVM_ROWPOSITIONS_H

#include "Warp/Warp.h"

namespace attentile {

/// Rewrites sums of a kernel's index arithmetic in which a tile's first row
/// or its end stands beside its axis's extent, so that their ranges can be told:
///
///     m0 + N - M          up to 2^32 by the ranges of its parts
///     (m0 - M) + N        m0 < M + 128, so m0 - M is from -M to 127
///     min(x, M) - M       likewise min(x - M, 0)
void anchorRowPositions(warp::KernelOp kernel);

} // namespace attentile

#endif
