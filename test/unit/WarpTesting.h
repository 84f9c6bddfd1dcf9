//===- WarpTesting.h - warp kernels against their tiles ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel runs twice: its tiles in float64, and its warps thread by thread.
// The sizes leave rows, keys and columns over at every tile's edge.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_WARPTESTING_H
#define ATTENTILE_TEST_UNIT_WARPTESTING_H

#include "TileTesting.h"
#include "WarpInterpreter.h"
#include <functional>
#include <map>

namespace attentile::test {

/// From tiles to warps: options of tile-partition-warps and tile-to-warp.
extern const char *const kToWarps;

struct KernelCase {
  const char *example;
  const char *type;
  int64_t D, E;
  std::string tiles = "tile-sizes=m=64,n=32";
  std::string partition = "";
  std::string behind =
      ",warp-pipeline-copies,warp-allocate-shared,warp-narrow-barriers";
  bool guard = false;
  bool hidden = false; // tile-mark-hidden
  bool lists = false;  // tile-list-blocks
  double cap = 50;
  std::string fusion = "normalize=late";
  std::string loops = ""; // passes behind those of tiles
  std::string schedule = "";
  /// Scores of every other 16 rows grow from key to key.
  bool growing = false;
  std::string decisions = ""; // options of tile-to-warp
  std::string skipping = "";
  std::string cache = "i8"; // of the quantized cache
  /// Scalars that the kernel is called with, or that it is compiled with.
  std::map<std::string, int64_t> scalars = {};
  bool known = false;
  /// A tensor's elements by their number.
  std::map<std::string, std::function<double(int64_t)>> elements = {};
  /// Warps of a program, where masks and columns are decided for each; 0: as
  /// tile-partition-warps has them.
  int64_t warps = 0;
};

/// `text` with `argument` in place of its first "%s".
std::string format(std::string text, const std::string &argument);

/// The example as tiles; null after a failure.
TileFile compile(const KernelCase &run);

/// Inputs that their types hold, with scores near 1.
Values drawRounded(TileFile &file, int64_t D, double cap = 50);

/// Runs the case both ways; the results are the same within what P and the
/// output lose in 16 bits, or in f32 what three products leave.
void expectSame(const KernelCase &run);

} // namespace attentile::test

#endif
