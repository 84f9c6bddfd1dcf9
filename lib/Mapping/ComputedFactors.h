//===- ComputedFactors.h - factors that are made of tiles -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_COMPUTEDFACTORS_H
#define ATTENTILE_LIB_MAPPING_COMPUTEDFACTORS_H

#include "NaturalLayouts.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {

/// Collects into `slice`, operands first, what computes `value` element by
/// element: elementwise work, broadcasts, positions, constants and loads into
/// registers. Stops at values for which `isOutside`. False where something else
/// is needed on the way.
bool collectElementwise(mlir::Value value,
                        llvm::function_ref<bool(mlir::Value)> isOutside,
                        llvm::SetVector<mlir::Operation *> &slice);

/// Whether a product's factor is the one with the rows of its result.
bool isLeft(tile::DotOp dot, mlir::Value factor, const NaturalLayouts &natural);

/// Whether a factor is made before the loop of its product.
bool isMadeBefore(tile::DotOp dot, mlir::Value factor);

/// The factors of a kernel that are computed from tiles, element by element and
/// for products alone, and go through shared memory: all but left ones that
/// change with the loop of their product, which stay where it takes them. They
/// lie as memory is read best until then.
class ComputedFactors {
public:
  ComputedFactors(tile::KernelOp kernel, const NaturalLayouts &natural);

  /// Whether such a factor is computed from this load of two axes, whose last
  /// axis runs along the tensor's last dimension.
  bool hasLoad(tile::LoadOp load) const { return loads.contains(load); }
  /// Whether this is one, of rows.
  bool hasLeft(mlir::Value factor) const { return lefts.contains(factor); }

private:
  llvm::DenseSet<mlir::Operation *> loads;
  llvm::DenseSet<mlir::Value> lefts;
};

} // namespace attentile

#endif
