//===- LoadsAndStores.cpp - tiles between the caller's memory and scratch -===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strides are known when the code runs, so each transfer has a fast path, taken
// when indices advance evenly, the elements in question lie inside the tensor
// and one axis is contiguous, and a path that checks element by element. An
// element outside is never touched.
//
//===----------------------------------------------------------------------===//

#include "PointEmitter.h"
#include <numeric>

using namespace mlir;

namespace attentile::native {
namespace {

/// The element in scratch (f32 for 16-bit floats, i8 for booleans) of one read.
Value toScratch(OpBuilder &b, Location loc, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  auto as = [&](Type type) -> Type {
    if (auto shaped = dyn_cast<VectorType>(value.getType()))
      return shaped.clone(type);
    return type;
  };
  if (element.isF16() || element.isBF16())
    return arith::ExtFOp::create(b, loc, as(b.getF32Type()), value);
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, loc, as(b.getI8Type()), value);
  return value;
}

/// Rounds or saturates a value (f32, index, iN or i1) to a tensor's element.
Value toElement(OpBuilder &b, Location loc, Value value, Type element) {
  auto as = [&](Type type) -> Type {
    if (auto shaped = dyn_cast<VectorType>(value.getType()))
      return shaped.clone(type);
    return type;
  };
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  if (isa<FloatType>(element)) {
    if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(b, loc, as(element), value);
    return arith::TruncFOp::create(b, loc, as(element), value);
  }
  if (from.isInteger(1))
    return arith::ExtUIOp::create(b, loc, as(element), value);
  if (from.isIndex()) {
    value = arith::IndexCastOp::create(b, loc, as(b.getI64Type()), value);
    from = b.getI64Type();
  }
  unsigned width = element.getIntOrFloatBitWidth();
  if (width > from.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, loc, as(element), value);
  if (width == from.getIntOrFloatBitWidth())
    return value;
  auto limit = [&](APInt bound) -> Value {
    TypedAttr attribute = b.getIntegerAttr(
        from, bound.sext(from.getIntOrFloatBitWidth()).getSExtValue());
    if (auto shaped = dyn_cast<VectorType>(value.getType()))
      attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
    return arith::ConstantOp::create(b, loc, attribute);
  };
  value = arith::MaxSIOp::create(b, loc, value,
                                 limit(APInt::getSignedMinValue(width)));
  value = arith::MinSIOp::create(b, loc, value,
                                 limit(APInt::getSignedMaxValue(width)));
  return arith::TruncIOp::create(b, loc, as(element), value);
}

/// Booleans take a byte in the caller's memory.
Type inMemory(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  return element;
}

/// Emits the loops of one transfer between a tensor and a buffer.
class Transfer {
public:
  Transfer(KernelEmitter &kernel, const TensorAccess &tensor,
           OperandRange indices, int buffer)
      : k(kernel), b(kernel.b), loc(kernel.loc), tensor(tensor),
        indices(indices), id(buffer), buffer(k.plan.buffers[buffer]) {}

  Value all(ArrayRef<Value> conditions) {
    Value result;
    for (Value condition : conditions)
      result = result ? Value(arith::AndIOp::create(b, loc, result, condition))
                      : condition;
    return result
               ? result
               : Value(arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  }

  int64_t sizeOf(Axis axis) const {
    return buffer.type.getDimSize(*tile::getAxisPosition(buffer.type, axis));
  }

  /// Whether all indices are a scalar + constants * positions along `axes`.
  bool isAffine(ArrayRef<Axis> axes) const {
    for (Value index : indices)
      for (Axis axis : axes)
        if (!k.plan.getCoefficient(index, axis))
          return false;
    return true;
  }

  /// The scalar indices of the element at `at`.
  SmallVector<Value> indicesAt(const Coordinates &at) {
    PointEmitter point(k, nullptr, nullptr, 1, 1);
    for (auto [axis, position] : at)
      point.push(axis, position, nullptr);
    SmallVector<Value> values;
    for (Value index : indices)
      values.push_back(point.get(index).base);
    return values;
  }

  /// Whether from the element at `first` on, the whole sizes of `axes` lie
  /// inside the tensor.
  Value isInside(ArrayRef<Value> first, ArrayRef<Axis> axes) {
    SmallVector<Value> conditions;
    for (auto [dim, index] : llvm::enumerate(first)) {
      int64_t low = 0, high = 0;
      for (Axis axis : axes) {
        int64_t reach =
            *k.plan.getCoefficient(indices[dim], axis) * (sizeOf(axis) - 1);
        (reach < 0 ? low : high) += reach;
      }
      Value lowest = k.add(index, k.index(low));
      Value highest = k.add(index, k.index(high));
      conditions.push_back(arith::CmpIOp::create(
          b, loc, arith::CmpIPredicate::sge, lowest, k.index(0)));
      conditions.push_back(arith::CmpIOp::create(
          b, loc, arith::CmpIPredicate::slt, highest, tensor.sizes[dim]));
    }
    return all(conditions);
  }

  /// Elements from one position along `axis` to the next.
  Value strideAlong(Axis axis) {
    Value stride;
    for (auto [dim, index] : llvm::enumerate(indices)) {
      int64_t coefficient = *k.plan.getCoefficient(index, axis);
      if (coefficient == 0)
        continue;
      Value step = k.mul(tensor.strides[dim], k.index(coefficient));
      stride = stride ? k.add(stride, step) : step;
    }
    return stride ? stride : k.index(0);
  }

  Value isOne(Value stride) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stride,
                                 k.index(1));
  }

