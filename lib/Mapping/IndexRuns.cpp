//===- IndexRuns.cpp - indices that follow each other ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexRuns.h"
#include "WarpEmitter.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;

namespace attentile {

/// What memory takes at once of the narrowest elements that matter.
static constexpr int64_t kLongest = 8;

static int64_t multipleOf(Value number) {
  int64_t factor = kLongest;
  while (!isMultipleOf(number, factor))
    factor /= 2;
  return factor;
}

int64_t multipleOfAll(Value tile) {
  APInt number;
  if (matchPattern(tile, m_ConstantInt(&number)))
    return std::gcd(number.getSExtValue(), kLongest);
  auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
  return broadcast && !tile::isTile(broadcast.getOperand().getType())
             ? multipleOf(broadcast.getOperand())
             : 0;
}

int64_t consecutiveFrom(Value indices) {
  Operation *op = indices.getDefiningOp();
  if (auto consecutive = dyn_cast_or_null<tile::IndexOp>(op))
    return multipleOf(consecutive.getBase());
  if (isa_and_nonnull<attn::FloorModOp, arith::RemUIOp>(op)) {
    APInt divisor;
    if (!matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) ||
        !divisor.isStrictlyPositive())
      return 1;
    return std::min(multipleOfAll(op->getOperand(1)),
                    consecutiveFrom(op->getOperand(0)));
  }
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    for (unsigned i : {1u, 0u})
      if (int64_t same = multipleOfAll(op->getOperand(i));
          same > 0 && (i == 1 || isa<arith::AddIOp>(op)))
        return std::min(same, consecutiveFrom(op->getOperand(1 - i)));
  return 1;
}

int64_t runInRegisters(Value indices) {
  tile::FragmentAttr fragment = tile::getFragment(indices.getType());
  tile::Layout layout = fragment ? fragment.getLayout() : tile::Layout();
  if (layout.rank() != 1)
    return 1;
  ArrayRef<tile::Digit> digits = layout.digits(0);
  if (digits.empty() || digits.front().unit != tile::Unit::Register ||
      digits.front().stride != 1)
    return 1;
  return std::gcd(digits.front().extent, consecutiveFrom(indices));
}

} // namespace attentile
