//===- ListOrigins.h - what lists of blocks follow from ---------*- C++-*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_LISTORIGINS_H
#define ATTENTILE_LOOPS_LISTORIGINS_H

#include "Tile/Tile.h"

namespace attentile {

enum class ListOrigin {
  Indices, ///< indices and scalars: a neighbourhood
  Sides,   ///< elements of rows and elements of keys: packed documents
  Pairs    ///< elements of a tensor of both: a table of blocks
};

/// What the lists in a workspace follow from, by what the kernels read that
/// write it, and those before them. Its `coordinates` are names of a grid's,
/// the last that of a tile of rows.
ListOrigin findOrigin(mlir::Value list, mlir::ArrayAttr coordinates);

} // namespace attentile

#endif
