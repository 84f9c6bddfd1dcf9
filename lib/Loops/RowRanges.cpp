//===- RowRanges.cpp - what a value may be over a row tile ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that do not depend on the loop's index: their smallest and largest
// elements, as scalars before the loop. Sums, minima, maxima and quotients are
// taken of the ranges of what they are made of; anything else, such as a value
// loaded for each row, is computed for the tile and reduced.
//
//===----------------------------------------------------------------------===//

#include "IntervalSets.h"
#include "VisibilityFormula.h"
#include "attentile/Sources.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attentile {

bool IntervalSets::isInvariant(Value value) {
  return isRepeatableFrom(value, [&](Value source) {
    return !loop.isDefinedOutsideOfLoop(source);
  });
}

Value IntervalSets::hoist(Value value) {
  if (loop.isDefinedOutsideOfLoop(value))
    return value;
  if (Value known = hoisted.lookup(value))
    return known;
  IRMapping mapping;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    mapping.map(operand, hoist(operand));
  Operation *clone = index.getBuilder().clone(*op, mapping);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), clone->getResults()))
    hoisted[from] = to;
  return hoisted.lookup(value);
}

/// Which elements of a tile of this type lie in rows that count; null if all
/// do.
Value IntervalSets::getRowsThatCount(RankedTensorType type) {
  OpBuilder &builder = index.getBuilder();
  Location loc = index.getLoc();
  auto indices = cast<RankedTensorType>(
      tile::withElementType(type, builder.getIndexType()));
  Value result;
  for (RowAxis row : rows) {
    if (!row.extent ||
        !tile::getAxisPosition(type, tile::getAxes(row.index.getType())[0]))
      continue;
    Value at = builder.createOrFold<tile::BroadcastOp>(loc, indices,
                                                       row.index.getResult());
    Value end =
        builder.createOrFold<tile::BroadcastOp>(loc, indices, row.extent);
    Value counts =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at, end);
    result = result ? index.logicalAnd(result, counts) : counts;
  }
  return result;
}

Value IntervalSets::reduceRows(Value tile, attn::ReduceKind kind) {
  tile = hoist(tile);
  Value counts = getRowsThatCount(cast<RankedTensorType>(tile.getType()));
  return reduceWhere(index, counts, tile, kind);
}

Value reduceWhere(IndexBuilder &index, Value counts, Value tile,
                  attn::ReduceKind kind) {
  OpBuilder &builder = index.getBuilder();
  Location loc = index.getLoc();
  auto type = cast<RankedTensorType>(tile.getType());
  // Elements that do not count take a value that any may have, so that the
  // result's range is still that of the elements.
  StaticRange range = getStaticRange(tile);
  int64_t neutral = kind == attn::ReduceKind::Max ? range.lo
                    : kind == attn::ReduceKind::Min
                        ? range.hi
                        : kind == attn::ReduceKind::All;
  if (counts) {
    Value rest = index.fill(type, neutral);
    tile = arith::SelectOp::create(builder, loc, counts, tile, rest);
  }
  SmallVector<Attribute> axes(tile::getAxes(type));
  return tile::ReduceOp::create(builder, loc, type.getElementType(), kind, tile,
                                builder.getArrayAttr(axes));
}

/// The largest or smallest value of a form of invariant atoms, as a scalar;
/// null for what is no tile of index.
Value IntervalSets::getExtreme(const AffineForm &form, bool largest) {
  SmallVector<std::pair<Value, int64_t>> terms;
  for (auto [value, coefficient] : form.terms) {
    if (!tile::getElementType(value.getType()).isIndex())
      return {};
    Range range = getRange(value);
    terms.push_back(
        {(coefficient > 0) == largest ? range.hi : range.lo, coefficient});
  }
  return index.saturatingSum(terms, form.constant);
}

IntervalSets::Range IntervalSets::getRange(Value value) {
  value = stripBroadcast(value);
  auto known = ranges.find(value);
  if (known != ranges.end())
    return known->second;
  Range range = computeRange(value);
  ranges[value] = range;
  return range;
}

IntervalSets::Range IntervalSets::computeRange(Value value) {
  if (!isa<RankedTensorType>(value.getType())) {
    Value scalar = hoist(value);
    return {scalar, scalar};
  }
  Operation *op = value.getDefiningOp();
  auto ofOperand = [&](unsigned i) -> Range {
    AffineForm form = getAffineForm(op->getOperand(i));
    return {getExtreme(form, false), getExtreme(form, true)};
  };
  if (auto indices = dyn_cast_or_null<tile::IndexOp>(op)) {
    Value base = hoist(indices.getBase());
    Value end = index.add(base, indices.getType().getDimSize(0));
    for (RowAxis row : rows)
      if (row.extent && row.index.getBase() == indices.getBase() &&
          row.index.getType() == indices.getType())
        end = index.minimum(end, row.extent);
    return {base, index.add(end, -1)};
  }
  if (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op)) {
    Range a = ofOperand(0), b = ofOperand(1);
    if (isa<arith::MinSIOp>(op))
      return {index.minimum(a.lo, b.lo), index.minimum(a.hi, b.hi)};
    return {index.maximum(a.lo, b.lo), index.maximum(a.hi, b.hi)};
  }
  if (isa_and_nonnull<attn::FloorDivOp>(op)) {
    Value divisor = stripBroadcast(op->getOperand(1));
    if (auto constant = getIntegerConstant(divisor)) {
      if (constant->isStrictlyPositive()) {
        Range x = ofOperand(0);
        Value c = index.constant(constant->getSExtValue());
        return {index.floorDivide(x.lo, c), index.floorDivide(x.hi, c)};
      }
    } else if (!isa<RankedTensorType>(divisor.getType())) {
      // By one number, of whatever sign: the ends' quotients are the ends.
      Range x = ofOperand(0);
      divisor = hoist(divisor);
      Value a = index.floorDivide(x.lo, divisor);
      Value b = index.floorDivide(x.hi, divisor);
      return {index.minimum(a, b), index.maximum(a, b)};
    }
  }
  return {reduceRows(value, attn::ReduceKind::Min),
          reduceRows(value, attn::ReduceKind::Max)};
}

} // namespace attentile
