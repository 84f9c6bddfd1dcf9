//===- WorkSlice.h - what of a warp's work is needed ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Behind a marker in a loop's body (warp.hidden, warp.either) a warp need not
// do all of an iteration's work, but what other warps wait for: its part of the
// copies, its arrivals, its waits, and what these are made of.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NVVM_WORKSLICE_H
#define ATTENTILE_NVVM_WORKSLICE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {

/// Operations of the marker's block, behind it, that are needed.
class WorkSlice {
public:
  /// With what reads memory, or without.
  WorkSlice(mlir::Operation *marker, bool withReads)
      : marker(marker), withReads(withReads) {}

  /// Adds all that other warps wait for; false if a warp waits for others at
  /// anything but mbarriers, or if something cannot be done twice.
  bool addShared();

  /// Adds what `op` and what stands in it are made of, and it; false if
  /// something of it cannot be done twice, with the slice as it was.
  bool add(mlir::Operation *op);

  /// Whether an operation behind the marker that is not among these, here or in
  /// `other`, changes anything.
  bool leavesChanges(const WorkSlice &other) const;

  /// Copies it, in order.
  void clone(mlir::OpBuilder &builder, mlir::IRMapping &copies) const;

  bool isBehind(mlir::Operation *op) const {
    return op && op->getBlock() == marker->getBlock() &&
           marker->isBeforeInBlock(op);
  }

private:
  bool addMakers(mlir::Operation *op);

  mlir::Operation *marker;
  bool withReads;
  llvm::SetVector<mlir::Operation *> needed;
};

} // namespace attentile

#endif
