//===- ConvertThroughF32.cpp - two conversions for one --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Patterns of native-expand-narrow-floats and nvvm-expand-math, which expand
// conversions between f32 and narrow floats alone. The canonicalizer makes one
// conversion of two, bf16(f32(i)), f8e4m3(f32(x)) of a bf16 x: here they are
// two again.
//
//===----------------------------------------------------------------------===//

#include "attentile/Float8.h"
#include "attentile/Lanes.h"

using namespace mlir;

namespace attentile {
namespace {

bool isWide(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() >= 32;
}

template <typename Op> class ConvertThroughF32 : public OpRewritePattern<Op> {
public:
  ConvertThroughF32(MLIRContext *context, std::function<bool(Type)> isExpanded)
      : OpRewritePattern<Op>(context), isExpanded(std::move(isExpanded)) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType());
    Type to = getElementTypeOrSelf(op.getType());
    if (isWide(from) || isWide(to) || !(isExpanded(from) || isExpanded(to)))
      return failure();
    Location loc = op.getLoc();
    Type wide = native::Lanes(rewriter, loc, op.getType(), false)
                    .withElement(rewriter.getF32Type());
    Value x;
    if constexpr (std::is_same_v<Op, arith::TruncFOp>)
      x = arith::ExtFOp::create(rewriter, loc, wide, op.getIn());
    else
      x = Op::create(rewriter, loc, wide, op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), x);
    return success();
  }

private:
  std::function<bool(Type)> isExpanded;
};

} // namespace

void populateConvertThroughF32Patterns(
    RewritePatternSet &patterns, const std::function<bool(Type)> &isExpanded) {
  patterns.add<
      ConvertThroughF32<arith::TruncFOp>, ConvertThroughF32<arith::ExtFOp>,
      ConvertThroughF32<arith::SIToFPOp>, ConvertThroughF32<arith::UIToFPOp>>(
      patterns.getContext(), isExpanded);
}

} // namespace attentile
