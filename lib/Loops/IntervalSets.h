//===- IntervalSets.h - which indices may meet a condition ------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a formula over comparisons of integers to sets of the loop's index n,
// for one row tile. The program's coordinates are points, the row index m is
// the interval [m0, min(m0 + TM, M) - 1], scalars are numbers known at run
// time. A comparison is brought to k * f + rest <= 0, f the one term with n:
//
//   n <= m + (N - M)     n - m - N + M <= 0
//   possible:            n <= max(m) + N - M      some row of the tile sees n
//   certain:             n <= min(m) + N - M      every row sees n
//
// and/or intersect and unite; bounds are index arithmetic emitted before the
// loop. (The rules and their proof by trial: tile-level algorithms, "Sets of n
// for one row tile".)
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_INTERVALSETS_H
#define ATTENTILE_LOOPS_INTERVALSETS_H

#include "AffineForms.h"
#include "Formula.h"
#include "IndexBuilder.h"
#include "Tile/Tile.h"

namespace attentile {

/// lo <= n <= hi; without a bound, to that end of the axis. With a guard,
/// which then stands alone, every n if it is true, else none. May be empty.
struct Interval {
  mlir::Value lo, hi, guard;
};

/// A union of intervals, which may overlap; without any, empty.
using IntervalSet = llvm::SmallVector<Interval, 2>;

/// Unions and intersections, with what is provable about their bounds: half
/// lines of one direction stay one, a band that is empty goes.
class IntervalAlgebra {
public:
  IntervalAlgebra(IndexBuilder &index, mlir::Value extent)
      : index(index), extent(extent) {}

  IntervalSet all() const { return {Interval()}; }
  IntervalSet allIf(mlir::Value guard);
  IntervalSet unite(const IntervalSet &a, const IntervalSet &b);
  IntervalSet intersect(const IntervalSet &a, const IntervalSet &b);

private:
  Interval intersect(const Interval &a, const Interval &b);
  IntervalSet simplify(IntervalSet set);
  void addGuard(Interval &interval, mlir::Value guard);

  IndexBuilder &index;
  mlir::Value extent;
};

/// A tile of row indices: of `index`'s elements those below `extent` count; all
/// if it is null.
struct RowAxis {
  tile::IndexOp index;
  mlir::Value extent;
};

/// What a set may be wrong about: too many indices, or too few.
enum class Side { Possible, Certain };

class IntervalSets {
public:
  IntervalSets(IndexBuilder &index, mlir::scf::ForOp loop,
               llvm::ArrayRef<RowAxis> rows)
      : index(index), loop(loop), rows(rows),
        algebra(index, loop.getUpperBound()) {}

  /// Possible: at least every n at which `formula` holds for some row.
  /// Certain: only n at which it holds for every row. Rows beyond the tensor's
  /// do not count.
  IntervalSet get(Formula formula, Side side);

  /// Conditions for which no set was found: they may hold anywhere.
  llvm::ArrayRef<mlir::Value> getOpenConditions() const { return open; }

  IntervalAlgebra &getAlgebra() { return algebra; }

  /// The smallest and largest element of a value, as scalars.
  struct Range {
    mlir::Value lo, hi;
  };

  /// Whether every iteration of the loop has the same value.
  bool isInvariant(mlir::Value value);
  /// An invariant value, before the loop.
  mlir::Value hoist(mlir::Value value);
  /// What an invariant value may be over the rows that count.
  Range getRange(mlir::Value value);
  /// A reduction of an invariant tile, over the rows that count.
  mlir::Value reduceRows(mlir::Value tile, attn::ReduceKind kind);

private:
  bool isIndex(mlir::Value value);
  IntervalSet getCondition(mlir::Value condition, bool negated, Side side);
  IntervalSet getComparison(mlir::arith::CmpIOp compare, bool negated,
                            Side side);
  IntervalSet getAtMostZero(AffineForm form, Side side);
  IntervalSet getBounded(mlir::Value term, bool atMost, mlir::Value bound,
                         Side side);
  IntervalSet getBoundedQuotient(mlir::Operation *quotient, bool atMost,
                                 mlir::Value bound, Side side);
  IntervalSet getInvariant(mlir::Value condition, bool negated, Side side);
  IntervalSet getUnknown(Side side);

  Range computeRange(mlir::Value value);
  mlir::Value getExtreme(const AffineForm &form, bool largest);
  mlir::Value getRowsThatCount(mlir::RankedTensorType type);

  IndexBuilder &index;
  mlir::scf::ForOp loop;
  llvm::ArrayRef<RowAxis> rows;
  IntervalAlgebra algebra;
  std::map<std::pair<Formula, Side>, IntervalSet> sets;
  llvm::DenseMap<mlir::Value, Range> ranges;
  llvm::DenseMap<mlir::Value, mlir::Value> hoisted;
  llvm::SmallVector<mlir::Value> open;
  mlir::Value current;
  unsigned questions = 0; ///< about `current`
};

/// A tile's reduction to a scalar over the elements that `counts` (null: all of
/// them) says, where `index` stands.
mlir::Value reduceWhere(IndexBuilder &index, mlir::Value counts,
                        mlir::Value tile, attn::ReduceKind kind);

} // namespace attentile

#endif
