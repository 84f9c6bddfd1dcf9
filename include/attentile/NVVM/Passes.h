//===- Passes.h - passes from the warp level to NVVM ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NVVM_PASSES_H
#define ATTENTILE_NVVM_PASSES_H

#include "Warp/Warp.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/Pass.h"

namespace attentile {
#define GEN_PASS_DECL
#include "NVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "NVVM/Passes.h.inc"

/// Adds the first passes of buildNVVMPipeline: fragments become registers and
/// indices 32-bit where they fit, still in warp.kernels.
void buildRegisterPipeline(mlir::OpPassManager &manager);

/// Adds every pass from warp.kernels with allocated buffers to the LLVM and
/// NVVM dialects: one function a kernel, in the order of the program.
void buildNVVMPipeline(mlir::OpPassManager &manager);

/// Registers it as `nvvm-lower-to-llvm`.
void registerNVVMPipelines();
} // namespace attentile

#endif
