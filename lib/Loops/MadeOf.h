//===- MadeOf.h - what a value is computed from ----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_MADEOF_H
#define ATTENTILE_LIB_LOOPS_MADEOF_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {

/// The operations that a value is computed by, its own last, operands before
/// their users; with `filter`, only through those that it holds for. None of
/// what a block is given.
llvm::SetVector<mlir::Operation *>
sliceOf(mlir::Value value, std::function<bool(mlir::Operation *)> filter = {});

/// Whether an operation that a value is computed by, in any number of steps, is
/// of a kind. What a block is given is no step: a loop's index, what it
/// carries.
bool isMadeOf(mlir::Value value,
              llvm::function_ref<bool(mlir::Operation *)> isOfKind);

/// For sliceOf: whether what an operation makes stays out of memory.
bool isHere(mlir::Operation *op);

/// Puts a value through memory for all that uses it, by a name for readers.
void materialize(mlir::Value value, llvm::StringRef name);

/// Whether a reduction is made of the value, not through memory.
bool isReduced(mlir::Value value);

} // namespace attentile

#endif
