//===- RunningReductions.h - reductions that rescale as they run -*- C++
//-*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that a kernel writes itself may carry what an online softmax does:
//
//   mx' = max(mx, max[n](s));  r = where(mx' == -inf, 0, mx')
//   l'  = l * exp(mx - r) + sum[n](exp(s - r))
//
// With M the maximum over all n, l is sum[n](exp(s - ref M)): a reduction like
// any other, of which the loop is one way to compute it. It is one if the
// factor of the old sum is just what the sum's terms get when the maximum
// moves, which Decomposer tells. Then the loop is as good as the loops that
// attn-to-tile makes of a formula, and goes the same way from there.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_RUNNINGREDUCTIONS_H
#define ATTENTILE_LIB_LOOPS_RUNNINGREDUCTIONS_H

#include "LoopReductions.h"

namespace attentile::fusion {

/// One carried value of such a loop.
struct RunningValue {
  Expr *inside; ///< leaf: its value when an iteration begins
  Expr *next, *init;
  mlir::Operation *op; ///< that makes `next`
  bool isUsed;         ///< after the loop
};

/// The reductions that the loop computes, in the order of `values`, their
/// leaves not yet made but for maxima; appends them to `nest.statistics`, and
/// gives for each value the number of its statistic. On failure `why` says what
/// stands in the way. `withoutTail(x, kind, removed)`: `x` without the select
/// behind the range's end.
mlir::FailureOr<llvm::SmallVector<unsigned>> findRunningReductions(
    Graph &graph, LoopNest &nest, llvm::ArrayRef<RunningValue> values,
    llvm::function_ref<Expr *(Expr *, attn::ReduceKind, bool &)> withoutTail,
    std::string &why);

/// Whether what is stored would be another with other references than maxima
/// for the running sums to be relative to.
bool dependsOnReferences(const LoopNest &nest);

} // namespace attentile::fusion

#endif
