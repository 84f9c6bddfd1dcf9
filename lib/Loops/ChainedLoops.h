//===- ChainedLoops.h - loops over parts of one axis ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_CHAINEDLOOPS_H
#define ATTENTILE_LIB_LOOPS_CHAINEDLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

namespace attentile {

/// The classified loop (`tile.blocks`) that alone goes on along the axis where
/// `loop` ends, with what it has; or null.
inline mlir::scf::ForOp getNextInChain(mlir::scf::ForOp loop) {
  if (loop->use_empty())
    return {};
  auto next = mlir::dyn_cast<mlir::scf::ForOp>(*loop->user_begin());
  bool follows =
      next && next->hasAttr("tile.blocks") &&
      next.getLowerBound() == loop.getUpperBound() &&
      next.getStep() == loop.getStep() &&
      next->getAttr("tile.axis") == loop->getAttr("tile.axis") &&
      llvm::equal(next.getInits(), loop.getResults()) &&
      llvm::all_of(loop->getUsers(), [&](auto *user) { return user == next; });
  return follows ? next : mlir::scf::ForOp();
}

/// Whether another loop over an axis goes on with what this one leaves, or this
/// one with another's.
inline bool isChained(mlir::scf::ForOp loop) {
  auto isLoop = [](mlir::Operation *op) {
    return mlir::isa_and_nonnull<mlir::scf::ForOp>(op) &&
           op->hasAttr("tile.axis");
  };
  return llvm::any_of(loop.getInits(),
                      [&](mlir::Value init) {
                        return isLoop(init.getDefiningOp());
                      }) ||
         llvm::any_of(loop->getUsers(), isLoop);
}

} // namespace attentile

#endif
