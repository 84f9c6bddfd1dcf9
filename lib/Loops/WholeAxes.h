//===- WholeAxes.h - axes that stand whole in a tile ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_WHOLEAXES_H
#define ATTENTILE_LIB_LOOPS_WHOLEAXES_H

#include "attentile/AxesAnalysis.h"
#include "attentile/WholeExtent.h"

namespace attentile {

/// The number that an index variable's extent is, or nothing.
std::optional<int64_t> getConstantExtent(attn::KernelOp kernel,
                                         mlir::BlockArgument index);

/// A workspace with a dimension for each of the index variables; others of its
/// name are told apart by numbers.
attn::WorkspaceOp createWorkspace(mlir::OpBuilder &builder, mlir::Location loc,
                                  attn::KernelOp kernel, mlir::ValueRange axes,
                                  mlir::Type element, llvm::StringRef name);

/// Whether a value goes through memory, as the schedule marks it: its grid
/// computes the mark's operand, all others read it. A value without axes is a
/// constant, cheaper than any memory.
bool isMaterialized(mlir::Operation *op, attn::AxesAnalysis &axes);

/// Whether each dimension is read along one axis at most: what has the same
/// axes is as large as the tensor, with heads for groups a few times larger.
bool readsPlainly(attn::ReadOp read, attn::AxesAnalysis &axes);

/// The axes that are summed inside a score, such as a head's d: they stand
/// whole in the tile. Every reduction over such an axis v has no reduction over
/// another axis in its body; one at least stands inside a reduction over
/// another axis, and those that do not have no reduction in their body at all.
/// (So n of sum[n](X) or of a softmax is none, and d of scores is one also
/// where the same kernel sums squares over d by themselves, or normalises the
/// queries over d.)
///
/// The extent must be a small constant; other axes are loops (the checker asks
/// for the size of an axis that products sum). So are axes of sums that many
/// rows share, in sums over axes of known extent: the state of linear
/// attention. (Statements have more whole axes: those that their loops over
/// tiles reduce.)
attn::Axes findWholeAxes(attn::KernelOp kernel, attn::AxesAnalysis &axes);

} // namespace attentile

#endif
