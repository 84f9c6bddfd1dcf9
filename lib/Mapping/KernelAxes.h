//===- KernelAxes.h - what a kernel's products do with its axes -*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_KERNELAXES_H
#define ATTENTILE_LIB_MAPPING_KERNELAXES_H

#include "Tile/Tile.h"
#include "llvm/ADT/DenseMap.h"

namespace attentile {

/// The part that each axis of a kernel's tiles plays. With the axes of
/// attention: the rows are m; products leave scores over (m, n) and outputs
/// over (m, e); of their columns, n is reduced again and e is not.
class KernelAxes {
public:
  explicit KernelAxes(tile::KernelOp kernel);

  /// Every tile of the kernel in order of first appearance, constants outside
  /// of it included.
  llvm::ArrayRef<mlir::RankedTensorType> tiles() const { return types; }

  llvm::ArrayRef<tile::DotOp> dots() const { return products; }

  /// The axis to spread over warps: the first that every product's result has,
  /// or, without products, the first axis of the first tile of most axes. Null
  /// in a kernel of scalars and of single rows too short for a block.
  mlir::StringAttr findRows() const;

  /// How many elements a tile has along an axis.
  int64_t sizeOf(mlir::StringAttr axis) const { return sizes.lookup(axis); }

  /// Whether products leave results that have this axis beside the rows, and it
  /// is summed (or its maximum is taken ...) afterwards.
  bool isReducedColumn(mlir::StringAttr axis) const {
    return columns.contains(axis) && reduced.contains(axis);
  }
  /// The same, and it is not.
  bool isKeptColumn(mlir::StringAttr axis) const {
    return columns.contains(axis) && !reduced.contains(axis);
  }

private:
  llvm::SmallVector<mlir::RankedTensorType> types;
  llvm::SmallVector<tile::DotOp> products;
  llvm::SmallDenseMap<mlir::StringAttr, int64_t> sizes;
  llvm::SmallDenseSet<mlir::StringAttr> columns, reduced;
};

} // namespace attentile

#endif
