//===- ArgSlots.h - the arguments of native code ----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled kernel is void f(const int64_t *args, int64_t begin, int64_t end,
// void *scratch): it runs the programs [begin, end) of its grid, the last axis
// varying fastest. `args` is the same for every kernel and host function of a
// program, a flat array of 64-bit slots:
//
//   for each tensor, inputs first, then outputs:   pointer to element 0, 0, ...
//                                                  size[rank]
//                                                  stride[rank], in elements
//   for each scalar, in the order of the head:     its bits, f32 and 16-bit
//                                                  types in the low ones, a
//                                                  bool as 0 or 1
//   for each run-time size:                        its value
//   for each workspace, in textual order:          pointer, row-major
//   contiguous one more:                                      pointer to
//   int64_t[2], block
//                                                  counters; null if not
//                                                  counted
//
// So X: f32[M, 64], scale: f32 -> Y: f32[M, 64] has X in slots 0 to 4, Y in 5
// to 9, scale in 10, M in 11 and the counters in 12.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NATIVE_ARGSLOTS_H
#define ATTENTILE_NATIVE_ARGSLOTS_H

#include "Tile/Tile.h"
#include "llvm/ADT/DenseMap.h"

namespace attentile {

/// The attribute of a kernel's function with the bytes of scratch that one
/// thread needs, an i64. The memory is 64-byte aligned.
inline constexpr llvm::StringLiteral kScratchBytesAttr = "native.scratch_bytes";

/// Where each value of a program's head stands in the array of slots.
struct ArgSlots {
  explicit ArgSlots(tile::ProgramOp program);

  /// The slot of a tensor's pointer (`rank` sizes and `rank` strides follow),
  /// of a scalar, or of a size.
  unsigned of(mlir::BlockArgument argument) const {
    return ofArgument[argument.getArgNumber()];
  }
  unsigned ofSize(mlir::BlockArgument tensor, unsigned dim) const {
    return of(tensor) + 1 + dim;
  }
  unsigned ofStride(mlir::BlockArgument tensor, unsigned dim) const {
    return of(tensor) + 1 + rankOf(tensor) + dim;
  }
  /// The slot of a workspace's pointer.
  unsigned of(attn::WorkspaceOp workspace) const {
    return ofWorkspace.lookup(workspace);
  }

  unsigned counters; ///< the slot of the pointer to the block counters
  unsigned count;    ///< how many slots there are

private:
  static unsigned rankOf(mlir::Value tensor) {
    return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getRank();
  }
  llvm::SmallVector<unsigned> ofArgument;
  llvm::DenseMap<mlir::Operation *, unsigned> ofWorkspace;
};

} // namespace attentile

#endif
