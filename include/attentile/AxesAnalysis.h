//===- AxesAnalysis.h - the axes of a value ---------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value of an attn.kernel stands for a function of the index variables that
// it depends on: its axes. In
//
//   %qk = arith.mulf %q, %k : f32                      // b h m n d
//   %s  = attn.reduce sum %qk over (%d) : f32          // b h m n
//   %p  = attn.softmax %s over (%n) : f32              // b h m n
//   %l  = attn.logsumexp %s over (%n) : f32            // b h m
//
// an operation's result has its operands' axes; a reduction takes away those
// it binds. A softmax keeps them: it is a function of the axis that it
// normalises over, also where its operand is not. What a loop over tiles
// carries has the axes of its start and of its next (attn.for).
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_AXESANALYSIS_H
#define ATTENTILE_AXESANALYSIS_H

#include "Attn/Attn.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"

namespace attentile::attn {

/// A set of index variables: bit i is the i-th of KernelOp::getIndexArgs().
using Axes = llvm::SmallBitVector;

/// The axes of every value of one kernel, in grids too. Computed on demand
/// and kept: valid until the kernel changes.
class AxesAnalysis {
public:
  /// `kernel` is the attn.kernel.
  explicit AxesAnalysis(mlir::Operation *kernel);

  /// The axes of a value of the kernel's body. A tensor has none; those of a
  /// read are those of its indices.
  const Axes &of(mlir::Value value);

  /// The axes of any of `values`.
  Axes ofAny(mlir::ValueRange values);

  /// The set of the given index variables, as a reduction names them.
  Axes setOf(mlir::ValueRange indices) const;

  /// Whether `value` depends on the index variable `index`.
  bool dependsOn(mlir::Value value, mlir::BlockArgument index);

  /// The number of an index variable among the kernel's.
  unsigned numberOf(mlir::Value index) const;

  /// The index variables of a set, in the order of their declaration.
  llvm::SmallVector<mlir::BlockArgument> indicesOf(const Axes &axes);

private:
  void addLoop(ForOp loop);

  KernelOp kernel;
  unsigned firstIndex; // its number among the block's arguments
  unsigned count;
  llvm::DenseMap<mlir::Value, Axes> axes;
};

} // namespace attentile::attn

#endif
