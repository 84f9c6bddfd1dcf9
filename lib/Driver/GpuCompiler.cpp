//===- GpuCompiler.cpp - from a checked kernel to a cubin -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuCompiler.h"
#include "Tile/Tile.h"
#include "attentile/EmitIR.h"
#include "attentile/NVVM/Passes.h"
#include "attentile/PTX.h"
#include "attentile/Seal.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace attentile {

namespace json = llvm::json;

/// Runs passes; false if one failed.
static bool runPasses(ModuleOp module,
                      llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName(),
                 PassManager::Nesting::Implicit);
  configurePassManager(pm);
  build(pm);
  return succeeded(pm.run(module));
}

/// The images, and what the manifest says of them.
static llvm::Error addImages(ModuleOp module, Location loc,
                             const GpuTarget &target, json::Object &manifest,
                             CompiledKernel &result) {
  llvm::Expected<std::string> ptx = emitPTX(module, target, {});
  if (!ptx)
    return ptx.takeError();
  result.ptx = std::move(*ptx);
  manifest["ptx"] =
      json::Object{{"file", "kernel.ptx"}, {"sha256", hashOf(result.ptx)}};
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    return llvm::Error::success();
  llvm::Expected<GpuImage> image =
      assemble(result.ptx, *ptxas, target, {}, loc);
  if (!image)
    return image.takeError();
  addResources(manifest, *image);
  result.cubin = std::move(image->cubin);
  manifest["ptxas"] = image->version;
  manifest["image"] = json::Object{{"cubin", "kernel.cubin"},
                                   {"bytes", int64_t(result.cubin.size())},
                                   {"sha256", hashOf(result.cubin)}};
  return llvm::Error::success();
}

llvm::Expected<CompiledKernel> compileForGpu(const CheckedKernel &kernel,
                                             llvm::StringRef name,
                                             const PipelineOptions &options) {
  llvm::Expected<GpuTarget> target = GpuTarget::select(name);
  if (!target)
    return target.takeError();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::string problem;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
        problem.empty())
      problem = diagnostic.str();
    return success();
  });
  auto failed = [&] {
    return llvm::createStringError(problem.empty() ? "the passes failed"
                                                   : problem);
  };
  OwningOpRef<ModuleOp> module = emit(context, kernel);
  PipelineOptions forGpu = options;
  forGpu.forGpu = true;
  forGpu.target = target->name;
  if (!runPasses(*module, [&](OpPassManager &pm) {
        buildTilePipeline(pm, forGpu);
        buildWarpPipeline(pm, forGpu);
      }))
    return failed();
  auto program = *module->getOps<tile::ProgramOp>().begin();
  llvm::Expected<json::Object> manifest = describeProgram(program);
  if (!manifest)
    return manifest.takeError();
  // Texts of the manifest are the module's: a copy outlives the lowering.
  llvm::Expected<json::Value> copy = json::parse(
      llvm::formatv("{0}", json::Value(std::move(*manifest))).str());
  if (!copy)
    return copy.takeError();
  json::Object &object = *copy->getAsObject();
  object["compiler"] = ATTENTILE_VERSION;
  object["target"] = target->name;
  Location loc = program.getLoc();
  if (!runPasses(*module, buildNVVMPipeline))
    return failed();
  CompiledKernel result;
  if (llvm::Error error = addImages(*module, loc, *target, object, result))
    return error;
  result.manifest = sealed(llvm::formatv("{0}", *copy).str());
  return result;
}

} // namespace attentile
