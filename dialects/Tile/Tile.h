//===- Tile.h - the tile dialect: static tiles with named axes --*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_DIALECTS_TILE_TILE_H
#define ATTENTILE_DIALECTS_TILE_TILE_H

#include "Attn/Attn.h"
#include "Tile/Layout.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TensorEncoding.h"

// The dialect's declaration names its attributes, so they come first.
// clang-format off
#include "Tile/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "Tile/TileAttrs.h.inc"
#include "Tile/TileDialect.h.inc"
// clang-format on

namespace attentile::tile {

class IndexOp;

/// Whether `type` is a tile: a ranked tensor of static shape and at least one
/// axis whose encoding names its axes.
bool isTile(mlir::Type type);

/// Whether a tile is loaded, or made of what is.
bool isLoaded(mlir::Value value);

/// The names of a tile's axes; empty for a scalar.
llvm::ArrayRef<mlir::StringAttr> getAxes(mlir::Type type);

/// The element type of a tile, or the type itself of a scalar.
mlir::Type getElementType(mlir::Type type);

/// The position of an axis in a tile's type, or nothing.
std::optional<unsigned> getAxisPosition(mlir::Type type, mlir::StringAttr axis);

/// Where a tile's elements are: a FragmentAttr, a SharedAttr, or nothing (no
/// layout is assigned, or no tile).
mlir::Attribute getLayout(mlir::Type type);

/// The layout of a tile in registers, or null.
FragmentAttr getFragment(mlir::Type type);

/// The layout of a tile in shared memory, or null.
SharedAttr getShared(mlir::Type type);

/// `type` (a tile) in another layout; null: in none.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type,
                                  mlir::Attribute layout);

/// The layout that a tile of `part`'s axes, all of `whole`'s, has as a slice of
/// `whole`: what its row statistics have, and what is broadcast to it. Null if
/// `whole` is no fragment.
FragmentAttr sliceLayout(mlir::Type whole, mlir::Type part);

/// `type` (a tile or scalar) with another element type.
mlir::Type withElementType(mlir::Type type, mlir::Type element);

/// The type of `type` (a tile) without the axes named in `over`: a tile, or
/// its element type if none is left. Of a fragment, its slice.
mlir::Type dropAxes(mlir::RankedTensorType type,
                    llvm::ArrayRef<mlir::StringAttr> over);

/// A tile of these axes and sizes, without layout.
mlir::RankedTensorType getTileType(mlir::Type element,
                                   llvm::ArrayRef<mlir::StringAttr> axes,
                                   llvm::ArrayRef<int64_t> sizes);

/// The first index of the block that an iteration of `loop`, over the blocks of
/// an axis, computes: the loop's own index or, with `tile.from_list`, what is
/// made of the list's entry; null if none is.
mlir::Value getBlockStart(mlir::scf::ForOp loop);

/// Whether other loops stand in the loop's body, but those over slices of a head
/// size (`tile.slices`): of several axes that a reduction is over one is visited
/// in blocks, the others index by index around it.
bool isAround(mlir::scf::ForOp loop);

/// Whether the loop visits an axis index by index, not in blocks.
bool isIndexByIndex(mlir::scf::ForOp loop);

/// The loop over whose blocks the indices run, or null.
mlir::scf::ForOp getBlockLoop(IndexOp index);

/// Whether the index `index` along dimension `dim` of `tensor` (a program's
/// argument or workspace) is known to lie in it: it runs with a loop whose
/// `tile.inside` promises that.
bool isInside(mlir::Value tensor, unsigned dim, mlir::Value index);

} // namespace attentile::tile

#define GET_OP_CLASSES
#include "Tile/TileOps.h.inc"

#endif
