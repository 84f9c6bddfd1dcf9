//===- SinkComparisons.h - what masks compare stays with them ---*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Out of a loop over blocks LICM moves what a mask compares where no block
// differs, as columns of pixels do not in an image 64 wide: a register for each
// diagonal or column of a thread, in a loop that has none left. The comparisons
// go back to the branches that ask them, and with them what is made for them
// alone:
//
//     x = a - 1                           loop:
//     y = a - 2                             partial:
//     loop:                        ->         .. a - 1 < b ? s : -inf
//       partial:                              .. a - 2 < b ? s : -inf
//         .. x < b ? s : -inf
//         .. y < b ? s : -inf
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_PTX_SINKCOMPARISONS_H
#define ATTENTILE_LIB_PTX_SINKCOMPARISONS_H

#include "llvm/IR/PassManager.h"

namespace attentile {

struct SinkComparisons : llvm::PassInfoMixin<SinkComparisons> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace attentile

#endif
