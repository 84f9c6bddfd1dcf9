//===- CopyRequests.h - copies asked for ahead of their use -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_COPYREQUESTS_H
#define ATTENTILE_LIB_MAPPING_COPYREQUESTS_H

#include "CopyUnits.h"

namespace attentile {

/// An iteration that may not exist.
struct Iteration {
  mlir::Value index;
  mlir::Value exists;
};

/// What the first requests of `loop` are computed from: its bounds, and what
/// its copies' addresses take from outside it.
llvm::SmallVector<mlir::Value> findNeeded(mlir::scf::ForOp loop,
                                          llvm::ArrayRef<CopyUnit> units);

/// What is known of the bounds of a copy's window.
llvm::SmallVector<bool> knownBounds(warp::CopyAsyncOp copy);

/// The copy of `unit` for the iteration at `index`, into `buffer`; `inBounds`
/// is what is known there.
void requestAt(mlir::OpBuilder &builder, const CopyUnit &unit,
               mlir::scf::ForOp loop, mlir::Value index, mlir::Value buffer,
               llvm::ArrayRef<bool> inBounds);

/// The same, if the iteration exists.
void requestIfExists(mlir::OpBuilder &builder, const CopyUnit &unit,
                     mlir::scf::ForOp loop, Iteration iteration,
                     mlir::Value buffer, llvm::ArrayRef<bool> inBounds);

/// From the operation `from` on threads wait for copies that they read in
/// `loops` alone, which begin by waiting themselves: takes those waits out, and
/// puts one behind the loops, as they may not turn at all and the buffers serve
/// others then. Does nothing if there are reads outside the loops.
void waitInLoops(mlir::Operation *from, llvm::ArrayRef<mlir::scf::ForOp> loops);

/// Keeps `stages` buffers for each of a loop's copies and requests them
/// `stages` - 1 iterations ahead. With `mbarriers`, threads need not all meet
/// where there are two and the product stands between their requests.
void pipelineStages(mlir::scf::ForOp loop, llvm::ArrayRef<CopyUnit> units,
                    int64_t stages, bool mbarriers);

} // namespace attentile

#endif
