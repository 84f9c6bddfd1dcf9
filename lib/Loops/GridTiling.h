//===- GridTiling.h - one grid to loops over tiles --------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_GRIDTILING_H
#define ATTENTILE_LIB_LOOPS_GRIDTILING_H

#include "ExtentValues.h"
#include "TileEmitter.h"

namespace attentile {

/// Makes the body of `target`, a tile.kernel whose ids are the grid's steps and
/// then its tiles. `extents` are the index variables' extents as values of the
/// program, `sizes` the tile sizes of all axes of the grid but its steps;
/// `values` makes numbers before `target`.
llvm::LogicalResult
tileGrid(attn::KernelOp kernel, attn::GridOp grid, attn::AxesAnalysis &axes,
         ExtentValues &values,
         const llvm::DenseMap<mlir::Value, mlir::Value> &extents,
         const llvm::DenseMap<mlir::Value, int64_t> &sizes, Dots dots,
         tile::ProgramOp program, tile::KernelOp target);

} // namespace attentile

#endif
