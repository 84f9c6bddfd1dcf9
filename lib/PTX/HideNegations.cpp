//===- HideNegations.cpp - a negation that ptxas must not lose ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HideNegations.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace attentile {

/// A minimum or maximum, or what may become one.
static bool isChoice(User *user) {
  return isa<MinMaxIntrinsic, SelectInst>(user);
}

PreservedAnalyses HideNegations::run(Function &function,
                                     FunctionAnalysisManager &) {
  bool any = false;
  for (Instruction &inst : instructions(function)) {
    Value *negated;
    if (!inst.getType()->isIntegerTy(32) ||
        !match(&inst, PatternMatch::m_Neg(PatternMatch::m_Value(negated))) ||
        none_of(inst.users(), isChoice))
      continue;
    IRBuilder<> builder(&inst);
    Type *i32 = inst.getType();
    Value *made = builder.CreateCall(
        InlineAsm::get(FunctionType::get(i32, {i32}, /*isVarArg=*/false),
                       "not.b32 $0, $1;\n\tadd.s32 $0, $0, 1;", "=r,r",
                       /*hasSideEffects=*/false),
        {negated});
    inst.replaceUsesWithIf(made,
                           [](Use &use) { return isChoice(use.getUser()); });
    any = true;
  }
  return any ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace attentile
