//===- ElementwiseInterpreter.h - one element of arith and math -*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_ELEMENTWISEINTERPRETER_H
#define ATTENTILE_TEST_UNIT_ELEMENTWISEINTERPRETER_H

#include "mlir/IR/Operation.h"

namespace attentile::test {

/// One element of an operation of arith, math, tile.ref or attn's integer
/// division; `element` is its position (for constants). Integers are exact up
/// to 2^53. Nothing for an operation it does not know.
std::optional<double> evaluateElement(mlir::Operation *op,
                                      llvm::ArrayRef<double> x, size_t element);

} // namespace attentile::test

#endif
