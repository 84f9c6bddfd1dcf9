//===- BlockValues.cpp - what a value may be in one block -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The smallest and largest element of a value over the rows and columns of a
// block, as scalars. Sums, products, quotients and their like are taken of the
// ranges of what they are made of; what is loaded for rows alone or columns
// alone is reduced; what is one number in the whole block is computed once.
//
//===----------------------------------------------------------------------===//

#include "BlockTruth.h"
#include "VisibilityFormula.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attentile {

/// A value of the loop's body, for this block.
Value BlockTruth::copy(Value value) {
  if (sets.isInvariant(value))
    return sets.hoist(value);
  if (Value known = copies.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    copies.map(operand, copy(operand));
  index.getBuilder().clone(*op, copies);
  return copies.lookup(value);
}

//===----------------------------------------------------------------------===//
// One number
//===----------------------------------------------------------------------===//

/// The quotient of a tile of indices by a constant that the tile does not
/// cross: i0 / 128 for 64 indices from a multiple of 64 on.
Value BlockTruth::getUniformQuotient(attn::FloorDivOp quotient) {
  auto divisor = getIntegerConstant(quotient.getRhs());
  if (!divisor || !divisor->isStrictlyPositive())
    return {};
  AffineForm form = getAffineForm(quotient.getLhs());
  int64_t extent = 0;
  for (auto [value, factor] : form.terms)
    if (auto indices = value.getDefiningOp<tile::IndexOp>()) {
      if (extent || factor != 1)
        return {};
      extent = indices.getType().getDimSize(0);
    } else if (isa<ShapedType>(value.getType())) {
      return {};
    }
  if (!extent || divisor->getSExtValue() % extent != 0 ||
      form.constant % extent != 0)
    return {};
  for (auto [value, factor] : form.terms) {
    auto indices = value.getDefiningOp<tile::IndexOp>();
    Value base = indices ? indices.getBase() : value;
    if (base != loop.getInductionVar() && !isMultiple(base, extent) &&
        factor % extent != 0)
      return {};
  }
  Range range = getRange(form);
  return range.lo ? index.floorDivide(range.lo,
                                      index.constant(divisor->getSExtValue()))
                  : Value();
}

/// A value that is the same in all of the block, as a scalar; else null.
Value BlockTruth::copyUniform(Value value) {
  value = stripBroadcast(value);
  if (!isa<ShapedType>(value.getType()))
    return copy(value);
  auto [known, isNew] = uniform.try_emplace(value);
  if (!isNew)
    return known->second;
  Value result = computeUniform(value);
  uniform[value] = result;
  return result;
}

Value BlockTruth::computeUniform(Value value) {
  OpBuilder &builder = index.getBuilder();
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0 || op->getNumResults() != 1)
    return {};
  Type element = tile::getElementType(value.getType());
  if (auto constant = getIntegerConstant(value))
    return arith::ConstantOp::create(
        builder, index.getLoc(),
        element.isInteger(1)
            ? TypedAttr(builder.getBoolAttr(!constant->isZero()))
            : builder.getIntegerAttr(element, *constant));
  if (auto quotient = dyn_cast<attn::FloorDivOp>(op))
    if (Value number = getUniformQuotient(quotient))
      return number;
  if (!isa<tile::LoadOp>(op) && !op->hasTrait<OpTrait::Elementwise>() &&
      op->getDialect()->getNamespace() != "arith")
    return {};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    auto load = dyn_cast<tile::LoadOp>(op);
    Value number =
        load && operand == load.getTensor() ? operand : copyUniform(operand);
    if (!number)
      return {};
    operands.push_back(number);
  }
  if (operands.empty())
    return {};
  OperationState state(op->getLoc(), op->getName(), operands, {element},
                       op->getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return builder.create(state)->getResult(0);
}

//===----------------------------------------------------------------------===//
// Some elements
//===----------------------------------------------------------------------===//

/// Samples of the block: so many rows by so many columns.
static constexpr int64_t kSampledRows = 8, kSampledColumns = 4;

RankedTensorType BlockTruth::getType(Part part, Type element) {
  if (part == Part::Samples)
    return tile::getTileType(element,
                             {index.getBuilder().getStringAttr("sample")},
                             {kSampledRows * kSampledColumns});
  return tile::getTileType(
      element, {loop->getAttrOfType<StringAttr>("tile.axis")}, {size});
}

/// The rows or the columns of the samples, of `extent` indices from `first` on,
/// of which `last` is the last that counts.
Value BlockTruth::getSampled(Value first, Value last, int64_t extent,
                             bool ofRows) {
  OpBuilder &builder = index.getBuilder();
  Location loc = index.getLoc();
  RankedTensorType type = getType(Part::Samples, builder.getIndexType());
  int64_t count = ofRows ? kSampledRows : kSampledColumns;
  int64_t step = llvm::divideCeil(std::max<int64_t>(extent - 1, 0), count - 1);
  Value sample = tile::IndexOp::create(builder, loc, type, index.constant(0));
  Value columns = index.fill(type, kSampledColumns);
  sample =
      ofRows
          ? attn::FloorDivOp::create(builder, loc, sample, columns).getResult()
          : attn::FloorModOp::create(builder, loc, sample, columns);
  Value at = arith::AddIOp::create(
      builder, loc, tile::BroadcastOp::create(builder, loc, type, first),
      arith::MulIOp::create(builder, loc, sample, index.fill(type, step)));
  return arith::MinSIOp::create(
      builder, loc, at, tile::BroadcastOp::create(builder, loc, type, last));
}

