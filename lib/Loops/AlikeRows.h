//===- AlikeRows.h - rows that all have one value ---------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is loaded for the rows that decide together is often one value, in all
// iterations: rows of a document are neighbours. Columns of several documents
// are compared column by column then, not pair by pair:
//
//     doc[m] == doc[n] for m, n    is    d == doc[n] for n,
//                                  where min doc[m] == max doc[m] == d
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_ALIKEROWS_H
#define ATTENTILE_LOOPS_ALIKEROWS_H

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attentile {

/// A comparison of what is loaded for rows, before a loop, with what is loaded
/// for the columns of an iteration.
class AlikeRows {
public:
  AlikeRows(mlir::scf::ForOp loop, mlir::Value compared);

  /// Whether all rows that decide together have one value, an i1 that is
  /// emitted where `inside` stands, in the loop's body or a branch of it. Null
  /// where the comparison is another one.
  mlir::Value getAlike(mlir::OpBuilder &inside);

  /// The comparison by columns, where `b` stands, for what getAlike holds of.
  mlir::Value emitByColumns(mlir::OpBuilder &b);

private:
  mlir::scf::ForOp loop;
  mlir::Value compared, rows, value;
};

} // namespace attentile

#endif
