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

#include "Transfer.h"
#include "attentile/Float8.h"
#include "attentile/Splat.h"

using namespace mlir;

namespace attentile::native {
namespace {

/// The element in scratch (f32 for narrow floats, i8 for booleans) of one read,
/// which is of type `element` or a byte of memory.
Value toScratch(OpBuilder &b, Location loc, Value value, Type element) {
  auto as = [&](Type type) -> Type {
    if (auto shaped = dyn_cast<VectorType>(value.getType()))
      return shaped.clone(type);
    return type;
  };
  if (isFloat8(element) && getElementTypeOrSelf(value.getType()) != element)
    value = arith::BitcastOp::create(b, loc, as(element), value);
  if (isNarrowFloat(element))
    return arith::ExtFOp::create(b, loc, as(b.getF32Type()), value);
  if (getElementTypeOrSelf(value.getType()).isInteger(1))
    return arith::ExtUIOp::create(b, loc, as(b.getI8Type()), value);
  return value;
}

/// Rounds or saturates a value (f32, index, iN or i1) to a number in memory.
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
    return arith::ConstantOp::create(b, loc, splat(value.getType(), attribute));
  };
  value = arith::MaxSIOp::create(b, loc, value,
                                 limit(APInt::getSignedMinValue(width)));
  value = arith::MinSIOp::create(b, loc, value,
                                 limit(APInt::getSignedMaxValue(width)));
  return arith::TruncIOp::create(b, loc, as(element), value);
}

/// The same to a tensor's element, in the type that it has in memory.
Value toMemory(OpBuilder &b, Location loc, Value value, Type element) {
  if (!isFloat8(element))
    return toElement(b, loc, value, inMemory(element));
  value = toElement(b, loc, value, element);
  Type byte = b.getI8Type();
  if (auto shaped = dyn_cast<VectorType>(value.getType()))
    byte = shaped.clone(byte);
  return arith::BitcastOp::create(b, loc, byte, value);
}

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
  return k.advance(tensor.pointer, inMemory(tensor.element), offset);
}

Value KernelEmitter::loadElement(const TensorAccess &from, ValueRange indices) {
  bool isByte = isFloat8(from.element);
  Type type = isByte ? inMemory(from.element) : from.element;
  auto choice = scf::IfOp::create(b, loc, TypeRange{type},
                                  exists(b, loc, from, indices), true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  Type memory = inMemory(from.element);
  Value value =
      LLVM::LoadOp::create(b, loc, memory, elementPointer(*this, from, indices),
                           memory.getIntOrFloatBitWidth() / 8);
  if (memory != type) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(memory));
    value =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
  }
  scf::YieldOp::create(b, loc, value);
  b.setInsertionPointToStart(choice.elseBlock());
  Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  scf::YieldOp::create(b, loc, none);
  b.setInsertionPointAfter(choice);
  Value result = choice.getResult(0);
  return isByte ? arith::BitcastOp::create(b, loc, from.element, result)
                : result;
}

void KernelEmitter::storeElement(const TensorAccess &to, ValueRange indices,
                                 Value value) {
  auto choice = scf::IfOp::create(b, loc, exists(b, loc, to, indices), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  Type memory = inMemory(to.element);
  LLVM::StoreOp::create(b, loc, toMemory(b, loc, value, to.element),
                        elementPointer(*this, to, indices),
                        memory.getIntOrFloatBitWidth() / 8);
}

void KernelEmitter::copyIn(tile::LoadOp load) {
  const TensorAccess &from = tensor(load.getTensor());
  int id = plan.getBuffer(load.getResult());
  Value memory = buffer(id);
  Transfer transfer(*this, from, load.getIndices(), id);
  auto keep = [&](Coordinates &at, Value line) {
    vector::StoreOp::create(b, loc, toScratch(b, loc, line, from.element),
                            memory, indicesOf(id, at));
  };
  transfer.run(
      [&](Coordinates &at) {
        SmallVector<Value> rows;
        Type type = transfer.vectorOf(transfer.getSquare());
        transfer.forRows(at, [&](Value pointer) {
          Value row =
              LLVM::LoadOp::create(b, loc, type, pointer, transfer.alignment());
          rows.push_back(toScratch(b, loc, row, from.element));
        });
        transfer.transpose(rows);
        transfer.forColumns(at, [&](Coordinates &at) {
          vector::StoreOp::create(b, loc, rows.front(), memory,
                                  indicesOf(id, at));
          rows.erase(rows.begin());
        });
      },
      [&](Coordinates &at, Value pointer, Type type) {
        keep(at,
             LLVM::LoadOp::create(b, loc, type, pointer, transfer.alignment()));
      },
      [&](Coordinates &at) {
        Value value = loadElement(from, transfer.indicesAt(at));
        memref::StoreOp::create(b, loc, toScratch(b, loc, value, from.element),
                                memory, indicesOf(id, at));
      },
      [&](Coordinates &at, Value pointers, Type type) {
        Value all = arith::ConstantOp::create(
            b, loc,
            DenseElementsAttr::get(cast<VectorType>(type).clone(b.getI1Type()),
                                   true));
        keep(at,
             LLVM::masked_gather::create(b, loc, type, pointers, all,
                                         ValueRange{}, transfer.alignment()));
      },
      keep);
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
    return setScalar(load.getResult(),
                     loadElement(tensor(load.getTensor()), indices));
  }
  if (plan.isView(load.getResult()))
    fillView(load);
  else
    copyIn(load);
  noteNext(load);
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
          Value row = toMemory(b, loc, columns.front(), to.element);
          LLVM::StoreOp::create(b, loc, row, pointer, transfer.alignment());
          columns.erase(columns.begin());
        });
      },
      [&](Coordinates &at, Value pointer, Type type) {
        auto lanes = cast<VectorType>(type).clone(scratchElement);
        Value line =
            vector::LoadOp::create(b, loc, lanes, memory, indicesOf(id, at));
        LLVM::StoreOp::create(b, loc, toMemory(b, loc, line, to.element),
                              pointer, transfer.alignment());
      },
      [&](Coordinates &at) {
        Value value = memref::LoadOp::create(b, loc, memory, indicesOf(id, at));
        storeElement(to, transfer.indicesAt(at), value);
      });
}

} // namespace attentile::native
