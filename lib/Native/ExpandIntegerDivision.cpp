//===- ExpandIntegerDivision.cpp - total integer division to arith --------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: attn.floordiv and attn.floormod to arith, and arith's own rounding
// divisions to its truncating one. Expects: scalars or vectors. Leaves: no
// division but arith.divsi and its kin. Does not handle: the
// vector division that machines lack; LLVM does that lane by lane.
//
//===----------------------------------------------------------------------===//

#include "Attn/Attn.h"
#include "attentile/Native/Passes.h"
#include "attentile/Splat.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace attentile {
#define GEN_PASS_DEF_ATTNEXPANDINTEGERDIVISION
#include "Native/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// An integer, or a vector with that integer in every lane, of type `type`.
Value constantLike(OpBuilder &builder, Location loc, Type type, int64_t value) {
  TypedAttr attribute =
      builder.getIntegerAttr(getElementTypeOrSelf(type), value);
  return arith::ConstantOp::create(builder, loc, splat(type, attribute));
}

/// Both results of one division; the unused one is dead and cost nothing.
struct Division {
  Value quotient, remainder;
};

/// A divisor known to be positive: no guard. Powers of two need no division.
Division byPositive(OpBuilder &b, Location loc, Value lhs, Value rhs,
                    const APInt &divisor) {
  Type type = lhs.getType();
  if (divisor.isPowerOf2()) {
    Value shift = constantLike(b, loc, type, divisor.logBase2());
    Value mask = constantLike(b, loc, type, divisor.getSExtValue() - 1);
    return {arith::ShRSIOp::create(b, loc, lhs, shift),
            arith::AndIOp::create(b, loc, lhs, mask)};
  }
  Value zero = constantLike(b, loc, type, 0);
  Value one = constantLike(b, loc, type, 1);
  Value quotient = arith::DivSIOp::create(b, loc, lhs, rhs);
  Value product = arith::MulIOp::create(b, loc, quotient, rhs);
  Value remainder = arith::SubIOp::create(b, loc, lhs, product);
  Value below =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, remainder, zero);
  Value quotientBelow = arith::SubIOp::create(b, loc, quotient, one);
  Value remainderAbove = arith::AddIOp::create(b, loc, remainder, rhs);
  return {arith::SelectOp::create(b, loc, below, quotientBelow, quotient),
          arith::SelectOp::create(b, loc, below, remainderAbove, remainder)};
}

/// Any divisor. The two that trap, 0 and (for the least integer) -1, are
/// divided by 1 instead; their quotient is lhs * rhs, their remainder 0.
Division byAny(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  Type type = lhs.getType();
  Value zero = constantLike(b, loc, type, 0);
  Value one = constantLike(b, loc, type, 1);
  Value two = constantLike(b, loc, type, 2);
  Value next = arith::AddIOp::create(b, loc, rhs, one);
  Value traps =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, next, two);
  Value safe = arith::SelectOp::create(b, loc, traps, one, rhs);
  Value quotient = arith::DivSIOp::create(b, loc, lhs, safe);
  Value product = arith::MulIOp::create(b, loc, quotient, safe);
  Value remainder = arith::SubIOp::create(b, loc, lhs, product);
  Value inexact =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, remainder, zero);
  Value signs = arith::XOrIOp::create(b, loc, remainder, safe);
  Value differ =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, signs, zero);
  Value below = arith::AndIOp::create(b, loc, inexact, differ);
  Value quotientBelow = arith::SubIOp::create(b, loc, quotient, one);
  Value remainderAbove = arith::AddIOp::create(b, loc, remainder, safe);
  Value trapped = arith::MulIOp::create(b, loc, lhs, rhs);
  quotient = arith::SelectOp::create(b, loc, below, quotientBelow, quotient);
  return {arith::SelectOp::create(b, loc, traps, trapped, quotient),
          arith::SelectOp::create(b, loc, below, remainderAbove, remainder)};
}

Division divide(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  APInt divisor;
  if (matchPattern(rhs, m_ConstantInt(&divisor)) &&
      divisor.isStrictlyPositive())
    return byPositive(builder, loc, lhs, rhs, divisor);
  return byAny(builder, loc, lhs, rhs);
}

struct ExpandFloorDiv : OpRewritePattern<attn::FloorDivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(attn::FloorDivOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, divide(rewriter, op.getLoc(), op.getLhs(), op.getRhs()).quotient);
    return success();
  }
};

struct ExpandFloorMod : OpRewritePattern<attn::FloorModOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(attn::FloorModOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, divide(rewriter, op.getLoc(), op.getLhs(), op.getRhs()).remainder);
    return success();
  }
};

struct AttnExpandIntegerDivision
    : impl::AttnExpandIntegerDivisionBase<AttnExpandIntegerDivision> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandFloorDiv, ExpandFloorMod>(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace attentile