  Value pointerTo(ArrayRef<Value> at) {
    Value offset = k.index(0);
    for (auto [index, stride] : llvm::zip_equal(at, tensor.strides))
      offset = k.add(offset, k.mul(index, stride));
    return advance(tensor.pointer, offset);
  }

  Value advance(Value pointer, Value offset) {
    return LLVM::GEPOp::create(b, loc, pointer.getType(),
                               inMemory(tensor.element), pointer,
                               LLVM::GEPArg(k.toI64(offset)));
  }

  unsigned alignment() const {
    return inMemory(tensor.element).getIntOrFloatBitWidth() / 8;
  }

  /// Loops over `axes`, with positions in `at`.
  void forEach(ArrayRef<Axis> axes, Coordinates &at, function_ref<void()> body,
               int64_t step = 1) {
    if (axes.empty())
      return body();
    OpBuilder::InsertionGuard guard(b);
    auto loop = scf::ForOp::create(
        b, loc, k.index(0), k.index(sizeOf(axes.front())), k.index(step));
    b.setInsertionPointToStart(loop.getBody());
    at[axes.front()] = loop.getInductionVar();
    forEach(axes.drop_front(), at, body, step);
  }

  void branch(Value condition, function_ref<void()> yes,
              function_ref<void()> no) {
    OpBuilder::InsertionGuard guard(b);
    auto op = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/true);
    b.setInsertionPointToStart(op.thenBlock());
    yes();
    b.setInsertionPointToStart(op.elseBlock());
    no();
  }

  /// The transfer: squares that are transposed in registers if all of the tile
  /// is inside and its last other axis is contiguous, else line by line.
  /// `square` moves one square, `line` one vector, `element` one element with
  /// its check.
  void run(function_ref<void(Coordinates &)> square,
           function_ref<void(Coordinates &, Value pointer, Type vector)> line,
           function_ref<void(Coordinates &)> element) {
    ArrayRef<Axis> axes = buffer.order;
    if (axes.size() < 2 || !isAffine(axes) || getSquare() < 2)
      return runLines(line, element);
    Coordinates at;
    for (Axis axis : axes)
      at[axis] = k.index(0);
    Axis across = axes[axes.size() - 2];
    Value fast =
        all({isInside(indicesAt(at), axes), isOne(strideAlong(across))});
    branch(
        fast,
        [&] {
          forEach(axes.drop_back(2), at, [&] {
            forEach(
                {axes.back(), across}, at, [&] { square(at); }, getSquare());
          });
        },
        [&] { runLines(line, element); });
  }

  /// Side of the squares that are transposed in registers.
  unsigned getSquare() const {
    return std::gcd(k.plan.getLanes(sizeOf(buffer.order.back()), false),
                    k.plan.getLanes(sizeOf(buffer.order.end()[-2]), false));
  }

  /// `body` with each vector of the square at `at`: its pointer and number,
  /// `at` moved along the vector axis.
  void forRows(Coordinates at, function_ref<void(Value pointer)> body) {
    Value first = pointerTo(indicesAt(at));
    Value stride = strideAlong(buffer.order.back());
    for (unsigned i = 0; i < getSquare(); ++i)
      body(advance(first, k.mul(stride, k.index(i))));
  }

  /// `body` with each vector's place in scratch.
  void forColumns(Coordinates at, function_ref<void(Coordinates &)> body) {
    Axis across = buffer.order.end()[-2];
    Value first = at[across];
    for (unsigned i = 0; i < getSquare(); ++i) {
      at[across] = k.add(first, k.index(i));
      body(at);
    }
  }

  /// Swaps rows and columns: in step s, lanes whose numbers differ in bit s.
  void transpose(SmallVectorImpl<Value> &rows) {
    int64_t size = rows.size();
    for (int64_t s = 1; s < size; s *= 2)
      for (int64_t i = 0; i < size; ++i) {
        if (i & s)
          continue;
        SmallVector<int64_t> low, high;
        for (int64_t lane = 0; lane < size; ++lane) {
          low.push_back(lane & s ? size + lane - s : lane);
          high.push_back(lane & s ? size + lane : lane + s);
        }
        Value a = rows[i], c = rows[i + s];
        rows[i] = vector::ShuffleOp::create(b, loc, a, c, low);
        rows[i + s] = vector::ShuffleOp::create(b, loc, a, c, high);
      }
  }

  void
  runLines(function_ref<void(Coordinates &, Value pointer, Type vector)> line,
           function_ref<void(Coordinates &)> element) {
    Axis vector = buffer.order.back();
    auto outer = ArrayRef(buffer.order).drop_back();
    unsigned lanes = k.plan.getLanes(sizeOf(vector), alignment() == 8);
    Coordinates at;
    forEach(outer, at, [&] {
      auto slow = [&] { forEach({vector}, at, [&] { element(at); }); };
      if (!isAffine({vector}))
        return slow();
      at[vector] = k.index(0);
      SmallVector<Value> first = indicesAt(at);
      Value fast = all({isInside(first, {vector}), isOne(strideAlong(vector))});
      branch(
          fast,
          [&] {
            Value start = pointerTo(first);
            forEach(
                {vector}, at,
                [&] { line(at, advance(start, at[vector]), vectorOf(lanes)); },
                lanes);
          },
          slow);
    });
  }

  /// Vectors of the tensor's elements.
  VectorType vectorOf(unsigned lanes) const {
    return VectorType::get({lanes}, inMemory(tensor.element));
  }

  KernelEmitter &k;
  OpBuilder &b;
  Location loc;
  const TensorAccess &tensor;
  OperandRange indices;
  int id;
  const Buffer &buffer;
};

} // namespace

