//===- SeenColumns.h - how few columns of a block rows see ------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a mask that compares remainders by numbers, such as a neighbourhood's in
// an image 64 wide, 32 rows may see 48 columns of 64 wherever they and the
// block lie:
//
//     |m mod 64 - n mod 64| <= 7    rows 0 to 31 see columns 0 to 38,
//                                   rows 32 to 63 see columns 25 to 63
//
// Told by trying each remainder that the first row and the first column can
// have, with intervals as GroupTruth has them when the kernel runs: what holds
// here, it finds.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_SEENCOLUMNS_H
#define ATTENTILE_LOOPS_SEENCOLUMNS_H

#include "Formula.h"
#include "IntervalRules.h"
#include "Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attentile {

/// Columns come in so many, as matrix instructions take keys.
inline constexpr int64_t kColumnStep = 16;

/// Whether a mask speaks of remainders of the loop's index: of all blocks alike
/// rows may see some columns and not others.
bool repeats(Formula hidden, mlir::scf::ForOp loop);

/// Whether a value is made of the index's remainders.
bool isOfRemainders(mlir::Value value, mlir::scf::ForOp loop);

/// Bounds that the compiler knows.
struct NumberArithmetic {
  using Bound = int64_t;
  using Truth = bool;
  using P = mlir::arith::CmpIPredicate;

  Bound add(Bound a, Bound b) { return a + b; }
  Bound subtract(Bound a, Bound b) { return a - b; }
  Bound min(Bound a, Bound b) { return std::min(a, b); }
  Bound max(Bound a, Bound b) { return std::max(a, b); }
  Bound number(int64_t value) { return value; }
  Bound select(Truth which, Bound a, Bound b) { return which ? a : b; }
  Truth is(P predicate, Bound a, Bound b) {
    return mlir::arith::applyCmpPredicate(
        predicate, llvm::APInt(64, a, /*isSigned=*/true),
        llvm::APInt(64, b, /*isSigned=*/true));
  }
  Truth both(Truth a, Truth b) { return a && b; }
  Truth either(Truth a, Truth b) { return a || b; }
};

class SeenColumns {
public:
  /// Of blocks of `size` columns, for groups of `rows` rows, positions of
  /// `rowAxis` that follow each other in a tile from a multiple of their number
  /// on.
  SeenColumns(mlir::scf::ForOp loop, int64_t size, mlir::StringAttr rowAxis,
              int64_t rows)
      : loop(loop), size(size), rowAxis(rowAxis), rows(rows) {}

  /// The fewest columns, side by side, among which are all that a group sees,
  /// from the last multiple of kColumnStep on before which `hidden` surely
  /// holds of all, but that the block has so many from there on; `size` where
  /// that cannot be told.
  int64_t count(Formula hidden);

  /// Whether so many may be enough for half of the blocks that a group sees
  /// anything of, by the numbers in the mask; true where it has scalars.
  bool mayOftenFit(Formula hidden, int64_t seen);

private:
  using Rules = IntervalRules<NumberArithmetic>;
  using Range = Rules::Range;
  struct Remainder {
    tile::IndexOp index;
    int64_t by = 0;
  };

  bool findPeriod(Formula formula);
  bool findPeriod(mlir::Value value);
  bool holds(Formula hidden, int64_t first, int64_t count);
  bool holds(mlir::arith::CmpIOp compare, bool negated);
  std::optional<Range> getRange(mlir::Value value);
  std::optional<Range> computeRange(mlir::Value value);
  Range getRemainders(Remainder remainder);
  static Remainder getRemainder(mlir::Value value);
  bool addRemainder(Remainder remainder);
  int64_t countCases() const;
  void forEachCase(llvm::function_ref<void()> visit);
  bool fits(Formula hidden, int64_t seen);

  mlir::scf::ForOp loop;
  int64_t size;
  mlir::StringAttr rowAxis;
  int64_t rows;
  Rules rules{NumberArithmetic()};
  int64_t period = 1; ///< of all remainders together
  /// What the first row and column are multiples of; 0: there are none.
  int64_t rowStep = 0, columnStep = 0;
  // The case that is tried: the first row's and column's remainder by the
  // period, and which of the block's columns.
  int64_t row = 0, column = 0, first = 0, columns = 0;
  llvm::DenseMap<mlir::Value, std::optional<Range>> ranges; ///< of these
};

} // namespace attentile

#endif