/// A value in some of the block: a scalar, or a tile; null where that is not
/// computed element by element.
Value BlockTruth::copyOf(Part part, Value value) {
  value = stripBroadcast(value);
  if (!isa<ShapedType>(value.getType()))
    return copy(value);
  auto &known = parts[unsigned(part)];
  auto [found, isNew] = known.try_emplace(value);
  if (!isNew)
    return found->second;
  Value result;
  auto axis = loop->getAttrOfType<StringAttr>("tile.axis");
  auto indices = value.getDefiningOp<tile::IndexOp>();
  bool isSampled = part == Part::Samples;
  if (Value number = copyUniform(value)) {
    result = number;
  } else if (indices && tile::getAxes(indices.getType())[0] == axis) {
    result = isSampled ? getSampled(start, last, size, /*ofRows=*/false)
                       : copy(value);
  } else if (indices && sets.isInvariant(value)) {
    Range range = sets.getRange(value);
    result = isSampled ? getSampled(range.lo, range.hi,
                                    indices.getType().getDimSize(0),
                                    /*ofRows=*/true)
             : part == Part::FirstRow ? range.lo
                                      : range.hi;
  } else if (Operation *op = value.getDefiningOp(); op && !indices) {
    result = computeOf(part, op);
  }
  known[value] = result;
  return result;
}

Value BlockTruth::computeOf(Part part, Operation *op) {
  OpBuilder &builder = index.getBuilder();
  if (op->getNumRegions() != 0 || op->getNumResults() != 1)
    return {};
  auto load = dyn_cast<tile::LoadOp>(op);
  if (!load && !op->hasTrait<OpTrait::Elementwise>() &&
      op->getDialect()->getNamespace() != "arith")
    return {};
  SmallVector<Value> operands;
  bool isTile = false;
  for (Value operand : op->getOperands()) {
    if (load && operand == load.getTensor()) {
      operands.push_back(operand);
      continue;
    }
    Value own = copyOf(part, operand);
    if (!own)
      return {};
    isTile |= isa<ShapedType>(own.getType());
    operands.push_back(own);
  }
  Type type = tile::getElementType(op->getResult(0).getType());
  if (isTile)
    type = getType(part, type);
  // All operands of the rest have one shape.
  if (isTile && !load)
    for (Value &operand : operands)
      operand = builder.createOrFold<tile::BroadcastOp>(
          index.getLoc(),
          tile::withElementType(cast<RankedTensorType>(type),
                                tile::getElementType(operand.getType())),
          operand);
  OperationState state(op->getLoc(), op->getName(), operands, {type},
                       op->getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return builder.create(state)->getResult(0);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

BlockTruth::Range BlockTruth::getRange(const AffineForm &form) {
  // Equal indices of the loop's axis are one term.
  SmallVector<std::pair<Value, int64_t>> least, most;
  int64_t along = 0;
  for (auto [value, factor] : form.terms) {
    if (isLoopIndex(value, loop)) {
      along += factor;
      continue;
    }
    Range range = getRange(value);
    if (!range.lo)
      return {};
    least.push_back({factor > 0 ? range.lo : range.hi, factor});
    most.push_back({factor > 0 ? range.hi : range.lo, factor});
  }
  if (along != 0) {
    least.push_back({along > 0 ? start : last, along});
    most.push_back({along > 0 ? last : start, along});
  }
  return {index.saturatingSum(least, form.constant),
          index.saturatingSum(most, form.constant)};
}

BlockTruth::Range BlockTruth::getRange(Value value) {
  value = stripBroadcast(value);
  if (auto constant = getIntegerConstant(value)) {
    Value number = index.constant(constant->getSExtValue());
    return {number, number};
  }
  if (!tile::getElementType(value.getType()).isIndex())
    return {};
  if (sets.isInvariant(value))
    return sets.getRange(value);
  if (isLoopIndex(value, loop))
    return {start, last};
  auto [known, isNew] = ranges.try_emplace(value);
  if (!isNew)
    return known->second;
  Range range = computeRange(value);
  ranges[value] = range;
  return range;
}

BlockTruth::Range BlockTruth::computeRange(Value value) {
  if (Value number = copyUniform(value))
    return {number, number};
  Operation *op = value.getDefiningOp();
  auto ofOperand = [&](unsigned i) {
    return getRange(getAffineForm(op->getOperand(i)));
  };
  AffineForm form = getAffineForm(value);
  if (form.terms.size() != 1 || form.terms.front().first != value)
    return getRange(form);
  Range range;
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op)) {
    Range a = ofOperand(0), b = ofOperand(1);
    if (a.lo && b.lo)
      range = isa<arith::MinSIOp>(op)
                  ? Range{index.minimum(a.lo, b.lo), index.minimum(a.hi, b.hi)}
                  : Range{index.maximum(a.lo, b.lo), index.maximum(a.hi, b.hi)};
  } else if (isa<math::AbsIOp>(op)) {
    Range x = ofOperand(0);
    if (x.lo) {
      // Of what is beyond 0 on either side; the least is 0 if both are.
      Value zero = index.constant(0);
      Value negated = index.subtract(zero, x.lo);
      range = {
          index.maximum(zero, index.maximum(x.lo, index.subtract(zero, x.hi))),
          index.maximum(negated, x.hi)};
    }
  } else if (isa<attn::FloorDivOp, attn::FloorModOp>(op)) {
    Value divisor = stripBroadcast(op->getOperand(1));
    bool isNumber = !isa<ShapedType>(divisor.getType());
    if (auto constant = getIntegerConstant(divisor)) {
      divisor = index.constant(constant->getSExtValue());
      isNumber = true;
    } else if (isNumber) {
      divisor = copy(divisor);
    }
    Range x = ofOperand(0);
    if (isNumber && x.lo)
      range = isa<attn::FloorDivOp>(op) ? getQuotient(x, divisor)
                                        : getRemainder(x, divisor);
  } else if (isa<arith::MulIOp>(op)) {
    range = getProduct(op);
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    range = getChoice(select);
  }
  auto type = cast<RankedTensorType>(value.getType());
  if (range.lo || type.getRank() > 1 || !canAskElements(value, loop))
    return range;
  return {reduce(value, attn::ReduceKind::Min),
          reduce(value, attn::ReduceKind::Max)};
}

