//===- ExpandMathTrig.cpp - sin and cos by arithmetic ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cody and Waite's reduction: x = n * pi/2 + r with |r| <= pi/4. pi/2 is split
// in parts of which the first two have so few bits that n (at most 13) times
// either is exact; the sign and which of the two polynomials is taken follow
// from n's last two bits.
//
//===----------------------------------------------------------------------===//

#include "attentile/ExpandMath.h"

using namespace mlir;

namespace attentile::native {

/// sin(x + quarter * pi/2).
static Value sinOfQuarter(const Lanes &m, Value x, int64_t quarter) {
  Value rounder = m.f(12582912.0); // as in ExpandMathExp.cpp
  Value t = m.fma(x, m.f(0.636619772367581343), rounder);
  Value n = m.sub(t, rounder);
  Value r = m.fma(n, m.f(-1.5703125), x); // 201 / 128
  r = m.fma(n, m.f(-0x1.fb4p-12), r);
  r = m.fma(n, m.f(-0x1.4442d18p-24), r);

  Value z = m.mul(r, r);
  Value sin =
      m.polynomial(z, {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4});
  sin = m.fma(m.mul(sin, z), r, r);
  Value cos = m.polynomial(
      z, {4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5});
  cos = m.fma(m.mul(cos, z), z, m.fma(z, m.f(-0.5), m.f(1)));

  Value count = m.addInt(m.bits(t), m.i(quarter));
  Value odd =
      m.compareInt(arith::CmpIPredicate::ne, m.andInt(count, m.i(1)), m.i(0));
  Value sign = m.shiftLeft(m.andInt(count, m.i(2)), 30);
  return m.fromBits(m.xorInt(m.bits(m.select(odd, cos, sin)), sign));
}

Value expandSin(const Lanes &m, Value x) { return sinOfQuarter(m, x, 0); }

Value expandCos(const Lanes &m, Value x) { return sinOfQuarter(m, x, 1); }

} // namespace attentile::native
