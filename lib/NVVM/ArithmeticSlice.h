//===- ArithmeticSlice.h - what an operation needs of its block -*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NVVM_ARITHMETICSLICE_H
#define ATTENTILE_LIB_NVVM_ARITHMETICSLICE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {

/// Adds `op` behind what it needs of its block, in order; false where that is
/// more than arithmetic: products, loads, what lanes tell each other, branches.
bool collectArithmetic(mlir::Operation *op,
                       llvm::SetVector<mlir::Operation *> &slice);

/// Moves a slice of `body` to its start, in its order.
void moveToStart(mlir::Block &body,
                 const llvm::SetVector<mlir::Operation *> &slice);

} // namespace attentile

#endif
