//===- AssumedBounds.cpp - what kernels assume of scalars -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/AssumedBounds.h"
#include "Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile {

/// What a condition that holds says of `value`: at least or at most a constant.
/// A size is not negative: not 0 is at least 1.
static void collectBounds(Value condition, Value value, AssumedBounds &bounds) {
  Operation *op = condition.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp>(op)) {
    collectBounds(op->getOperand(0), value, bounds);
    collectBounds(op->getOperand(1), value, bounds);
    return;
  }
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  APInt constant;
  if (!compare || compare.getLhs() != value ||
      !matchPattern(compare.getRhs(), m_ConstantInt(&constant)))
    return;
  auto argument = cast<BlockArgument>(value);
  auto head =
      cast<attn::SignatureOpInterface>(argument.getOwner()->getParentOp());
  using P = arith::CmpIPredicate;
  std::optional<int64_t> least, most;
  if (compare.getPredicate() == P::sge)
    least = constant.getSExtValue();
  else if (compare.getPredicate() == P::sle)
    most = constant.getSExtValue();
  else if (compare.getPredicate() == P::ne && constant.isZero() &&
           llvm::is_contained(head.getSizeArgs(), argument))
    least = 1;
  if (least && (!bounds.least || *bounds.least < *least))
    bounds.least = least;
  if (most && (!bounds.most || *bounds.most > *most))
    bounds.most = most;
}

AssumedBounds getAssumedBounds(Value value) {
  AssumedBounds bounds;
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && isa_and_nonnull<attn::SignatureOpInterface>(
                      argument.getOwner()->getParentOp()))
    for (auto assume : argument.getOwner()->getOps<attn::AssumeOp>())
      collectBounds(assume.getCondition(), value, bounds);
  return bounds;
}

bool isPositiveInteger(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.isStrictlyPositive();
  Operation *op = value.getDefiningOp();
  auto is = [&](unsigned i) { return isPositiveInteger(op->getOperand(i)); };
  if (isa_and_nonnull<arith::MaxSIOp>(op))
    return is(0) || is(1);
  if (isa_and_nonnull<arith::MinSIOp>(op))
    return is(0) && is(1);
  return getAssumedBounds(value).least.value_or(0) > 0;
}

} // namespace attentile
