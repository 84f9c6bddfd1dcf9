//===- SinkAddresses.cpp - addresses beside what uses them ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SinkAddresses.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace attentile {
namespace {

constexpr unsigned kShared = 3; // address space

/// A value that is computed anew where it is used: x + constant, x ^ constant,
/// or its conversion to a pointer.
Instruction *getCheap(Value *value) {
  auto *instruction = dyn_cast<Instruction>(value);
  if (!instruction)
    return nullptr;
  if (isa<IntToPtrInst>(instruction))
    return instruction;
  unsigned code = instruction->getOpcode();
  bool isCheap = code == Instruction::Add || code == Instruction::Xor ||
                 code == Instruction::Or;
  return isCheap && isa<ConstantInt>(instruction->getOperand(1)) ? instruction
                                                                 : nullptr;
}

class Sinker {
public:
  /// The address `value` as the user's block computes it.
  Value *sink(Value *value, Instruction *user) {
    Instruction *source = getCheap(value);
    if (!source)
      return takeAnew(value, user);
    std::pair<BasicBlock *, Instruction *> key = {user->getParent(), source};
    if (Instruction *known = copies.lookup(key))
      return known;
    Value *operand = sink(source->getOperand(0), user);
    Instruction *copy = source->clone();
    copy->setOperand(0, operand);
    copy->insertBefore(user->getIterator());
    return copies[key] = copy;
  }

private:
  /// A register that LLVM knows nothing of: or the passes of the back end would
  /// find that the sum is the one outside of the loop.
  Value *takeAnew(Value *value, Instruction *user) {
    auto *source = dyn_cast<Instruction>(value);
    if (!source || source->getParent() == user->getParent())
      return value;
    Instruction *&copy = copies[{user->getParent(), source}];
    if (copy)
      return copy;
    Type *type = value->getType();
    auto *move = InlineAsm::get(FunctionType::get(type, type, false),
                                "mov.b32 $0, $1;", "=r,r",
                                /*hasSideEffects=*/true);
    copy = CallInst::Create(move, value, "", user->getIterator());
    return copy;
  }

  DenseMap<std::pair<BasicBlock *, Instruction *>, Instruction *> copies;
};

} // namespace

void sinkAddresses(Function &function) {
  if (function.isDeclaration())
    return;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  Sinker sinker;
  // In order: the first use of a block makes the copy that the others take.
  for (BasicBlock &block : function) {
    if (!loops.getLoopFor(&block))
      continue;
    for (Instruction &user : block) {
      if (!isa<IntrinsicInst>(user) || !user.mayReadOrWriteMemory())
        continue;
      for (Use &operand : user.operands())
        if (operand->getType()->isPointerTy() &&
            operand->getType()->getPointerAddressSpace() == kShared)
          operand.set(sinker.sink(operand, &user));
    }
  }
}

} // namespace attentile
