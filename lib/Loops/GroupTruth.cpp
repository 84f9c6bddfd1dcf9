//===- GroupTruth.cpp - a comparison, for rows that decide together -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupTruth.h"
#include "CopySlice.h"
#include "VisibilityFormula.h"
#include "attentile/AssumedBounds.h"
#include "attentile/Sources.h"

using namespace mlir;

namespace attentile {

using P = arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// The index's quotient by a positive scalar, or its remainder.
std::optional<GroupTruth::Range> GroupTruth::getDivided(Operation *op) {
  Value divisor = getUniform(inside, op->getOperand(1));
  if (!isPositiveInteger(divisor) || tile::isTile(divisor.getType()))
    return std::nullopt;
  std::optional<Range> x = getRange(op->getOperand(0));
  Value by = copyIntoLoop(inside, divisor, copies, loop);
  if (!by || !x)
    return std::nullopt;
  if (isa<attn::FloorDivOp>(op)) {
    auto indices = op->getOperand(0).getDefiningOp<tile::IndexOp>();
    Value quotient = on.emit<attn::FloorDivOp>(x->lo, by);
    return indices && isUncut(indices, divisor)
               ? Range{quotient, quotient}
               : Range{quotient, on.emit<attn::FloorDivOp>(x->hi, by)};
  }
  return rules.getRemainders(
      on.emit<attn::FloorModOp>(x->lo, by),
      inside.createOrFold<arith::SubIOp>(loc, x->hi, x->lo), by);
}

/// Of the loop's axis alone: the index and what it is divided to.
std::optional<GroupTruth::Range> GroupTruth::getColumns(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<attn::FloorDivOp, attn::FloorModOp>(op))
    return getDivided(op);
  auto index = dyn_cast_or_null<tile::IndexOp>(op);
  if (!index || !isLoopIndex(value, loop))
    return std::nullopt;
  Value first = copyIntoLoop(inside, index.getBase(), copies, loop);
  if (!first)
    return std::nullopt;
  if (firstColumn)
    first = on.add(first, on.number(firstColumn));
  int64_t count = columnCount ? columnCount : index.getType().getDimSize(0);
  return Range{first, on.add(first, on.number(count - 1))};
}

/// Whether what rows have is their index and scalars, so that its range is that
/// of the index and these.
static bool isOffset(Value value) {
  auto isSum = [](Value part) {
    return isa_and_nonnull<arith::AddIOp, arith::SubIOp, tile::BroadcastOp>(
               part.getDefiningOp()) &&
           !isUniform(part);
  };
  return !anySource(
      value,
      [&](Value part) {
        return !isUniform(part) && !part.getDefiningOp<tile::IndexOp>() &&
               !isSum(part);
      },
      isSum);
}

/// Of rows alone, the same in all iterations.
std::optional<GroupTruth::Range> GroupTruth::getRows(Value value) {
  Operation *op = value.getDefiningOp();
  if (isOffset(value) && !isa<tile::IndexOp>(op))
    return combine(op);
  Value rows = copyBeforeLoop(before, value, hoisted, loop);
  if (!rows)
    return std::nullopt;
  return Range{
      tile::ReduceGroupOp::create(before, loc, attn::ReduceKind::Min, rows),
      tile::ReduceGroupOp::create(before, loc, attn::ReduceKind::Max, rows)};
}

/// Of an operation whose range follows from those of its operands.
std::optional<GroupTruth::Range> GroupTruth::combine(Operation *op) {
  if (!Rules::canCombine(op))
    return std::nullopt;
  std::optional<Range> a = getRange(op->getOperand(0));
  std::optional<Range> b =
      a && op->getNumOperands() == 2 ? getRange(op->getOperand(1)) : a;
  return a && b ? std::optional(rules.combine(op, *a, *b)) : std::nullopt;
}

std::optional<GroupTruth::Range> GroupTruth::getRange(Value value) {
  value = getUniform(inside, value);
  if (!tile::getElementType(value.getType()).isIndex())
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type) {
    Value here = copyIntoLoop(inside, value, copies, loop);
    return here ? std::optional(Range{here, here}) : std::nullopt;
  }
  if (type.getRank() != 1)
    return combine(value.getDefiningOp());
  auto axis = loop->getAttrOfType<StringAttr>("tile.axis");
  return axis && tile::getAxisPosition(type, axis) ? getColumns(value)
                                                   : getRows(value);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// y p' x, of x p y.
static P swapSides(P predicate) {
  switch (predicate) {
  case P::slt:
    return P::sgt;
  case P::sle:
    return P::sge;
  case P::sgt:
    return P::slt;
  case P::sge:
    return P::sle;
  default:
    return predicate;
  }
}

bool isLoadedColumns(Value value, scf::ForOp loop) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto axis = loop->getAttrOfType<StringAttr>("tile.axis");
  return type && type.getRank() == 1 && axis &&
         tile::getAxisPosition(type, axis) && tile::isLoaded(value);
}

/// What is loaded for columns has no range that scalars tell: each column's
/// value is compared with the ends of the rows' range.
Value GroupTruth::getSureOfEach(P predicate, Value columns, Range rows) {
  columns = stripBroadcast(columns);
  if (!isLoadedColumns(columns, loop) ||
      !tile::getElementType(columns.getType()).isIndex())
    return {};
  columns = copyIntoLoop(inside, columns, copies, loop);
  if (!columns)
    return {};
  auto is = [&](P predicate, Value end) -> Value {
    return arith::CmpIOp::create(
        inside, loc, predicate, columns,
        tile::BroadcastOp::create(inside, loc, columns.getType(), end));
  };
  Value sure;
  switch (predicate) {
  case P::eq:
    sure = on.both(is(P::eq, rows.lo), is(P::eq, rows.hi));
    break;
  case P::ne:
    sure = on.either(is(P::slt, rows.lo), is(P::sgt, rows.hi));
    break;
  case P::sgt:
  case P::sge:
    sure = is(predicate, rows.hi);
    break;
  default:
    sure = is(predicate, rows.lo);
    break;
  }
  return tile::VoteOp::create(inside, loc, sure);
}

Value GroupTruth::getSure(arith::CmpIOp compare, bool negated) {
  P predicate = compare.getPredicate();
  if (predicate >= P::ult)
    return {};
  if (negated)
    predicate = arith::invertPredicate(predicate);
  std::optional<Range> a = getRange(compare.getLhs());
  std::optional<Range> b = getRange(compare.getRhs());
  if (a && !b)
    return getSureOfEach(swapSides(predicate), compare.getRhs(), *a);
  if (b && !a)
    return getSureOfEach(predicate, compare.getLhs(), *b);
  if (!a)
    return {};
  return rules.getSure(predicate, *a, *b).value_or(Value());
}

} // namespace attentile
