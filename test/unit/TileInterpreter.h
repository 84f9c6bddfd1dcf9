//===- TileInterpreter.h - runs tile IR in float64, for tests ---*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a tile.program means, as plainly as it can be said: tiles are arrays of
// doubles, loops are loops. Nothing is rounded unless asked for, so two forms
// of one program agree to about 1e-12 or one of them is wrong.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_TILEINTERPRETER_H
#define ATTENTILE_TEST_UNIT_TILEINTERPRETER_H

#include "Tile/Tile.h"
#include <map>
#include <string>
#include <vector>

namespace attentile::test {

/// A tensor in row-major order, or a scalar (no extents, one element).
/// Integers and booleans are doubles too.
struct HostTensor {
  std::vector<int64_t> shape;
  std::vector<double> data;
};

/// How often the loops over the tiles of an axis ran, in all programs.
struct BlockCounts {
  int64_t computed = 0; ///< iterations
  int64_t partial = 0;  ///< of those, iterations of loops marked partial
  int64_t full = 0;     ///< iterations of loops marked full
  int64_t mixed = 0;    ///< and of loops marked mixed
  int64_t tried = 0;    ///< blocks that a guard tried with old references
  int64_t guarded = 0;  ///< choices between a guard's two sides
  int64_t fast = 0;     ///< of those, the ones that kept their references
};

/// An iteration of a loop over the tiles of an axis, in a kernel that computes
/// (not one that lists blocks).
struct BlockVisit {
  std::string kernel, axis;
  /// The program's coordinates; of every axis that has consecutive indices in
  /// the program, the first index and how many there are.
  std::map<std::string, int64_t> ids;
  std::map<std::string, std::pair<int64_t, int64_t>> tiles;
  /// Whether scores were hidden by a mask: a choice of -inf by more than "lies
  /// in the range".
  bool masked = false;
};

enum class Rounding {
  None,   ///< all in float64
  Single, ///< the result of each floating-point operation rounded to f32
  Narrow, ///< so, and the factors of products to the products' types
};

/// Runs every kernel of `program` over its grid. `values` gives each input,
/// each scalar and, by its name, each run-time size (a scalar); outputs are
/// added, NaN where nothing was stored. Returns false after printing the
/// operation that it does not know.
bool interpret(tile::ProgramOp program,
               std::map<std::string, HostTensor> &values,
               BlockCounts *counts = nullptr,
               Rounding rounding = Rounding::None,
               std::vector<BlockVisit> *visits = nullptr);

} // namespace attentile::test

#endif
