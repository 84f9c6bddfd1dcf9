//===- LowerToWarps.h - tiles that fit shared memory ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles are chosen by a prediction of what they take; where buffers lie is
// known many passes later. Where these take more than there is, tiles are
// chosen again for less.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOWERTOWARPS_H
#define ATTENTILE_LOWERTOWARPS_H

#include "attentile/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir {
class PassManager;
} // namespace mlir

namespace attentile {

/// Lowers a module of the attn level to warp kernels of one form, in tiles that
/// fit; `options.sharedBytes` is what they were chosen for in the end.
/// `configure` is given each pass manager first. False after an error, which is
/// that of the first tiles.
bool lowerToWarps(
    mlir::ModuleOp module, PipelineOptions &options,
    llvm::function_ref<void(mlir::PassManager &)> configure =
        [](mlir::PassManager &) {});

/// The options whose tiles fit, for what stops before the warp level; as they
/// were where none do. The module stays, and nothing is reported.
PipelineOptions fitShared(mlir::ModuleOp module, PipelineOptions options);

} // namespace attentile

#endif
