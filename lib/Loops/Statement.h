//===- Statement.h - one statement of a kernel and its axes -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_STATEMENT_H
#define ATTENTILE_LIB_LOOPS_STATEMENT_H

#include "attentile/AxesAnalysis.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {

/// How the axes of a grid are visited; see attn.grid. Index variables in the
/// order in which the statement's left side names them (`step`, `tile`) or of
/// their declaration (`loop`, `walk`, `whole`).
struct AxisRoles {
  llvm::SmallVector<mlir::Value> step, tile, loop, walk, whole;
};

/// A kernel and what is known of its axes.
struct KnownAxes {
  attn::KernelOp kernel;
  attn::AxesAnalysis &axes;
  const attn::Axes &whole; ///< those that need no loop
  const attn::Axes &tiled; ///< those that a schedule asks tiles for
};

/// A write to an output or workspace, and what it takes to compute it.
struct Statement {
  mlir::Location loc;
  mlir::Value value;
  mlir::Value tensor;
  llvm::SmallVector<mlir::Value> indices;

  /// The index variables that `indices` name, in their order.
  llvm::SmallVector<mlir::BlockArgument> left = {};

  /// The operations that `value` and `indices` need, in the block's order, down
  /// to the values in `cuts`.
  llvm::SmallVector<mlir::Operation *> slice = {};

  /// Values that another grid computes and this one reads from workspace.
  llvm::SetVector<mlir::Value> cuts = {};

  AxisRoles roles = {};
};

/// Fills `slice` and `cuts`. A value is cut where the schedule marks it
/// (attn.materialize), and where it is a reduction over a loop that stands
/// under a loop over one of its own axes: in A[b,h,n] = sum[m](softmax[n](s)),
/// the row's maximum and sum, which a grid of their own makes once for all n.
/// So is a reduction over an axis that the statement keeps, if that leaves the
/// statement's own value no loop; and what `isApart` says.
void sliceStatement(
    Statement &statement, const KnownAxes &known,
    llvm::function_ref<bool(mlir::Operation *)> isApart = [](auto *) {
      return false;
    });

/// Fills `roles` from the slice. Axes of `tiled` come in tiles even where a
/// reduction loops over several.
void assignRoles(Statement &statement, const KnownAxes &known);

/// Of columns that stand whole, has those in tiles that terms of a sum over a
/// loop have beside rows and keys, as in sum[n](p * (v[n, e] - mean[m, e])):
/// the terms are a tile of three axes. Scores are computed for each, and so
/// must be products of matrices.
void tileColumnsOfTerms(Statement &statement, attn::AxesAnalysis &axes);

/// Cuts reductions that several axes of the statement lack, as in O[b, m, e] =
/// max[k](w[h, k]) * x: loops around the write would hold tiles of them all.
/// Whether there are any; the roles are then to be found again.
bool cutReductionsApart(Statement &statement, const KnownAxes &known);

/// Cuts sums that read several elements for each pair of rows and keys, again
/// for each index of an axis that these lack, as in the scores of each head
/// sum[c](Z[m, n, c] * W[c, h]). Whether there are any; the roles are then to
/// be found again.
bool cutSumsOfPairs(Statement &statement, const KnownAxes &known);

/// Cuts what is better a grid of its own, so that its loop is one: sums of
/// products whose rows are other ones than the statement's tile has, as of
/// O[y, x] = sum[u](...K[y, u]...) + sum[v](...K[v, x]...), where rows along x
/// share the keys of the first sum alone; what is the same for all of its rows;
/// what other programs would compute again, as a row's mean square that scales
/// each of its heads; and sums of softmaxes over several axes. Whether there
/// are any; the roles are then to be found again.
bool cutLoopsApart(Statement &statement, const KnownAxes &known);

} // namespace attentile

#endif
