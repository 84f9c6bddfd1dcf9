//===- IntegerTiles.h - kernels of integers, run ----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_EXPLAIN_INTEGERTILES_H
#define ATTENTILE_LIB_EXPLAIN_INTEGERTILES_H

#include "ScalarValues.h"
#include "Tile/Tile.h"

namespace attentile {

/// Runs one program of a kernel, at the coordinates `ids`, and keeps in
/// `scalars` what it stores (scalars alone; elements outside are dropped).
/// False, and nothing kept, where it reads what no other kernel has kept there,
/// computes with floats, or follows from a value that is not set.
bool runOnIntegers(tile::KernelOp kernel, llvm::ArrayRef<int64_t> ids,
                   ScalarValues &scalars);

} // namespace attentile

#endif
