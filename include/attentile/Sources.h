//===- Sources.h - what a value is computed from ---------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_SOURCES_H
#define ATTENTILE_SOURCES_H

#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {

/// Whether a value, or any that it is computed from, in any number of steps,
/// is what is asked for; what those are computed from that `goesOn` does not
/// hold for is not asked. Each is asked once, however many share it.
inline bool anySource(
    mlir::Value value, llvm::function_ref<bool(mlir::Value)> isAskedFor,
    llvm::function_ref<bool(mlir::Value)> goesOn = [](mlir::Value) {
      return true;
    }) {
  llvm::SmallSetVector<mlir::Value, 16> sources;
  sources.insert(value);
  for (size_t i = 0; i < sources.size(); ++i) {
    mlir::Value source = sources[i];
    if (isAskedFor(source))
      return true;
    if (mlir::Operation *op = source.getDefiningOp(); op && goesOn(source))
      sources.insert_range(op->getOperands());
  }
  return false;
}

/// Whether what computes a value may be done again elsewhere.
inline bool isRepeatable(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  return op && op->getNumRegions() == 0 && mlir::isPure(op);
}

/// Whether a value can be computed from what is not inside alone, as all that
/// computes it inside is repeatable.
inline bool isRepeatableFrom(mlir::Value value,
                             llvm::function_ref<bool(mlir::Value)> isInside) {
  return !anySource(
      value,
      [&](mlir::Value source) {
        return isInside(source) && !isRepeatable(source);
      },
      isInside);
}

} // namespace attentile

#endif
