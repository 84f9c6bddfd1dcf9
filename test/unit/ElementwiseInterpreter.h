//===- ElementwiseInterpreter.h - one element of arith and math -*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_ELEMENTWISEINTERPRETER_H
#define ATTENTILE_TEST_UNIT_ELEMENTWISEINTERPRETER_H

#include "mlir/IR/Operation.h"
#include <functional>

namespace attentile::test {

/// Computes one element of a result from those of the operands; `element` is
/// its position (for constants).
using ElementFunction =
    std::function<double(llvm::ArrayRef<double> x, size_t element)>;

/// What an operation of arith, math, tile.ref or attn's integer division does
/// to an element. Integers are exact up to 2^53. The f32 constants log2 e and
/// ln 2 count as exact, so that a change of base changes nothing. Null for an
/// operation it does not know.
ElementFunction elementFunction(mlir::Operation *op);

} // namespace attentile::test

#endif
