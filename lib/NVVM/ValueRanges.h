//===- ValueRanges.h - ranges of a program's integers -----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NVVM_VALUERANGES_H
#define ATTENTILE_LIB_NVVM_VALUERANGES_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace attentile {

/// The range of every integer and index value within an operation, as far as
/// operations tell theirs (InferIntRangeInterface). What MLIR's integer range
/// analysis finds for structured control flow, by one walk from the top in
/// place of a solver that keeps a state and its dependents for each value: a
/// tenth of the time, which was a quarter of a kernel's lowering.
class ValueRanges {
public:
  explicit ValueRanges(mlir::Operation *top) { visit(top); }

  /// Null where nothing narrower than the type is known.
  const mlir::ConstantIntRanges *find(mlir::Value value) const;

private:
  llvm::DenseMap<mlir::Value, mlir::IntegerValueRange> ranges;

  mlir::IntegerValueRange get(mlir::Value value) const;
  void set(mlir::Value value, const mlir::IntegerValueRange &range);
  void infer(mlir::Operation *op);
  void visit(mlir::Operation *op);
  void visitLoop(mlir::scf::ForOp loop);
  void joinBranches(mlir::scf::IfOp branches);
  bool widenCarried(mlir::scf::ForOp loop);
};

} // namespace attentile

#endif
