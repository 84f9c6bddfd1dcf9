//===- IndexRuns.h - indices that follow each other -------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_INDEXRUNS_H
#define ATTENTILE_LIB_MAPPING_INDEXRUNS_H

#include "Tile/Tile.h"

namespace attentile {

/// The largest power of two up to 8 of which all elements of a tile of one
/// number are multiples; 0 where they may differ.
int64_t multipleOfAll(mlir::Value tile);

/// The largest power of two up to 8 so that of each group of as many elements
/// of a tile of indices of one axis the first is a multiple of it, and the
/// others follow: 8 for `(d + 64) % 128`.
int64_t consecutiveFrom(mlir::Value indices);

/// Of these the elements that lie in consecutive registers of a thread.
int64_t runInRegisters(mlir::Value indices);

} // namespace attentile

#endif
