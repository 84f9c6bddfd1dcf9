//===- ExpandMath.cpp - mathematics by arithmetic, on a GPU ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: replaces exp, log, log2, tanh, pow, sin, cos and 1 / x on f32 scalars,
// and conversions from bf16, 8-bit integers, and from and to 8-bit floats,
// those of other types than f32 through it (ConvertThroughF32.cpp).
// Expects: registers, no fragments.
// Leaves: exp2, which is one instruction, and what the instruction set rounds
//   correctly: sqrt, fma, floor and its kin.
// Does not handle: other types; the language computes in f32.
//
//===----------------------------------------------------------------------===//

#include "attentile/ExpandMath.h"
#include "attentile/Float8.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace attentile {
#define GEN_PASS_DEF_NVVMEXPANDMATH
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

using native::Lanes;

template <typename Op, Value (*expand)(const Lanes &, Value)>
struct ExpandUnary : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Lanes lanes(rewriter, op.getLoc(), op.getType(), /*fused=*/true);
    rewriter.replaceOp(op, expand(lanes, op.getOperand()));
    return success();
  }
};

struct ExpandPowF : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Lanes lanes(rewriter, op.getLoc(), op.getType(), /*fused=*/true);
    rewriter.replaceOp(op, expandPow(lanes, op.getLhs(), op.getRhs()));
    return success();
  }
};

/// 32 zeros, then 2 / pi in binary from 2^-1 on.
constexpr uint32_t kTwoOverPi[] = {0,          0xA2F9836E, 0x4E441529,
                                   0xFC2757D1, 0xF534DDC0, 0xDB629599,
                                   0x3C439041, 0xFE5163AB};

/// x modulo 2 pi, in [-pi, pi], for |x| > kTrigLimit, by Payne and Hanek's
/// method. With x = m * 2^(e - 150) the number of turns is m * 2^(e - 152)
/// times 2 / pi, of which the bits that give whole turns are dropped before
/// anything is multiplied: 96 bits of 2 / pi are left. NaN for an infinity.
Value reduceFar(OpBuilder &b, Location loc, Value x) {
  Type i64 = b.getI64Type();
  auto c32 = [&](int64_t v) -> Value {
    return arith::ConstantIntOp::create(b, loc, int32_t(v), 32);
  };
  auto c64 = [&](int64_t v) -> Value {
    return arith::ConstantIntOp::create(b, loc, v, 64);
  };
  auto extend = [&](Value v) -> Value {
    return arith::ExtUIOp::create(b, loc, i64, v);
  };
  Lanes lanes(b, loc, x.getType(), /*fused=*/true);
  Value bits = lanes.bits(lanes.abs(x));
  Value exponent = arith::ShRUIOp::create(b, loc, bits, c32(23));
  Value mantissa =
      lanes.orInt(lanes.andInt(bits, c32(0x7FFFFF)), c32(0x800000));
  // From 20 to 134, as the string has 32 zeros in front.
  Value drop = lanes.subInt(exponent, c32(120));
  Value word = arith::ShRUIOp::create(b, loc, drop, c32(5));
  Value bit = extend(lanes.andInt(drop, c32(31)));
  SmallVector<Value> words;
  for (int i = 0; i < 4; ++i) {
    Value picked = c32(kTwoOverPi[i]);
    for (int w = 1; w + 4 <= int(std::size(kTwoOverPi)); ++w)
      picked =
          lanes.select(lanes.compareInt(arith::CmpIPredicate::eq, word, c32(w)),
                       c32(kTwoOverPi[w + i]), picked);
    words.push_back(extend(picked));
  }
  // Three words that start at the bit, times the mantissa; the fraction of a
  // turn in 64 bits.
  Value m = extend(mantissa), fraction;
  for (int i = 0; i < 3; ++i) {
    Value pair = arith::OrIOp::create(
        b, loc, arith::ShLIOp::create(b, loc, words[i], c64(32)), words[i + 1]);
    Value moved = arith::ShLIOp::create(b, loc, pair, bit);
    Value part = arith::MulIOp::create(
        b, loc, m, arith::ShRUIOp::create(b, loc, moved, c64(32)));
    if (i == 0)
      fraction = arith::ShLIOp::create(b, loc, part, c64(32));
    else if (i == 1)
      fraction = arith::AddIOp::create(b, loc, fraction, part);
    else
      fraction = arith::AddIOp::create(
          b, loc, fraction, arith::ShRUIOp::create(b, loc, part, c64(32)));
  }
  // As a signed number the fraction is that of the nearest whole turn.
  Value turns = arith::SIToFPOp::create(b, loc, b.getF64Type(), fraction);
  constexpr double kTurn = 6.283185307179586476925 / 18446744073709551616.0;
  Value scale = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(kTurn));
  Value angle = arith::TruncFOp::create(
      b, loc, x.getType(), arith::MulFOp::create(b, loc, turns, scale));
  Value negative = lanes.compare(arith::CmpFPredicate::OLT, x, lanes.f(0));
  angle = lanes.select(negative, arith::NegFOp::create(b, loc, angle), angle);
  Value infinite =
      lanes.compareInt(arith::CmpIPredicate::eq, exponent, c32(255));
  return lanes.select(infinite,
                      lanes.f(std::numeric_limits<double>::quiet_NaN()), angle);
}

