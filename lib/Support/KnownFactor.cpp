//===- KnownFactor.cpp - powers of two that divide an index ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/KnownFactor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile {

static int64_t factorOf(Value value, int64_t limit, unsigned depth) {
  if (depth == 0)
    return 1;
  auto of = [&](Value operand) { return factorOf(operand, limit, depth - 1); };
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isZero()
               ? limit
               : std::min<int64_t>(limit,
                                   int64_t(1) << std::min(
                                       constant.countTrailingZeros(), 32u));
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return 1;
    return std::min(of(loop.getLowerBound()), of(loop.getStep()));
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::MulIOp>(op))
    return std::min(limit, of(op->getOperand(0)) * of(op->getOperand(1)));
  // Both powers of two, so the smaller one divides the larger.
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
          arith::MinUIOp, arith::MaxUIOp>(op))
    return std::min(of(op->getOperand(0)), of(op->getOperand(1)));
  if (isa<arith::SelectOp>(op))
    return std::min(of(op->getOperand(1)), of(op->getOperand(2)));
  if (isa<arith::IndexCastOp>(op))
    return of(op->getOperand(0));
  return 1;
}

int64_t knownFactor(Value value, int64_t limit) {
  return factorOf(value, limit, /*depth=*/12);
}

} // namespace attentile
