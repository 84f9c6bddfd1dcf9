//===- Signature.h - text form of a kernel's head ---------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   @causal sizes(%B, %M) indices(%b < B, %m < M, %d < 64)
//       ins(%Q: f32[B, M, 64], %scale: f32) outs(%O: f32[B, M, 64]) { ... }
//
// attn.kernel and tile.program print and parse it alike.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_DIALECTS_ATTN_SIGNATURE_H
#define ATTENTILE_DIALECTS_ATTN_SIGNATURE_H

#include "Attn/Attn.h"

namespace attentile::attn {

/// Parses name, head, attributes and body into `result`. `hasIndices` says
/// whether the operation has index variables.
mlir::ParseResult parseSignatureOp(mlir::OpAsmParser &parser,
                                   mlir::OperationState &result,
                                   bool hasIndices);

/// Prints what parseSignatureOp reads.
void printSignatureOp(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      bool hasIndices);

/// Checks counts, types and maps of the head against the block's arguments.
mlir::LogicalResult verifySignature(mlir::Operation *op);

/// Suggests the source's names for the head's block arguments.
void nameSignatureArguments(mlir::Operation *op, mlir::Region &region,
                            mlir::OpAsmSetValueNameFn setName);

} // namespace attentile::attn

#endif
