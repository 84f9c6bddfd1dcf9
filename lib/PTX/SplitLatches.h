//===- SplitLatches.h - each way through a loop has its own end -*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where two ways through a loop over blocks meet at its end and one of them,
// that of warps which leave a block out (warp-skip-hidden), waits at an
// mbarrier, ptxas makes the threads of a warp wait for each other in each
// iteration (BSSY, BSYNC). With an end for each, which asks for itself whether
// the loop goes on, they do not meet.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_PTX_SPLITLATCHES_H
#define ATTENTILE_LIB_PTX_SPLITLATCHES_H

#include "llvm/IR/PassManager.h"

namespace attentile {

struct SplitLatches : llvm::PassInfoMixin<SplitLatches> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace attentile

#endif
