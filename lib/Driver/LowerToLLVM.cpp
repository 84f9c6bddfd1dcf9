//===- LowerToLLVM.cpp - warp kernels to the LLVM dialect -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are thousands of operations by now, of which the largest has more
// than half: it is lowered in one thread, all others of the module in a second.
//
//===----------------------------------------------------------------------===//

#include "GpuCompiler.h"
#include "Warp/Warp.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;

namespace attentile {

static bool lowerPart(ModuleOp module, const GpuOptions &options) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName(),
                 PassManager::Nesting::Implicit);
  configurePassManager(pm);
#ifdef NDEBUG
  // Once, at the end: after each pass that would take as long as the passes.
  pm.enableVerifier(false);
#endif
  buildNVVMPipeline(pm);
  if (options.lineInfo) {
    LLVM::DIScopeForLLVMFuncOpPassOptions lines;
    lines.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
    pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(lines));
  }
  return succeeded(pm.run(module)) && succeeded(verify(module));
}

/// Whether it was asked what passes do: then they have the whole module.
static bool isWatched() {
  return llvm::any_of(llvm::cl::getRegisteredOptions(), [](const auto &option) {
    return option.first.starts_with("mlir-") &&
           option.second->getNumOccurrences() > 0;
  });
}

static SmallVector<warp::KernelOp> kernelsOf(ModuleOp module) {
  SmallVector<warp::KernelOp> kernels;
  module.walk([&](warp::KernelOp kernel) { kernels.push_back(kernel); });
  return kernels;
}

/// The number of the kernel with the most operations.
static size_t findLargest(ArrayRef<warp::KernelOp> kernels) {
  SmallVector<int64_t> sizes;
  for (warp::KernelOp kernel : kernels) {
    sizes.push_back(0);
    kernel.walk([&](Operation *) { ++sizes.back(); });
  }
  return llvm::max_element(sizes) - sizes.begin();
}

bool lowerToLLVM(ModuleOp module, const GpuOptions &options) {
  MLIRContext *context = module.getContext();
  SmallVector<warp::KernelOp> kernels = kernelsOf(module);
  if (kernels.size() < 2 || options.lineInfo || isWatched())
    return lowerPart(module, options);
  size_t largest = findLargest(kernels);
  OwningOpRef<ModuleOp> rest = module.clone();
  kernelsOf(*rest)[largest].erase();
  for (auto [number, kernel] : llvm::enumerate(kernels))
    if (number != largest)
      kernel.erase();
  // Dialects are loaded by one thread.
  OwningOpRef<ModuleOp> empty = ModuleOp::create(module.getLoc());
  if (!lowerPart(*empty, options))
    return false;
  bool hadThreads = context->isMultithreadingEnabled();
  context->enableMultithreading();
  ModuleOp parts[] = {module, *rest};
  LogicalResult lowered =
      failableParallelForEach(context, parts, [&](ModuleOp part) {
        return success(lowerPart(part, options));
      });
  context->enableMultithreading(hadThreads);
  if (failed(lowered))
    return false;
  for (Operation &op : llvm::make_early_inc_range(*rest->getBody()))
    if (!module.lookupSymbol(SymbolTable::getSymbolName(&op)))
      op.moveBefore(module.getBody(), module.getBody()->end());
  return true;
}

} // namespace attentile
