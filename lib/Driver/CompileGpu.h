//===- CompileGpu.h - attentile compile for a GPU ---------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_COMPILEGPU_H
#define ATTENTILE_LIB_DRIVER_COMPILEGPU_H

#include "Session.h"

namespace attentile {

/// From the attn level to what `options.emit` asks for: the warp level, LLVM
/// IR, PTX, a header, or a cubin with its manifest. The exit code.
int emitGpuCode(const CompileCommandOptions &options, Session &session,
                mlir::ModuleOp module, llvm::StringRef name);

} // namespace attentile

#endif