/// Whether the element at `indices` exists.
static Value exists(OpBuilder &b, Location loc, const TensorAccess &tensor,
                    ValueRange indices) {
  Value result = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  for (auto [index, size] : llvm::zip_equal(indices, tensor.sizes)) {
    // Negative indices are large when taken as unsigned.
    Value inside =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, size);
    result = arith::AndIOp::create(b, loc, result, inside);
  }
  return result;
}

static Value elementPointer(KernelEmitter &k, const TensorAccess &tensor,
                            ValueRange indices) {
  Value offset = k.index(0);
  for (auto [index, stride] : llvm::zip_equal(indices, tensor.strides))
    offset = k.add(offset, k.mul(index, stride));
  return LLVM::GEPOp::create(k.b, k.loc, tensor.pointer.getType(),
                             inMemory(tensor.element), tensor.pointer,
                             LLVM::GEPArg(k.toI64(offset)));
}

/// The element at `indices`, or 0 outside, in the tensor's element type.
Value KernelEmitter::loadElement(const TensorAccess &from, ValueRange indices) {
  auto choice = scf::IfOp::create(b, loc, TypeRange{from.element},
                                  exists(b, loc, from, indices), true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  Type memory = inMemory(from.element);
  Value value =
      LLVM::LoadOp::create(b, loc, memory, elementPointer(*this, from, indices),
                           memory.getIntOrFloatBitWidth() / 8);
  if (memory != from.element) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(memory));
    value =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
  }
  scf::YieldOp::create(b, loc, value);
  b.setInsertionPointToStart(choice.elseBlock());
  Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(from.element));
  scf::YieldOp::create(b, loc, none);
  return choice.getResult(0);
}

