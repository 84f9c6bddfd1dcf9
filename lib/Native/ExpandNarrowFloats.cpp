//===- ExpandNarrowFloats.cpp - 16-bit floats by integer arithmetic -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: conversions between f32 and bf16 or 8-bit floats (ExpandFloat8.cpp),
// and between f32 and f16 where the machine has no instruction for it, to
// integer arithmetic; those between other types go through f32
// (ConvertThroughF32.cpp). Expects: scalars or vectors. Leaves: no conversion
// that becomes a call. Does not handle: bf16 to f32, a shift
// (native-floats-to-bits); f64.
//
//===----------------------------------------------------------------------===//

#include "attentile/Float8.h"
#include "attentile/Lanes.h"
#include "attentile/Native/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace attentile {
#define GEN_PASS_DEF_NATIVEEXPANDNARROWFLOATS
#include "Native/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

using native::Lanes;

bool isConversion(Operation *op, function_ref<bool(Type)> from,
                  function_ref<bool(Type)> to) {
  return from(getElementTypeOrSelf(op->getOperand(0).getType())) &&
         to(getElementTypeOrSelf(op->getResult(0).getType()));
}
bool isF32(Type type) { return type.isF32(); }
bool isF16(Type type) { return type.isF16(); }
bool isBF16(Type type) { return type.isBF16(); }

/// The low 16 bits of every lane as a float of the result's type.
Value lowHalf(const Lanes &m, Value bits, Type result) {
  Value half = arith::TruncIOp::create(
      m.builder, m.loc, m.withElement(m.builder.getI16Type()), bits);
  return arith::BitcastOp::create(m.builder, m.loc, result, half);
}

/// To nearest even by adding just below half a unit, or half a unit if the
/// last bit that stays is set. NaN would overflow into -0, so it is quieted
/// and cut instead.
struct TruncToBF16 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isConversion(op, isF32, isBF16))
      return failure();
    Value x = op.getIn();
    Lanes m(rewriter, op.getLoc(), x.getType(), false);
    Value bits = m.bits(x);
    Value high = arith::ShRUIOp::create(rewriter, op.getLoc(), bits, m.i(16));
    Value half = m.addInt(m.andInt(high, m.i(1)), m.i(0x7FFF));
    Value rounded = arith::ShRUIOp::create(rewriter, op.getLoc(),
                                           m.addInt(bits, half), m.i(16));
    Value nan = m.compare(arith::CmpFPredicate::UNO, x, x);
    Value result = m.select(nan, m.orInt(high, m.i(0x40)), rounded);
    rewriter.replaceOp(op, lowHalf(m, result, op.getType()));
    return success();
  }
};

/// The exponent's bias is corrected by an addition; subnormals, whose leading
/// bit is not implied, by a subtraction of floats (F. Giesen's half_to_float).
struct ExtendF16 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isConversion(op, isF16, isF32))
      return failure();
    Location loc = op.getLoc();
    Lanes m(rewriter, loc, op.getType(), false);
    Value half = arith::BitcastOp::create(
        rewriter, loc, m.withElement(rewriter.getI16Type()), op.getIn());
    Value wide = arith::ExtUIOp::create(rewriter, loc, m.integerType(), half);
    Value sign = m.shiftLeft(m.andInt(wide, m.i(0x8000)), 16);
    Value size = m.shiftLeft(m.andInt(wide, m.i(0x7FFF)), 13);
    Value exponent = m.andInt(size, m.i(0x7C00 << 13));
    Value normal = m.addInt(size, m.i((127 - 15) << 23));
    Value special = m.addInt(normal, m.i((128 - 16) << 23));
    Value subnormal = m.bits(m.sub(m.fromBits(m.addInt(normal, m.i(1 << 23))),
                                   m.fromBits(m.i(113 << 23))));
    Value isSpecial =
        m.compareInt(arith::CmpIPredicate::eq, exponent, m.i(0x7C00 << 13));
    Value isSubnormal =
        m.compareInt(arith::CmpIPredicate::eq, exponent, m.i(0));
    Value result =
        m.select(isSpecial, special, m.select(isSubnormal, subnormal, normal));
    rewriter.replaceOp(op, m.fromBits(m.orInt(result, sign)));
    return success();
  }
};

/// As TruncToBF16 for normal results; subnormal ones are rounded by the
/// addition of a float whose last place is theirs.
struct TruncToF16 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isConversion(op, isF32, isF16))
      return failure();
    Location loc = op.getLoc();
    Lanes m(rewriter, loc, op.getIn().getType(), false);
    Value bits = m.bits(op.getIn());
    Value sign = m.andInt(bits, m.i(0x80000000LL));
    Value size = m.xorInt(bits, sign);
    auto unsignedShift = [&](Value v, int64_t by) -> Value {
      return arith::ShRUIOp::create(rewriter, loc, v, m.i(by));
    };

    Value odd = m.andInt(unsignedShift(size, 13), m.i(1));
    Value rebiased =
        m.addInt(size, m.i(0xFFF - (static_cast<int64_t>(127 - 15) << 23)));
    Value normal = unsignedShift(m.addInt(rebiased, odd), 13);
    // 2^-1: its last place is 2^-24, the smallest subnormal of f16.
    Value half = m.f(0.5);
    Value subnormal =
        m.subInt(m.bits(m.add(m.fromBits(size), half)), m.bits(half));
    // From 65520 on the result is inf; a NaN keeps what fits and is quiet.
    Value payload = m.andInt(unsignedShift(size, 13), m.i(0x3FF));
    Value nan = m.orInt(payload, m.i(0x7E00));
    Value isNan =
        m.compareInt(arith::CmpIPredicate::sgt, size, m.i(0x7F800000));
    Value large = m.select(isNan, nan, m.i(0x7C00));
    Value isLarge =
        m.compareInt(arith::CmpIPredicate::sge, size, m.i((127 + 16) << 23));
    Value isSmall =
        m.compareInt(arith::CmpIPredicate::slt, size, m.i((127 - 14) << 23));
    Value result =
        m.select(isLarge, large, m.select(isSmall, subnormal, normal));
    result = m.orInt(result, unsignedShift(sign, 16));
    rewriter.replaceOp(op, lowHalf(m, result, op.getType()));
    return success();
  }
};

struct NativeExpandNarrowFloats
    : impl::NativeExpandNarrowFloatsBase<NativeExpandNarrowFloats> {
  using NativeExpandNarrowFloatsBase::NativeExpandNarrowFloatsBase;

  void runOnOperation() override {
    RewritePatternSet through(&getContext());
    populateConvertThroughF32Patterns(through, [this](Type type) {
      return isFloat8(type) || type.isBF16() || (!hasF16 && type.isF16());
    });
    walkAndApplyPatterns(getOperation(), std::move(through));

    RewritePatternSet patterns(&getContext());
    patterns.add<TruncToBF16>(&getContext());
    populateExpandFloat8Patterns(patterns);
    if (!hasF16)
      patterns.add<ExtendF16, TruncToF16>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace attentile
