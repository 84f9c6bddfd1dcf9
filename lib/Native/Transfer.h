//===- Transfer.h - loops between a tensor and a buffer ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order in which the elements of a tile.load or tile.store are visited, and
// what is checked on the way; LoadsAndStores.cpp says what is done with each.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NATIVE_TRANSFER_H
#define ATTENTILE_LIB_NATIVE_TRANSFER_H

#include "PointEmitter.h"
#include "attentile/Float8.h"
#include <numeric>

namespace attentile::native {
using namespace mlir;

/// Booleans take a byte in the caller's memory, as 8-bit floats do.
inline Type inMemory(Type element) {
  if (element.isInteger(1) || isFloat8(element))
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
    return k.advance(pointer, inMemory(tensor.element), offset);
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
  /// its check; `gather` (null: by elements) a vector of elements that all
  /// exist, from a vector of pointers; `same` a vector of a line of which all
  /// elements are one.
  void run(function_ref<void(Coordinates &)> square,
           function_ref<void(Coordinates &, Value pointer, Type vector)> line,
           function_ref<void(Coordinates &)> element,
           function_ref<void(Coordinates &, Value pointers, Type vector)>
               gather = nullptr,
           function_ref<void(Coordinates &, Value line)> same = nullptr) {
    ArrayRef<Axis> axes = buffer.order;
    if (axes.size() < 2 || !isAffine(axes) || getSquare() < 2)
      return runLines(line, element, gather, same);
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
        [&] { runLines(line, element, gather, same); });
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

  void runLines(
      function_ref<void(Coordinates &, Value pointer, Type vector)> line,
      function_ref<void(Coordinates &)> element,
      function_ref<void(Coordinates &, Value pointers, Type vector)> gather,
      function_ref<void(Coordinates &, Value line)> same) {
    Axis vector = buffer.order.back();
    auto outer = ArrayRef(buffer.order).drop_back();
    unsigned lanes = k.plan.getLanes(sizeOf(vector), alignment() == 8),
             wide = k.plan.getLanes(sizeOf(vector), /*wide=*/true);
    Coordinates at;
    forEach(outer, at, [&] {
      auto slow = [&] { forEach({vector}, at, [&] { element(at); }); };
      if (!isAffine({vector}) && gather && wide > 1) {
        auto uneven = [&] {
          forEach(
              {vector}, at, [&] { gatherLine(at, wide, element, gather); },
              wide);
        };
        return sameLine(at, lanes, same, uneven);
      }
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

  /// `same` where all of the line at `at` is one element, as beyond the ends of
  /// a table of distances, else `uneven`. Asked where the indices go one way
  /// along the line: then its ends tell.
  void sameLine(Coordinates at, unsigned lanes,
                function_ref<void(Coordinates &, Value line)> same,
                function_ref<void()> uneven) {
    Axis vector = buffer.order.back();
    for (Value index : indices)
      if (!k.plan.isMonotone(index, vector))
        return uneven();
    at[vector] = k.index(0);
    SmallVector<Value> first = indicesAt(at);
    at[vector] = k.index(sizeOf(vector) - 1);
    SmallVector<Value> conditions;
    for (auto [index, last] : llvm::zip_equal(first, indicesAt(at)))
      conditions.push_back(
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, index, last));
    branch(
        all(conditions),
        [&] {
          Value element = k.loadElement(tensor, first);
          Value line = vector::BroadcastOp::create(
              b, loc, VectorType::get({lanes}, element.getType()), element);
          forEach({vector}, at, [&] { same(at, line); }, lanes);
        },
        uneven);
  }

  /// The `lanes` elements from `at` on, whose indices advance unevenly: at once
  /// if all exist, else one by one.
  void gatherLine(
      Coordinates at, unsigned lanes, function_ref<void(Coordinates &)> element,
      function_ref<void(Coordinates &, Value pointers, Type vector)> gather) {
    Axis vector = buffer.order.back();
    Value first = at[vector];
    PointEmitter point(k, vector,
                       arith::DivUIOp::create(b, loc, first, k.index(lanes)),
                       lanes, /*parts=*/1);
    for (auto [axis, position] : at)
      if (axis != vector)
        point.push(axis, position, nullptr);
    auto splat = [&](Value scalar) -> Value {
      return vector::BroadcastOp::create(
          b, loc, VectorType::get({lanes}, b.getIndexType()), scalar);
    };
    Value offsets = splat(k.index(0));
    SmallVector<Value> inside; // one for each lane, or for all
    for (auto [dim, index] : llvm::enumerate(indices)) {
      Lanes value = point.get(index);
      Value size = tensor.sizes[dim], stride = tensor.strides[dim];
      Value at = value.isUniform() ? point.scalarOf(value, b.getIndexType())
                                   : point.part(value, 0, b.getIndexType());
      // Negative indices are large when taken as unsigned.
      Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at,
                                       value.isUniform() ? size : splat(size));
      if (!value.isUniform())
        in =
            vector::ReductionOp::create(b, loc, vector::CombiningKind::AND, in);
      inside.push_back(in);
      Value part =
          value.isUniform()
              ? splat(k.mul(at, stride))
              : Value(arith::MulIOp::create(b, loc, at, splat(stride)));
      offsets = arith::AddIOp::create(b, loc, offsets, part);
    }
    branch(
        all(inside),
        [&] {
          Value wide = arith::IndexCastOp::create(
              b, loc, VectorType::get({lanes}, b.getI64Type()), offsets);
          Type pointers = VectorType::get({lanes}, tensor.pointer.getType());
          gather(at,
                 LLVM::GEPOp::create(b, loc, pointers, inMemory(tensor.element),
                                     tensor.pointer, LLVM::GEPArg(wide)),
                 vectorOf(lanes));
        },
        [&] {
          OpBuilder::InsertionGuard guard(b);
          auto loop = scf::ForOp::create(b, loc, k.index(0), k.index(lanes),
                                         k.index(1));
          b.setInsertionPointToStart(loop.getBody());
          at[vector] = k.add(first, loop.getInductionVar());
          element(at);
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

} // namespace attentile::native

#endif
