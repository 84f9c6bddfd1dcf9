//===- LoadPlaces.h - what loads go through shared memory -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_LOADPLACES_H
#define ATTENTILE_LIB_MAPPING_LOADPLACES_H

#include "Tile/Tile.h"

namespace attentile {

/// Whether a load reads a window of a tensor: each axis runs along one of its
/// dimensions by consecutive indices.
bool isWindow(tile::LoadOp load);

/// Whether 8-bit numbers are loaded for products alone, which they enter as
/// wider ones.
bool isBytesOfFactor(tile::LoadOp load);

/// Whether a loop loads an element for each of its scores, as a bias of pairs
/// has them, side by side in memory: copies then run ahead of their use. Of
/// single elements a thread would wait for each.
bool isForScores(tile::LoadOp load, mlir::StringAttr rows);

/// To where its place is known: it arrives with the factors of the product
/// whose result it meets, and one wait serves both (warp-pipeline-copies).
void moveUp(tile::LoadOp load);

/// Whether to compute a value again rather than to move it: constants, indices,
/// loads of one axis, broadcasts of such, and work on a single axis of these.
bool isCheap(mlir::Value value);

/// Whether a value is made of what rows that decide together have in common
/// (tile.reduce_group, tile.vote): another one in each warp, which no warp may
/// take from another.
bool isOfGroup(mlir::Value value);

/// Whether it is what is asked of columns, each by itself, and of what is
/// loaded for them: truths that are cheap, of one axis, not the rows'.
bool asksLoadedColumns(mlir::Value value, mlir::StringAttr rows);

} // namespace attentile

#endif
