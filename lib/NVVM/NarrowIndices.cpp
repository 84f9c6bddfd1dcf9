//===- NarrowIndices.cpp - 32-bit index arithmetic where it suffices ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: computes index values in i32 where every operand and the result are
//   known to fit: masks compare positions once an element, and 64 bits cost a
//   GPU two instructions and two registers each. Positions are divided by
//   positive numbers in 32 bits whatever these are.
// Expects: a tile.program with warp.kernels, fragments unrolled.
// Leaves: the values themselves, cast back to index where something else uses
//   them, such as an address.
// Does not handle: loop variables; their casts are one instruction a turn.
//
//===----------------------------------------------------------------------===//

#include "IndexRanges.h"
#include "RowPositions.h"
#include "ValueRanges.h"
#include "Warp/Warp.h"
#include "attentile/AssumedBounds.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace attentile {
#define GEN_PASS_DEF_WARPNARROWINDICES
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

class Narrower {
public:
  Narrower(const ValueRanges &ranges, warp::KernelOp kernel)
      : ranges(ranges), kernel(kernel), builder(kernel.getContext()) {}

  void run();

private:
  const ValueRanges &ranges;
  warp::KernelOp kernel;
  OpBuilder builder;
  DenseMap<Value, Value> narrow;
  DenseMap<std::pair<Value, int64_t>, Value> clamped; // by the margin left

  /// Whether an index value is known to fit an i32; and to be at least 0.
  bool fits(Value value, bool nonNegative = false);
  /// The operand that a minimum or maximum is known to be, or null.
  Value known(Operation *op);
  bool canNarrow(Operation *op);
  Value narrowed(Value value);
  void insertAfter(Value value);
  bool clampComparison(arith::CmpIOp compare);
  Value saturated(Value value, int64_t margin);
  bool narrowClamp(Operation *outer);
  bool dividesPosition(Operation *op);
  void narrowDivision(Operation *op);
  void rewrite(Operation *op);
};

bool Narrower::fits(Value value, bool nonNegative) {
  const ConstantIntRanges *range = ranges.find(value);
  return range && range->smin().isSignedIntN(32) &&
         range->smax().isSignedIntN(32) &&
         (!nonNegative || range->smin().isNonNegative());
}

Value Narrower::known(Operation *op) {
  if (!isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return {};
  const ConstantIntRanges *a = ranges.find(op->getOperand(0));
  const ConstantIntRanges *b = ranges.find(op->getOperand(1));
  if (!a || !b)
    return {};
  bool isMin = isa<arith::MinSIOp>(op);
  if (a->smax().sle(b->smin()))
    return op->getOperand(isMin ? 0 : 1);
  if (b->smax().sle(a->smin()))
    return op->getOperand(isMin ? 1 : 0);
  return {};
}

bool Narrower::canNarrow(Operation *op) {
  // Operations that give the same bits for operands sign-extended to 64 bits,
  // and those that take operands without a sign.
  bool isSigned =
      isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp,
          arith::MaxSIOp, arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
          arith::CmpIOp, arith::SelectOp, math::AbsIOp, attn::FloorDivOp,
          attn::FloorModOp>(op);
  bool isUnsigned =
      isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp, arith::MinUIOp,
          arith::MaxUIOp, arith::ShRUIOp, arith::ShRSIOp, arith::ShLIOp>(op);
  if (auto compare = dyn_cast<arith::CmpIOp>(op);
      compare && compare.getPredicate() >= arith::CmpIPredicate::ult) {
    isSigned = false;
    isUnsigned = true;
  }
  if (!isSigned && !isUnsigned)
    return false;
  bool some = false;
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                         llvm::to_vector(op->getResults()))) {
    if (value.getType().isInteger(1))
      continue;
    if (!value.getType().isIndex() || !fits(value, isUnsigned))
      return false;
    some = true;
  }
  return some;
}

/// A comparison of a position that fits with a bound that may not: the bound is
/// clamped to 32 bits, which changes no answer, as the position is not at
/// either end. Pays where a bound meets several positions, as a row's does.
bool Narrower::clampComparison(arith::CmpIOp compare) {
  if (!compare.getLhs().getType().isIndex() ||
      compare.getPredicate() >= arith::CmpIPredicate::ult)
    return false;
  unsigned side = fits(compare.getLhs()) ? 1 : 0;
  Value position = compare->getOperand(1 - side);
  Value bound = compare->getOperand(side);
  if (fits(bound) || !fits(position) || bound.hasOneUse())
    return false;
  const ConstantIntRanges &range = *ranges.find(position);
  if (range.smin().getSExtValue() == INT32_MIN ||
      range.smax().getSExtValue() == INT32_MAX)
    return false;
  Value operands[2];
  operands[side] = saturated(bound, /*margin=*/0);
  operands[1 - side] = narrowed(position);
  builder.setInsertionPoint(compare);
  Value replacement =
      arith::CmpIOp::create(builder, compare.getLoc(), compare.getPredicate(),
                            operands[0], operands[1]);
  compare.getResult().replaceAllUsesWith(replacement);
  compare.erase();
  return true;
}

