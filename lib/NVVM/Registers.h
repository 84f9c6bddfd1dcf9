//===- Registers.h - a fragment as registers --------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fragment `vector<RxT>` is R registers, in order; of f16 and bf16, R / 2
// pairs, as matrix instructions take them (and a scalar if R is odd).
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NVVM_REGISTERS_H
#define ATTENTILE_LIB_NVVM_REGISTERS_H

#include "Warp/Warp.h"
#include "mlir/IR/Builders.h"

namespace attentile::nvvm {

/// Whether elements of this type are kept two in a register.
bool isPaired(mlir::Type element);

/// The types of a fragment's registers; of a scalar, its own.
llvm::SmallVector<mlir::Type> registerTypes(mlir::Type type);

/// The fragment that these registers are, by a cast; a scalar is itself.
mlir::Value joinRegisters(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Type type, mlir::ValueRange registers);

/// The registers of a fragment, by a cast, or those it was joined from.
llvm::SmallVector<mlir::Value> splitRegisters(mlir::OpBuilder &builder,
                                              mlir::Location loc,
                                              mlir::Value fragment);

/// What `type`, a scalar or fragment of at most 16 bytes, takes in memory, as
/// the types that one access of it has: i32 words, or one i16 or i8.
llvm::SmallVector<mlir::Type> wordTypes(mlir::Type type);

/// Registers to the words that memory has, and back. An i1 is a byte.
llvm::SmallVector<mlir::Value> toWords(mlir::OpBuilder &builder,
                                       mlir::Location loc, mlir::Type type,
                                       mlir::ValueRange registers);
llvm::SmallVector<mlir::Value> fromWords(mlir::OpBuilder &builder,
                                         mlir::Location loc, mlir::Type type,
                                         mlir::ValueRange words);

} // namespace attentile::nvvm

#endif
