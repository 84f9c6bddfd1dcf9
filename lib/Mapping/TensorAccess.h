//===- TensorAccess.h - a thread's indices into a tensor --------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_TENSORACCESS_H
#define ATTENTILE_LIB_MAPPING_TENSORACCESS_H

#include "WarpEmitter.h"

namespace attentile {

/// The indices of a tile.load or tile.store, for the registers of this thread.
class TensorAccess {
public:
  /// `value`: the type that is loaded or stored, a tile or a scalar.
  TensorAccess(WarpEmitter &emitter, mlir::Value tensor,
               mlir::OperandRange indices, mlir::Type value);

  /// One index a dimension, for the element in a register of a fragment.
  llvm::SmallVector<mlir::Value> indicesAt(int64_t reg);

  /// How many registers, from each multiple of it on, hold consecutive elements
  /// of the tensor's last dimension that may be accessed at once.
  int64_t packet(int64_t bytes) const;

  /// The dimension along which each of the value's axes runs. False unless each
  /// runs along one, by consecutive indices.
  bool findWindow(llvm::SmallVector<int64_t> &windowDims) const;
  /// The first index along a dimension, before and after emission.
  mlir::Value firstOf(unsigned dim) const { return dims[dim].first; }
  llvm::SmallVector<mlir::Value> windowStart() const {
    return llvm::map_to_vector(dims, [](auto &dim) { return dim.base; });
  }

  /// Per dimension, whether every index is known to be inside; null if none is.
  mlir::DenseBoolArrayAttr getInBounds();

private:
  struct Index {
    llvm::ArrayRef<mlir::StringAttr> axes;
    bool isConsecutive; ///< of a tile.index
    mlir::Value first;  ///< its base, or the scalar
    mlir::Value base;   ///< the same emitted, for this thread
    llvm::SmallVector<mlir::Value> gathered; ///< else: one a register
    tile::Layout layout;                     ///< of `gathered`
    int64_t run = 1; ///< of these, so many are consecutive
    llvm::DenseMap<int64_t, mlir::Value> made;
  };

  bool isInside(unsigned dim, mlir::Value first, int64_t count);
  unsigned axisOf(mlir::StringAttr axis) const;

  WarpEmitter &emitter;
  mlir::Value tensor;
  llvm::ArrayRef<mlir::StringAttr> axes;
  tile::Layout layout;
  llvm::SmallVector<Index, 4> dims;
  llvm::SmallVector<bool> inBounds;
};

} // namespace attentile

#endif
