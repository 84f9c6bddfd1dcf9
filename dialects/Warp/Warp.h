//===- Warp.h - the warp dialect: what a block's threads do -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_DIALECTS_WARP_WARP_H
#define ATTENTILE_DIALECTS_WARP_WARP_H

#include "Tile/Layout.h"
#include "Tile/Tile.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

// clang-format off
#include "Warp/WarpEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "Warp/WarpAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "Warp/WarpTypes.h.inc"
#include "Warp/WarpDialect.h.inc"
#define GET_OP_CLASSES
#include "Warp/WarpOps.h.inc"
// clang-format on

namespace attentile::warp {

/// The element type of a fragment, or the type itself of a scalar.
mlir::Type getElementType(mlir::Type type);

/// The registers of a fragment; 1 for a scalar.
int64_t getNumRegisters(mlir::Type type);

/// What one element takes in memory: whole bytes, i1 one, index eight.
int64_t getElementBytes(mlir::Type element);

/// The layout of a buffer of two dimensions.
tile::SharedLayout getSharedLayout(BufferType type);

/// The bytes of one stage of a buffer, a multiple of 128, and of all.
int64_t getStageBytes(BufferType type);
int64_t getBufferBytes(BufferType type);

} // namespace attentile::warp

#endif
