//===- ValueRanges.cpp - ranges of a program's integers -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValueRanges.h"

using namespace mlir;

namespace attentile {

static bool isInteger(Value value) {
  return ConstantIntRanges::getStorageBitwidth(value.getType()) != 0;
}

const ConstantIntRanges *ValueRanges::find(Value value) const {
  auto found = ranges.find(value);
  return found == ranges.end() ? nullptr : &found->second.getValue();
}

IntegerValueRange ValueRanges::get(Value value) const {
  auto found = ranges.find(value);
  return found == ranges.end() ? IntegerValueRange::getMaxRange(value)
                               : found->second;
}

void ValueRanges::set(Value value, const IntegerValueRange &range) {
  if (range.isUninitialized())
    ranges.erase(value);
  else
    ranges.insert_or_assign(value, range);
}

/// Of an operation's results, or of its regions' arguments.
void ValueRanges::infer(Operation *op) {
  auto inferrable = dyn_cast<InferIntRangeInterface>(op);
  if (!inferrable)
    return;
  SmallVector<IntegerValueRange> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  inferrable.inferResultRangesFromOptional(
      operands,
      [&](Value value, const IntegerValueRange &range) { set(value, range); });
}

void ValueRanges::visit(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitLoop(loop);
  if (op->getNumRegions() != 0 || llvm::any_of(op->getResults(), isInteger))
    infer(op);
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      visit(&inner);
  if (auto branches = dyn_cast<scf::IfOp>(op))
    joinBranches(branches);
}

void ValueRanges::joinBranches(scf::IfOp branches) {
  for (OpResult result : branches.getResults()) {
    if (!isInteger(result))
      continue;
    unsigned number = result.getResultNumber();
    set(result,
        IntegerValueRange::join(get(branches.thenYield().getOperand(number)),
                                get(branches.elseYield().getOperand(number))));
  }
}

void ValueRanges::visitLoop(scf::ForOp loop) {
  // Where it runs at all.
  IntegerValueRange first = get(loop.getLowerBound());
  IntegerValueRange last = get(loop.getUpperBound());
  APInt least = first.getValue().smin(), most = last.getValue().smax();
  Value variable = loop.getInductionVar();
  if (least.slt(most))
    set(variable, ConstantIntRanges::fromSigned(least, most - 1));
  else
    set(variable, IntegerValueRange());
  for (auto [carried, initial] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    if (isInteger(carried))
      set(carried, get(initial));
  do {
    for (Operation &inner : loop.getBody()->without_terminator())
      visit(&inner);
  } while (widenCarried(loop));
  for (auto [result, carried] :
       llvm::zip_equal(loop.getResults(), loop.getRegionIterArgs()))
    if (isInteger(result))
      set(result, get(carried));
}

/// Whether a loop hands on what is beyond that which was taken for it: then
/// that may be anything. (Most of these count.)
bool ValueRanges::widenCarried(scf::ForOp loop) {
  bool widened = false;
  for (auto [carried, yielded] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    if (!isInteger(carried))
      continue;
    IntegerValueRange taken = get(carried);
    if (IntegerValueRange::join(taken, get(yielded)) == taken)
      continue;
    ranges.erase(carried);
    widened = true;
  }
  return widened;
}

} // namespace attentile
