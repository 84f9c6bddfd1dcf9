//===- CopySlice.h - a value computed again elsewhere -----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_COPYSLICE_H
#define ATTENTILE_LOOPS_COPYSLICE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {

/// A copy of `value` behind copies of its operands, as far as they are not
/// there or in `copies` already; null where something of it cannot be computed
/// twice.
mlir::Value copySlice(mlir::OpBuilder &builder, mlir::Value value,
                      mlir::IRMapping &copies,
                      llvm::function_ref<bool(mlir::Value)> isThere);

} // namespace attentile

#endif