/// An index value in 32 bits, held `margin` away from their ends.
Value Narrower::saturated(Value value, int64_t margin) {
  Value &result = clamped[{value, margin}];
  if (result)
    return result;
  OpBuilder::InsertionGuard guard(builder);
  insertAfter(value);
  Location loc = value.getLoc();
  Value least =
      arith::ConstantIndexOp::create(builder, loc, INT32_MIN + margin);
  Value most = arith::ConstantIndexOp::create(builder, loc, INT32_MAX - margin);
  Value inside = arith::MinSIOp::create(
      builder, loc, arith::MaxSIOp::create(builder, loc, value, least), most);
  return result = arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                             inside);
}

/// min(max(base + c, low), high), in either order, where base may not fit but
/// low and high do, with room to spare: a base held near the ends of 32 bits is
/// on the same side of both as it was. All that differ by c share it.
bool Narrower::narrowClamp(Operation *outer) {
  constexpr int64_t kMargin = 1 << 15;
  bool minimumLast = isa<arith::MinSIOp>(outer);
  if (!outer->getResult(0).getType().isIndex())
    return false;
  auto hasRoom = [&](Value bound) {
    if (!fits(bound))
      return false;
    const ConstantIntRanges &range = *ranges.find(bound);
    return range.smin().getSExtValue() >= INT32_MIN + 2 * kMargin &&
           range.smax().getSExtValue() <= INT32_MAX - 2 * kMargin;
  };
  for (unsigned side : {0, 1}) {
    Operation *inner = outer->getOperand(side).getDefiningOp();
    Value last = outer->getOperand(1 - side);
    if (!inner || inner->getNumOperands() != 2 || !hasRoom(last) ||
        !(minimumLast ? isa<arith::MaxSIOp>(inner)
                      : isa<arith::MinSIOp>(inner)))
      continue;
    for (unsigned at : {0, 1}) {
      Value value = inner->getOperand(at), first = inner->getOperand(1 - at);
      if (fits(value) || !hasRoom(first))
        continue;
      int64_t offset = 0;
      APInt constant;
      if (auto add = value.getDefiningOp<arith::AddIOp>();
          add && matchPattern(add.getRhs(), m_ConstantInt(&constant)) &&
          std::abs(constant.getSExtValue()) <= kMargin) {
        value = add.getLhs();
        offset = constant.getSExtValue();
      }
      Value sum = saturated(value, kMargin);
      Value low = narrowed(first), high = narrowed(last);
      builder.setInsertionPoint(outer);
      Location loc = outer->getLoc();
      if (offset != 0)
        sum = arith::AddIOp::create(
            builder, loc, sum,
            arith::ConstantIntOp::create(builder, loc, offset, 32),
            arith::IntegerOverflowFlags::nsw);
      Value result =
          minimumLast
              ? arith::MinSIOp::create(
                    builder, loc,
                    arith::MaxSIOp::create(builder, loc, sum, low), high)
                    .getResult()
              : arith::MaxSIOp::create(
                    builder, loc,
                    arith::MinSIOp::create(builder, loc, sum, low), high)
                    .getResult();
      narrow[outer->getResult(0)] = result;
      return true;
    }
  }
  return false;
}

/// Behind a value's definition; at the kernel's top if that is outside.
void Narrower::insertAfter(Value value) {
  if (value.getParentRegion()->isProperAncestor(&kernel.getBody()))
    builder.setInsertionPointToStart(&kernel.getBody().front());
  else
    builder.setInsertionPointAfterValue(value);
}

/// The i32 that holds an index value that fits.
Value Narrower::narrowed(Value value) {
  Value &result = narrow[value];
  if (result)
    return result;
  OpBuilder::InsertionGuard guard(builder);
  insertAfter(value);
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    result = arith::ConstantIntOp::create(builder, value.getLoc(),
                                          constant.getSExtValue(), 32);
  else
    result = arith::IndexCastOp::create(builder, value.getLoc(),
                                        builder.getI32Type(), value);
  return narrow[value] = result;
}

/// Whether a position, from 0 to below the largest of 32 bits, is divided by a
/// number that is not negative. (Of a constant the expansion makes more.)
bool Narrower::dividesPosition(Operation *op) {
  if (!isa<attn::FloorDivOp, attn::FloorModOp>(op) ||
      !op->getResult(0).getType().isIndex() ||
      matchPattern(op->getOperand(1), m_Constant()) ||
      !fits(op->getOperand(0), /*nonNegative=*/true))
    return false;
  const ConstantIntRanges *divisor = ranges.find(op->getOperand(1));
  return divisor && divisor->smin().isNonNegative() &&
         ranges.find(op->getOperand(0))->smax().slt(INT32_MAX);
}

