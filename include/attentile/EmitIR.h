//===- EmitIR.h - from a checked kernel to the attn dialect -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_EMITIR_H
#define ATTENTILE_EMITIR_H

#include "attentile/Frontend.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace attentile {

/// A module with one attn.kernel.
///
/// Sizes and scalars that are bound are constants and no arguments; the other
/// scalars are arguments of type f32, index or i1. Every operation's location
/// is a FileLineColRange of the source, in an inlined function within the
/// location of the call. The schedule's tile sizes are the kernel's attribute
/// `attn.tile_sizes`, a dictionary from axis to size. Loads the dialects it
/// needs into `context`. A kernel that passed check() gives a module that
/// verifies.
mlir::OwningOpRef<mlir::ModuleOp> emit(mlir::MLIRContext &context,
                                       const CheckedKernel &kernel);

} // namespace attentile

#endif // ATTENTILE_EMITIR_H
