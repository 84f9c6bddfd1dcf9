//===- KnownSigns.cpp - signs of floats, by the formula -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KnownSigns.h"
#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile {

std::optional<APFloat> getFloatConstant(Value value) {
  while (auto broadcast = value.getDefiningOp<tile::BroadcastOp>())
    value = broadcast.getOperand();
  FloatAttr scalar;
  if (matchPattern(value, m_Constant(&scalar)))
    return scalar.getValue();
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)) &&
      isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>();
  return std::nullopt;
}

/// Whether `condition` says that `value` > a constant that is at least 0.
static bool saysPositive(Value condition, Value value) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return saysPositive(both.getLhs(), value) ||
           saysPositive(both.getRhs(), value);
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  if (!compare)
    return false;
  Value greater = compare.getLhs(), less = compare.getRhs();
  if (compare.getPredicate() == arith::CmpFPredicate::OLT)
    std::swap(greater, less);
  else if (compare.getPredicate() != arith::CmpFPredicate::OGT)
    return false;
  auto bound = getFloatConstant(less);
  return greater == value && bound && !bound->isNaN() && !bound->isNegative();
}

/// Whether attn.assume says that a scalar of the program is positive.
static bool isAssumedPositive(BlockArgument value) {
  Block *block = value.getOwner();
  return isa_and_nonnull<tile::ProgramOp>(block->getParentOp()) &&
         llvm::any_of(block->getOps<attn::AssumeOp>(), [&](attn::AssumeOp op) {
           return saysPositive(op.getCondition(), value);
         });
}

/// Formulas are trees of some ten operations; what is deeper is not known.
static constexpr unsigned kMaxDepth = 12;

static bool isKnown(Value value, bool positive, unsigned depth) {
  while (auto broadcast = value.getDefiningOp<tile::BroadcastOp>())
    value = broadcast.getOperand();
  if (auto constant = getFloatConstant(value))
    return !constant->isNaN() && !constant->isNegative() &&
           !(positive && constant->isZero());
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isAssumedPositive(argument);
  Operation *op = value.getDefiningOp();
  if (depth == kMaxDepth)
    return false;
  auto known = [&](unsigned i, bool positive) {
    return isKnown(op->getOperand(i), positive, depth + 1);
  };
  if (isa<arith::ExtFOp, arith::TruncFOp, math::SqrtOp>(op))
    return known(0, positive);
  if (isa<math::RsqrtOp>(op)) { // of what may be infinite: 0
    auto constant = getFloatConstant(op->getOperand(0));
    return known(0, true) &&
           (!positive || (constant && !constant->isInfinity()));
  }
  if (isa<arith::AddFOp>(op))
    return (known(0, positive) && known(1, false)) ||
           (known(0, false) && known(1, positive));
  if (isa<arith::MulFOp>(op))
    return (known(0, positive) && known(1, positive)) ||
           (!positive && op->getOperand(0) == op->getOperand(1));
  if (isa<arith::DivFOp>(op))
    return known(0, positive) && known(1, positive);
  if (isa<arith::MaximumFOp>(op))
    return known(0, positive) || known(1, positive);
  if (isa<arith::SelectOp>(op))
    return known(1, positive) && known(2, positive);
  if (isa<math::ExpOp, math::Exp2Op, math::AbsFOp, arith::UIToFPOp>(op))
    return !positive;
  return false;
}

bool isKnownPositive(Value value) { return isKnown(value, true, 0); }
bool isKnownNonNegative(Value value) { return isKnown(value, false, 0); }

} // namespace attentile
