//===- Layout.h - where each element of a tile is ---------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout algebra, in plain C++: no MLIR.
//
// A tile of 64 x 64 scores lies in the registers of 4 warps of 32 lanes, 32 in
// each lane. Which? The instruction that makes them says so: mma.m16n8 leaves
// in lane l of a warp, of each 16 x 8 block, the elements
//
//     row l / 4      columns 2 * (l % 4), 2 * (l % 4) + 1    registers 0, 1
//     row l / 4 + 8  the same columns                        registers 2, 3
//
// A layout says it by taking the position on each axis apart, like a number
// into the digits of a mixed-radix system, least significant first. A digit
// `8 lane 4` has 8 values, each worth 4 lanes. The tile above, a warp for each
// 16 rows and 8 blocks side by side, is
//
//     rows     [8 lane 4, 2 reg 2, 4 warp 1]      8 * 2 * 4 = 64
//     columns  [2 reg 1, 4 lane 1, 8 reg 4]       2 * 4 * 8 = 64
//
// Row 29 is digits 5, 1, 1 (5 + 8 * 1 + 16 * 1): lanes from 20 on, registers
// from 2 on, warp 1. Column 13 is 1, 2, 1 (1 + 2 * 2 + 8 * 1): register 1, lane
// 2, register 4. Element (29, 13) is the sum of both: warp 1, lane 22, register
// 7. The other way round, the register 7 of lane 22 of warp 1 has the digits
// (7 / 2) % 2 = 1 of the rows, 7 % 2 = 1 and 7 / 4 = 1 of the columns, and so
// on, which is element (29, 13) again.
//
// What the compiler asks of a layout becomes arithmetic on digits:
//
// - A row maximum has the rows' digits and no other: an axis that is reduced
//   away takes its digits with it. No digit then names the lanes 0 to 3 of each
//   quad: they all hold the same rows, as copies. Registers that no digit names
//   any more are not kept: the rest are numbered anew, in their order, here
//   [8 lane 4, 2 reg 1, 4 warp 1]. So the maximum over 64 scores and a factor
//   for 128 columns of the output have one layout and meet without a move.
// - Reducing over digits of registers stays in a lane, over digits of lanes
//   takes shuffles, over digits of warps goes through shared memory.
// - The left operand of mma.m16n8k16 holds, of each 16 x 16 block, in lane l
//   the rows and columns that two 16 x 8 blocks of a product's result leave
//   there, in the same order. So the layouts are equal, and probabilities enter
//   the second product where the first one left the scores.
// - Equal functions have equal digits: the normal form merges neighbours (4
//   lane 1, 8 lane 4 are 32 lane 1) and drops digits of one value.
//
// In shared memory a digit's unit is the offset, in elements, and a swizzle
// permutes the 16-byte chunks of a row (see SharedLayout).
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_DIALECTS_TILE_LAYOUT_H
#define ATTENTILE_DIALECTS_TILE_LAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace attentile::tile {

/// What a digit's stride counts.
enum class Unit { Register, Lane, Warp, Offset };

/// `reg`, `lane`, `warp`, `offset`.
llvm::StringRef stringifyUnit(Unit unit);
std::optional<Unit> symbolizeUnit(llvm::StringRef name);

/// One digit of the position on an axis: `extent` values, each worth `stride`.
struct Digit {
  int64_t extent;
  Unit unit;
  int64_t stride;

  bool operator==(const Digit &other) const = default;
};

/// Where an element is. In registers: which of the thread's, which lane of the
/// warp, which warp of the block (the first of those that hold a copy); in
/// shared memory: how many elements from the tile's start.
struct Place {
  int64_t reg = 0, lane = 0, warp = 0, offset = 0;

  bool operator==(const Place &other) const = default;
};

/// The digits of every axis of a tile, least significant first, in normal form.
class Layout {
public:
  using Digits = llvm::SmallVector<Digit, 4>;

  /// How many lanes a warp has.
  static constexpr int64_t kLanes = 32;

  Layout() = default;
  /// Expects findProblem(axes) to be nothing. Brings them into normal form.
  explicit Layout(llvm::ArrayRef<Digits> axes);

  /// Why these digits are no layout: an extent or stride below 1, lanes beyond
  /// 32, registers mixed with offsets, or two elements in one place.
  static std::optional<std::string> findProblem(llvm::ArrayRef<Digits> axes);

