//===- StatementSlice.h - what a statement computes itself ------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_STATEMENTSLICE_H
#define ATTENTILE_LIB_LOOPS_STATEMENTSLICE_H

#include "Statement.h"

namespace attentile {

/// The operations of a slice that the statement computes itself.
void forEachOwn(const Statement &statement,
                llvm::function_ref<void(mlir::Operation *)> callback);

/// The reductions of a slice, those in loops over tiles too.
void forEachReduction(const Statement &statement,
                      llvm::function_ref<void(attn::ReduceOp)> callback);

/// The loops over tiles of a slice.
void forEachLoop(const Statement &statement,
                 llvm::function_ref<void(attn::ForOp)> callback);

/// Adds to `whole` what a slice's loops over tiles reduce besides their own
/// axes; refuses sizes that cannot stand whole in a tile.
llvm::LogicalResult addReducedInTiles(const Statement &statement,
                                      const KnownAxes &known,
                                      attn::Axes &whole);

/// The axes that the loops of a slice's reductions visit.
attn::Axes loopAxes(const Statement &statement, attn::AxesAnalysis &axes,
                    const attn::Axes &whole);

/// Whether it is a reduction or a loop over tiles over one of these axes.
bool isLoopOver(mlir::Operation *op, const attn::Axes &of,
                attn::AxesAnalysis &axes);

} // namespace attentile

#endif
