//===- PointEmitter.cpp - the value of an expression at one point ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PointEmitter.h"
#include "attentile/Float8.h"
#include "attentile/Native/Random.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile::native {

/// The type that a tile's element has in registers.
static Type inRegister(Type element) {
  if (isNarrowFloat(element))
    return Float32Type::get(element.getContext());
  return element;
}

PointEmitter::PointEmitter(KernelEmitter &kernel, Axis vector, Value stripe,
                           unsigned lanes, unsigned parts)
    : k(kernel), b(kernel.b), loc(kernel.loc), vector(vector), stripe(stripe),
      lanes(lanes), parts(parts) {
  if (vector)
    offset = k.mul(stripe, k.index(lanes * parts));
  push(vector, offset, nullptr);
}

void PointEmitter::push(Axis axis, Value position, Operation *loop) {
  Level &level = levels.emplace_back();
  level.axis = axis;
  level.position = position;
  level.loop = loop;
}

unsigned PointEmitter::levelOf(Type type) const {
  for (unsigned i = levels.size() - 1; i > 0; --i)
    if (tile::getAxisPosition(type, levels[i].axis))
      return i;
  return 0;
}

void PointEmitter::remember(Value value, Lanes lanes) {
  levels[levelOf(value.getType())].known[value] = std::move(lanes);
}

