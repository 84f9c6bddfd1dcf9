//===- AlikeColumns.cpp - columns that all have one value -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AlikeColumns.h"
#include "CopySlice.h"
#include "GroupTruth.h"
#include "VisibilityFormula.h"

using namespace mlir;

namespace attentile {

AlikeColumns::AlikeColumns(scf::ForOp loop, Value compared)
    : loop(loop), loc(loop.getLoc()), compared(compared) {}

/// What the block's first column has of a tile of columns, a scalar.
Value AlikeColumns::getFirst(OpBuilder &inside, Value value) {
  value = getUniform(inside, value);
  if (!tile::isTile(value.getType()))
    return copyIntoLoop(inside, value, copies, loop);
  Operation *op = value.getDefiningOp();
  if (auto index = dyn_cast_or_null<tile::IndexOp>(op))
    return isLoopIndex(value, loop) ? getFirst(inside, index.getBase())
                                    : Value();
  if (!op || op->getNumRegions() != 0 || op->getNumResults() != 1 ||
      !(isa<tile::LoadOp>(op) || OpTrait::hasElementwiseMappableTraits(op)))
    return {};
  IRMapping operands;
  for (Value operand : op->getOperands()) {
    Value first = getFirst(inside, operand);
    if (!first)
      return {};
    operands.map(operand, first);
  }
  Operation *scalar = inside.clone(*op, operands);
  scalar->getResult(0).setType(tile::getElementType(value.getType()));
  return scalar->getResult(0);
}

Value AlikeColumns::getAlike(OpBuilder &inside) {
  auto axis = loop->getAttrOfType<StringAttr>("tile.axis");
  auto compare = stripBroadcast(compared).getDefiningOp<arith::CmpIOp>();
  if (!compare || !axis)
    return {};
  for (Value side : compare->getOperands()) {
    Value own = stripBroadcast(side);
    auto type = dyn_cast<RankedTensorType>(own.getType());
    if (!columns && isLoadedColumns(own, loop))
      columns = own;
    else if (!type || type.getRank() != 1 || tile::getAxisPosition(type, axis))
      return {};
  }
  Value all = columns ? copyIntoLoop(inside, columns, copies, loop) : Value();
  first = all ? getFirst(inside, columns) : Value();
  if (!first)
    return {};
  Value alike = arith::CmpIOp::create(
      inside, loc, arith::CmpIPredicate::eq, all,
      tile::BroadcastOp::create(inside, loc, all.getType(), first));
  return tile::VoteOp::create(inside, loc, alike);
}

Value AlikeColumns::emitByRows(OpBuilder &b) {
  return compareWithOne(b, compared, columns, first);
}

Value compareWithOne(OpBuilder &b, Value compared, Value side, Value one) {
  auto compare = stripBroadcast(compared).getDefiningOp<arith::CmpIOp>();
  Location loc = compare.getLoc();
  auto get = [&](Value own, Value other) -> Value {
    own = stripBroadcast(own);
    return own == side ? tile::BroadcastOp::create(
                             b, loc, stripBroadcast(other).getType(), one)
                       : own;
  };
  Value lhs = compare.getLhs(), rhs = compare.getRhs();
  Value ofOther = arith::CmpIOp::create(b, loc, compare.getPredicate(),
                                        get(lhs, rhs), get(rhs, lhs));
  return tile::BroadcastOp::create(b, loc, compared.getType(), ofOther);
}

} // namespace attentile
