//===- FoldDistances.cpp - |x - y| <= r as one comparison -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: compares x - y + r, which is from 0 to 2 r, without a sign: for each
//   score a difference and a comparison, as x + r is the row's; or x + r + c,
//   where x is the tile's and a constant that of a diagonal.
// Expects: registers, no fragments; indices narrowed to 32 bits.
// Leaves: |x - y| whose distance is used otherwise.
// Does not handle: indices of 64 bits, for which the sums may overflow.
//
//===----------------------------------------------------------------------===//
//
// In 32 bits, modulo 2^32: let x - y be of 32 bits with a sign, so |x - y| at
// most 2^31, and r from 0 to 2^31 - 1. Then x - y + r is above -2^31 and below
// 2^32. If it is below 0, it is taken for one that is at least 2^31 + r, which
// is above 2 r; from 0 on it is itself.
//

#include "IndexSums.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"

namespace attentile {
#define GEN_PASS_DEF_WARPFOLDDISTANCES
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

using P = arith::CmpIPredicate;

class Folder {
public:
  explicit Folder(warp::KernelOp kernel) : kernel(kernel) {}
  void fold(arith::CmpIOp compare);

private:
  struct Radius {
    Value offset, end; ///< r, and 2 r + 1 or, where r is below 0, 0
  };
  Radius getRadius(Value r, bool isIn);
  Value getCentre(Value value, Value offset, bool isAdded);

  warp::KernelOp kernel;
  llvm::DenseMap<std::pair<Value, unsigned>, Radius> radii;
  llvm::DenseMap<std::tuple<Value, Value, unsigned>, Value> centres;
};

/// Of a distance that may be r, or (not `isIn`) r - 1 at most.
Folder::Radius Folder::getRadius(Value r, bool isIn) {
  Radius &radius = radii[{r, isIn}];
  if (radius.end)
    return radius;
  OpBuilder b(r.getContext());
  setInsertionPointAfter(b, r, kernel);
  Location loc = r.getLoc();
  auto number = [&](int32_t n) -> Value {
    return arith::ConstantIntOp::create(b, loc, n, 32);
  };
  Value twice = arith::AddIOp::create(b, loc, r, r);
  Value end = arith::AddIOp::create(b, loc, twice, number(isIn ? 1 : -1));
  Value isSome =
      arith::CmpIOp::create(b, loc, isIn ? P::sge : P::sgt, r, number(0));
  radius.end = arith::SelectOp::create(b, loc, isSome, end, number(0));
  radius.offset =
      isIn ? r : arith::AddIOp::create(b, loc, r, number(-1)).getResult();
  return radius;
}

/// x + r, or y - r, where both are there.
Value Folder::getCentre(Value value, Value offset, bool isAdded) {
  Value &centre = centres[{value, offset, isAdded}];
  if (centre)
    return centre;
  OpBuilder b(value.getContext());
  DominanceInfo dominance;
  // An argument, as of a loop around, is there where its block begins.
  Operation *from = value.getDefiningOp();
  bool isLater = dominance.properlyDominates(
      offset, from ? from : &value.getParentBlock()->front());
  setInsertionPointAfter(b, isLater ? value : offset, kernel);
  Location loc = value.getLoc();
  return centre = isAdded
                      ? arith::AddIOp::create(b, loc, value, offset).getResult()
                      : arith::SubIOp::create(b, loc, value, offset);
}

/// Whether a sum does not wrap.
static bool isExact(Operation *op) {
  auto flags = cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  return bitEnumContainsAll(flags.getOverflowAttr().getValue(),
                            arith::IntegerOverflowFlags::nsw);
}

void Folder::fold(arith::CmpIOp compare) {
  auto distance = compare.getLhs().getDefiningOp<math::AbsIOp>();
  P predicate = compare.getPredicate();
  bool isBelow = predicate == P::sle || predicate == P::slt;
  bool isAbove = predicate == P::sgt || predicate == P::sge;
  if (!distance || !distance.getType().isInteger(32) || (!isBelow && !isAbove))
    return;
  auto loop = compare->getParentOfType<scf::ForOp>();
  auto isOutside = [&](Value value) {
    return !loop || loop.isDefinedOutsideOfLoop(value);
  };
  Value x = distance.getOperand(), y, r = compare.getRhs();
  if (!isOutside(r))
    return;
  Operation *op = x.getDefiningOp();
  bool isExactOp =
      isa_and_nonnull<arith::SubIOp, arith::AddIOp>(op) && isExact(op);
  bool isDifference =
      isExactOp && isa<arith::SubIOp>(op) &&
      (isOutside(op->getOperand(0)) || isOutside(op->getOperand(1)));
  bool isShifted = isExactOp && isa<arith::AddIOp>(op) &&
                   matchPattern(op->getOperand(1), m_Constant());
  if (isDifference || isShifted) {
    x = op->getOperand(0);
    y = op->getOperand(1);
  }
  bool ofX = !isDifference || isOutside(x);
  Radius radius = getRadius(r, predicate == P::sle || predicate == P::sgt);
  (ofX ? x : y) = getCentre(ofX ? x : y, radius.offset, ofX);
  OpBuilder b(compare);
  Location loc = compare.getLoc();
  Value place = x;
  if (y)
    place = isDifference ? arith::SubIOp::create(b, loc, x, y).getResult()
                         : arith::AddIOp::create(b, loc, x, y);
  compare.replaceAllUsesWith(arith::CmpIOp::create(b, loc,
                                                   isBelow ? P::ult : P::uge,
                                                   place, radius.end)
                                 .getResult());
  compare.erase();
  if (distance.use_empty())
    distance.erase();
  if (op && isOpTriviallyDead(op))
    op->erase();
}

struct WarpFoldDistances : impl::WarpFoldDistancesBase<WarpFoldDistances> {
  void runOnOperation() override {
    getOperation()->walk([](warp::KernelOp kernel) {
      Folder folder(kernel);
      kernel.walk([&](arith::CmpIOp compare) { folder.fold(compare); });
    });
  }
};

} // namespace
} // namespace attentile
