//===- IntegerElements.h - integer operations, computed ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_EXPLAIN_INTEGERELEMENTS_H
#define ATTENTILE_LIB_EXPLAIN_INTEGERELEMENTS_H

#include "mlir/IR/Operation.h"
#include <functional>

namespace attentile {

/// Wider than what kernels compute with: masks go through i128 where an
/// interval's end may leave 64 bits. An i1 is 0 or 1, others have their sign.
using Integer = __int128;

/// The bits of an integer type, or of a tile's elements.
unsigned widthOf(mlir::Type type);

/// What `width` bits hold of a number.
Integer wrap(Integer x, unsigned width);

/// One element of an elementwise operation, of operands `width` bits wide and
/// before the result is cut to its own.
using Combine = std::function<Integer(const Integer *x, unsigned width)>;

/// Of an operation of one or two integers; none of others.
Combine combineOf(mlir::Operation *op);

} // namespace attentile

#endif
