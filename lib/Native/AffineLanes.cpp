//===- AffineLanes.cpp - integers that advance evenly along the lanes -----===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions and what is made of them by sums and constant factors are a scalar
// and a multiple of the lane's number (PointEmitter.h); and what of them is
// compared or made a float needs few vector operations.
//
//===----------------------------------------------------------------------===//

#include "PointEmitter.h"

using namespace mlir;

namespace attentile::native {

/// Sums, differences and multiples of 64-bit integers that stay affine.
std::optional<Lanes> PointEmitter::emitAffine(Operation *op) {
  Value result = op->getResult(0);
  if (!isWideInteger(result.getType()) ||
      !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp>(op))
    return std::nullopt;
  SmallVector<Lanes> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(get(operand));
    if (operands.back().isVector())
      return std::nullopt;
  }
  Lanes lanes = operands[0];
  if (isa<arith::IndexCastOp>(op)) {
    if (!lanes.base.getType().isIndex())
      lanes.base =
          arith::IndexCastOp::create(b, loc, b.getIndexType(), lanes.base);
    return lanes;
  }
  const Lanes &other = operands[1];
  if (isa<arith::AddIOp>(op)) {
    lanes.base = k.add(lanes.base, other.base);
    lanes.coefficient += other.coefficient;
  } else if (isa<arith::SubIOp>(op)) {
    lanes.base = arith::SubIOp::create(b, loc, lanes.base, other.base);
    lanes.coefficient -= other.coefficient;
  } else {
    auto coefficient = lanes.isUniform() && other.isUniform()
                           ? std::optional<int64_t>(0)
                           : k.plan.getCoefficient(result, vector);
    if (!coefficient)
      return std::nullopt;
    lanes.base = k.mul(lanes.base, other.base);
    lanes.coefficient = *coefficient;
  }
  return lanes;
}

/// The loops of the point along which `to - from` goes in steps that with the
/// lanes' are exact in f32: their positions times their steps as one number of
/// 32 bits, null if there is none or another loop changes the values.
Value PointEmitter::stepsOf(Value to, Value from, int64_t coefficient) {
  Value steps;
  int64_t reach = std::abs(coefficient) * lanes * parts;
  for (const Level &level : ArrayRef(levels).drop_front()) {
    int64_t step = 0, size = 0;
    for (auto [value, sign] : {std::pair(to, 1), {from, -1}}) {
      auto axis = value ? tile::getAxisPosition(value.getType(), level.axis)
                        : std::nullopt;
      if (!axis)
        continue;
      auto along = k.plan.getCoefficient(value, level.axis);
      if (!along || !level.loop || level.axis == vector)
        return {};
      step += sign * *along;
      size = cast<RankedTensorType>(value.getType()).getDimSize(*axis);
    }
    if (step == 0)
      continue;
    reach += std::abs(step) * size;
    Value part = k.mul(level.position, k.index(step));
    steps = steps ? k.add(steps, part) : part;
  }
  return steps && reach < 1 << 22
             ? arith::IndexCastOp::create(b, loc, b.getI32Type(), steps)
             : Value();
}

void PointEmitter::setBeforeLoops() {
  for (const Level &level : levels)
    if (level.loop)
      return b.setInsertionPoint(level.loop);
}

/// The value where the point's loops begin; the builder stands before them.
Lanes PointEmitter::getBeforeLoops(Value value) {
  SmallVector<Level> inside = levels;
  for (Level &level : MutableArrayRef(levels).drop_front()) {
    level.position = k.index(0);
    level.loop = nullptr;
    level.known.clear();
  }
  Lanes result = get(value);
  inside[0].known = std::move(levels[0].known);
  levels = std::move(inside);
  return result;
}

/// a + c * lane < b + d * lane as (c - d) * lane < b - a in 32-bit lanes: the
/// difference saturates far beyond any lane number and step of a loop, so no
/// range is needed. Only the steps are added in the loops.
Lanes PointEmitter::emitCompare(arith::CmpIOp op, const Lanes &lhs,
                                const Lanes &rhs) {
  int64_t coefficient = lhs.coefficient - rhs.coefficient;
  if (coefficient == 0)
    return uniform(
        arith::CmpIOp::create(b, loc, op.getPredicate(), lhs.base, rhs.base));
  Value steps = stepsOf(op.getRhs(), op.getLhs(), coefficient);
  Value distance;
  {
    OpBuilder::InsertionGuard guard(b);
    if (steps)
      setBeforeLoops();
    Value to = steps ? getBeforeLoops(op.getRhs()).base : rhs.base;
    Value from = steps ? getBeforeLoops(op.getLhs()).base : lhs.base;
    auto limit = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
    };
    distance = LLVM::SSubSat::create(b, loc, b.getI64Type(), k.toI64(to),
                                     k.toI64(from));
    distance = arith::MaxSIOp::create(b, loc, distance, limit(-(1 << 30)));
    distance = arith::MinSIOp::create(b, loc, distance, limit(1 << 30));
    distance = arith::TruncIOp::create(b, loc, b.getI32Type(), distance);
  }
  if (steps)
    distance = arith::AddIOp::create(b, loc, distance, steps);
  Value all = vector::BroadcastOp::create(
      b, loc, VectorType::get({lanes}, b.getI32Type()), distance);
  Lanes result;
  for (unsigned p = 0; p < parts; ++p)
    result.parts.push_back(arith::CmpIOp::create(
        b, loc, op.getPredicate(), laneNumbers(p, coefficient, b.getI32Type()),
        all));
  return result;
}

/// Correctly rounded up to 2^44: the base is split in a multiple of 2^20, exact
/// as f32, and a rest that with the lanes' part, and the steps of loops, is
/// exact, too. Only the steps' part is computed in the loops.
Lanes PointEmitter::emitToFloat(Value value, const Lanes &operand) {
  Value steps = stepsOf(value, /*from=*/{}, operand.coefficient);
  auto floats = VectorType::get({lanes}, b.getF32Type());
  Lanes result;
  Value high;
  {
    OpBuilder::InsertionGuard guard(b);
    if (steps)
      setBeforeLoops();
    Lanes start = steps ? getBeforeLoops(value) : operand;
    Value base = k.toI64(start.base);
    Value mask = arith::ConstantOp::create(
        b, loc, b.getI64IntegerAttr(~int64_t((1 << 20) - 1)));
    Value multiple = arith::AndIOp::create(b, loc, base, mask);
    Value low = arith::TruncIOp::create(
        b, loc, b.getI32Type(), arith::SubIOp::create(b, loc, base, multiple));
    high = vector::BroadcastOp::create(
        b, loc, floats,
        arith::SIToFPOp::create(b, loc, b.getF32Type(), multiple));
    Value all = vector::BroadcastOp::create(
        b, loc, VectorType::get({lanes}, b.getI32Type()), low);
    for (unsigned p = 0; p < parts; ++p) {
      Value rest = arith::AddIOp::create(
          b, loc, all, laneNumbers(p, start.coefficient, b.getI32Type()));
      result.parts.push_back(arith::SIToFPOp::create(b, loc, floats, rest));
    }
  }
  if (steps) {
    Value all = vector::BroadcastOp::create(
        b, loc, floats, arith::SIToFPOp::create(b, loc, b.getF32Type(), steps));
    for (Value &part : result.parts)
      part = arith::AddFOp::create(b, loc, part, all);
  }
  for (Value &part : result.parts)
    part = arith::AddFOp::create(b, loc, high, part);
  return result;
}

} // namespace attentile::native
