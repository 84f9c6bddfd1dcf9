//===- LowerGlobalMemory.cpp - each thread's accesses to tensors ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements outside a tensor are neither read nor written: instructions under a
// predicate, in inline PTX, as LLVM would make a branch of each.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;

namespace attentile::nvvm {

Value both(const Emitter &e, Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return e.bitAnd(x, y);
}

Value insideDim(const Emitter &e, const TensorAccess &tensor, unsigned dim,
                Value index, std::optional<ArrayRef<bool>> known) {
  if (known && (*known)[dim])
    return {};
  Value size = tensor.sizes[dim];
  // Without a sign, so that what is below 0 is outside. An index that was
  // computed in 32 bits is compared there: sizes are below 2^31.
  if (auto cast = index.getDefiningOp<arith::IndexCastOp>();
      cast && cast.getIn().getType().isInteger(32))
    return e.less(cast.getIn(), e.to32(size));
  return e.less(index, size);
}

Value globalAddress(const Emitter &e, const TensorAccess &tensor,
                    ValueRange indices) {
  // In bytes: with strides that a loop does not change, an index costs a
  // multiply-add and no shift.
  Type element = memoryType(tensor.type.getElementType());
  Value size = e.index(element.getIntOrFloatBitWidth() / 8);
  Value pointer = tensor.pointer;
  for (auto [index, stride] : llvm::zip_equal(indices, tensor.strides))
    pointer = e.at(pointer, e.mul(index, e.mul(stride, size)), e.b.getI8Type());
  return pointer;
}

/// `v4.b32`, `b16`: how PTX names an access to these words; the letter of their
/// registers in constraints.
static std::string accessName(ArrayRef<Type> words) {
  std::string name =
      words.size() == 1 ? "" : "v" + std::to_string(words.size()) + ".";
  return name + "b" + std::to_string(words.front().getIntOrFloatBitWidth());
}

/// `{$0, $1}` from `first` on, or `$0` alone.
static std::string operandList(size_t first, size_t count) {
  if (count == 1)
    return "$" + std::to_string(first);
  std::string list = "{";
  for (size_t i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return list + "}";
}

SmallVector<Value> loadWords(const KernelLowering &k, const Emitter &e,
                             Value pointer, ArrayRef<Type> words,
                             Value predicate) {
  size_t count = words.size();
  int64_t bits = words.front().getIntOrFloatBitWidth();
  if (!predicate) {
    Type whole = count == 1
                     ? words.front()
                     : Type(VectorType::get({int64_t(count)}, words.front()));
    Value loaded = LLVM::LoadOp::create(
        e.b, e.loc, whole, pointer, count * bits / 8, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/!k.isDependent);
    if (count == 1)
      return {loaded};
    SmallVector<Value> result;
    for (size_t i = 0; i < count; ++i)
      result.push_back(vector::ExtractOp::create(e.b, e.loc, loaded, i));
    return result;
  }
  // Registers of PTX have at least 16 bits.
  bool isByte = bits == 8;
  SmallVector<Type> types(count,
                          isByte ? Type(e.b.getI16Type()) : words.front());
  std::string move = bits == 32 ? "mov.b32 $" : "mov.b16 $";
  std::string text, constraints;
  for (size_t i = 0; i < count; ++i) {
    text += move + std::to_string(i) + ", 0;\n\t";
    constraints += bits == 32 ? "=&r," : "=&h,";
  }
  text += "@$" + std::to_string(count + 1) + " ld.global" +
          (k.isDependent ? "." : ".nc.") +
          (isByte ? std::string("u8") : accessName(words)) + " " +
          operandList(0, count) + ", [$" + std::to_string(count) + "];";
  constraints += "l,b";
  SmallVector<Value> result =
      e.ptx(text, constraints, types, {pointer, predicate});
  if (isByte)
    result[0] = arith::TruncIOp::create(e.b, e.loc, words.front(), result[0]);
  return result;
}

void storeWords(const Emitter &e, Value pointer, ValueRange words,
                Value predicate) {
  SmallVector<Type> types(words.getTypes());
  size_t count = words.size();
  int64_t bits = types.front().getIntOrFloatBitWidth();
  bool isShared =
      cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() == 3;
  if (!predicate) {
    Value whole = words.front();
    if (count > 1)
      whole = vector::FromElementsOp::create(
          e.b, e.loc, VectorType::get({int64_t(count)}, types.front()), words);
    LLVM::StoreOp::create(e.b, e.loc, whole, pointer, count * bits / 8);
    return;
  }
  SmallVector<Value> operands = {pointer, predicate};
  llvm::append_range(operands, words);
  if (bits == 8)
    operands[2] =
        arith::ExtUIOp::create(e.b, e.loc, e.b.getI16Type(), operands[2]);
  std::string constraints = isShared ? "r,b" : "l,b";
  for (size_t i = 0; i < count; ++i)
    constraints += bits == 32 ? ",r" : ",h";
  std::string name = bits == 8 ? "b8" : accessName(types);
  e.ptx("@$1 st." + std::string(isShared ? "shared." : "global.") + name +
            " [$0], " + operandList(2, count) + ";",
        constraints, {}, operands, /*sideEffects=*/true);
}

namespace {
/// What the two operations have in common.
struct Access {
  const TensorAccess &tensor;
  SmallVector<Value> indices;
  std::optional<ArrayRef<bool>> known;
  Type type;
  int64_t count, dim;
  Value inside; ///< of all dimensions but `dim`, and what the op itself asks
};
} // namespace

template <typename Op>
static Access describe(const Emitter &e, KernelLowering &k, Op op, Type type,
                       Value predicate) {
  const TensorAccess &tensor = k.tensors.find(op.getTensor())->second;
  Access access{tensor,   llvm::to_vector(op.getIndices()), op.getInBounds(),
                type,     warp::getNumRegisters(type),      0,
                predicate};
  access.dim = op.getDim().value_or(tensor.type.getRank() - 1);
  for (int64_t dim = 0; dim < tensor.type.getRank(); ++dim)
    if (dim != access.dim)
      access.inside =
          both(e, access.inside,
               insideDim(e, tensor, dim, access.indices[dim], access.known));
  return access;
}

/// Whether the row's padding takes what of an access lies behind its end.
static bool isPadded(const Access &access) {
  return access.tensor.isPadded &&
         access.dim == access.tensor.type.getRank() - 1;
}

static bool isAllOrNothing(const Access &access) {
  return attentile::isAllOrNothing(access.tensor.type, access.dim, access.count,
                                   access.known);
}

/// The address and condition of element `i` alone.
static std::pair<Value, Value> elementOf(const Emitter &e, const Access &access,
                                         int64_t i) {
  SmallVector<Value> indices = access.indices;
  if (access.tensor.type.getRank() == 0)
    return {access.tensor.pointer, access.inside};
  Value &index = indices[access.dim];
  if (i != 0) {
    if (auto cast = index.getDefiningOp<arith::IndexCastOp>();
        cast && cast.getIn().getType().isInteger(32)) {
      // Stays in 32 bits for the comparison; what overflows is outside.
      index = arith::IndexCastOp::create(e.b, e.loc, e.b.getIndexType(),
                                         e.add(cast.getIn(), e.i32(i)));
    } else {
      index = e.add(index, e.index(i));
    }
  }
  Value inside =
      both(e, access.inside,
           insideDim(e, access.tensor, access.dim, index, access.known));
  // What is below 0 is outside and not accessed: a product without a sign is
  // two instructions less.
  for (Value &each : indices)
    if (auto cast = each.getDefiningOp<arith::IndexCastOp>();
        cast && cast.getIn().getType().isInteger(32))
      each = arith::IndexCastUIOp::create(e.b, e.loc, e.b.getIndexType(),
                                          cast.getIn());
  return {globalAddress(e, access.tensor, indices), inside};
}

void lowerGlobalMemory(KernelLowering &k, Operation *op) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Emitter e(b, loc);
  if (auto load = dyn_cast<warp::LoadOp>(op)) {
    Type type = load.getType();
    Access access = describe(e, k, load, type, {});
    SmallVector<Value> registers;
    if (!load.getByElement() && isAllOrNothing(access)) {
      auto [pointer, inside] = elementOf(e, access, 0);
      registers = fromWords(b, loc, type,
                            loadWords(k, e, pointer, wordTypes(type), inside));
    } else if (!load.getByElement() && isPadded(access) &&
               !isPaired(warp::getElementType(type))) {
      auto [pointer, inside] = elementOf(e, access, 0);
      registers = fromWords(b, loc, type,
                            loadWords(k, e, pointer, wordTypes(type), inside));
      // What the padding holds nobody wrote.
      for (int64_t i = 1; i < access.count; ++i)
        registers[i] = arith::SelectOp::create(
            b, loc, elementOf(e, access, i).second, registers[i],
            arith::ConstantOp::create(b, loc,
                                      b.getZeroAttr(registers[i].getType())));
    } else {
      Type element = warp::getElementType(type);
      for (int64_t i = 0; i < access.count; ++i) {
        auto [pointer, inside] = elementOf(e, access, i);
        llvm::append_range(
            registers,
            fromWords(b, loc, element,
                      loadWords(k, e, pointer, wordTypes(element), inside)));
      }
      if (access.count > 1 && isPaired(element)) {
        SmallVector<Value> pairs;
        for (int64_t i = 0; i < access.count; i += 2)
          pairs.push_back(vector::FromElementsOp::create(
              b, loc, VectorType::get({2}, element),
              ValueRange{registers[i], registers[i + 1]}));
        registers = pairs;
      }
    }
    load.getResult().replaceAllUsesWith(joinRegisters(b, loc, type, registers));
    op->erase();
    return;
  }
  auto store = cast<warp::StoreOp>(op);
  Type type = store.getValue().getType();
  Access access = describe(e, k, store, type, store.getPredicate());
  SmallVector<Value> registers = splitRegisters(b, loc, store.getValue());
  if (!store.getByElement() && (isAllOrNothing(access) || isPadded(access))) {
    auto [pointer, inside] = elementOf(e, access, 0);
    storeWords(e, pointer, toWords(b, loc, type, registers), inside);
  } else {
    Type element = warp::getElementType(type);
    for (int64_t i = 0; i < access.count; ++i) {
      auto [pointer, inside] = elementOf(e, access, i);
      Value value =
          isa<VectorType>(registers.front().getType())
              ? vector::ExtractOp::create(b, loc, registers[i / 2], i % 2)
              : registers[i];
      storeWords(e, pointer, toWords(b, loc, element, value), inside);
    }
  }
  op->erase();
}

} // namespace attentile::nvvm
