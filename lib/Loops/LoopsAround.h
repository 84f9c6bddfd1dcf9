//===- LoopsAround.h - loops over single indices around others --*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_LOOPSAROUND_H
#define ATTENTILE_LOOPS_LOOPSAROUND_H

#include "IntervalSets.h"

namespace attentile {

/// The loops around `inner`, outermost first, over single indices from 0 on,
/// that do nothing but take in what it reduces: where it needs nothing at an
/// index, that index may be left out.
llvm::SmallVector<mlir::scf::ForOp> getLoopsAround(mlir::scf::ForOp inner);

/// Bounds of a loop around others, from the first to the last index at which
/// `needed`, a formula of the innermost loop, may hold for some row and some
/// index of the loops inside. Returns whether anything is known of it.
bool narrow(mlir::scf::ForOp around, Formula needed,
            llvm::ArrayRef<RowAxis> rows);

} // namespace attentile

#endif