Type PointEmitter::vectorOf(Type element) const {
  return vector ? Type(VectorType::get({lanes}, element)) : element;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

Lanes PointEmitter::uniform(Value value) {
  Type type = value.getType();
  if (inRegister(type) != type)
    value = arith::ExtFOp::create(b, loc, inRegister(type), value);
  else if (type.isInteger(64))
    value = arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  Lanes result;
  result.base = value;
  return result;
}

Value PointEmitter::scalarOf(const Lanes &value, Type element) {
  if (element.isInteger(64))
    return k.toI64(value.base);
  return value.base;
}

/// coefficient * lane number, for the lanes of one part.
Value PointEmitter::laneNumbers(unsigned part, int64_t coefficient,
                                Type element) {
  auto type = VectorType::get({lanes}, element);
  SmallVector<APInt> numbers;
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  for (unsigned i = 0; i < lanes; ++i)
    numbers.push_back(APInt(width, coefficient * int64_t(part * lanes + i),
                            /*isSigned=*/true));
  return arith::ConstantOp::create(b, loc,
                                   DenseElementsAttr::get(type, numbers));
}

Value PointEmitter::part(const Lanes &value, unsigned i, Type element) {
  if (value.isVector())
    return value.parts[i];
  Value scalar = scalarOf(value, element);
  if (!vector)
    return scalar;
  Value all = vector::BroadcastOp::create(
      b, loc, VectorType::get({lanes}, scalar.getType()), scalar);
  if (value.isUniform())
    return all;
  return arith::AddIOp::create(b, loc, all,
                               laneNumbers(i, value.coefficient, element));
}

Value PointEmitter::word(const Lanes &value, unsigned i) {
  Type type = vectorOf(b.getI32Type());
  if (value.isVector()) {
    Value lanes = value.parts[i];
    return getElementTypeOrSelf(lanes).isIndex() ? lowWord(b, loc, lanes)
                                                 : lanes;
  }
  Value scalar =
      value.base.getType().isIndex() ? lowWord(b, loc, value.base) : value.base;
  if (!vector)
    return scalar;
  Value all = vector::BroadcastOp::create(b, loc, type, scalar);
  if (value.isUniform())
    return all;
  return arith::AddIOp::create(
      b, loc, all, laneNumbers(i, value.coefficient, b.getI32Type()));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Positions along a buffer's axes; the vector axis has the stripe's start.
Coordinates PointEmitter::coordinates(const Buffer &memory) {
  Coordinates at;
  for (Axis axis : memory.order)
    for (const Level &level : levels)
      if (level.axis == axis)
        at[axis] = level.position;
  return at;
}

SmallVector<Value> PointEmitter::indicesAt(int buffer, unsigned part) {
  const Buffer &memory = k.plan.buffers[buffer];
  Coordinates at = coordinates(memory);
  bool isVector = memory.order.back() == vector;
  // A gather's stripes may be narrower than a panel.
  if (memory.panel != int64_t(parts * lanes) || !isVector) {
    if (isVector)
      at[vector] = k.add(offset, k.index(part * lanes));
    return k.indicesOf(buffer, at);
  }
  SmallVector<Value> indices{stripe};
  for (Axis axis : ArrayRef(memory.order).drop_back())
    indices.push_back(at.lookup(axis));
  indices.push_back(k.index(part * lanes));
  return indices;
}

Lanes PointEmitter::load(int buffer, Type element) {
  const Buffer &from = k.plan.buffers[buffer];
  Value memory = k.buffer(buffer);
  Type stored = from.type.getElementType();
  auto decode = [&](Value value) -> Value {
    if (!element.isInteger(1))
      return value;
    Value zero =
        arith::ConstantOp::create(b, loc, b.getZeroAttr(value.getType()));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
  };
  if (!vector || !llvm::is_contained(from.order, vector))
    return uniform(
        decode(memref::LoadOp::create(b, loc, memory, indicesAt(buffer, 0))));
  Lanes result;
  auto type = VectorType::get({lanes}, stored);
  for (unsigned i = 0; i < parts; ++i) {
    if (from.order.back() == vector) {
      result.parts.push_back(decode(
          vector::LoadOp::create(b, loc, type, memory, indicesAt(buffer, i))));
      continue;
    }
    // Along another axis than the buffer's vector axis: lane by lane.
    Coordinates at = coordinates(from);
    Value first = k.add(offset, k.index(i * lanes));
    SmallVector<Value> elements;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      at[vector] = k.add(first, k.index(lane));
      elements.push_back(
          memref::LoadOp::create(b, loc, memory, k.indicesOf(buffer, at)));
    }
    result.parts.push_back(
        decode(vector::FromElementsOp::create(b, loc, type, elements)));
  }
  return result;
}

void PointEmitter::store(int buffer, const Lanes &value, Type element) {
  Value memory = k.buffer(buffer);
  element = inRegister(element);
  for (unsigned i = 0; i < getParts(); ++i) {
    Value lanes = part(value, i, element);
    if (element.isInteger(1))
      lanes = arith::ExtUIOp::create(b, loc, vectorOf(b.getI8Type()), lanes);
    if (vector)
      vector::StoreOp::create(b, loc, lanes, memory, indicesAt(buffer, i));
    else
      memref::StoreOp::create(b, loc, lanes, memory, indicesAt(buffer, i));
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Lanes PointEmitter::get(Value value) {
  value = KernelPlan::strip(value);
  unsigned depth = levelOf(value.getType());
  auto &known = levels[depth].known;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  // As far out as the axes allow: before the first loop inside that level.
  OpBuilder::InsertionGuard guard(b);
  for (unsigned i = depth + 1; i < levels.size(); ++i)
    if (levels[i].loop) {
      b.setInsertionPoint(levels[i].loop);
      break;
    }
  Lanes result;
  if (assumed.contains(value))
    result = uniform(arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  else if (!tile::isTile(value.getType()))
    result = uniform(k.scalar(value));
  else if (k.plan.isAvailable(value) && !computesHere(value))
    result =
        load(k.plan.getBuffer(value), tile::getElementType(value.getType()));
  else
    result = emitOp(value.getDefiningOp());
  levels[depth].known[value] = result;
  return result;
}

/// A clone of `op` on other operands and of another result type.
static Value cloneWith(OpBuilder &b, Operation *op, ValueRange operands,
                       Type type) {
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(op->getOperands(), operands))
    mapping.map(from, to);
  Operation *clone = op->clone(mapping);
  // One value may stand twice with one mapping; set each for itself.
  clone->setOperands(operands);
  clone->getResult(0).setType(type);
  b.insert(clone);
  return clone->getResult(0);
}

static bool isTrue(const Lanes &lanes) {
  return lanes.isUniform() && matchPattern(lanes.base, m_One());
}

Lanes PointEmitter::emitOp(Operation *op) {
  Type element = tile::getElementType(op->getResult(0).getType());
  Type type = inRegister(element);
  if (auto index = dyn_cast<tile::IndexOp>(op)) {
    Lanes result = get(index.getBase());
    Axis axis = tile::getAxes(index.getType()).front();
    for (const Level &level : llvm::reverse(levels))
      if (level.axis == axis) {
        result.base = k.add(result.base, level.position);
        break;
      }
    result.coefficient = axis == vector ? 1 : 0;
    return result;
  }
  if (isa<tile::BroadcastOp>(op))
    return get(op->getOperand(0));
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = cast<DenseElementsAttr>(constant.getValue());
    TypedAttr attribute = splat.getSplatValue<TypedAttr>();
    if (type != element) {
      APFloat wide = cast<FloatAttr>(attribute).getValue();
      bool ignored;
      wide.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                   &ignored);
      attribute = FloatAttr::get(type, wide);
    }
    return uniform(arith::ConstantOp::create(b, loc, attribute));
  }
  if (std::optional<Lanes> affine = emitAffine(op))
    return *affine;
  if (isa<arith::SelectOp>(op) && isTrue(get(op->getOperand(0))))
    return get(op->getOperand(1));
  if (isa<arith::AndIOp>(op) && element.isInteger(1))
    for (unsigned i : {0, 1})
      if (isTrue(get(op->getOperand(i))))
        return get(op->getOperand(1 - i));

  SmallVector<Lanes> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  auto elementOf = [&](unsigned i) {
    return inRegister(tile::getElementType(op->getOperand(i).getType()));
  };
  bool allUniform =
      llvm::all_of(operands, [](auto &x) { return x.isUniform(); });
  if (auto compare = dyn_cast<arith::CmpIOp>(op);
      compare && !allUniform && !operands[0].isVector() &&
      !operands[1].isVector() &&
      compare.getPredicate() <= arith::CmpIPredicate::sge)
    return emitCompare(compare, operands[0], operands[1]);
  if (auto random = dyn_cast<attn::RandomOp>(op)) {
    auto emit = [&](auto wordAt) {
      SmallVector<Value> words;
      for (const Lanes &index : ArrayRef(operands).drop_front())
        words.push_back(wordAt(index));
      auto keys = keyWords(b, loc, operands[0].base);
      return makeRandom(b, loc, words,
                        {wordAt(uniform(keys[0])), wordAt(uniform(keys[1]))});
    };
    if (allUniform)
      return uniform(emit([&](const Lanes &index) {
        return index.base.getType().isIndex() ? lowWord(b, loc, index.base)
                                              : index.base;
      }));
    Lanes result;
    for (unsigned p = 0; p < parts; ++p)
      result.parts.push_back(
          emit([&](const Lanes &index) { return word(index, p); }));
    return result;
  }
  if (isa<arith::SIToFPOp>(op) && type.isF32() && !operands[0].isVector() &&
      !allUniform &&
      std::abs(operands[0].coefficient) * lanes * parts < (1 << 22)) {
    Lanes result = emitToFloat(op->getOperand(0), operands[0]);
    if (type != element)
      for (Value &lane : result.parts) {
        lane = arith::TruncFOp::create(b, loc, vectorOf(element), lane);
        lane = arith::ExtFOp::create(b, loc, vectorOf(type), lane);
      }
    return result;
  }

  auto emit = [&](auto operandAt, bool isScalar) -> Value {
    SmallVector<Value> values;
    for (unsigned i = 0; i < operands.size(); ++i) {
      bool keepsScalar =
          isa<arith::SelectOp>(op) && i == 0 && operands[0].isUniform();
      values.push_back(keepsScalar ? operands[0].base : operandAt(i));
    }
    Type resultType = isScalar ? type : vectorOf(type);
    Type rounded = isScalar ? element : vectorOf(element);
    if (isa<tile::RefOp>(op))
      return emitRef(b, loc, values[0]);
    if (type == element)
      return cloneWith(b, op, values, resultType);
    // Narrow floats: compute in f32 and round.
    Value value = values[0];
    if (!isa<arith::TruncFOp>(op))
      value = cloneWith(b, op, values, resultType);
    value = arith::TruncFOp::create(b, loc, rounded, value);
    return arith::ExtFOp::create(b, loc, resultType, value);
  };
  if (allUniform || !vector)
    return uniform(emit(
        [&](unsigned i) { return scalarOf(operands[i], elementOf(i)); }, true));
  Lanes result;
  for (unsigned p = 0; p < parts; ++p)
    result.parts.push_back(emit(
        [&](unsigned i) { return part(operands[i], p, elementOf(i)); }, false));
  return result;
}

} // namespace attentile::native
