//===- StepCopy.h - a guarded step with the references it has --*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_STEPCOPY_H
#define ATTENTILE_LOOPS_STEPCOPY_H

#include "GuardedStep.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {

/// A scalar or a tile of one number, or of false.
mlir::Value makeConstant(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Type type, double value);
mlir::Value makeFalse(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type);

/// The select of 1 and 0 that `factor` is, as of dropout, by a comparison of
/// integers; or null.
mlir::arith::SelectOp getKept(mlir::Value factor);

/// Its condition on this side of a branch: before it, a bit for each weight
/// would wait.
mlir::Value askHere(mlir::OpBuilder &b, mlir::arith::SelectOp kept);

/// A copy of a part of the step.
class StepCopy {
public:
  StepCopy(const GuardedStep &step) : step(step) {}

  /// The step's operations that computing `values` takes, in order.
  llvm::SetVector<mlir::Operation *>
  getNeeded(llvm::ArrayRef<mlir::Value> values) const;

  /// With the references that the loop carries: no maximum, nothing is
  /// rescaled. Every row has one (GuardSoftmax.cpp): tile.ref has nothing to
  /// replace, and none is far from 0.
  void keepReferences(mlir::OpBuilder &b);

  void clone(mlir::OpBuilder &b, mlir::Operation *op);
  mlir::Value get(mlir::OpBuilder &b, mlir::Value value);
  void set(mlir::Value value, mlir::Value copy) { mapping.map(value, copy); }

private:
  mlir::Value chooseWeight(mlir::OpBuilder &b, mlir::Operation *op);
  bool isSummed(mlir::Value weight) const;

  const GuardedStep &step;
  mlir::IRMapping mapping;
  llvm::DenseSet<mlir::Value> ones;
  bool isFast = false; ///< with the references that the loop carries
};

} // namespace attentile

#endif
