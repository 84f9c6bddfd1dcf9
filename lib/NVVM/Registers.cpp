//===- Registers.cpp - a fragment as registers ----------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Registers.h"
#include "attentile/Float8.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace attentile::nvvm {

bool isPaired(Type element) { return element.isF16() || element.isBF16(); }

SmallVector<Type> registerTypes(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return {type};
  Type element = vector.getElementType();
  int64_t count = vector.getNumElements();
  if (!isPaired(element))
    return SmallVector<Type>(count, element);
  SmallVector<Type> result(count / 2, VectorType::get({2}, element));
  if (count % 2 != 0)
    result.push_back(element);
  return result;
}

Value joinRegisters(OpBuilder &builder, Location loc, Type type,
                    ValueRange registers) {
  if (registers.size() == 1 && registers.front().getType() == type)
    return registers.front();
  return UnrealizedConversionCastOp::create(builder, loc, type, registers)
      .getResult(0);
}

SmallVector<Value> splitRegisters(OpBuilder &builder, Location loc,
                                  Value fragment) {
  SmallVector<Type> types = registerTypes(fragment.getType());
  if (types.size() == 1 && types.front() == fragment.getType())
    return {fragment};
  if (auto join = fragment.getDefiningOp<UnrealizedConversionCastOp>();
      join && TypeRange(join.getInputs()) == TypeRange(types))
    return SmallVector<Value>(join.getInputs());
  auto split =
      UnrealizedConversionCastOp::create(builder, loc, types, fragment);
  return SmallVector<Value>(split.getResults());
}

/// The bytes of one element and of all.
static int64_t bytesOf(Type type) {
  return warp::getNumRegisters(type) *
         warp::getElementBytes(warp::getElementType(type));
}

SmallVector<Type> wordTypes(Type type) {
  Builder builder(type.getContext());
  int64_t bytes = bytesOf(type);
  if (bytes < 4)
    return {builder.getIntegerType(8 * bytes)};
  return SmallVector<Type>(bytes / 4, builder.getI32Type());
}

/// The elements of a fragment's registers as integers of their width.
static SmallVector<Value> toIntegers(OpBuilder &b, Location loc, Type element,
                                     ValueRange registers) {
  SmallVector<Value> result;
  int64_t bits = 8 * warp::getElementBytes(element);
  Type integer = b.getIntegerType(bits);
  for (Value value : registers) {
    if (element.isIndex())
      result.push_back(arith::IndexCastOp::create(b, loc, integer, value));
    else if (element.isInteger(1))
      result.push_back(arith::ExtUIOp::create(b, loc, integer, value));
    else if (isFloat8(element)) // none of LLVM's types
      result.push_back(arith::BitcastOp::create(b, loc, integer, value));
    else if (value.getType() != integer)
      result.push_back(LLVM::BitcastOp::create(b, loc, integer, value));
    else
      result.push_back(value);
  }
  return result;
}

SmallVector<Value> toWords(OpBuilder &b, Location loc, Type type,
                           ValueRange registers) {
  Type element = warp::getElementType(type);
  int64_t bytes = warp::getElementBytes(element);
  SmallVector<Type> words = wordTypes(type);
  Type i32 = b.getI32Type();
  SmallVector<Value> result;
  if (isPaired(element)) {
    for (Value reg : registers)
      result.push_back(LLVM::BitcastOp::create(
          b, loc, isa<VectorType>(reg.getType()) ? i32 : Type(b.getI16Type()),
          reg));
    return result;
  }
  SmallVector<Value> integers = toIntegers(b, loc, element, registers);
  if (bytes == 4)
    return integers;
  if (bytes == 8) {
    Value shift = arith::ConstantIntOp::create(b, loc, 32, 64);
    for (Value value : integers) {
      result.push_back(arith::TruncIOp::create(b, loc, i32, value));
      Value high = arith::ShRUIOp::create(b, loc, value, shift);
      result.push_back(arith::TruncIOp::create(b, loc, i32, high));
    }
    return result;
  }
  // Bytes and 16-bit integers: as many as a word holds.
  size_t each = integers.size() / words.size();
  for (auto [w, word] : llvm::enumerate(words)) {
    Value all;
    for (size_t i = 0; i < each; ++i) {
      Value part = integers[w * each + i];
      if (part.getType() != word)
        part = arith::ExtUIOp::create(b, loc, word, part);
      if (i == 0) {
        all = part;
        continue;
      }
      Value shift = arith::ConstantOp::create(
          b, loc, b.getIntegerAttr(word, i * 8 * bytes));
      part = arith::ShLIOp::create(b, loc, part, shift);
      all = arith::OrIOp::create(b, loc, all, part);
    }
    result.push_back(all);
  }
  return result;
}

/// An element from an integer of its width.
static Value fromInteger(OpBuilder &b, Location loc, Type element,
                         Value integer) {
  if (element.isIndex())
    return arith::IndexCastOp::create(b, loc, element, integer);
  if (element.isInteger(1)) {
    Value zero = arith::ConstantOp::create(
        b, loc, b.getIntegerAttr(integer.getType(), 0));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, integer,
                                 zero);
  }
  if (integer.getType() == element)
    return integer;
  if (isFloat8(element))
    return arith::BitcastOp::create(b, loc, element, integer);
  return LLVM::BitcastOp::create(b, loc, element, integer);
}

SmallVector<Value> fromWords(OpBuilder &b, Location loc, Type type,
                             ValueRange words) {
  Type element = warp::getElementType(type);
  int64_t bytes = warp::getElementBytes(element);
  SmallVector<Value> result;
  if (isPaired(element)) {
    for (auto [word, reg] : llvm::zip_equal(words, registerTypes(type)))
      result.push_back(LLVM::BitcastOp::create(b, loc, reg, word));
    return result;
  }
  if (bytes == 8) {
    Type i64 = b.getI64Type();
    Value shift = arith::ConstantIntOp::create(b, loc, 32, 64);
    for (size_t i = 0; i < words.size(); i += 2) {
      Value low = arith::ExtUIOp::create(b, loc, i64, words[i]);
      Value high = arith::ExtUIOp::create(b, loc, i64, words[i + 1]);
      high = arith::ShLIOp::create(b, loc, high, shift);
      result.push_back(fromInteger(b, loc, element,
                                   arith::OrIOp::create(b, loc, low, high)));
    }
    return result;
  }
  int64_t each = warp::getNumRegisters(type) / words.size();
  Type integer = b.getIntegerType(8 * bytes);
  for (Value word : words)
    for (int64_t i = 0; i < each; ++i) {
      Value part = word;
      if (i != 0) {
        Value shift = arith::ConstantOp::create(
            b, loc, b.getIntegerAttr(word.getType(), i * 8 * bytes));
        part = arith::ShRUIOp::create(b, loc, part, shift);
      }
      if (part.getType() != integer)
        part = arith::TruncIOp::create(b, loc, integer, part);
      result.push_back(fromInteger(b, loc, element, part));
    }
  return result;
}

} // namespace attentile::nvvm
