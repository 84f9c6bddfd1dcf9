//===- ThreadBranches.cpp - decisions known on the way to them ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: a block that does nothing but branch on one of its arguments is left
// out by predecessors that pass a constant for it. Expects: branches of cf, as
// scf lowers to them. Leaves: fewer edges into such blocks. Does not handle:
// arguments that are used behind the side which is branched to.
//
//===----------------------------------------------------------------------===//
//
// The guard's speculation is one scf.if and its decision another, so that the
// slow step stands once. Where nothing was speculated, what the first hands to
// the second is poison:
//
//   ^meet(%p, %ok):              // preds: ^speculate(p, ok), ^else(-, false)
//     cf.cond_br %ok, ^fast, ^slow
//
// A register that one way to a place leaves unset counts as live on all of that
// way, around the loop: all of p's, through both products. With ^else branching
// to ^slow at once, p comes from one block, and lives from there.
//
//===----------------------------------------------------------------------===//

#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"

namespace attentile {
#define GEN_PASS_DEF_NVVMTHREADBRANCHES
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Takes in the block behind, if no other leads there.
bool absorbNext(Block *block) {
  auto jump = dyn_cast<cf::BranchOp>(block->getTerminator());
  if (!jump)
    return false;
  Block *next = jump.getDest();
  if (next == block || next->getSinglePredecessor() != block)
    return false;
  for (auto [argument, value] :
       llvm::zip_equal(next->getArguments(), jump.getDestOperands()))
    argument.replaceAllUsesWith(value);
  jump.erase();
  block->getOperations().splice(block->end(), next->getOperations());
  next->erase();
  return true;
}

/// Whether what `block` takes serves on the side `taken` alone.
bool servesOnly(Block *block, Block *taken, DominanceInfo &dominance) {
  if (taken->getSinglePredecessor() != block)
    return false;
  return llvm::all_of(block->getArguments(), [&](BlockArgument argument) {
    return llvm::all_of(argument.getUsers(), [&](Operation *user) {
      return user->getBlock() == block ||
             dominance.dominates(taken, user->getBlock());
    });
  });
}

void threadBranch(cf::CondBranchOp choice) {
  Block *block = choice->getBlock();
  auto condition = dyn_cast<BlockArgument>(choice.getCondition());
  if (!condition || condition.getOwner() != block ||
      &block->front() != choice.getOperation() ||
      !choice.getTrueDestOperands().empty() ||
      !choice.getFalseDestOperands().empty() ||
      choice.getTrueDest() == choice.getFalseDest())
    return;
  for (Block *before : llvm::to_vector(block->getPredecessors())) {
    auto jump = dyn_cast<cf::BranchOp>(before->getTerminator());
    APInt known;
    if (!jump || !matchPattern(jump.getDestOperands()[condition.getArgNumber()],
                               m_ConstantInt(&known)))
      continue;
    Block *target = choice.getTrueDest(), *other = choice.getFalseDest();
    if (known.isZero())
      std::swap(target, other);
    // Anew: an edge less changes what dominates.
    DominanceInfo dominance(block->getParentOp());
    if (target->getNumArguments() != 0 || !servesOnly(block, other, dominance))
      continue;
    OpBuilder builder(jump);
    cf::BranchOp::create(builder, jump.getLoc(), target);
    jump.erase();
  }
}

struct NVVMThreadBranches : impl::NVVMThreadBranchesBase<NVVMThreadBranches> {
  void runOnOperation() override {
    getOperation()->walk([](LLVM::LLVMFuncOp function) {
      for (Block &block : function.getBody())
        while (absorbNext(&block))
          ;
    });
    SmallVector<cf::CondBranchOp> choices;
    getOperation()->walk(
        [&](cf::CondBranchOp choice) { choices.push_back(choice); });
    llvm::for_each(choices, threadBranch);
  }
};

} // namespace
} // namespace attentile
