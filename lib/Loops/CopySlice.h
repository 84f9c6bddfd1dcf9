//===- CopySlice.h - a value computed again elsewhere -----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_COPYSLICE_H
#define ATTENTILE_LOOPS_COPYSLICE_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {

/// A copy of `value` behind copies of its operands, as far as they are not
/// there or in `copies` already; null where something of it cannot be computed
/// twice.
mlir::Value copySlice(mlir::OpBuilder &builder, mlir::Value value,
                      mlir::IRMapping &copies,
                      llvm::function_ref<bool(mlir::Value)> isThere);

/// `value` as an iteration of `loop` has it where `builder` stands, in the
/// loop's body or in a branch of it.
mlir::Value copyIntoLoop(mlir::OpBuilder &builder, mlir::Value value,
                         mlir::IRMapping &copies, mlir::scf::ForOp loop);

/// `value` where `builder` stands, before the loop that it may be in.
mlir::Value copyBeforeLoop(mlir::OpBuilder &builder, mlir::Value value,
                           mlir::IRMapping &copies, mlir::scf::ForOp loop);

} // namespace attentile

#endif
