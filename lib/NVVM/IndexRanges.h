//===- IndexRanges.h - what is known of indices' ranges ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NVVM_INDEXRANGES_H
#define ATTENTILE_LIB_NVVM_INDEXRANGES_H

#include "mlir/IR/DialectRegistry.h"

namespace attentile {

/// Lets MLIR's integer range analysis see through our operations: sizes and
/// scalars of a program as its launch checks them, quotients and remainders as
/// the language has them, magnitudes, other lanes' values.
void registerIndexRanges(mlir::DialectRegistry &registry);

} // namespace attentile

#endif
