//===- SplitLatches.cpp - each way through a loop has its own end ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitLatches.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace attentile {

/// A loop that carries fewer values is none over blocks.
static constexpr unsigned kFewValues = 16;

/// One way is so many times as long as the other: it has a block's work, which
/// the other leaves out.
static constexpr size_t kMuchLonger = 4;

/// What a way from the branch before `latch` to it takes.
struct Way {
  BasicBlock *end;
  size_t length = 0;  ///< instructions
  bool waits = false; ///< at an mbarrier, by a loop in its assembly

  Way(BasicBlock *end, BasicBlock *latch, DominatorTree &dominators)
      : end(end) {
    DomTreeNode *from = dominators.getNode(latch)->getIDom();
    for (DomTreeNode *at = dominators.getNode(end); at != from;
         at = at->getIDom()) {
      length += at->getBlock()->size();
      for (Instruction &inst : *at->getBlock())
        if (auto *call = dyn_cast<CallInst>(&inst))
          if (auto *code = dyn_cast<InlineAsm>(call->getCalledOperand()))
            waits |= code->hasSideEffects();
    }
  }
};

/// A copy of `latch` for one of its predecessors.
static BasicBlock *split(BasicBlock *latch, BasicBlock *from) {
  ValueToValueMapTy copies;
  BasicBlock *copy = CloneBasicBlock(latch, copies, "", latch->getParent());
  copy->moveBefore(latch);
  for (PHINode &phi : latch->phis()) {
    auto *own = cast<PHINode>(copies[&phi]);
    copies[&phi] = phi.getIncomingValueForBlock(from);
    own->eraseFromParent();
  }
  for (Instruction &inst : *copy)
    RemapInstruction(&inst, copies,
                     RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
  for (BasicBlock *next : successors(latch))
    for (PHINode &phi : next->phis()) {
      Value *value = phi.getIncomingValueForBlock(latch);
      Value *own = copies.lookup(value);
      phi.addIncoming(own ? own : value, copy);
    }
  from->getTerminator()->replaceSuccessorWith(latch, copy);
  latch->removePredecessor(from, /*KeepOneInputPHIs=*/true);
  return copy;
}

PreservedAnalyses SplitLatches::run(Function &function,
                                    FunctionAnalysisManager &analyses) {
  auto &loops = analyses.getResult<LoopAnalysis>(function);
  auto &dominators = analyses.getResult<DominatorTreeAnalysis>(function);
  bool any = false;
  for (Loop *loop : loops.getLoopsInPreorder()) {
    BasicBlock *latch = loop->getLoopLatch();
    if (!latch || latch == loop->getHeader() || !latch->hasNPredecessors(2) ||
        !loop->isLoopExiting(latch) ||
        std::distance(loop->getHeader()->phis().begin(),
                      loop->getHeader()->phis().end()) < kFewValues)
      continue;
    SmallVector<Way> ways;
    for (BasicBlock *end : predecessors(latch))
      ways.emplace_back(end, latch, dominators);
    const auto &[shorter, longer] =
        std::minmax(ways[0], ways[1], [](const Way &a, const Way &b) {
          return a.length < b.length;
        });
    if (!shorter.waits || longer.length < kMuchLonger * shorter.length)
      continue;
    // What is read behind the loop comes from either end.
    formLCSSA(*loop, dominators, &loops, nullptr);
    loop->addBasicBlockToLoop(split(latch, shorter.end), loops);
    dominators.recalculate(function);
    any = true;
  }
  return any ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace attentile
