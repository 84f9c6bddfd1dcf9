//===- Pipeline.cpp - from loops and vectors to LLVM ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Native/Pipeline.h"
#include "attentile/Native.h"
#include "attentile/Native/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace attentile {

void buildNativePipeline(OpPassManager &manager,
                         const NativePipelineOptions &options) {
  // What machines lack, first: the expansions share constants and common
  // terms with what is there.
  manager.addPass(createAttnExpandRandom());
  manager.addPass(createAttnExpandIntegerDivision());
  NativeExpandMathOptions math;
  math.hasFma = options.fma;
  math.hasRounding = options.rounding;
  manager.addPass(createNativeExpandMath(math));
  NativeExpandNarrowFloatsOptions narrow;
  narrow.hasF16 = options.f16;
  manager.addPass(createNativeExpandNarrowFloats(narrow));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createCSEPass());

  // Everything to the LLVM dialect.
  manager.addPass(createConvertVectorToSCFPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.vectorTransposeLowering =
      vector::VectorTransposeLowering::Shuffle16x16;
  vectors.vectorContractLowering = vector::VectorContractLowering::OuterProduct;
  manager.addPass(createConvertVectorToLLVMPass(vectors));
  manager.addPass(createConvertMathToLLVMPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(functions));
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  NativeFloatsToBitsOptions bits;
  bits.hasF16 = options.f16;
  manager.addPass(createNativeFloatsToBits(bits));
}

void buildNativeLowering(OpPassManager &manager, const NativeTarget &target,
                         const NativeOptions &options) {
  // Reads the program, which the next pass consumes.
  manager.addPass(createTileToHost());
  TileToLoopsOptions loops;
  loops.vectorBits = target.vectorBits;
  loops.countBlocks = options.countBlocks;
  manager.addPass(createTileToLoops(loops));
  buildNativePipeline(manager, NativePipelineOptions(target));
}

void registerNativePipelines() {
  PassPipelineRegistration<NativePipelineOptions>(
      "native-lower-to-llvm", "from loops and vectors to the LLVM dialect",
      buildNativePipeline);
}

} // namespace attentile
