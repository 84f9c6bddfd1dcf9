//===- ComparedValues.h - values that must come out alike -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `p == max[m](p)` asks whether a value is the one that a reduction found. Both
// are computed anew, perhaps in kernels of their own, from one formula; a pass
// that evaluates it another way in one of them makes them differ by a rounding,
// and none is its own maximum.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_COMPAREDVALUES_H
#define ATTENTILE_LIB_LOOPS_COMPAREDVALUES_H

#include "Tile/Tile.h"

namespace attentile {

/// Whether floats that `program` computes (a product, a quotient or an
/// exponential) are compared with what it has found of many: a reduction's
/// result, made here or in a kernel before.
bool comparesComputed(tile::ProgramOp program);

/// Whether another kernel has scores of its own, made as they are written, to
/// compare with the maxima of this one's.
bool findsMaximaForOthers(tile::KernelOp kernel);

} // namespace attentile

#endif
