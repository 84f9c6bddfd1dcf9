//===- LoopReductions.h - what the loops of a kernel reduce -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_LOOPREDUCTIONS_H
#define ATTENTILE_LIB_LOOPS_LOOPREDUCTIONS_H

#include "Expressions.h"

namespace attentile::fusion {

/// One carried value of a loop, as the reduction it computes: `kind` over
/// `lhs`, or the sum of products of `lhs` and `rhs`.
struct Statistic {
  attn::ReduceKind kind = attn::ReduceKind::Sum;
  Expr *lhs = nullptr, *rhs = nullptr;       ///< without the tail's select
  bool lhsTailed = false, rhsTailed = false; ///< whether it had one
  mlir::Type lhsType, rhsType;               ///< of a product's factors
  mlir::TypeAttr product;                    ///< null: not a product
  mlir::ArrayAttr over;
  /// Of a sum that is put right as it runs: the powers with which it moves with
  /// maxima, by number.
  bool isRunning = false;
  llvm::SmallVector<std::pair<double, unsigned>> powers;
  Expr *leaf = nullptr; ///< its value after the loop
  mlir::Operation *op = nullptr;

  /// A running maximum, of one operand.
  bool isMaximum() const {
    return (kind == attn::ReduceKind::Max || kind == attn::ReduceKind::Ref) &&
           mlir::isa<mlir::FloatType>(tile::getElementType(lhs->type));
  }
  bool isFloatSum() const {
    return kind == attn::ReduceKind::Sum &&
           mlir::isa<mlir::FloatType>(tile::getElementType(lhs->type));
  }
};

/// A kernel whose loops all run over the same tiles of one axis.
struct LoopNest {
  /// Where a loop runs.
  struct Range {
    mlir::StringAttr axis;
    Expr *induction = nullptr, *lower = nullptr, *upper = nullptr,
         *step = nullptr;
  };

  llvm::SmallVector<mlir::scf::ForOp> loops; ///< the outermost of each
  Range range;                               ///< over tiles, the innermost
  /// Around it, the outermost first: over single indices of other axes.
  llvm::SmallVector<Range> around;
  Expr *tail = nullptr; ///< "n lies in the range"; null if it always does
  std::vector<Statistic> statistics;
  /// Whether a loop carries reductions that are put right as they run.
  bool hasRunning = false;
  using Store = std::pair<mlir::Operation *, llvm::SmallVector<Expr *>>;
  /// The stores after the loops and those in loops, in order, with operands.
  llvm::SmallVector<Store> stores, storesInLoops;
  /// The values defined outside the kernel.
  llvm::DenseMap<mlir::Value, Expr *> outside;
};

/// Reads the kernel into `graph`. On failure `why` and `where` say what was
/// not understood; the kernel is unchanged either way.
mlir::FailureOr<LoopNest> readLoops(tile::KernelOp kernel, Graph &graph,
                                    std::string &why, mlir::Operation *&where);

/// Whether the operation adds parts of such a reduction.
bool combines(mlir::Operation *op, attn::ReduceKind kind);

/// The neutral element of a reduction as a constant of `type` (a tile or
/// scalar).
mlir::TypedAttr neutralElement(attn::ReduceKind kind, mlir::Type type);

} // namespace attentile::fusion

#endif
