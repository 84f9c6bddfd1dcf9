//===- BlockLists.h - lists of needed blocks from a grid before -*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the needed blocks are no interval in closed form, a kernel that runs
// before writes their numbers into workspace: for each tile of rows, and each
// other coordinate that the masks depend on, full blocks from the middle of a
// row down, partial ones up, and in front where both end. Where the masks
// compare elements of tensors the last block comes first:
//
//     | from | to | ...  0  2  5 | 7  1 ... |
//                      full ^middle partial
//
// A loop that reads it counts from `from` over the middle to `to`.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_BLOCKLISTS_H
#define ATTENTILE_LOOPS_BLOCKLISTS_H

#include "IntervalSets.h"

namespace attentile {

/// Workspace of 32-bit integers before a kernel; `shape` is in sizes.
attn::WorkspaceOp makeListWorkspace(tile::KernelOp kernel, llvm::StringRef name,
                                    llvm::ArrayRef<mlir::AffineExpr> shape);

/// The load of the place where a loop over a list begins; null for another
/// loop.
tile::LoadOp getListStart(mlir::scf::ForOp loop);

/// A list of the blocks of a loop that each of its kernel's programs needs.
class BlockList {
public:
  /// Makes a kernel before that of `loop` which writes the list for it. Nothing
  /// if an extent is no expression of the program's sizes.
  /// With `blocksAtOnce`, several kernels: programs that find the classes of
  /// many blocks, side by side where they are numbers, so many each where
  /// elements are asked; then one that puts what they found in order.
  static std::optional<BlockList> create(mlir::scf::ForOp loop,
                                         llvm::ArrayRef<RowAxis> rows,
                                         int64_t blocksAtOnce);

  /// The places of the program's first entry, of its first partial block, and
  /// behind its last, before the kernel's loop.
  mlir::Value getFrom(IndexBuilder &index) { return read(index, 0); }
  mlir::Value getMiddle(IndexBuilder &index);
  mlir::Value getTo(IndexBuilder &index) { return read(index, 1); }
  /// The first index of the block that an entry names.
  mlir::Value getStart(IndexBuilder &index, mlir::Value entry);

private:
  mlir::Value read(IndexBuilder &index, int64_t place);
  mlir::Value readEntry(IndexBuilder &index, mlir::Value entry);

  mlir::Value tensor, extent;
  llvm::SmallVector<mlir::Value> row; ///< the program's row of the tensor
  int64_t size;
};

} // namespace attentile

#endif
