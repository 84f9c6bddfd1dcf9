//===- MaskPairs.cpp - two values dropped by one mask ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: of two values that random numbers, the halves of a word, keep or make
//   0, and that are then rounded to 16 bits side by side: rounds them and masks
//   both at once.
// Expects: registers, no fragments; one word for the numbers that share it
//   (warp-share-random, cse).
// Leaves: numbers that are compared otherwise; values in f32.
// Does not handle: anything but dropout.
//
//===----------------------------------------------------------------------===//
//
// Numbers have 15 bits, with least from 0 to 2^15: number + 2^15 - least is
// below 2^16 and has bit 15 where it is at least `least`. So one addition adds
// to both halves, and none reaches the other.
//

#include "attentile/NVVM/Passes.h"
#include "attentile/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace attentile {
#define GEN_PASS_DEF_WARPMASKPAIRS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Byte 1's sign twice, byte 3's sign twice.
constexpr int64_t kSignsOfHalves = 0xbb99;

/// A value that is 0 unless half of the word is at least `least`.
struct Dropped {
  Value value, word, least;
  bool isHigh;
};

bool isNumber(Value value, int64_t number) {
  APInt constant;
  return matchPattern(value, m_ConstantInt(&constant)) &&
         constant.getSExtValue() == number;
}

/// Whether bytes of the word are below 128: masked so, turned after that or
/// not.
bool hasNumbers(Value word) {
  if (auto turned = word.getDefiningOp<arith::OrIOp>()) {
    auto down = turned.getLhs().getDefiningOp<arith::ShRUIOp>();
    auto up = turned.getRhs().getDefiningOp<arith::ShLIOp>();
    return down && up && down.getLhs() == up.getLhs() &&
           isNumber(down.getRhs(), 8) && isNumber(up.getRhs(), 24) &&
           hasNumbers(down.getLhs());
  }
  auto masked = word.getDefiningOp<arith::AndIOp>();
  return masked && isNumber(masked.getRhs(), kRandomMask);
}

std::optional<Dropped> findDropped(Value value) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select || !matchPattern(select.getFalseValue(), m_PosZeroFloat()))
    return std::nullopt;
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::sge ||
      !compare.getLhs().getType().isInteger(32))
    return std::nullopt;
  Dropped result = {select.getTrueValue(), Value(), compare.getRhs(), false};
  Operation *half = compare.getLhs().getDefiningOp();
  if (isa_and_nonnull<arith::ShRUIOp>(half) &&
      isNumber(half->getOperand(1), 16))
    result.isHigh = true;
  else if (!isa_and_nonnull<arith::AndIOp>(half) ||
           !isNumber(half->getOperand(1), 0xffff))
    return std::nullopt;
  result.word = half->getOperand(0);
  if (!hasNumbers(result.word))
    return std::nullopt;
  return result;
}

class MaskPair : public OpRewritePattern<arith::TruncFOp> {
public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &b) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    auto pair = op.getIn().getDefiningOp<vector::FromElementsOp>();
    if (!type || type.getNumElements() != 2 ||
        type.getElementTypeBitWidth() != 16 || !pair)
      return failure();
    std::optional<Dropped> low = findDropped(pair.getElements()[0]);
    std::optional<Dropped> high = findDropped(pair.getElements()[1]);
    if (!low || !high || low->isHigh || !high->isHigh ||
        low->word != high->word || low->least != high->least)
      return failure();
    Location loc = op.getLoc();
    Type word = b.getI32Type();
    Value both = vector::FromElementsOp::create(
        b, loc, pair.getType(), ValueRange{low->value, high->value});
    both = arith::TruncFOp::create(b, loc, type, both, op.getRoundingmodeAttr(),
                                   op.getFastmathAttr());
    Value sum =
        arith::AddIOp::create(b, loc, low->word, getOffsets(b, low->least));
    Value selector = arith::ConstantIntOp::create(b, loc, kSignsOfHalves, 32);
    Value mask = NVVM::PermuteOp::create(b, loc, word, sum, sum, selector,
                                         NVVM::PermuteMode::DEFAULT);
    Value bits = LLVM::BitcastOp::create(b, loc, word, both);
    bits = arith::AndIOp::create(b, loc, bits, mask);
    b.replaceOpWithNewOp<LLVM::BitcastOp>(op, type, bits);
    return success();
  }

private:
  /// 2^15 - least in both halves, beside `least`: with it, before any loop.
  static Value getOffsets(OpBuilder &b, Value least) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(least);
    Location loc = least.getLoc();
    auto number = [&](int64_t n) -> Value {
      return arith::ConstantIntOp::create(b, loc, n, 32);
    };
    Value top = number(1 << 15);
    Value clamped = arith::MaxSIOp::create(
        b, loc, arith::MinSIOp::create(b, loc, least, top), number(0));
    return arith::MulIOp::create(
        b, loc, arith::SubIOp::create(b, loc, top, clamped), number(0x10001));
  }
};

struct WarpMaskPairs : impl::WarpMaskPairsBase<WarpMaskPairs> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MaskPair>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace attentile
