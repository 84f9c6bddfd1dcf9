//===- GatheredFactors.h - factors that are rows for pairs ------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which factors of a kernel's products read a row of a table for each pair of
// rows and keys.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_GATHEREDFACTORS_H
#define ATTENTILE_LIB_LOOPS_GATHEREDFACTORS_H

#include "Attn/Attn.h"
#include "attentile/AxesAnalysis.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {

/// The extent of a tensor's dimension, from the kernel's sizes.
mlir::AffineExpr getExtent(attn::KernelOp kernel, mlir::Value tensor,
                           unsigned dim);

/// A factor that reads rows of tables for pairs, and the one beside it.
struct GatheredFactor {
  mlir::Value factor, other;
  /// What makes it, operands first, without what makes the rows' numbers.
  llvm::SmallVector<mlir::Operation *> slice;
  /// What tables are read at, with the extent of their dimension: the index
  /// variable in its place, none yet.
  llvm::MapVector<std::pair<mlir::Value, mlir::AffineExpr>, mlir::BlockArgument>
      rows;
  llvm::StringRef table; ///< the first of them that is an input
};

/// Finds them. Valid until the kernel changes.
class GatheredFactors {
public:
  explicit GatheredFactors(attn::KernelOp kernel);

  /// The factor of a sum's product that gathers, if one does. Pairs are of rows
  /// and keys where keys are summed with values that rows share. Where each row
  /// gathers its keys and values (a window, a choice by numbers, pages) there
  /// are none, and all rows of a tensor would be more than what is gathered.
  std::optional<GatheredFactor> find(attn::ReduceOp sum);

  /// The side of a sum's product that is a sum of terms, each a factor of a
  /// product of matrices, one of which gathers.
  std::optional<unsigned> findSum(attn::ReduceOp sum);

private:
  /// `known`: what was found of factors, as terms may have parts in common.
  bool hasGatheredTerm(mlir::Value factor, mlir::Value other,
                       attn::ReduceOp sum,
                       llvm::SmallDenseMap<mlir::Value, bool> &known);
  std::optional<GatheredFactor> gather(mlir::Value factor, mlir::Value other,
                                       attn::ReduceOp sum);
  bool arePairsOfAll(const attn::Axes &pairs) const;

  attn::KernelOp kernel;
  attn::AxesAnalysis axes;
  struct SummedTerm {
    attn::Axes summed, own;
  };
  llvm::SmallVector<SummedTerm> summedTerms; // of the factors of all sums
};

} // namespace attentile

#endif
