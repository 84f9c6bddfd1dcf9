//===- GpuCompiler.h - from a checked kernel to a cubin ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_GPUCOMPILER_H
#define ATTENTILE_LIB_DRIVER_GPUCOMPILER_H

#include "CompiledKernel.h"
#include "attentile/PTX.h"
#include "attentile/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace attentile {

/// Lowers a module of the attn level to warp kernels, and beside each that asks
/// something of its tensors one for any strides; false after an error.
bool lowerForms(mlir::ModuleOp module, PipelineOptions options);

/// LLVM IR or PTX of a module's warp kernels, which are gone then. A failure
/// was reported.
mlir::FailureOr<std::string> emitKernels(mlir::ModuleOp module,
                                         const GpuTarget &target,
                                         const GpuOptions &options,
                                         GpuOutput output = GpuOutput::PTX);

/// Assembles PTX where there is a ptxas, and adds to the manifest what came of
/// it: registers and the image, named `file`. The cubin; empty without ptxas.
llvm::Expected<std::string> addCubin(llvm::json::Object &manifest,
                                     llvm::StringRef ptx,
                                     const GpuTarget &target,
                                     const GpuOptions &options,
                                     mlir::Location loc, llvm::StringRef file);

/// Compiles for sm_80, sm_86, sm_89 or sm_90, in a context of its own. Without
/// ptxas there is PTX alone. The error is the first one that a pass reported.
llvm::Expected<CompiledKernel> compileForGpu(const CheckedKernel &kernel,
                                             llvm::StringRef target,
                                             const PipelineOptions &options);

} // namespace attentile

#endif
