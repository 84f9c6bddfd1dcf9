//===- GpuCompiler.cpp - from a checked kernel to a cubin -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuCompiler.h"
#include "Attn/Attn.h"
#include "FirstError.h"
#include "Remarks.h"
#include "Tile/Tile.h"
#include "attentile/EmitIR.h"
#include "attentile/LowerToWarps.h"
#include "attentile/NVVM/Passes.h"
#include "attentile/NVVM/Signature.h"
#include "attentile/Seal.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace attentile {

namespace json = llvm::json;

bool lowerForms(ModuleOp module, PipelineOptions options) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PipelineOptions forAnyStrides = options.forAnyStrides();
  if (!lowerToWarps(module, options))
    return false;
  bool asksNothing = true;
  module.walk([&](warp::KernelOp kernel) {
    asksNothing &= getKernelRequirements(kernel).empty();
  });
  if (asksNothing)
    return true;
  auto kernel = *copy->getOps<attn::KernelOp>().begin();
  kernel.setSymName((kernel.getSymName() + kAnyStrides).str());
  // What is decided for the other form is no news to the user.
  RemarksOff off;
  if (!lowerToWarps(*copy, forAnyStrides))
    return false;
  module.getBody()->getOperations().splice(module.getBody()->end(),
                                           copy->getBody()->getOperations());
  return runPasses(
      module, [](OpPassManager &pm) { pm.addPass(createWarpJoinForms()); });
}

llvm::Expected<std::string>
addCubin(json::Object &manifest, llvm::StringRef ptx, const GpuTarget &target,
         const GpuOptions &options, Location loc, llvm::StringRef file) {
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    return std::string();
  llvm::Expected<GpuImage> image = assemble(ptx, *ptxas, target, options, loc);
  if (!image)
    return image.takeError();
  addResources(manifest, *image);
  manifest["ptxas"] = image->version;
  manifest["image"] = json::Object{{"cubin", file.str()},
                                   {"bytes", int64_t(image->cubin.size())},
                                   {"sha256", hashOf(image->cubin)}};
  return std::move(image->cubin);
}

llvm::Expected<CompiledKernel> compileForGpu(const CheckedKernel &kernel,
                                             llvm::StringRef name,
                                             const PipelineOptions &options) {
  llvm::Expected<GpuTarget> target = GpuTarget::select(name);
  if (!target)
    return target.takeError();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  FirstError reported(&context);
  auto failed = [&] {
    return reported.take(llvm::createStringError("the passes failed"));
  };
  OwningOpRef<ModuleOp> module = emit(context, kernel);
  PipelineOptions forGpu = options;
  forGpu.forGpu = true;
  forGpu.target = target->name;
  if (!lowerForms(*module, forGpu))
    return failed();
  auto program = *module->getOps<tile::ProgramOp>().begin();
  FailureOr<json::Object> manifest = describeProgram(program);
  if (mlir::failed(manifest))
    return failed();
  (*manifest)["compiler"] = ATTENTILE_VERSION;
  (*manifest)["target"] = target->name;
  Location loc = program.getLoc();
  FailureOr<std::string> ptx = emitKernels(*module, *target, {});
  if (mlir::failed(ptx))
    return failed();
  (*manifest)["ptx"] =
      json::Object{{"file", "kernel.ptx"}, {"sha256", hashOf(*ptx)}};
  llvm::Expected<std::string> cubin =
      addCubin(*manifest, *ptx, *target, {}, loc, "kernel.cubin");
  if (!cubin)
    return cubin.takeError();
  CompiledKernel result;
  result.ptx = std::move(*ptx);
  result.cubin = std::move(*cubin);
  result.manifest =
      sealed(llvm::formatv("{0}", json::Value(std::move(*manifest))).str());
  return result;
}

} // namespace attentile