/// sin and cos of an operand brought near 0 first, where it is far.
template <typename Op, Value (*expand)(const Lanes &, Value)>
struct ExpandTrig : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Location loc = op.getLoc();
    Value x = op.getOperand();
    Lanes lanes(rewriter, loc, op.getType(), /*fused=*/true);
    Value far = lanes.compare(arith::CmpFPredicate::OGT, lanes.abs(x),
                              lanes.f(native::kTrigLimit));
    auto near = scf::IfOp::create(
        rewriter, loc, far,
        [&](OpBuilder &b, Location loc) {
          scf::YieldOp::create(b, loc, reduceFar(b, loc, x));
        },
        [&](OpBuilder &b, Location loc) { scf::YieldOp::create(b, loc, x); });
    rewriter.replaceOp(op, expand(lanes, near.getResult(0)));
    return success();
  }
};

/// bf16 is the upper half of an f32. Subnormals pass, as what reads the f32
/// takes them as 0.
struct ExpandExtF : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getIn()).isBF16() ||
        !getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Location loc = op.getLoc();
    auto convert = [&](Value half) -> Value {
      Value bits =
          arith::BitcastOp::create(rewriter, loc, rewriter.getI16Type(), half);
      bits = arith::ExtUIOp::create(rewriter, loc, rewriter.getI32Type(), bits);
      Value by = arith::ConstantIntOp::create(rewriter, loc, 16, 32);
      bits = arith::ShLIOp::create(rewriter, loc, bits, by);
      return arith::BitcastOp::create(rewriter, loc, rewriter.getF32Type(),
                                      bits);
    };
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type) {
      rewriter.replaceOp(op, convert(op.getIn()));
      return success();
    }
    SmallVector<Value> all;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      all.push_back(
          convert(vector::ExtractOp::create(rewriter, loc, op.getIn(), i)));
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, all);
    return success();
  }
};

/// An integer of 8 bits takes the place of the last digits of 2^23, which is
/// subtracted: conversions are four times as slow as these two.
struct ExpandByteToFloat : OpRewritePattern<arith::SIToFPOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SIToFPOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getIn().getType().isInteger(8) || !op.getType().isF32())
      return failure();
    Lanes m(rewriter, op.getLoc(), op.getType(), /*fused=*/true);
    Value wide = arith::ExtUIOp::create(rewriter, op.getLoc(), m.integerType(),
                                        op.getIn());
    // With the sign bit turned round it is the number plus 128.
    Value digits = m.xorInt(wide, m.i(0x4B000080));
    rewriter.replaceOp(op, m.sub(m.fromBits(digits), m.f(0x1p23 + 128)));
    return success();
  }
};

/// 1 / x by the instruction for reciprocals: within a unit of the last place,
/// where a quotient is granted twice half of one.
struct ExpandReciprocal : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    bool approximate =
        bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn);
    if (!op.getType().isF32() || approximate ||
        !matchPattern(op.getLhs(), m_OneFloat()))
      return failure();
    Lanes m(rewriter, op.getLoc(), op.getType(), /*fused=*/true);
    rewriter.replaceOp(op, m.reciprocal(op.getRhs()));
    return success();
  }
};

struct NVVMExpandMath : impl::NVVMExpandMathBase<NVVMExpandMath> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet through(context);
    populateConvertThroughF32Patterns(through, isFloat8);
    walkAndApplyPatterns(getOperation(), std::move(through));

    RewritePatternSet patterns(context);
    patterns
        .add<ExpandUnary<math::ExpOp, native::expandExp>,
             ExpandUnary<math::Log2Op, native::expandLog2>,
             ExpandUnary<math::LogOp, native::expandLog>,
             ExpandUnary<math::TanhOp, native::expandTanhByReciprocal>,
             ExpandPowF, ExpandExtF, ExpandTrig<math::SinOp, native::expandSin>,
             ExpandTrig<math::CosOp, native::expandCos>>(context);
    patterns.add<ExpandByteToFloat, ExpandReciprocal>(context);
    populateExpandFloat8Patterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace attentile
