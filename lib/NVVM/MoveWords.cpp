//===- MoveWords.cpp - one access to memory under a predicate -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inline PTX where there is a predicate, as LLVM would make a branch of it.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;

namespace attentile::nvvm {

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

SmallVector<Value> loadWords(const Emitter &e, Value pointer,
                             ArrayRef<Type> words, Value predicate) {
  size_t count = words.size();
  int64_t bits = words.front().getIntOrFloatBitWidth();
  if (!predicate) {
    Type whole = count == 1
                     ? words.front()
                     : Type(VectorType::get({int64_t(count)}, words.front()));
    Value loaded = LLVM::LoadOp::create(
        e.b, e.loc, whole, pointer, count * bits / 8, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/true);
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
  text += "@$" + std::to_string(count + 1) + " ld.global.nc." +
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

} // namespace attentile::nvvm
