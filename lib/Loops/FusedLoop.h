//===- FusedLoop.h - one loop that carries many reductions ------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_FUSEDLOOP_H
#define ATTENTILE_LIB_LOOPS_FUSEDLOOP_H

#include "Decompose.h"
#include "LoopReductions.h"

namespace attentile::fusion {

/// A value that a loop carries: what it is before, in and after the loop.
struct Carried {
  Expr *inside = nullptr; ///< leaf: its value when an iteration begins
  Expr *after = nullptr;  ///< leaf: its value when the loop is over
  Expr *next = nullptr;   ///< its value when the iteration ends
  mlir::TypedAttr start;
  attn::ReduceKind reduces = attn::ReduceKind::Sum; ///< where nothing rescales
};

/// The running maximum of `a`, against which exp(a) is taken.
struct Maximum : Carried {
  Expr *a;
  mlir::ArrayAttr over;
  attn::ReduceKind kind; ///< ref, or max if the exact value is wanted too
};

/// One side of what an accumulator sums: exponentials times a factor.
struct Summed {
  llvm::SmallVector<Exponential> exponentials;
  Expr *factor = nullptr; ///< null: 1
  bool operator==(const Summed &) const = default;
};

/// The running sum of `lhs`, or of the products of `lhs` and `rhs`, relative
/// to the running maxima of the exponents. With `inverses` (statistics that
/// are row sums) it is divided by those sums at every step.
struct Accumulator : Carried {
  Summed lhs, rhs;
  const Statistic *like; ///< axes, product and types
  llvm::SmallVector<unsigned> inverses;
};

/// Whether a masked term had any element: after the loop its row values may
/// be infinite, and 0 times them NaN, where the formula has a sum of nothing.
struct Presence : Carried {
  Expr *condition;
  mlir::ArrayAttr over;
};

/// c * F * A: what a term of a sum adds to it after the loop.
struct Summand {
  Term row; ///< without factor
  unsigned accumulator;
  std::optional<unsigned> presence; ///< which; none: every element is summed
};

/// The reductions that one loop computes.
struct FusedLoop {
  std::deque<Maximum> maxima;
  std::deque<Accumulator> accumulators;
  std::deque<Presence> presences;
  /// Reductions carried as they are: statistic and value.
  std::deque<std::pair<unsigned, Carried>> plain;
  llvm::SmallVector<LoopNest::Store> stores;

  Maximum *findMaximum(Expr *a, mlir::ArrayAttr over);
};

/// Whether the shifts of a row are just the references of its exponentials, so
/// that the sum relative to them is the sum.
bool subtractsReferences(
    const Term &row,
    llvm::function_ref<bool(const Expr *, const Expr *)> isReference);

/// Emits `loop` and binds its results.
void emitLoop(Graph &graph, Emitter &emitter, const LoopNest &nest,
              FusedLoop &loop,
              llvm::function_ref<Accumulator &(unsigned)> sumOf);

/// Emits a store with its operands, at `builder`.
void emitStore(Emitter &emitter, mlir::OpBuilder &builder,
               const LoopNest::Store &store);

/// The value after the loop of a sum with these terms. `isEmpty`: null, or
/// a condition that says that the loop did not run. `isReference`: as for
/// Decomposer. `isSafeInverse`: whether a row value is finite, and of no
/// effect, if the loop did not run.
Expr *rowValue(Graph &graph, const Statistic &statistic, FusedLoop &loop,
               llvm::ArrayRef<Summand> summands, Expr *isEmpty,
               llvm::function_ref<bool(const Expr *, const Expr *)> isReference,
               llvm::function_ref<bool(const Expr *)> isSafeInverse);

} // namespace attentile::fusion

#endif
