//===- EmitRegisters.cpp - tile-to-warp: moves within a thread ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpEmitter.h"

using namespace mlir;

namespace attentile {

Value WarpEmitter::gather(Value vector, ArrayRef<int64_t> registers) {
  int64_t first = registers.front();
  int64_t count = registers.size();
  bool consecutive = true;
  for (auto [i, number] : llvm::enumerate(registers))
    consecutive &= number == first + int64_t(i);
  if (!consecutive)
    return vector::ShuffleOp::create(builder, loc, vector, vector, registers);
  if (count == warp::getNumRegisters(vector.getType()))
    return vector;
  return vector::ExtractStridedSliceOp::create(
      builder, loc, vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{count},
      ArrayRef<int64_t>{1});
}

SmallVector<Value> WarpEmitter::elements(Value vector) {
  return llvm::to_vector_of<Value>(
      vector::ToElementsOp::create(builder, loc, vector).getResults());
}

Value WarpEmitter::fromElements(ArrayRef<Value> elements) {
  auto type =
      VectorType::get({int64_t(elements.size())}, elements[0].getType());
  return vector::FromElementsOp::create(builder, loc, type, elements);
}

Value WarpEmitter::convertFloat(Value value, Type element) {
  Type from = warp::getElementType(value.getType());
  if (from == element)
    return value;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  if (from.getIntOrFloatBitWidth() == element.getIntOrFloatBitWidth()) {
    // f16 and bf16: each holds what the other cannot.
    return convertFloat(convertFloat(value, builder.getF32Type()), element);
  }
  return arith::TruncFOp::create(builder, loc, type, value);
}

LogicalResult WarpEmitter::emitIndex(tile::IndexOp index) {
  // One axis: never in shared memory.
  tile::Layout layout = layoutOf(index.getType());
  SmallVector<Attribute> relative;
  for (int64_t reg = 0; reg < layout.registers(); ++reg)
    relative.push_back(
        builder.getIndexAttr(layout.positionOf({.reg = reg}).front()));
  auto type = cast<VectorType>(convertType(index.getType()));
  Value first =
      sum(get(index.getBase()),
          threadPart(tile::getFragment(index.getType()).getLayout(), 0));
  first = sum(first, startOf(tile::getAxes(index.getType()).front()));
  Value base = vector::BroadcastOp::create(builder, loc, type, first);
  Value constants = arith::ConstantOp::create(
      builder, loc, type, DenseElementsAttr::get(type, relative));
  set(index, arith::AddIOp::create(builder, loc, base, constants));
  return success();
}

/// The axes of `part` as positions in `whole`.
static SmallVector<unsigned> positionsIn(Type whole, Type part) {
  SmallVector<unsigned> result;
  for (StringAttr axis : tile::getAxes(part))
    result.push_back(*tile::getAxisPosition(whole, axis));
  return result;
}

LogicalResult WarpEmitter::emitBroadcast(tile::BroadcastOp broadcast) {
  if (!tile::getFragment(broadcast.getType()))
    return broadcast.emitError("expected a broadcast in registers, got ")
           << broadcast.getType();
  auto type = cast<VectorType>(convertType(broadcast.getType()));
  Value operand = get(broadcast.getOperand());
  Type from = broadcast.getOperand().getType();
  if (!tile::isTile(from)) {
    set(broadcast, vector::BroadcastOp::create(builder, loc, type, operand));
    return success();
  }
  // Each register takes the operand's of the same position on its axes.
  tile::Layout fromLayout = layoutOf(from);
  SmallVector<unsigned> axes = positionsIn(broadcast.getType(), from);
  tile::Layout layout = layoutOf(broadcast.getType());
  assert(isRenaming(fromLayout, layout.permute(axes)) &&
         "tile.broadcast's verifier lets slices of the result's layout pass");
  SmallVector<int64_t> registers;
  for (int64_t reg = 0; reg < layout.registers(); ++reg) {
    SmallVector<int64_t> whole = layout.positionOf({.reg = reg}), part;
    for (unsigned axis : axes)
      part.push_back(whole[axis]);
    registers.push_back(fromLayout.placeOf(part).reg);
  }
  set(broadcast, gather(operand, registers));
  return success();
}

bool WarpEmitter::isRenaming(const tile::Layout &from, const tile::Layout &to) {
  if (from.rank() != to.rank() || from.registers() != to.registers())
    return false;
  // A position is the register's part plus the thread's; so both can be
  // compared by themselves.
  for (int64_t warp = 0; warp < warps; ++warp)
    for (int64_t lane = 0; lane < tile::Layout::kLanes; ++lane)
      if (from.positionOf({.lane = lane, .warp = warp}) !=
          to.positionOf({.lane = lane, .warp = warp}))
        return false;
  for (int64_t reg = 0; reg < to.registers(); ++reg) {
    tile::Place place = from.placeOf(to.positionOf({.reg = reg}));
    if (place.lane != 0 || place.warp != 0)
      return false;
  }
  return true;
}

Value WarpEmitter::rename(Value vector, const tile::Layout &from,
                          const tile::Layout &to) {
  SmallVector<int64_t> registers;
  for (int64_t reg = 0; reg < to.registers(); ++reg)
    registers.push_back(from.placeOf(to.positionOf({.reg = reg})).reg);
  return gather(vector, registers);
}

/// The lanes' digit that says which of a thread's registers it takes: the bits
/// of a lane's number on which `taken` depends.
static tile::Digit findChoice(ArrayRef<int64_t> taken) {
  int64_t low = tile::Layout::kLanes, high = 1;
  for (int64_t bit = 1; bit < tile::Layout::kLanes; bit *= 2)
    for (int64_t lane = 0; lane < tile::Layout::kLanes; ++lane)
      if (taken[lane] != taken[lane ^ bit]) {
        low = std::min(low, bit);
        high = 2 * bit;
      }
  return {std::max<int64_t>(high / low, 1), tile::Unit::Lane,
          low < high ? low : 1};
}

Value WarpEmitter::choose(Value vector, const tile::Layout &from,
                          const tile::Layout &to) {
  SmallVector<SmallVector<int64_t>> taken(to.registers());
  for (auto [reg, ofLanes] : llvm::enumerate(taken))
    for (int64_t lane = 0; lane < tile::Layout::kLanes; ++lane)
      for (int64_t warp = 0; warp < warps; ++warp) {
        SmallVector<int64_t> position =
            to.positionOf({.reg = int64_t(reg), .lane = lane, .warp = warp});
        int64_t source = from.placeOf(position).reg;
        bool isHere =
            from.positionOf({.reg = source, .lane = lane, .warp = warp}) ==
            position;
        if (!isHere || (warp > 0 && ofLanes.back() != source))
          return {};
        if (warp == 0)
          ofLanes.push_back(source);
      }
  SmallVector<tile::Digit> choices;
  int64_t selects = 0;
  for (ArrayRef<int64_t> ofLanes : taken) {
    choices.push_back(findChoice(ofLanes));
    selects += choices.back().extent - 1;
  }
  constexpr int64_t kMostSelects = 16;
  if (selects > kMostSelects) // shared memory is not dearer
    return {};
  SmallVector<Value> own = elements(vector), chosen;
  for (auto [ofLanes, digit] : llvm::zip_equal(taken, choices)) {
    Value number = threadPart({digit}, ThreadUnits::Lane);
    Value &value = chosen.emplace_back(own[ofLanes[0]]);
    for (int64_t i = 1; i < digit.extent; ++i) {
      Value isThis = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, number, constant(i));
      value = arith::SelectOp::create(builder, loc, isThis,
                                      own[ofLanes[i * digit.stride]], value);
    }
  }
  return fromElements(chosen);
}

} // namespace attentile
