//===- Attn.h - the attn dialect: index notation ----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_DIALECTS_ATTN_ATTN_H
#define ATTENTILE_DIALECTS_ATTN_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attentile::attn {
/// The name in the source of an argument of a kernel's head, and back.
llvm::StringRef nameOfArgument(mlir::Operation *kernel,
                               mlir::BlockArgument argument);
mlir::BlockArgument findArgument(mlir::Operation *kernel, llvm::StringRef name);

/// The operation of either level that has the head of the kernel `op` is in.
mlir::Operation *getEnclosingSignature(mlir::Operation *op);
} // namespace attentile::attn

#include "Attn/AttnDialect.h.inc"
#include "Attn/AttnEnums.h.inc"
#include "Attn/AttnInterfaces.h.inc"
#define GET_OP_CLASSES
#include "Attn/AttnOps.h.inc"

#endif
