//===- CopyUnits.h - copies of a loop and when they may run -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_COPYUNITS_H
#define ATTENTILE_LIB_MAPPING_COPYUNITS_H

#include "Warp/Warp.h"

namespace attentile {

/// A copy that is waited for at once, as tile-to-warp leaves it: (barrier,)
/// copy, commit, wait 0, barrier.
struct CopyUnit {
  warp::CopyAsyncOp copy;
  mlir::Operation *leading; ///< the barrier before, or null
  mlir::Operation *commit, *wait, *trailing;
  warp::AllocOp buffer;
  /// Operations of the loop's body in which the buffer is read first and last.
  mlir::Operation *firstUse, *lastUse;

  mlir::Value getBuffer() const { return warp::AllocOp(buffer).getResult(); }

  /// Takes the unit out of the program.
  void erase();
};

/// The copies of a loop's body that may run ahead: of a buffer that nothing
/// else writes and only this loop reads, from an address that depends on the
/// loop's index and what is constant in it. In the order of their first use.
llvm::SmallVector<CopyUnit> findCopyUnits(mlir::scf::ForOp loop);

/// The unit of a copy, if the operations around it are as tile-to-warp leaves
/// them.
std::optional<CopyUnit> matchCopyUnit(warp::CopyAsyncOp copy);

/// Whether two copies read the same window if both loops are at the same index.
bool readSameWindow(const CopyUnit &a, mlir::scf::ForOp loopA,
                    const CopyUnit &b, mlir::scf::ForOp loopB);

/// Whether `value` can be computed before `op`; with `move`, moves what
/// computes it there.
bool computeBefore(mlir::Value value, mlir::Operation *op, bool move);

/// Copies that stand between the loop before `loop`, if any, and `loop` (of
/// queries) are all requested before the first is waited for, and so may
/// `groups` more, which need the values `needed`: returns the operation before
/// which they go, which is `loop` if they cannot go further up.
mlir::Operation *requestTogether(mlir::scf::ForOp loop,
                                 llvm::ArrayRef<mlir::Value> needed,
                                 unsigned groups);

/// A place in a loop's body where all threads meet.
struct SyncPoint {
  mlir::Operation *before;              ///< stands before this operation
  llvm::SmallVector<unsigned> arrivals; ///< copies that must be there
  llvm::SmallVector<unsigned> requests; ///< copies that may start then
};

/// Where a loop waits for each copy and where it requests it, with one buffer
/// for each.
struct CopySchedule {
  llvm::SmallVector<SyncPoint> points;
  /// Per copy: whether it is requested in the iteration that reads it, not the
  /// one before.
  llvm::SmallVector<bool> sameIteration;

  explicit CopySchedule(mlir::scf::ForOp loop, llvm::ArrayRef<CopyUnit> units);

  /// The copies in the order of their requests in an iteration.
  llvm::SmallVector<unsigned> requestOrder() const;
  /// The number of groups that may still be on their way at a point.
  unsigned pendingAt(unsigned point) const;
  /// Whether both wait and request in the same order, so that one may take over
  /// from the other.
  bool continues(const CopySchedule &other) const;
};

} // namespace attentile

#endif
