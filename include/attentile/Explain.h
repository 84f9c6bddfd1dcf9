//===- Explain.h - what a program will do, counted --------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts work and traffic of a program at the tile level by walking its grids
// as they would run, with the loops' bounds evaluated and no data touched.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_EXPLAIN_H
#define ATTENTILE_EXPLAIN_H

#include "Tile/Tile.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace attentile {

/// Which blocks the tiles of one head (the first) compute, by the rows that a
/// program has and the blocks of the axis that it loops over.
struct BlockMap {
  enum Block : uint8_t { Skipped, Full, Masked };
  std::string rowAxis, columnAxis;
  int64_t rowTile = 1, columnTile = 1;
  /// By rows, all of the same length; empty where nothing is looped over.
  std::vector<std::vector<uint8_t>> blocks;
};

/// What one grid does, all its programs together.
struct GridFigures {
  std::string name;
  /// Axis and size of every tile, rows first.
  std::vector<std::pair<std::string, int64_t>> tiles;
  int64_t programs = 0;
  /// Iterations of the loops over tiles; of those, the ones that evaluate a
  /// mask; and what there would be if every program visited every tile.
  int64_t blocks = 0, maskedBlocks = 0, totalBlocks = 0;
  /// Whether elements of tensors say which blocks are computed: all figures are
  /// upper bounds.
  bool isUpperBound = false;
  double flops = 0;        ///< of matrix products
  double exponentials = 0; ///< exp, exp2
  /// Bytes that tiles read and write within the tensors: on a GPU, what the
  /// second-level cache is asked for.
  double readBytes = 0, writtenBytes = 0;
  /// Every tensor that is read or written, once: the least that memory moves.
  double leastBytes = 0;
  /// Of a block of threads on a GPU, as the warp level has it: `registers` of a
  /// thread, predicted. 0 elsewhere.
  int64_t threads = 0, registers = 0, sharedBytes = 0;
  BlockMap map;
};

/// The figures of every grid, in the order in which they run. `values`: every
/// run-time size by name, and the integer scalars that loop bounds depend on.
/// Lists of blocks are made as the program makes them. Where elements of a
/// tensor decide, all that the axis has is counted; fails where that is not
/// known or a value is not given. Loops that go one of two ways count their
/// usual one (`then`).
llvm::Expected<std::vector<GridFigures>>
explainProgram(tile::ProgramOp program, const llvm::StringMap<int64_t> &values);

/// What a processor can do; 0: not known.
struct Machine {
  const char *target; ///< sm_90
  const char *name;   ///< NVIDIA H200
  int multiprocessors;
  double clock;        ///< GHz, sustained under load
  double productFlops; ///< of mma.sync, 16 bit, a clock a multiprocessor
  double exponentials; ///< a clock a multiprocessor
  double l2Bytes, memoryBytes; ///< TB/s
  int64_t registers;           ///< 32-bit, a multiprocessor
  int64_t sharedBytes;         ///< a multiprocessor
  int64_t threads, blocks;     ///< a multiprocessor, at most
};

/// The machine that stands for a target, or null.
const Machine *findMachine(llvm::StringRef target);

/// The least time a grid takes on a machine, and what sets it.
struct Bound {
  double seconds = 0;
  const char *limit = "";
};
Bound boundOf(const GridFigures &figures, const Machine &machine);

/// Blocks of threads that a multiprocessor runs at a time, what allows no more,
/// and how often the grid fills them all.
struct Occupancy {
  int64_t blocks = 0;
  const char *limit = "";
  double waves = 0;
};
Occupancy occupancyOf(const GridFigures &figures, const Machine &machine,
                      int64_t multiprocessors);

} // namespace attentile

#endif
