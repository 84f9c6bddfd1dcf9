//===- Pipeline.h - from loops and vectors to LLVM --------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NATIVE_PIPELINE_H
#define ATTENTILE_NATIVE_PIPELINE_H

#include "attentile/Native/Target.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace attentile {

/// What the machine has; every option is a field of NativeTarget.
struct NativePipelineOptions
    : mlir::PassPipelineOptions<NativePipelineOptions> {
  Option<bool> fma{*this, "fma", llvm::cl::desc("fused multiply-add"),
                   llvm::cl::init(true)};
  Option<bool> f16{*this, "f16", llvm::cl::desc("conversions of f16"),
                   llvm::cl::init(true)};
  Option<bool> rounding{*this, "rounding",
                        llvm::cl::desc("rounding to whole numbers"),
                        llvm::cl::init(true)};

  NativePipelineOptions() = default;
  explicit NativePipelineOptions(const NativeTarget &target) {
    fma = target.hasFMA;
    f16 = target.hasF16;
    rounding = target.hasRounding;
  }
};

/// Adds the passes that take a module of functions, loops, vectors and
/// memory references (what tile-to-loops and tile-to-host leave) to the LLVM
/// dialect alone. Registered as the pipeline `native-lower-to-llvm`.
void buildNativePipeline(mlir::OpPassManager &manager,
                         const NativePipelineOptions &options);

/// Registers `native-lower-to-llvm` for tools that take pipelines as text.
void registerNativePipelines();

} // namespace attentile

#endif
