//===- Unrolling.h - formulas at single indices -----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_UNROLLING_H
#define ATTENTILE_LIB_LOOPS_UNROLLING_H

#include "attentile/AxesAnalysis.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {

/// Products that one is taken apart into at most, and what a tile has a
/// multiple of along each axis.
constexpr int64_t kMostProducts = 16, kBlock = 16;

/// Whether a value is made of reductions or of loops over tiles.
bool isMadeOfReductions(mlir::Value value);

/// Whether a sum is of products whose factors each have an axis that the other
/// lacks.
bool isMatrixProduct(attn::ReduceOp sum, attn::AxesAnalysis &axes);

/// What depends on one of the index variables, operands first; nothing if that
/// goes through memory, is a loop over tiles or is reduced over one of them.
std::optional<llvm::SmallVector<mlir::Operation *>>
findSliceOf(mlir::Value value, llvm::ArrayRef<mlir::BlockArgument> of,
            attn::AxesAnalysis &axes);

/// Clones such a slice at each combination of the index variables' values, the
/// last fastest, and hands the copies to `use`. Their extents are constants.
void forEachIndex(attn::KernelOp kernel, mlir::OpBuilder &builder,
                  mlir::Location loc, llvm::ArrayRef<mlir::BlockArgument> of,
                  llvm::ArrayRef<mlir::Operation *> slice,
                  llvm::function_ref<void(mlir::IRMapping &)> use);

/// The terms of a sum at each such combination, added up in its place, products
/// by multiply-adds if these are wanted; of each first a sum over `kept`, where
/// that is an axis.
void addOneByOne(attn::KernelOp kernel, attn::ReduceOp sum,
                 llvm::ArrayRef<mlir::BlockArgument> of,
                 llvm::ArrayRef<mlir::Operation *> slice, bool multiplyAdds,
                 mlir::BlockArgument kept = {});

} // namespace attentile

#endif
