//===- ExtentValues.h - extents as values of a program ----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_EXTENTVALUES_H
#define ATTENTILE_LIB_LOOPS_EXTENTVALUES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace attentile {

/// Makes index values of extents and numbers at one place of a program, each
/// once.
class ExtentValues {
public:
  /// `sizes` are the values of the expressions' symbols.
  ExtentValues(mlir::OpBuilder builder, mlir::Location loc,
               mlir::ValueRange sizes)
      : builder(builder), loc(loc), sizes(sizes) {}

  /// Makes what is asked for from now on before `op`.
  void insertBefore(mlir::Operation *op) { builder.setInsertionPoint(op); }

  mlir::Value constant(int64_t number);

  /// The value of an extent. A quotient by a size that is 0 is 0.
  mlir::Value get(mlir::AffineExpr extent);

  /// How many tiles of `size` cover the extent.
  mlir::Value tiles(mlir::AffineExpr extent, int64_t size);

private:
  mlir::Value make(mlir::AffineBinaryOpExpr expr);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::ValueRange sizes;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> known;
};

/// The extent that a value before a program's kernels is, as an expression of
/// the program's sizes; null for what is none.
mlir::AffineExpr getExtent(mlir::Value value);

} // namespace attentile

#endif
