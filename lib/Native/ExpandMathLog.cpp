//===- ExpandMathLog.cpp - logarithms by arithmetic -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x = 2^e * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), so that near x = 1,
// where the logarithm is near 0, e is 0 and nothing cancels. Then log(1 + f) =
// f - f^2 / 2 + f^3 P(f) (Cephes' logf).
//
//===----------------------------------------------------------------------===//

#include "attentile/ExpandMath.h"

using namespace mlir;
using arith::CmpFPredicate;

namespace attentile::native {

namespace {
/// log(x) = (f + rest) + e * log(2).
struct Reduced {
  Value e, f, rest;
};
} // namespace

static Reduced reduce(const Lanes &m, Value x) {
  // A subnormal operand is made normal first.
  Value tiny = m.compare(CmpFPredicate::OLT, x, m.f(0x1p-126));
  Value normal = m.select(tiny, m.mul(x, m.f(0x1p23)), x);

  // Counted from sqrt(1/2), the exponent field of the difference is e.
  Value root = m.i(0x3F3504F3);
  Value fromRoot = m.subInt(m.bits(normal), root);
  Value mantissa = m.addInt(m.andInt(fromRoot, m.i(0x007FFFFF)), root);
  Value f = m.sub(m.fromBits(mantissa), m.f(1));
  Value exponent = m.shiftRight(fromRoot, 23);
  Value e = arith::SIToFPOp::create(m.builder, m.loc, m.floatType(), exponent);
  e = m.sub(e, m.select(tiny, m.f(23), m.f(0)));

  Value p =
      m.polynomial(f, {3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1,
                       -1.6668057665e-1, 1.4249322787e-1, -1.2420140846e-1,
                       1.1676998740e-1, -1.1514610310e-1, 7.0376836292e-2});
  Value square = m.mul(f, f);
  Value cube = m.mul(m.mul(square, f), p);
  return {e, f, m.fma(square, m.f(-0.5), cube)};
}

/// -inf for 0, NaN for what is below, inf and NaN for themselves.
static Value withLimits(const Lanes &m, Value x, Value result) {
  Value zero = m.f(0);
  Value isZero = m.compare(CmpFPredicate::OEQ, x, zero);
  Value negative = m.compare(CmpFPredicate::OLT, x, zero);
  Value nan = m.f(std::numeric_limits<double>::quiet_NaN());
  Value special = m.select(negative, nan, x);
  special =
      m.select(isZero, m.f(-std::numeric_limits<double>::infinity()), special);
  Value positive = m.compare(CmpFPredicate::OGT, x, zero);
  Value finite = m.compare(CmpFPredicate::OLT, x, m.infinity());
  Value regular = arith::AndIOp::create(m.builder, m.loc, positive, finite);
  return m.select(regular, result, special);
}

Value expandLog(const Lanes &m, Value x) {
  auto [e, f, rest] = reduce(m, x);
  // ln 2 in two parts, the first exact times e.
  Value low = m.fma(e, m.f(-2.12194440e-4), rest);
  Value result = m.fma(e, m.f(0.693359375), m.add(f, low));
  return withLimits(m, x, result);
}

Value expandLog2(const Lanes &m, Value x) {
  auto [e, f, rest] = reduce(m, x);
  // log2 e = 1 + 0.4427: the whole part needs no rounding.
  Value fraction = m.f(0.44269504088896341);
  Value low = m.fma(f, fraction, m.fma(rest, fraction, rest));
  return withLimits(m, x, m.add(e, m.add(f, low)));
}

} // namespace attentile::native
