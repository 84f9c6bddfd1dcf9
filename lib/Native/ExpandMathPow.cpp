//===- ExpandMathPow.cpp - powers and rounding by arithmetic --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x^y = 2^(y log2 |x|): the exponent needs some 40 correct bits, so it is
// formed in f64, and the result is rounded to f32 once.
//
//===----------------------------------------------------------------------===//

#include "attentile/ExpandMath.h"

using namespace mlir;
using arith::CmpFPredicate;

namespace attentile::native {

/// log2 of a positive finite normal f64, to about 2^-44: with
/// s = (v - 1) / (v + 1), ln v = 2 (s + s^3/3 + s^5/5 ...).
static Value log2Wide(const Lanes &d, Value x) {
  Value root = d.i(0x3FE6A09E667F3BCD); // sqrt(1/2)
  Value fromRoot = d.subInt(d.bits(x), root);
  Value mantissa =
      d.fromBits(d.addInt(d.andInt(fromRoot, d.i(0x000FFFFFFFFFFFFF)), root));
  Value e = arith::SIToFPOp::create(d.builder, d.loc, d.floatType(),
                                    d.shiftRight(fromRoot, 52));
  Value s = d.div(d.sub(mantissa, d.f(1)), d.add(mantissa, d.f(1)));
  Value p = d.polynomial(d.mul(s, s), {1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9,
                                       1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17});
  return d.fma(d.mul(s, d.f(2.8853900817779268)), p, e); // 2 log2 e
}

/// 2^z of |z| <= 1000, to about 2^-40.
static Value exp2Wide(const Lanes &d, Value z) {
  Value rounder = d.f(0x1.8p52);
  Value t = d.add(z, rounder);
  Value f = d.mul(d.sub(z, d.sub(t, rounder)), d.f(0.69314718055994531));
  Value p = d.polynomial(f, {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120,
                             1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
                             1.0 / 3628800});
  return d.fromBits(d.addInt(d.bits(p), d.shiftLeft(d.bits(t), 52)));
}

Value expandPow(const Lanes &m, Value x, Value y) {
  Lanes d = m.in(m.builder.getF64Type());
  auto widen = [&](Value v) -> Value {
    return arith::ExtFOp::create(m.builder, m.loc, d.floatType(), v);
  };
  Value zero = m.f(0), one = m.f(1);
  Value size = m.abs(x);
  // Every f32 but 0 is a normal f64. 0, inf and NaN take a made-up operand and
  // are put right below.
  Value positive = m.compare(CmpFPredicate::OGT, size, zero);
  Value finite = m.compare(CmpFPredicate::OLT, size, m.infinity());
  Value regular = arith::AndIOp::create(m.builder, m.loc, positive, finite);
  Value log = log2Wide(d, widen(m.select(regular, size, one)));
  Value z = d.mul(widen(y), log);
  Value top = d.f(1000), bottom = d.f(-1000);
  z = d.select(d.compare(CmpFPredicate::OGT, z, top), top, z);
  z = d.select(d.compare(CmpFPredicate::OLT, z, bottom), bottom, z);
  Value result =
      arith::TruncFOp::create(m.builder, m.loc, m.floatType(), exp2Wide(d, z));
  result = m.select(m.compare(CmpFPredicate::OLT, result, m.f(0x1p-126)), zero,
                    result);

  // 0 and inf: whichever of the two the sign of y makes of them. (|x| = inf
  // with y > 0, and 0 with y < 0, are inf.)
  Value up = m.compare(CmpFPredicate::OGT, y, zero);
  Value isInfinite = m.compare(CmpFPredicate::OEQ, size, m.infinity());
  Value same = arith::CmpIOp::create(m.builder, m.loc, arith::CmpIPredicate::eq,
                                     up, isInfinite);
  result = m.select(regular, result, m.select(same, m.infinity(), zero));
  // An infinite y of |x| = 1 is 1 (above: inf * 0).
  Value isOne = m.compare(CmpFPredicate::OEQ, size, one);
  result = m.select(isOne, one, result);

  // Below 0 only whole powers exist; odd ones keep the sign, that of -0 too.
  Value floor = expandFloor(m, y);
  Value half = m.mul(y, m.f(0.5));
  Value odd = arith::AndIOp::create(
      m.builder, m.loc, m.compare(CmpFPredicate::OEQ, floor, y),
      m.compare(CmpFPredicate::ONE, expandFloor(m, half), half));
  result = m.select(odd, m.copySign(result, x), result);
  Value below = m.compare(CmpFPredicate::OLT, x, zero);
  Value fraction = m.compare(CmpFPredicate::UNE, floor, y);
  Value undefined = arith::AndIOp::create(
      m.builder, m.loc, fraction,
      arith::AndIOp::create(m.builder, m.loc, below, finite));
  Value nan = m.f(std::numeric_limits<double>::quiet_NaN());
  result = m.select(undefined, nan, result);

  // NaN, but for 1^NaN and NaN^0.
  result = m.select(m.compare(CmpFPredicate::UNO, x, y), nan, result);
  result = m.select(m.compare(CmpFPredicate::OEQ, x, one), one, result);
  return m.select(m.compare(CmpFPredicate::OEQ, y, zero), one, result);
}

Value expandFloor(const Lanes &m, Value x) {
  // Rounds |x| < 2^23 to a whole number; larger ones are whole.
  Value rounder = m.f(0x1p23);
  Value size = m.abs(x);
  Value nearest = m.copySign(m.sub(m.add(size, rounder), rounder), x);
  Value less = m.sub(nearest, m.f(1));
  Value floor =
      m.select(m.compare(CmpFPredicate::OGT, nearest, x), less, nearest);
  return m.select(m.compare(CmpFPredicate::OLT, size, rounder), floor, x);
}

} // namespace attentile::native
