//===- GroupTruth.h - a comparison, for deciding rows -----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What BlockTruth asks once for a tile of rows, before the loop, is asked here
// in the loop by each group of rows that decides together (tile.vote). Of what
// rows have, a group keeps the least and the largest value (tile.reduce_group,
// before the loop); the loop's index and what it is divided to are intervals:
//
//   |m / w - n / w| <= r      surely, where r is at least the larger of
//                             largest m / w - n0 / w and
//                             (n0 + 63) / w - least m / w
//
// Both are scalars of a warp: a few instructions for a block of pairs. What is
// loaded for columns is compared with a group's least and largest value column
// by column, and the group's threads vote:
//
//   doc[m] == doc[n]          surely not, where each doc[n] is below the least
//                             doc[m] or above the largest
//
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_GROUPTRUTH_H
#define ATTENTILE_LOOPS_GROUPTRUTH_H

#include "IntervalRules.h"
#include "Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {

/// Bounds that the kernel computes.
struct ValueArithmetic {
  using Bound = mlir::Value;
  using Truth = mlir::Value;
  using P = mlir::arith::CmpIPredicate;

  template <typename Op> mlir::Value emit(mlir::Value a, mlir::Value b) {
    return Op::create(builder, loc, a, b);
  }
  Bound add(Bound a, Bound b) { return emit<mlir::arith::AddIOp>(a, b); }
  Bound subtract(Bound a, Bound b) { return emit<mlir::arith::SubIOp>(a, b); }
  Bound min(Bound a, Bound b) { return emit<mlir::arith::MinSIOp>(a, b); }
  Bound max(Bound a, Bound b) { return emit<mlir::arith::MaxSIOp>(a, b); }
  Bound number(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  Bound select(Truth which, Bound a, Bound b) {
    return mlir::arith::SelectOp::create(builder, loc, which, a, b);
  }
  Truth is(P predicate, Bound a, Bound b) {
    return mlir::arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Truth both(Truth a, Truth b) { return emit<mlir::arith::AndIOp>(a, b); }
  Truth either(Truth a, Truth b) { return emit<mlir::arith::OrIOp>(a, b); }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

class GroupTruth {
public:
  /// Emits into a region of the loop's body, where `inside` stands.
  GroupTruth(mlir::scf::ForOp loop, mlir::OpBuilder &inside)
      : loop(loop), before(loop), inside(inside), loc(loop.getLoc()),
        on{inside, loc}, rules(on) {}

  /// Of the block's columns, so many from `first` on alone.
  void setColumns(int64_t first, int64_t count) {
    firstColumn = first;
    columnCount = count;
  }

  /// Whether a comparison surely holds, or with `negated` fails, for all of a
  /// group's rows and the block's columns, an i1; null where neither scalars
  /// nor what is loaded for columns tell.
  mlir::Value getSure(mlir::arith::CmpIOp compare, bool negated);

private:
  using Rules = IntervalRules<ValueArithmetic>;
  using Range = Rules::Range;

  std::optional<Range> getRange(mlir::Value value);
  std::optional<Range> getColumns(mlir::Value value);
  std::optional<Range> getDivided(mlir::Operation *op);
  std::optional<Range> getRows(mlir::Value value);
  std::optional<Range> combine(mlir::Operation *op);
  mlir::Value getSureOfEach(mlir::arith::CmpIPredicate predicate,
                            mlir::Value columns, Range rows);

  mlir::scf::ForOp loop;
  mlir::OpBuilder before;
  mlir::OpBuilder &inside;
  mlir::Location loc;
  ValueArithmetic on;
  Rules rules;
  mlir::IRMapping copies, hoisted;
  int64_t firstColumn = 0, columnCount = 0; ///< 0: all
};

/// Whether a tile of the loop's axis alone is loaded, or made of what is.
bool isLoadedColumns(mlir::Value value, mlir::scf::ForOp loop);

} // namespace attentile

#endif
