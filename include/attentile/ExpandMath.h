//===- ExpandMath.h - mathematics by arithmetic -----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function an elementary function, on f32 lanes. All let NaN through.
// Errors are in units of the last place of the exact result; each is tested
// densely over every range of exponents.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_EXPANDMATH_H
#define ATTENTILE_EXPANDMATH_H

#include "attentile/Lanes.h"

namespace attentile::native {

/// 2^x and e^x; 0 for what is below 2^-126, exactly 1 at 0.
mlir::Value expandExp2(const Lanes &m, mlir::Value x);
mlir::Value expandExp(const Lanes &m, mlir::Value x);

/// Logarithms; -inf at 0, NaN below. Subnormal operands count in full.
mlir::Value expandLog(const Lanes &m, mlir::Value x);
mlir::Value expandLog2(const Lanes &m, mlir::Value x);

/// tanh x; 0 for what is below 2^-126. The second divides by a reciprocal
/// within a unit of the last place: the quotient is below 0.45 and taken from
/// 1, so that less than half of that error is left.
mlir::Value expandTanh(const Lanes &m, mlir::Value x);
mlir::Value expandTanhByReciprocal(const Lanes &m, mlir::Value x);

/// sin and cos of |x| <= kTrigLimit, within 2^-23 absolute; of larger |x| the
/// result means nothing.
inline constexpr double kTrigLimit = 8192;
mlir::Value expandSin(const Lanes &m, mlir::Value x);
mlir::Value expandCos(const Lanes &m, mlir::Value x);

/// x to the power y as C's pow has it, 0 for what is below 2^-126.
mlir::Value expandPow(const Lanes &m, mlir::Value x, mlir::Value y);

/// The largest whole number that is not above x.
mlir::Value expandFloor(const Lanes &m, mlir::Value x);

} // namespace attentile::native

#endif
