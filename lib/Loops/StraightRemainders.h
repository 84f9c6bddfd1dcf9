//===- StraightRemainders.h - remainders of uncut intervals -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where no multiple of w cuts an interval, remainders by w are the first one's
// and what has been added since:
//
//     x mod w = x0 mod w + (x - x0),    if x0 div w = x1 div w
//
// For a group of rows that decides together and a block of columns the
// difference of two such remainders is one of scalars and a constant for each
// diagonal of a fragment, as that of the indices is (warp-share-offsets).
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_STRAIGHTREMAINDERS_H
#define ATTENTILE_LOOPS_STRAIGHTREMAINDERS_H

#include "Attn/Attn.h"
#include "Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {

/// The remainders in a comparison of pairs, in an iteration of a loop.
class StraightRemainders {
public:
  /// Emits where `inside` stands, in a branch of the loop's body.
  StraightRemainders(mlir::scf::ForOp loop, mlir::OpBuilder &inside)
      : loop(loop), before(loop), inside(inside), loc(loop.getLoc()) {}

  /// Whether nothing cuts the intervals of the remainders in `compared`, for
  /// all of a group's rows and the block's columns, an i1. Null where there are
  /// none of both, or one's interval has no ends that scalars tell.
  mlir::Value getUncut(mlir::Value compared);

  /// `compared` by differences, where `b` stands, for what getUncut holds of.
  mlir::Value emitStraight(mlir::OpBuilder &b, mlir::Value compared);

private:
  /// The first of some positions, and what it leaves where nothing cuts them.
  struct Start {
    mlir::Value position, remainder;
  };

  bool findRemainders(mlir::Value value);
  bool addRows(attn::FloorModOp op);
  bool addColumns(attn::FloorModOp op);
  void add(attn::FloorModOp op, Start start, mlir::Value least,
           mlir::Value largest);
  mlir::Value emit(mlir::OpBuilder &b, mlir::Value value,
                   mlir::IRMapping &made);

  mlir::scf::ForOp loop;
  mlir::OpBuilder before;
  mlir::OpBuilder &inside;
  mlir::Location loc;
  mlir::IRMapping copies, hoisted;
  llvm::DenseMap<mlir::Operation *, Start> remainders;
  bool hasRows = false, hasColumns = false;
  mlir::Value uncut;
};

} // namespace attentile

#endif
