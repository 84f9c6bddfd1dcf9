//===- ScalarValues.h - integers of a kernel, evaluated ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_EXPLAIN_SCALARVALUES_H
#define ATTENTILE_LIB_EXPLAIN_SCALARVALUES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace attentile {

/// Values of scalar integer operations, by MLIR's own folding, found when they
/// are asked for. What depends on an argument is forgotten when it is set anew.
class ScalarValues {
public:
  void set(mlir::Value argument, int64_t number);

  /// The value, or nothing where it is no integer or follows from a value that
  /// is not set or from a tensor's elements.
  std::optional<int64_t> get(mlir::Value value);

  /// The arguments (set or not) that a value follows from.
  static llvm::SmallVector<mlir::Value> argumentsOf(mlir::Value value);

private:
  mlir::Attribute fold(mlir::Value value);

  llvm::DenseMap<mlir::Value, mlir::Attribute> arguments, known;
};

} // namespace attentile

#endif