/// A divisor above every position gives what the largest of 32 bits gives; one
/// of 0 gives 0.
void Narrower::narrowDivision(Operation *op) {
  Location loc = op->getLoc();
  Value lhs = narrowed(op->getOperand(0)), rhs = op->getOperand(1);
  bool mayBeZero = ranges.find(rhs)->smin().isZero();
  rhs = fits(rhs) ? narrowed(rhs) : saturated(rhs, /*margin=*/0);
  builder.setInsertionPoint(op);
  Value isZero;
  if (mayBeZero) {
    Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
    Value one = arith::ConstantIntOp::create(builder, loc, 1, 32);
    isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rhs,
                                   zero);
    rhs = arith::MaxSIOp::create(builder, loc, rhs, one);
  }
  Value &result = narrow[op->getResult(0)];
  if (isa<attn::FloorModOp>(op)) {
    result = arith::RemUIOp::create(builder, loc, lhs, rhs);
    return;
  }
  result = arith::DivUIOp::create(builder, loc, lhs, rhs);
  if (isZero)
    result = arith::SelectOp::create(
        builder, loc, isZero,
        arith::ConstantIntOp::create(builder, loc, 0, 32), result);
}

void Narrower::rewrite(Operation *op) {
  if (dividesPosition(op))
    return narrowDivision(op);
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.operands.push_back(operand.getType().isIndex() ? narrowed(operand)
                                                         : operand);
  for (Type type : op->getResultTypes())
    state.types.push_back(type.isIndex() ? builder.getI32Type() : type);
  state.attributes = op->getDiscardableAttrDictionary();
  state.propertiesAttr = op->getPropertiesAsAttribute();
  builder.setInsertionPoint(op);
  Operation *made = builder.create(state);
  // Neither the exact nor the rounded 64-bit result overflowed 32 bits.
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(made))
    made->setAttr("overflowFlags",
                  arith::IntegerOverflowFlagsAttr::get(
                      op->getContext(), arith::IntegerOverflowFlags::nsw));
  Value result = op->getResult(0), replacement = made->getResult(0);
  if (result.getType().isIndex()) {
    narrow[result] = replacement;
    return;
  }
  result.replaceAllUsesWith(replacement);
  op->erase();
}

void Narrower::run() {
  SmallVector<Operation *> work;
  SmallVector<arith::CmpIOp> comparisons;
  SmallVector<Operation *> clamps;
  kernel.getBody().walk([&](Operation *op) {
    if (Value same = known(op)) {
      op->getResult(0).replaceAllUsesWith(same);
      op->erase();
      return;
    }
    if (canNarrow(op) || dividesPosition(op))
      work.push_back(op);
    else if (auto compare = dyn_cast<arith::CmpIOp>(op))
      comparisons.push_back(compare);
    else if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
      clamps.push_back(op);
  });
  // First, while the analysis still knows every operand.
  for (arith::CmpIOp compare : comparisons)
    clampComparison(compare);
  SmallVector<Operation *> wide;
  for (Operation *op : clamps)
    if (narrowClamp(op))
      wide.push_back(op);
  for (Operation *op : work) {
    bool keeps = op->getResult(0).getType().isIndex();
    rewrite(op);
    if (keeps)
      wide.push_back(op);
  }
  // Users last: what only narrow operations used is gone by then.
  for (Operation *op : llvm::reverse(wide)) {
    if (!op->use_empty()) {
      builder.setInsertionPoint(op);
      op->getResult(0).replaceAllUsesWith(arith::IndexCastOp::create(
          builder, op->getLoc(), builder.getIndexType(),
          narrow.lookup(op->getResult(0))));
    }
    op->erase();
  }
}

/// Bounds of a loop over an axis's blocks that the analysis need not follow
/// through the formulas of masks: where it runs at all, it stays within the
/// axis, up to a tile.
void boundLoop(scf::ForOp loop) {
  if (!loop->hasAttr("tile.axis") || !loop.getUpperBound().getType().isIndex())
    return;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value most =
      arith::ConstantIndexOp::create(builder, loc, kLargestPosition);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  for (OpOperand *bound :
       {&loop.getLowerBoundMutable(), &loop.getUpperBoundMutable()})
    bound->set(arith::MinSIOp::create(
        builder, loc, arith::MaxSIOp::create(builder, loc, bound->get(), zero),
        most));
}

struct WarpNarrowIndices : impl::WarpNarrowIndicesBase<WarpNarrowIndices> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, warp::WarpDialect>();
    registerIndexRanges(registry);
  }

  void runOnOperation() override {
    getOperation()->walk(boundLoop);
    getOperation()->walk(anchorRowPositions);
    ValueRanges ranges(getOperation());
    SmallVector<warp::KernelOp> kernels;
    getOperation()->walk(
        [&](warp::KernelOp kernel) { kernels.push_back(kernel); });
    for (warp::KernelOp kernel : kernels)
      Narrower(ranges, kernel).run();
  }
};

} // namespace
} // namespace attentile
