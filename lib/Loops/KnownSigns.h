//===- KnownSigns.h - signs of floats, by the formula -----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_KNOWNSIGNS_H
#define ATTENTILE_LOOPS_KNOWNSIGNS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/APFloat.h"
#include <optional>

namespace attentile {

/// The constant that a float scalar or splat tile is.
std::optional<llvm::APFloat> getFloatConstant(mlir::Value value);

/// Whether a float scalar or tile is greater than 0 for all inputs (or NaN
/// where an input is): a positive constant, a scalar that attn.assume says is
/// positive, and what sums, products and quotients make of them. Underflow does
/// not count.
bool isKnownPositive(mlir::Value value);

/// Likewise at least 0: also exponentials, squares, absolute values.
bool isKnownNonNegative(mlir::Value value);

} // namespace attentile

#endif
