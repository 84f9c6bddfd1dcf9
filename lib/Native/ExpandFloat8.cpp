//===- ExpandFloat8.cpp - 8-bit floats by integer arithmetic --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Patterns of native-expand-narrow-floats and nvvm-expand-math. f8e5m2 is the
// upper half of f16; f8e4m3 has four bits of exponent with bias 7, and its one
// NaN where an infinity would stand.
//
//===----------------------------------------------------------------------===//

#include "attentile/Float8.h"
#include "attentile/Lanes.h"

using namespace mlir;

namespace attentile {
namespace {

using native::Lanes;

/// How a format lies in its byte.
struct Format {
  int digits; ///< of the fraction
  int bias;
  int largest; ///< the largest finite number
  int nan;
};

Format formatOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return {3, 7, 0x7E, 0x7F};
  return {2, 15, 0x7B, 0x7E};
}

/// The bytes of 8-bit floats; those that they were made of, if any were.
Value bytesOf(const Lanes &m, Value x) {
  Type byte = m.withElement(m.builder.getI8Type());
  auto made = x.getDefiningOp<arith::BitcastOp>();
  if (made && made.getIn().getType() == byte)
    return made.getIn();
  return arith::BitcastOp::create(m.builder, m.loc, byte, x);
}

/// The fraction and exponent move to their places in f32 and the bias is
/// corrected by an addition; subnormals, whose leading bit is not implied, by a
/// subtraction of floats (F. Giesen's half_to_float).
struct ExtendFloat8 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType());
    if (!isFloat8(from) || !getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Location loc = op.getLoc();
    Format format = formatOf(from);
    Lanes m(rewriter, loc, op.getType(), false);
    Value byte = bytesOf(m, op.getIn());
    Value wide = arith::ExtUIOp::create(rewriter, loc, m.integerType(), byte);
    Value sign = m.shiftLeft(m.andInt(wide, m.i(0x80)), 24);
    Value size = m.andInt(wide, m.i(0x7F));
    Value moved = m.shiftLeft(size, 23 - format.digits);
    int64_t rebias = int64_t(127 - format.bias) << 23;
    Value normal = m.addInt(moved, m.i(rebias));
    Value least = m.i(rebias + (1 << 23)); // the smallest normal number
    Value subnormal =
        m.bits(m.sub(m.fromBits(m.addInt(moved, least)), m.fromBits(least)));
    Value isSubnormal =
        m.compareInt(arith::CmpIPredicate::slt, size, m.i(1 << format.digits));
    Value result = m.select(isSubnormal, subnormal, normal);
    // What lies above the largest number: f8e5m2's infinity, and NaN.
    Value isSpecial =
        m.compareInt(arith::CmpIPredicate::sgt, size, m.i(format.largest));
    int64_t nan = 0x7FC00000, infinity = 0x7F800000;
    Value special = m.i(nan);
    if (isa<Float8E5M2Type>(from))
      special = m.select(
          m.compareInt(arith::CmpIPredicate::eq, size, m.i(format.largest + 1)),
          m.i(infinity), special);
    result = m.select(isSpecial, special, result);
    rewriter.replaceOp(op, m.fromBits(m.orInt(result, sign)));
    return success();
  }
};

/// To nearest even by adding just below half a unit, or half a unit if the last
/// bit that stays is set; subnormals by the addition of a float whose last
/// place is theirs. What is too large becomes the largest number.
struct TruncToFloat8 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type to = getElementTypeOrSelf(op.getType());
    Value x = op.getIn();
    if (!isFloat8(to) || !getElementTypeOrSelf(x.getType()).isF32())
      return failure();
    Location loc = op.getLoc();
    Format format = formatOf(to);
    Lanes m(rewriter, loc, x.getType(), false);
    Value bits = m.bits(x);
    Value sign = m.andInt(bits, m.i(0x80000000LL));
    Value size = m.xorInt(bits, sign);
    auto unsignedShift = [&](Value v, int64_t by) -> Value {
      return arith::ShRUIOp::create(rewriter, loc, v, m.i(by));
    };
    int dropped = 23 - format.digits;
    Value odd = m.andInt(unsignedShift(size, dropped), m.i(1));
    int64_t rebias = int64_t(127 - format.bias) << 23;
    Value rebiased = m.addInt(size, m.i((1 << (dropped - 1)) - 1 - rebias));
    Value normal = unsignedShift(m.addInt(rebiased, odd), dropped);
    // 1 - bias - digits is the exponent of the smallest subnormal.
    Value place = m.fromBits(
        m.i(int64_t(127 + 23 + 1 - format.bias - format.digits) << 23));
    Value subnormal =
        m.subInt(m.bits(m.add(m.fromBits(size), place)), m.bits(place));
    Value isSmall =
        m.compareInt(arith::CmpIPredicate::slt, size, m.i(rebias + (1 << 23)));
    Value result = m.select(isSmall, subnormal, normal);
    Value largest = m.i(format.largest);
    result = m.select(m.compareInt(arith::CmpIPredicate::sgt, result, largest),
                      largest, result);
    Value isNaN =
        m.compareInt(arith::CmpIPredicate::sgt, size, m.i(0x7F800000));
    result = m.select(isNaN, m.i(format.nan), result);
    result = m.orInt(result, unsignedShift(sign, 24));
    Value byte = arith::TruncIOp::create(
        rewriter, loc, m.withElement(rewriter.getI8Type()), result);
    rewriter.replaceOp(
        op, arith::BitcastOp::create(rewriter, loc, op.getType(), byte));
    return success();
  }
};

} // namespace

void populateExpandFloat8Patterns(RewritePatternSet &patterns) {
  patterns.add<ExtendFloat8, TruncToFloat8>(patterns.getContext());
}

} // namespace attentile
