//===- EmitKernels.cpp - warp kernels to PTX ------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are thousands of operations by now, and nothing of one concerns
// another: each goes to PTX in a module of its own, in one of the context's
// threads, the longest first. Begun last it would leave the others idle, here
// and in ptxas, which shares them out in the order of the text.
//
//===----------------------------------------------------------------------===//

#include "GpuCompiler.h"
#include "Warp/Warp.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;

namespace attentile {

static bool lowerToLLVM(ModuleOp module, const GpuOptions &options) {
  return runPasses(module, [&](OpPassManager &pm) {
    buildNVVMPipeline(pm);
    if (options.lineInfo) {
      LLVM::DIScopeForLLVMFuncOpPassOptions lines;
      lines.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
      pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(lines));
    }
  });
}

static FailureOr<std::string> emitAtOnce(ModuleOp module,
                                         const GpuTarget &target,
                                         const GpuOptions &options,
                                         GpuOutput output) {
  if (!lowerToLLVM(module, options))
    return failure();
  llvm::Expected<std::string> text = emitPTX(module, target, output);
  if (!text)
    return emitError(module.getLoc()) << llvm::toString(text.takeError());
  return std::move(*text);
}

/// Whether it was asked what passes do: then they have the whole module.
static bool isWatched() {
  return llvm::any_of(llvm::cl::getRegisteredOptions(), [](const auto &option) {
    return option.first.starts_with("mlir-") &&
           option.second->getNumOccurrences() > 0;
  });
}

/// Takes the kernels out of a module, the longest first.
static SmallVector<warp::KernelOp> takeKernels(ModuleOp module) {
  SmallVector<warp::KernelOp> kernels;
  SmallVector<std::pair<int64_t, size_t>> byLength;
  module.walk([&](warp::KernelOp kernel) {
    int64_t operations = 0;
    kernel.walk([&](Operation *) { ++operations; });
    byLength.push_back({-operations, kernels.size()});
    kernels.push_back(kernel);
  });
  llvm::sort(byLength);
  return llvm::map_to_vector(byLength, [&](auto entry) {
    kernels[entry.second]->remove();
    return kernels[entry.second];
  });
}

/// A module as `rest`, whose kernels were taken out, with one of them.
static OwningOpRef<ModuleOp> makePart(ModuleOp rest, warp::KernelOp kernel) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> part = cast<ModuleOp>(rest->clone(mapping));
  auto program = *part->getOps<tile::ProgramOp>().begin();
  program.getBody().front().push_back(kernel);
  kernel->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(mapping.lookupOrDefault(operand.get()));
  });
  return part;
}

/// Loads all that passes and code generation ask for: one thread does.
static void loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerForPTX(registry);
  OpPassManager pm(ModuleOp::getOperationName(),
                   OpPassManager::Nesting::Implicit);
  buildNVVMPipeline(pm);
  pm.getDependentDialects(registry);
  context.appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context.getOrLoadDialect(name);
}

FailureOr<std::string> emitKernels(ModuleOp module, const GpuTarget &target,
                                   const GpuOptions &options,
                                   GpuOutput output) {
  auto program = *module.getOps<tile::ProgramOp>().begin();
  bool isOne = llvm::hasSingleElement(program.getOps<warp::KernelOp>());
  // Files and their numbers are a module's.
  if (isOne || output == GpuOutput::LLVM || options.lineInfo || isWatched())
    return emitAtOnce(module, target, options, output);
  SmallVector<OwningOpRef<ModuleOp>> parts;
  for (warp::KernelOp kernel : takeKernels(module))
    parts.push_back(makePart(module, kernel));
  MLIRContext *context = module.getContext();
  loadDialects(*context);
  bool hadThreads = context->isMultithreadingEnabled();
  context->enableMultithreading();
  std::vector<FailureOr<std::string>> texts(parts.size(), failure());
  parallelFor(context, 0, parts.size(), [&](size_t i) {
    texts[i] = emitAtOnce(*parts[i], target, options, output);
  });
  context->enableMultithreading(hadThreads);
  SmallVector<std::string> emitted;
  for (FailureOr<std::string> &text : texts) {
    if (failed(text))
      return failure();
    emitted.push_back(std::move(*text));
  }
  return joinPTX(emitted);
}

} // namespace attentile
