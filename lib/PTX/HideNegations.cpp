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

PreservedAnalyses HideNegations::run(Function &function,
                                     FunctionAnalysisManager &) {
  SmallVector<Instruction *> negations;
  for (Instruction &inst : instructions(function))
    // A select may become a minimum, too.
    if (match(&inst, PatternMatch::m_Neg(PatternMatch::m_Value())) &&
        inst.getType()->isIntegerTy(32) &&
        any_of(inst.users(), IsaPred<MinMaxIntrinsic, SelectInst>))
      negations.push_back(&inst);
  for (Instruction *negation : negations) {
    IRBuilder<> builder(negation);
    Type *i32 = builder.getInt32Ty();
    Value *made = builder.CreateCall(
        InlineAsm::get(FunctionType::get(i32, {i32}, /*isVarArg=*/false),
                       "not.b32 $0, $1;\n\tadd.s32 $0, $0, 1;", "=r,r",
                       /*hasSideEffects=*/false),
        {negation->getOperand(1)});
    negation->replaceUsesWithIf(made, [](Use &use) {
      return isa<MinMaxIntrinsic, SelectInst>(use.getUser());
    });
  }
  return negations.empty() ? PreservedAnalyses::all()
                           : PreservedAnalyses::none();
}

} // namespace attentile
