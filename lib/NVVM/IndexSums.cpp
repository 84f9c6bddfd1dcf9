//===- IndexSums.cpp - indices as sums ------------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes over indices share: a sum's terms, and the sum again from them.
//
//===----------------------------------------------------------------------===//

#include "IndexSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile {

IndexSums::IndexSums(warp::KernelOp kernel) : kernel(kernel) {
  number(kernel->getParentOfType<tile::ProgramOp>());
}

/// Numbers values in the order in which they are defined, with room for one
/// behind each.
void IndexSums::number(Operation *op) {
  for (Value result : op->getResults())
    places[result] = 2 * places.size();
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        places[argument] = 2 * places.size();
      for (Operation &inner : block)
        number(&inner);
    }
}

void setInsertionPointAfter(OpBuilder &builder, Value value,
                            warp::KernelOp kernel) {
  if (value.getParentRegion()->isProperAncestor(&kernel.getBody()))
    builder.setInsertionPointToStart(&kernel.getBody().front());
  else
    builder.setInsertionPointAfterValue(value);
}

/// Adds factor * value to `sum`.
bool IndexSums::collect(Value value, int64_t factor, IndexSum &sum,
                        unsigned depth) {
  if (depth > 16)
    return false;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    sum.constant += factor * constant.getSExtValue();
    return true;
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) &&
      !whole.contains(value))
    return collect(op->getOperand(0), factor, sum, depth + 1) &&
           collect(op->getOperand(1), isa<arith::SubIOp>(op) ? -factor : factor,
                   sum, depth + 1);
  if (auto product = value.getDefiningOp<arith::MulIOp>();
      product && !whole.contains(value) &&
      matchPattern(product.getRhs(), m_ConstantInt(&constant)) &&
      constant.isSignedIntN(32))
    return collect(product.getLhs(), factor * constant.getSExtValue(), sum,
                   depth + 1);
  sum.add(places.lookup(value), value, factor);
  return true;
}

Value IndexSums::makeBase(const IndexSum &sum) {
  OpBuilder builder(kernel.getContext());
  IndexSum::Key key;
  Value base;
  for (auto &[place, term] : sum.terms) {
    auto [value, factor] = term;
    key.push_back({place, factor});
    Value &known = bases[key];
    if (!known) {
      setInsertionPointAfter(builder, value);
      // What is there at a block's start: parts of it stand in their order.
      if (base && base.getParentBlock() == builder.getInsertionBlock() &&
          value.getParentBlock() != base.getParentBlock())
        builder.setInsertionPointAfterValue(base);
      else if (base && isa<BlockArgument>(value) &&
               base.getParentBlock() == value.getParentBlock())
        builder.setInsertionPointAfterValue(base);
      else if (base && value.getParentBlock() == base.getParentBlock() &&
               value.getDefiningOp() && base.getDefiningOp() &&
               value.getDefiningOp()->isBeforeInBlock(base.getDefiningOp()))
        builder.setInsertionPointAfterValue(base);
      Location loc = value.getLoc();
      Value part = value;
      if (factor != 1 && factor != -1)
        part = arith::MulIOp::create(
            builder, loc, value,
            arith::ConstantIndexOp::create(builder, loc, std::abs(factor)));
      if (factor < 0)
        part = arith::SubIOp::create(
            builder, loc,
            base ? base : arith::ConstantIndexOp::create(builder, loc, 0),
            part);
      else if (base)
        part = arith::AddIOp::create(builder, loc, base, part);
      known = part;
    }
    base = known;
  }
  return base;
}

} // namespace attentile
