//===- AlikeColumns.h - columns that all have one value ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is loaded for the columns of a block is often one value: all keys of a
// block belong to one document as a rule. Rows of several documents compare it
// row by row then, not pair by pair:
//
//     doc[m] == doc[n] for m, n    is    doc[m] == doc[n0] for m,
//                                  where doc[n] == doc[n0] for all n
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_ALIKECOLUMNS_H
#define ATTENTILE_LOOPS_ALIKECOLUMNS_H

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {

/// A comparison of what rows have with what is loaded for columns, in an
/// iteration of a loop.
class AlikeColumns {
public:
  AlikeColumns(mlir::scf::ForOp loop, mlir::Value compared);

  /// Whether all of the block's columns have one value, an i1 that is emitted
  /// where `inside` stands, in a branch of the loop's body. Null where the
  /// comparison is another one.
  mlir::Value getAlike(mlir::OpBuilder &inside);

  /// The comparison by rows, where `b` stands, for what getAlike holds of.
  mlir::Value emitByRows(mlir::OpBuilder &b);

private:
  mlir::Value getFirst(mlir::OpBuilder &inside, mlir::Value value);

  mlir::scf::ForOp loop;
  mlir::Location loc;
  mlir::Value compared, columns, first;
  mlir::IRMapping copies;
};

/// A comparison of integers, broadcast or not, of which one side, rows or
/// columns, has `one` value everywhere, a scalar: one of the other side alone,
/// where `b` stands.
mlir::Value compareWithOne(mlir::OpBuilder &b, mlir::Value compared,
                           mlir::Value side, mlir::Value one);

} // namespace attentile

#endif
