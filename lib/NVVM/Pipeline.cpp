//===- Pipeline.cpp - from warp kernels to the LLVM dialect ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/NVVM/Passes.h"
#include "attentile/Native/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace attentile {

void buildRegisterPipeline(OpPassManager &manager) {
  manager.addPass(createWarpUnrollFragments());
  // Scalars only from here: ranges are known element by element.
  manager.addPass(createCSEPass());
  manager.addPass(createWarpFoldVotes());
  manager.addPass(createWarpShareRandom());
  manager.addPass(createWarpShareOffsets());
  manager.addPass(createWarpShareComparisons());
  manager.addPass(createCSEPass());
  // Equal loads are one: those that are left differ between lanes.
  manager.addPass(createWarpShareLoads());
  manager.addPass(createWarpJoinLoads());
  manager.addPass(createCSEPass());
  // Merged loads take few registers.
  manager.addPass(createWarpHoistLoads());
  manager.addPass(createWarpSinkRandom());
  manager.addPass(createWarpNarrowIndices());
  manager.addPass(createWarpStepQuotients());
  manager.addPass(createWarpFoldDistances());
  manager.addPass(createWarpCollectByLanes());
  // Last, as loops' bodies lie in branches behind them.
  manager.addPass(createWarpSkipHidden());
  manager.addPass(createWarpTakeEither());
}

void buildNVVMPipeline(OpPassManager &manager) {
  buildRegisterPipeline(manager);
  manager.addPass(createWarpMaskPairs());
  manager.addPass(createWarpShareReciprocals());
  manager.addPass(createWarpToNVVM());
  manager.addPass(createNVVMEnterLoops());
  manager.addPass(createAttnExpandRandom());
  manager.addPass(createAttnExpandIntegerDivision());
  manager.addPass(createNVVMExpandMath());
  manager.addPass(createCSEPass());

  // Everything to the LLVM dialect.
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createNVVMThreadBranches());
  manager.addPass(createNVVMConvertToLLVM());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

void registerNVVMPipelines() {
  PassPipelineRegistration<>("nvvm-lower-to-llvm",
                             "from warp kernels to the LLVM dialect",
                             buildNVVMPipeline);
}

} // namespace attentile
