//===- FarRows.h - exponents whose factor a row chooses --------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_FARROWS_H
#define ATTENTILE_LOOPS_FARROWS_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attentile {

/// The factor of a softmax's exponents, by tile-fold-exp2: c, or in rows whose
/// reference times c is far from 0 the largest power of two up to c.
struct RowFactor {
  mlir::arith::CmpFOp isFar;    ///< |reference * c| > a number; null: no choice
  mlir::arith::SelectOp choice; ///< by it, of the power and c
  /// From the choice, which is first, to the factor.
  llvm::SmallVector<mlir::Operation *> chain;
};

RowFactor matchRowFactor(mlir::Value factor);

/// Right behind what decides: whether all rows of a warp are near 0. NaN is not
/// far.
mlir::Value voteNear(mlir::arith::CmpFOp isFar);

} // namespace attentile

#endif
