//===- MaskedLoops.h - what masks leave of a loop over blocks ---*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tile-list-blocks and tile-skip-masked-blocks share: which loops they
// change, the formulas of such a loop, and copies of it without its masks.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_MASKEDLOOPS_H
#define ATTENTILE_LOOPS_MASKEDLOOPS_H

#include "IntervalSets.h"
#include "VisibilityFormula.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {

/// The kernel's tiles of indices. Rows count that some store writes, if no
/// reduction joins rows. Emits at the kernel's start.
llvm::SmallVector<RowAxis> getRowAxes(tile::KernelOp kernel);

/// The tiles of indices that stand before the loop.
llvm::SmallVector<RowAxis> getRowsBefore(llvm::ArrayRef<RowAxis> rows,
                                         mlir::scf::ForOp loop);

/// The loops over tiles of an axis in a kernel, but for those around others.
llvm::SmallVector<mlir::scf::ForOp> getLoops(tile::KernelOp kernel);

/// A loop over blocks of an axis and where its elements matter.
class MaskedLoop {
public:
  explicit MaskedLoop(mlir::scf::ForOp loop);

  /// Whether the loop reduces whole tiles of an axis from 0 on, and nothing
  /// has classified it.
  bool isOpen() const { return open; }
  /// Whether it would be, were tiles not longer than its steps (padded for a
  /// GPU): they are no blocks.
  bool isPadded() const { return padded; }
  /// The indices of a block.
  int64_t getSize() const { return size; }
  /// Where some reduction needs an element; null if what the loop carries is
  /// not updated as a reduction.
  Formula getNeeded() const { return needed; }
  /// Where no mask hides anything; null without masks.
  Formula getFull() const { return full; }
  /// Keeps of both what can be evaluated before the kernel (canAskElements):
  /// where that excludes no element, all are needed; no block is full by what
  /// is not known.
  void keepAskable();
  /// Whether anything but comparisons of scores (a row sum that is 0) decides
  /// what is needed.
  bool hasMask() const;
  /// Whether indices beyond the axis's end are neutral whatever the masks are:
  /// a block where masks are not evaluated may reach there.
  bool isSafeBeyond();
  /// Maps each mask's condition to its visible value, made in `builder`'s
  /// place.
  mlir::IRMapping getVisible(mlir::OpBuilder &builder);
  /// The same of conditions alone that are visible in a whole block if one of
  /// its elements is needed: those of one value there (`isUniform`) that no
  /// needed element has hidden.
  mlir::IRMapping
  getVisibleIfNeeded(mlir::OpBuilder &builder,
                     llvm::function_ref<bool(mlir::Value)> isUniform);

private:
  mlir::IRMapping getVisible(mlir::OpBuilder &builder,
                             llvm::function_ref<bool(Formula)> isVisible);

  mlir::scf::ForOp loop;
  bool open = false, padded = false;
  int64_t size = 0;
  Formulas formulas;
  Formula needed = nullptr, full = nullptr;
  llvm::SmallVector<MaskCondition> masks;
  llvm::SmallVector<Formula> conditions; ///< each mask's, where it is visible
};

/// Fills `copy`, a loop without a body, with that of `loop`. `mapping` has the
/// loop's arguments; what it maps else is known and not computed.
void copyBody(mlir::scf::ForOp loop, mlir::scf::ForOp copy,
              mlir::IRMapping mapping);

/// Erases what nothing uses of a block, from its end on.
void eraseDead(mlir::Block &block);

} // namespace attentile

#endif
