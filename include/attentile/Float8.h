//===- Float8.h - conversions of 8-bit floats ------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lowerings to machines without 8-bit floats share. In memory they are
// bytes; every conversion becomes integer arithmetic, which is exact one way
// and rounds to nearest even, saturating, the other.
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_FLOAT8_H
#define ATTENTILE_FLOAT8_H

#include "mlir/IR/PatternMatch.h"

namespace attentile {

/// f8e4m3 (OCP: no infinity) or f8e5m2.
inline bool isFloat8(mlir::Type type) {
  return mlir::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(type);
}

/// f8e4m3, f8e5m2, f16 or bf16: computed with as f32.
inline bool isNarrowFloat(mlir::Type type) {
  return isFloat8(type) || type.isF16() || type.isBF16();
}

/// arith.extf and arith.truncf between 8-bit floats and f32, on scalars and
/// vectors, as arithmetic on the bytes' bits.
void populateExpandFloat8Patterns(mlir::RewritePatternSet &patterns);

/// Conversions from or to a type that `isExpanded`, whose other side is not
/// f32: two of them, through f32, for the patterns that expand those.
void populateConvertThroughF32Patterns(
    mlir::RewritePatternSet &patterns,
    const std::function<bool(mlir::Type)> &isExpanded);

} // namespace attentile

#endif
