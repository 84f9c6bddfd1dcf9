//===- StepCopy.cpp - a guarded step with the references it has -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepCopy.h"
#include "PositiveFactors.h"
#include "attentile/Splat.h"

using namespace mlir;

namespace attentile {

Value makeConstant(OpBuilder &b, Location loc, Type type, double value) {
  return arith::ConstantOp::create(
      b, loc, splat(type, b.getFloatAttr(tile::getElementType(type), value)));
}

Value makeFalse(OpBuilder &b, Location loc, Type type) {
  return arith::ConstantOp::create(b, loc, splat(type, b.getBoolAttr(false)));
}

arith::SelectOp getKept(Value factor) {
  auto kept = factor.getDefiningOp<arith::SelectOp>();
  return kept && floatConstant(kept.getTrueValue()) == 1 &&
                 floatConstant(kept.getFalseValue()) == 0 &&
                 kept.getCondition().getDefiningOp<arith::CmpIOp>()
             ? kept
             : arith::SelectOp();
}

Value askHere(OpBuilder &b, arith::SelectOp kept) {
  return b.clone(*kept.getCondition().getDefiningOp())->getResult(0);
}

llvm::SetVector<Operation *> StepCopy::getNeeded(ArrayRef<Value> values) const {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> open(values);
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!mapping.contains(value) && !ones.contains(value) &&
        step.step.contains(op) && needed.insert(op).second)
      llvm::append_range(open, op->getOperands());
  }
  llvm::SetVector<Operation *> inOrder;
  for (Operation *op : step.step)
    if (needed.contains(op))
      inOrder.insert(op);
  return inOrder;
}

void StepCopy::keepReferences(OpBuilder &b) {
  for (const GuardedReference &reference : step.references) {
    RunningMaximum maximum = reference.maximum;
    mapping.map(maximum.next.getResult(), maximum.carried());
    for (Operation *user : maximum.next->getUsers())
      if (isa<tile::RefOp>(user))
        mapping.map(user->getResult(0), maximum.carried());
    if (arith::CmpFOp isFar = reference.isFar)
      mapping.map(isFar.getResult(),
                  makeFalse(b, isFar.getLoc(), isFar.getType()));
  }
  isFast = true;
  ones = step.rescales;
  for (Operation *op : step.step)
    if (isa<tile::BroadcastOp, arith::MulFOp>(op) &&
        llvm::all_of(op->getOperands(),
                     [&](Value x) { return ones.contains(x); }))
      ones.insert(op->getResult(0));
}

void StepCopy::clone(OpBuilder &b, Operation *op) {
  // Times 1.
  if (isa<arith::MulFOp>(op))
    for (unsigned i : {0, 1})
      if (ones.contains(op->getOperand(i)))
        return mapping.map(op->getResult(0), get(b, op->getOperand(1 - i)));
  if (Value chosen = isFast ? chooseWeight(b, op) : Value())
    return mapping.map(op->getResult(0), chosen);
  for (Value operand : op->getOperands())
    if (ones.contains(operand))
      mapping.map(operand, get(b, operand));
  b.clone(*op, mapping);
}

Value StepCopy::get(OpBuilder &b, Value value) {
  if (ones.contains(value))
    return makeConstant(b, value.getLoc(), value.getType(), 1);
  return mapping.lookupOrDefault(value);
}

/// p where c holds, else 0, for p * (c ? 1 : 0): the same for a weight of a
/// sum that the fast side finds bounded, and so finite.
Value StepCopy::chooseWeight(OpBuilder &b, Operation *op) {
  if (!isa<arith::MulFOp>(op))
    return {};
  for (unsigned i : {0, 1}) {
    Value weight = op->getOperand(i);
    arith::SelectOp kept = getKept(op->getOperand(1 - i));
    if (kept && isSummed(weight))
      return arith::SelectOp::create(b, op->getLoc(), askHere(b, kept),
                                     get(b, weight), kept.getFalseValue());
  }
  return {};
}

bool StepCopy::isSummed(Value weight) const {
  return llvm::any_of(step.references, [&](const GuardedReference &reference) {
    auto sum = reference.tileSum.getDefiningOp<tile::ReduceOp>();
    return sum && sum.getOperand() == weight;
  });
}

} // namespace attentile
