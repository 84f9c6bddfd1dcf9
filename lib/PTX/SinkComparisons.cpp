//===- SinkComparisons.cpp - what masks compare stays with them -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SinkComparisons.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace attentile {

/// A loop with so many may keep them in predicates, of which a thread has
/// seven.
static constexpr size_t kPredicates = 4;

/// One instruction whose operands and result fit a register each.
static bool isCheap(Instruction &inst) {
  auto fits = [](Type *type) {
    return type->isIntegerTy() && type->getIntegerBitWidth() <= 32;
  };
  bool isOne = isa<CastInst, ICmpInst>(inst) ||
               (isa<BinaryOperator>(inst) && !inst.isIntDivRem() &&
                inst.getOpcode() != Instruction::Mul);
  return isOne && fits(inst.getType()) &&
         all_of(inst.operands(),
                [&](Use &use) { return fits(use->getType()); });
}

/// Whether a comparison is of branches that not every iteration takes.
static bool isOfBranches(Instruction &compare, Loop *loop,
                         DominatorTree &dominators) {
  SmallVector<BasicBlock *> latches;
  loop->getLoopLatches(latches);
  return all_of(compare.users(), [&](User *user) {
    auto *at = cast<Instruction>(user);
    return !isa<PHINode>(at) && loop->contains(at) &&
           none_of(latches, [&](BasicBlock *latch) {
             return dominators.dominates(at->getParent(), latch);
           });
  });
}

/// How many of its operands would be kept in registers for it alone.
static unsigned countOwn(Instruction &inst, Loop *loop) {
  SmallPtrSet<Value *, 2> own;
  for (Value *operand : inst.operands())
    if (isa<Instruction>(operand) && none_of(operand->users(), [&](User *user) {
          return user != &inst && loop->contains(cast<Instruction>(user));
        }))
      own.insert(operand);
  return own.size();
}

/// To the start of each block that uses it.
static void sink(Instruction &inst, SmallPtrSetImpl<User *> &sunk) {
  DenseMap<BasicBlock *, Instruction *> copies;
  for (Use &use : make_early_inc_range(inst.uses())) {
    BasicBlock *block = cast<Instruction>(use.getUser())->getParent();
    Instruction *&copy = copies[block];
    if (!copy) {
      copy = inst.clone();
      copy->insertBefore(block->getFirstInsertionPt());
      sunk.insert(copy);
    }
    use.set(copy);
  }
  inst.eraseFromParent();
}

PreservedAnalyses SinkComparisons::run(Function &function,
                                       FunctionAnalysisManager &analyses) {
  auto &dominators = analyses.getResult<DominatorTreeAnalysis>(function);
  bool any = false;
  for (Loop *loop :
       analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder()) {
    BasicBlock *before = loop->getLoopPredecessor();
    if (!before)
      continue;
    auto isMasks = [&](Instruction &inst) {
      return isa<ICmpInst>(inst) && !inst.use_empty() && isCheap(inst) &&
             isOfBranches(inst, loop, dominators);
    };
    if (size_t(count_if(*before, isMasks)) <= kPredicates)
      continue;
    // From the last on: what is left of one goes with it if it fits.
    SmallPtrSet<User *, 32> sunk;
    for (Instruction &inst : make_early_inc_range(reverse(*before))) {
      bool isTheirs = isMasks(inst) || (!inst.use_empty() && isCheap(inst) &&
                                        all_of(inst.users(), [&](User *user) {
                                          return sunk.contains(user);
                                        }));
      if (!isTheirs || countOwn(inst, loop) > 1)
        continue;
      sink(inst, sunk);
      any = true;
    }
  }
  return any ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace attentile
