//===- ScalarValues.h - integers of a kernel, evaluated ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_EXPLAIN_SCALARVALUES_H
#define ATTENTILE_LIB_EXPLAIN_SCALARVALUES_H

#include "Tile/Tile.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace attentile {

/// Values of scalar integer operations, by MLIR's own folding, found when they
/// are asked for. What depends on an argument is forgotten when it is set anew.
class ScalarValues {
public:
  void set(mlir::Value argument, int64_t number);

  /// Keeps an element of a tensor that the program itself has written.
  void setElement(mlir::Value tensor, mlir::ArrayRef<int64_t> at,
                  int64_t number);
  std::optional<int64_t> getElement(mlir::Value tensor,
                                    mlir::ArrayRef<int64_t> at) const;

  /// The value, or nothing where it is no integer or follows from a value that
  /// is not set or from elements that are not.
  std::optional<int64_t> get(mlir::Value value);

  /// The arguments (set or not) that a value follows from.
  static llvm::SmallVector<mlir::Value> argumentsOf(mlir::Value value);

private:
  mlir::Attribute fold(mlir::Value value);
  mlir::Attribute foldLoad(tile::LoadOp load);

  llvm::DenseMap<mlir::Value, mlir::Attribute> arguments, known;
  llvm::DenseMap<mlir::Value, std::map<std::vector<int64_t>, int64_t>> elements;
};

} // namespace attentile

#endif