void KernelEmitter::storeElement(const TensorAccess &to, ValueRange indices,
                                 Value value) {
  auto choice = scf::IfOp::create(b, loc, exists(b, loc, to, indices), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  Type memory = inMemory(to.element);
  LLVM::StoreOp::create(b, loc, toElement(b, loc, value, memory),
                        elementPointer(*this, to, indices),
                        memory.getIntOrFloatBitWidth() / 8);
}

void KernelEmitter::copyIn(tile::LoadOp load) {
  const TensorAccess &from = tensor(load.getTensor());
  int id = plan.getBuffer(load.getResult());
  Value memory = buffer(id);
  Transfer transfer(*this, from, load.getIndices(), id);
  transfer.run(
      [&](Coordinates &at) {
        SmallVector<Value> rows;
        Type type = transfer.vectorOf(transfer.getSquare());
        transfer.forRows(at, [&](Value pointer) {
          Value row =
              LLVM::LoadOp::create(b, loc, type, pointer, transfer.alignment());
          rows.push_back(toScratch(b, loc, row));
        });
        transfer.transpose(rows);
        transfer.forColumns(at, [&](Coordinates &at) {
          vector::StoreOp::create(b, loc, rows.front(), memory,
                                  indicesOf(id, at));
          rows.erase(rows.begin());
        });
      },
      [&](Coordinates &at, Value pointer, Type type) {
        Value line =
            LLVM::LoadOp::create(b, loc, type, pointer, transfer.alignment());
        vector::StoreOp::create(b, loc, toScratch(b, loc, line), memory,
                                indicesOf(id, at));
      },
      [&](Coordinates &at) {
        Value value = loadElement(from, transfer.indicesAt(at));
        memref::StoreOp::create(b, loc, toScratch(b, loc, value), memory,
                                indicesOf(id, at));
      });
}

/// Where the elements of a view are: in place if all of the tile is inside the
/// tensor, else in scratch, with zeros around.
void KernelEmitter::fillView(tile::LoadOp load) {
  const TensorAccess &from = tensor(load.getTensor());
  int id = plan.getBuffer(load.getResult());
  const Buffer &scratch = plan.buffers[id];
  Transfer transfer(*this, from, load.getIndices(), id);
  ArrayRef<Axis> axes = tile::getAxes(load.getType());
  Coordinates origin;
  for (Axis axis : axes)
    origin[axis] = index(0);
  SmallVector<Value> first = transfer.indicesAt(origin);
  SmallVector<Type> types{LLVM::LLVMPointerType::get(b.getContext())};
  types.append(axes.size(), b.getIndexType());
  auto choice = scf::IfOp::create(b, loc, types, transfer.isInside(first, axes),
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    SmallVector<Value> values{transfer.pointerTo(first)};
    for (Axis axis : axes)
      values.push_back(transfer.strideAlong(axis));
    scf::YieldOp::create(b, loc, values);

    b.setInsertionPointToStart(choice.elseBlock());
    copyIn(load);
    values = {LLVM::GEPOp::create(b, loc, types.front(), b.getI8Type(),
                                  function.getArgument(3),
                                  LLVM::GEPArg(int32_t(scratch.offset)))};
    for (Axis axis : axes) {
      int64_t stride = 1;
      for (Axis inner : llvm::reverse(scratch.order)) {
        if (inner == axis)
          break;
        stride *= transfer.sizeOf(inner);
      }
      values.push_back(index(stride));
    }
    scf::YieldOp::create(b, loc, values);
  }
  ElementSource source;
  source.pointer = choice.getResult(0);
  for (auto [i, axis] : llvm::enumerate(axes))
    source.strides[axis] = choice.getResult(i + 1);
  viewSources[load.getResult()] = source;
}

void KernelEmitter::emitLoad(tile::LoadOp load) {
  if (!tile::isTile(load.getType())) {
    SmallVector<Value> indices;
    for (Value index : load.getIndices())
      indices.push_back(scalar(index));
    setScalar(load.getResult(), loadElement(tensor(load.getTensor()), indices));
  } else if (plan.isView(load.getResult())) {
    fillView(load);
  } else {
    copyIn(load);
  }
}

void KernelEmitter::emitStore(tile::StoreOp store) {
  const TensorAccess &to = tensor(store.getTensor());
  if (!tile::isTile(store.getValue().getType())) {
    SmallVector<Value> indices;
    for (Value index : store.getIndices())
      indices.push_back(scalar(index));
    return storeElement(to, indices, scalar(store.getValue()));
  }
  int id = plan.getBuffer(store.getValue());
  Value memory = buffer(id);
  Type scratchElement = plan.buffers[id].type.getElementType();
  Transfer transfer(*this, to, store.getIndices(), id);
  transfer.run(
      [&](Coordinates &at) {
        SmallVector<Value> columns;
        auto type = VectorType::get({transfer.getSquare()}, scratchElement);
        transfer.forColumns(at, [&](Coordinates &at) {
          columns.push_back(
              vector::LoadOp::create(b, loc, type, memory, indicesOf(id, at)));
        });
        transfer.transpose(columns);
        transfer.forRows(at, [&](Value pointer) {
          Value row = toElement(b, loc, columns.front(), inMemory(to.element));
          LLVM::StoreOp::create(b, loc, row, pointer, transfer.alignment());
          columns.erase(columns.begin());
        });
      },
      [&](Coordinates &at, Value pointer, Type type) {
        auto lanes = cast<VectorType>(type).clone(scratchElement);
        Value line =
            vector::LoadOp::create(b, loc, lanes, memory, indicesOf(id, at));
        LLVM::StoreOp::create(b, loc,
                              toElement(b, loc, line, inMemory(to.element)),
                              pointer, transfer.alignment());
      },
      [&](Coordinates &at) {
        Value value = memref::LoadOp::create(b, loc, memory, indicesOf(id, at));
        storeElement(to, transfer.indicesAt(at), value);
      });
}

} // namespace attentile::native
