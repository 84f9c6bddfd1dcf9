//===- ExpandMathExp.cpp - exponentials and tanh by arithmetic ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 2^x = 2^r * 2^f with r the nearest whole number and |f| <= 1/2. Adding
// 1.5 * 2^23 rounds to a whole number and leaves r in the low bits of the sum,
// so that r << 23 added to the bits of 2^f multiplies it by 2^r:
//
//   x = 5.3:  t = 12582917.0 = 0x4B400005,  f = 0.3,  p = 2^0.3 = 0x3F9D9F1E?
//             bits(p) + (0x4B400005 << 23) = bits(p) + (5 << 23) = 2^5 * 2^0.3
//
// No conversion to integer, which is undefined of NaN. Results below 2^-126
// must not be left as subnormals: products with them are a hundred times
// slower on many machines.
//
//===----------------------------------------------------------------------===//

#include "attentile/ExpandMath.h"

using namespace mlir;
using arith::CmpFPredicate;

namespace attentile::native {

/// 1.5 * 2^23: floats near it are one apart.
static constexpr double kRounder = 12582912.0;

/// Multiplies p, near 1, by 2^r where `t` is kRounder + r.
static Value scaleByPower(const Lanes &m, Value p, Value t) {
  return m.fromBits(m.addInt(m.bits(p), m.shiftLeft(m.bits(t), 23)));
}

/// 0 for x below `low`, inf from `high` on, NaN for NaN, else `result`. A
/// product with inf gives both of the latter two.
static Value withLimits(const Lanes &m, Value x, Value result, double low,
                        double high) {
  Value inRange =
      m.select(m.compare(CmpFPredicate::OLT, x, m.f(low)), m.f(0), result);
  return m.select(m.compare(CmpFPredicate::UGE, x, m.f(high)),
                  m.mul(x, m.infinity()), inRange);
}

Value expandExp2(const Lanes &m, Value x) {
  Value t = m.add(x, m.f(kRounder));
  Value f = m.sub(x, m.sub(t, m.f(kRounder)));
  Value p = m.polynomial(f, {1.0, 0.6931471825, 0.2402265072, 0.0555036068,
                             0.0096183419, 0.0013392155, 0.0001546770});
  return withLimits(m, x, scaleByPower(m, p, t), -126, 128);
}

/// e^x = 2^r * (1 + e): e within a unit of its own last place (Cephes' expf),
/// and t as scaleByPower wants it. ln 2 is split so that its first part times
/// r is exact.
static std::pair<Value, Value> exponentialMinusOne(const Lanes &m, Value x) {
  Value t = m.fma(x, m.f(1.44269504088896341), m.f(kRounder));
  Value r = m.sub(t, m.f(kRounder));
  Value f = m.fma(r, m.f(-0.693359375), x);
  f = m.fma(r, m.f(2.12194440e-4), f);
  Value q =
      m.polynomial(f, {5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2,
                       8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4});
  return {m.fma(m.mul(f, f), q, f), t};
}

Value expandExp(const Lanes &m, Value x) {
  auto [e, t] = exponentialMinusOne(m, x);
  Value result = scaleByPower(m, m.add(e, m.f(1)), t);
  // ln 2^-126 and ln of what rounds to inf, each rounded up.
  return withLimits(m, x, result, -87.33654, 88.722837);
}

/// x + x^3 P(x^2) below 0.625 (Cephes' tanhf), from there on
/// 1 - 2 / (e^2|x| + 1) with the sum formed before e^2|x| is rounded.
static Value tanh(const Lanes &m, Value x, bool byReciprocal) {
  Value size = m.abs(x);
  // The square of what is too small to matter would be subnormal.
  Value y =
      m.select(m.compare(CmpFPredicate::OLT, size, m.f(0x1p-30)), m.f(0), x);
  Value z = m.mul(y, y);
  Value p =
      m.polynomial(z, {-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2,
                       2.06390887954e-2, -5.70498872745e-3});
  Value near = m.fma(m.mul(p, z), y, x);
  near = m.select(m.compare(CmpFPredicate::OLT, size, m.f(0x1p-126)), m.f(0),
                  near);

  // From 9.1 on the result is 1. NaN takes the other branch, and stays.
  Value far =
      m.select(m.compare(CmpFPredicate::OLT, size, m.f(9.1)), size, m.f(9.1));
  auto [e, t] = exponentialMinusOne(m, m.add(far, far));
  Value power = scaleByPower(m, m.f(1), t);
  Value sum = m.fma(power, e, m.add(power, m.f(1)));
  Value large = byReciprocal ? m.fma(m.reciprocal(sum), m.f(-2), m.f(1))
                             : m.sub(m.f(1), m.div(m.f(2), sum));
  return m.select(m.compare(CmpFPredicate::OGE, size, m.f(0.625)),
                  m.copySign(large, x), near);
}

Value expandTanh(const Lanes &m, Value x) {
  return tanh(m, x, /*byReciprocal=*/false);
}

Value expandTanhByReciprocal(const Lanes &m, Value x) {
  return tanh(m, x, /*byReciprocal=*/true);
}

} // namespace attentile::native
