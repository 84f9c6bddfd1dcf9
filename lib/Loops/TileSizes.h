//===- TileSizes.h - how large the tiles of a grid are ----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_TILESIZES_H
#define ATTENTILE_LIB_LOOPS_TILESIZES_H

#include "Tile/Tile.h"
#include "attentile/AxesAnalysis.h"
#include "llvm/ADT/StringMap.h"

namespace attentile {

/// What a target's defaults depend on.
struct TileTarget {
  llvm::StringRef name;
  int64_t tile;        // rows of a grid's tile
  int64_t loop;        // rows of a loop's tile
  int64_t granularity; // what sizes are rounded up to
  int64_t smallest;    // what they are not cut below
  int64_t bytes;       // what the tiles of one program may take, in f32
};

/// The CPU: everything a program touches stays in a 512 KB second-level cache.
extern const TileTarget cpuTarget;

/// Sizes that a schedule or an option asks for, by axis.
using RequestedSizes = llvm::StringMap<int64_t>;

/// The size of every axis of a grid, and on a GPU what the tiles take.
struct TileChoice {
  llvm::DenseMap<mlir::Value, int64_t> sizes;
  tile::ResourcesAttr resources;
};

/// The size of every tile and loop axis of a grid: as requested, else the
/// target's default, cut until the grid's reads, reductions and products fit;
/// never larger than a known extent, rounded up. A loop over tiles that the
/// kernel writes has its own size. Whole axes have their extent;
/// that must be known, else an error.
llvm::FailureOr<TileChoice> chooseTileSizes(attn::GridOp grid,
                                            attn::KernelOp kernel,
                                            attn::AxesAnalysis &axes,
                                            const RequestedSizes &requested,
                                            const TileTarget &target);

/// Reads "m=128" strings (of the option `tile-sizes`) over the kernel's
/// `attn.tile_sizes` attribute. An axis that no grid tiles is an error.
llvm::FailureOr<RequestedSizes>
readRequestedSizes(attn::KernelOp kernel, llvm::ArrayRef<std::string> options);

} // namespace attentile

#endif
