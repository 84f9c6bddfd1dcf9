//===- StraightRemainders.cpp - remainders of uncut intervals -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StraightRemainders.h"
#include "CopySlice.h"
#include "VisibilityFormula.h"
#include "attentile/AssumedBounds.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace attentile {

/// Of these the least and the largest quotient are one.
void StraightRemainders::add(attn::FloorModOp op, Start start, Value least,
                             Value largest) {
  Value isUncut = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::eq,
                                        least, largest);
  uncut = uncut ? arith::AndIOp::create(inside, loc, uncut, isUncut).getResult()
                : isUncut;
  remainders[op] = start;
}

/// Of the loop's index.
bool StraightRemainders::addColumns(attn::FloorModOp op) {
  auto index = op.getLhs().getDefiningOp<tile::IndexOp>();
  Value by =
      copyIntoLoop(inside, getUniform(inside, op.getRhs()), copies, loop);
  Value first = index && isLoopIndex(index, loop)
                    ? copyIntoLoop(inside, index.getBase(), copies, loop)
                    : Value();
  if (!by || !first)
    return false;
  Value size = arith::ConstantIndexOp::create(
      inside, loc, index.getType().getDimSize(0) - 1);
  Value last = arith::AddIOp::create(inside, loc, first, size);
  auto divide = [&](Value x) -> Value {
    return attn::FloorDivOp::create(inside, loc, x, by);
  };
  Value least = divide(first);
  add(op, {first, attn::FloorModOp::create(inside, loc, first, by)}, least,
      isUncut(index, op.getRhs()) ? least : divide(last));
  return hasColumns = true;
}

/// Whether a value grows by 1 from row to row: the index and scalars.
static bool growsByOne(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tile::IndexOp>(op))
    return true;
  return isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) &&
         isUniform(op->getOperand(1)) && growsByOne(op->getOperand(0));
}

bool StraightRemainders::addRows(attn::FloorModOp op) {
  Value remainder = growsByOne(op.getLhs())
                        ? copyBeforeLoop(before, op, hoisted, loop)
                        : Value();
  if (!remainder)
    return false;
  auto made = remainder.getDefiningOp<attn::FloorModOp>();
  Value quotient =
      attn::FloorDivOp::create(before, loc, made.getLhs(), made.getRhs());
  auto find = [&](attn::ReduceKind kind, Value rows) -> Value {
    return tile::ReduceGroupOp::create(before, loc, kind, rows);
  };
  using attn::ReduceKind;
  Value least = find(ReduceKind::Min, quotient);
  auto index = op.getLhs().getDefiningOp<tile::IndexOp>();
  add(op,
      {find(ReduceKind::Min, made.getLhs()), find(ReduceKind::Min, remainder)},
      least,
      index && isUncut(index, op.getRhs()) ? least
                                           : find(ReduceKind::Max, quotient));
  return hasRows = true;
}

/// Adds the remainders that a value is made of; false if one has no ends.
bool StraightRemainders::findRemainders(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !tile::isTile(value.getType()))
    return true;
  if (auto remainder = dyn_cast<attn::FloorModOp>(op)) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    auto axis = loop->getAttrOfType<StringAttr>("tile.axis");
    if (type.getRank() != 1 || !axis || !isUniform(remainder.getRhs()) ||
        !isPositiveInteger(stripBroadcast(remainder.getRhs())))
      return false;
    if (remainders.contains(op))
      return true;
    return tile::getAxisPosition(type, axis) ? addColumns(remainder)
                                             : addRows(remainder);
  }
  return !isa<tile::BroadcastOp, arith::AddIOp, arith::SubIOp, math::AbsIOp,
              arith::CmpIOp>(op) ||
         llvm::all_of(op->getOperands(),
                      [&](Value x) { return findRemainders(x); });
}

Value StraightRemainders::getUncut(Value compared) {
  return findRemainders(compared) && hasRows && hasColumns ? uncut : Value();
}

Value StraightRemainders::emit(OpBuilder &b, Value value, IRMapping &made) {
  Operation *op = value.getDefiningOp();
  if (Value known = made.lookupOrNull(value))
    return known;
  if (!op || !tile::isTile(value.getType()))
    return value;
  if (auto found = remainders.find(op); found != remainders.end()) {
    auto scalar = [&](Value x) {
      return tile::BroadcastOp::create(b, loc, value.getType(), x);
    };
    Value since = arith::SubIOp::create(b, loc, op->getOperand(0),
                                        scalar(found->second.position));
    made.map(value, arith::AddIOp::create(b, loc, since,
                                          scalar(found->second.remainder))
                        .getResult());
    return made.lookup(value);
  }
  if (!isa<tile::BroadcastOp, arith::AddIOp, arith::SubIOp, math::AbsIOp,
           arith::CmpIOp>(op))
    return value;
  IRMapping operands;
  for (Value operand : op->getOperands())
    operands.map(operand, emit(b, operand, made));
  Value result = b.clone(*op, operands)->getResult(0);
  made.map(value, result);
  return result;
}

Value StraightRemainders::emitStraight(OpBuilder &b, Value compared) {
  IRMapping made;
  return emit(b, compared, made);
}

} // namespace attentile
