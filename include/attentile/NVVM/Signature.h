//===- Signature.h - what a compiled kernel takes ---------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lowering makes a kernel's parameters of this list and the manifest writes
// it down, so that the two cannot disagree.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NVVM_SIGNATURE_H
#define ATTENTILE_NVVM_SIGNATURE_H

#include "Warp/Warp.h"

namespace attentile {

/// No run-time size is larger; the manifest says so. A little below 2^31, so
/// that a position a tile's width behind the last one fits 32 bits too.
inline constexpr int64_t kLargestSize = (int64_t(1) << 31) - (1 << 16) - 1;

/// What the name of a program's form for any strides ends with.
inline constexpr llvm::StringRef kAnyStrides = "_by_element";

/// One parameter of a compiled kernel.
struct KernelArgument {
  enum Kind {
    Tensor,    ///< the address of an input's or output's first element
    Workspace, ///< the same of a workspace
    Size,      ///< a run-time size, i64
    Stride,    ///< of a tensor along `dim`, in elements, i64
    Scalar
  };
  Kind kind;
  mlir::Value value; ///< of the program: tensor, workspace, size or scalar
  unsigned dim = 0;
};

/// The parameters, in order: tensors and workspaces that the kernel touches,
/// all sizes, all strides of these tensors (a workspace's follow from its
/// shape), all scalars.
llvm::SmallVector<KernelArgument> getKernelArguments(warp::KernelOp kernel);

/// Whether `count` elements along a dimension of a tensor are all inside or all
/// outside, so that one access of memory takes them; else each is asked for.
bool isAllOrNothing(mlir::RankedTensorType tensor, int64_t dim, int64_t count,
                    std::optional<llvm::ArrayRef<bool>> inBounds);

/// What accesses of several elements at a time ask of a tensor: contiguous
/// along `dims.back()`, base and other strides multiples of `bytes`.
struct KernelRequirement {
  mlir::Value tensor;
  llvm::SmallVector<int64_t> dims;
  int64_t bytes = 0;
};

/// One a tensor. A tensor that the kernel wants contiguous along two
/// dimensions has two.
llvm::SmallVector<KernelRequirement>
getKernelRequirements(warp::KernelOp kernel);

/// Whether the kernel waits for the one before it where it first accesses
/// memory (warp-dependent-launch), and so may be launched before that has
/// ended.
bool isDependent(warp::KernelOp kernel);

/// The attn-level name of a program's tensor, workspace, size or scalar.
llvm::StringRef getNameOf(mlir::Value value);

/// The shape of a program's tensor or workspace in terms of its sizes.
mlir::AffineMap getShapeOf(mlir::Value tensor);

/// The shape that a workspace has in memory: rows of two and more dimensions
/// are padded to 16 bytes, so that packets of them can be read and written
/// whatever the sizes are.
mlir::AffineMap getMemoryShapeOf(mlir::Value workspace);

} // namespace attentile

#endif
