//===- GpuTileTable.h - GPUs, and the tiles to try first --------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_GPUTILETABLE_H
#define ATTENTILE_LIB_LOOPS_GPUTILETABLE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace attentile {

/// What limits a block of threads on a GPU.
struct GpuTarget {
  llvm::StringRef name;
  int64_t sharedPerBlock, sharedPerMultiprocessor; ///< bytes
  int64_t mostThreads;                             ///< of a multiprocessor
  bool waitsAtMbarriers, launchesDependents;
};

constexpr int64_t kMostRegisters = 255; ///< of a thread
constexpr int64_t kRegistersPerMultiprocessor = 65536;
constexpr int64_t kSharedPerBlockReserve = 1024; ///< what the driver takes

/// sm_80, sm_86, sm_89 or sm_90; null for another name.
const GpuTarget *findGpuTarget(llvm::StringRef name);

/// A choice of tiles, before it is fitted to a grid.
struct GpuTiles {
  int64_t rowsPerWarp, warps; ///< rows of a tile: their product
  int64_t loop;               ///< rows of a loop's tile
  int64_t stages; ///< buffers of each factor a loop reads; 0: one for all
  bool keepLeft;  ///< left factors stay in registers

  int64_t rows() const { return rowsPerWarp * warps; }
};

/// What measured best or came near it (for head sizes up to `columns` and
/// factors of `bytes` bytes; 0: a grid without products). `atMbarriers`: its
/// loops' warps can meet there.
GpuTiles getPreferredTiles(const GpuTarget &target, int64_t columns,
                           int64_t bytes, bool atMbarriers);

/// What makes little code: 16 rows a warp, and as few keys as leave the loop's
/// two products about 64 matrix instructions.
GpuTiles getSmallTiles(int64_t columns, int64_t bytes);

} // namespace attentile

#endif