  /// What mma.m16n8 accumulates, for `rows` x `columns` elements of which the
  /// rows are spread over `warpRows` warps and the columns over `warpColumns`.
  /// Also the left operand of mma.m16n8k16, of `rows` x k elements, and that of
  /// m16n8k8 (tf32) with the order of k within each 8 changed: its slots c and
  /// c + 4 are columns 2 c and 2 c + 1. Rows are a multiple of 16 * warpRows,
  /// columns of 8 * warpColumns.
  static Layout accumulator(int64_t rows, int64_t columns, int64_t warpRows,
                            int64_t warpColumns);

  /// Row after row of `rows` x `columns` elements, a row every `pitch`.
  static Layout rowMajor(int64_t rows, int64_t columns, int64_t pitch);

  unsigned rank() const { return axes.size(); }
  llvm::ArrayRef<Digit> digits(unsigned axis) const { return axes[axis]; }
  llvm::ArrayRef<Digits> allDigits() const { return axes; }

  /// How many positions an axis has: the product of its digits.
  int64_t size(unsigned axis) const;
  /// The product of an axis's digits of one unit.
  int64_t size(unsigned axis, Unit unit) const;

  /// How many elements a thread holds: the length of the vector that is this
  /// fragment in one thread.
  int64_t registers() const;
  /// The number of lanes (warps) over which elements differ. 32 (the block's
  /// warps) divided by it is the number of copies.
  int64_t distinct(Unit unit) const;
  /// The lanes or warps below `end` that no digit names, as digits, ascending:
  /// over them elements are copies.
  llvm::SmallVector<Digit> copies(Unit unit, int64_t end) const;

  /// Where an element is; without the swizzle in shared memory.
  Place placeOf(llvm::ArrayRef<int64_t> position) const;
  /// Which element is there; the same for all copies.
  llvm::SmallVector<int64_t> positionOf(const Place &place) const;

  /// The layout of what is left of a tile when the other axes are reduced away:
  /// of the axes `kept`, ascending.
  Layout slice(llvm::ArrayRef<unsigned> kept) const;
  /// The same axes in another order: axis i is axis order[i] of this.
  Layout permute(llvm::ArrayRef<unsigned> order) const;

  bool operator==(const Layout &other) const { return axes == other.axes; }

  /// `[8 lane 4, 2 reg 2], [2 reg 1, 4 lane 1, 8 reg 4]`.
  std::string str() const;

private:
  llvm::SmallVector<Digits, 2> axes;
};

llvm::hash_code hash_value(const Digit &digit);
llvm::hash_code hash_value(const Layout &layout);

/// A tile of two axes in shared memory: row after row, the last axis
/// contiguous, with the chunks of 16 bytes of each row permuted so that
/// ldmatrix, which reads one chunk of each of 8 rows at a time, meets every
/// bank once. Chunk c of row r is kept in the place of chunk
///
///     c ^ (r / rows % period)
///
/// A row of 128 bytes or a multiple fills the banks by itself: 8 rows below
/// each other need 8 different chunks (rows 1, period 8). Of 64-byte rows two
/// fill the banks, and pairs of rows share a permutation (rows 2, period 4).
/// Other rows are not permuted (period 1), but start an odd number of chunks
/// after each other, which moves from bank to bank by itself; rows of scores an
/// even number, for that is how threads read them and copies write them best.
struct SharedLayout {
  int64_t pitch;      ///< elements from a row's start to the next one's
  int64_t chunk = 0;  ///< elements in 16 bytes
  int64_t rows = 1;   ///< rows that share a permutation
  int64_t period = 1; ///< how many permutations there are: a power of two

  /// The layout that ldmatrix and 16-byte copies meet without bank conflicts,
  /// for elements of `bytes` bytes.
  static SharedLayout forRows(int64_t columns, int64_t bytes);
  /// The same for what threads read as accumulators have scores: each two
  /// elements of a row, four lanes 32 bytes of 32-bit ones and half a warp four
  /// rows. An asynchronous copy reads 32 bytes twice where it writes them half
  /// in one and half in another 32 of shared memory (1.5 times the bytes of
  /// rows an odd number of chunks apart).
  static SharedLayout forScores(int64_t columns, int64_t bytes);

  /// Why this cannot hold rows of `columns` elements of `bytes` bytes.
  std::optional<std::string> findProblem(int64_t columns, int64_t bytes) const;

  /// In elements from the tile's start.
  int64_t offsetOf(int64_t row, int64_t column) const;

  /// The digits of a tile before the permutation.
  Layout linear(int64_t rowCount, int64_t columns) const {
    return Layout::rowMajor(rowCount, columns, pitch);
  }

  bool operator==(const SharedLayout &other) const = default;
};

} // namespace attentile::tile

#endif