/// By one number of whatever sign: the ends' quotients are the ends.
BlockTruth::Range BlockTruth::getQuotient(Range x, Value divisor) {
  Value a = index.floorDivide(x.lo, divisor);
  Value b = index.floorDivide(x.hi, divisor);
  auto constant = getIntegerConstant(divisor);
  if (constant && constant->isStrictlyPositive())
    return {a, b};
  return {index.minimum(a, b), index.maximum(a, b)};
}

/// Exact where all have one quotient, else everything below the divisor; 0 for
/// a divisor of 0.
BlockTruth::Range BlockTruth::getRemainder(Range x, Value divisor) {
  Value zero = index.constant(0);
  // Ranges end at 2^60: beyond, divisors do the same.
  divisor = index.clamp(divisor, -(int64_t(1) << 61), int64_t(1) << 61);
  Value first = index.floorDivide(x.lo, divisor);
  Value other = index.floorDivide(x.hi, divisor);
  Value isOne = index.logicalAnd(index.isLessOrEqual(first, other),
                                 index.isLessOrEqual(other, first));
  Value whole = index.multiply(first, divisor);
  Range exact = {index.subtract(x.lo, whole), index.subtract(x.hi, whole)};
  Range all = {index.minimum(zero, index.add(divisor, 1)),
               index.maximum(zero, index.add(divisor, -1))};
  auto constant = getIntegerConstant(divisor);
  if (constant && constant->isZero())
    return {zero, zero};
  if (!constant) {
    Value isZero = index.logicalAnd(index.isLessOrEqual(zero, divisor),
                                    index.isLessOrEqual(divisor, zero));
    isOne = index.logicalAnd(isOne, index.logicalNot(isZero));
  }
  return {index.select(isOne, exact.lo, all.lo),
          index.select(isOne, exact.hi, all.hi)};
}

BlockTruth::Range BlockTruth::getProduct(Operation *product) {
  unsigned __int128 magnitude = 1;
  for (Value operand : product->getOperands())
    magnitude *= getStaticRange(operand).magnitude();
  if (magnitude >> 60 != 0)
    return {};
  Range a = getRange(getAffineForm(product->getOperand(0)));
  Range b = getRange(getAffineForm(product->getOperand(1)));
  if (!a.lo || !b.lo)
    return {};
  Range result;
  for (Value x : {a.lo, a.hi})
    for (Value y : {b.lo, b.hi}) {
      Value corner = index.multiply(x, y);
      result.lo = result.lo ? index.minimum(result.lo, corner) : corner;
      result.hi = result.hi ? index.maximum(result.hi, corner) : corner;
    }
  return result;
}

BlockTruth::Range BlockTruth::getChoice(arith::SelectOp select) {
  Truth truth = getCondition(select.getCondition());
  Range a = getRange(getAffineForm(select.getTrueValue()));
  Range b = getRange(getAffineForm(select.getFalseValue()));
  if (!a.lo || !b.lo)
    return {};
  auto choose = [&](Value yes, Value no, Value either) {
    return index.select(truth.sure, yes, index.select(truth.can, either, no));
  };
  return {choose(a.lo, b.lo, index.minimum(a.lo, b.lo)),
          choose(a.hi, b.hi, index.maximum(a.hi, b.hi))};
}

} // namespace attentile
