//===- Counter.h - what the programs of a kernel do, counted ----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_EXPLAIN_COUNTER_H
#define ATTENTILE_LIB_EXPLAIN_COUNTER_H

#include "ScalarValues.h"
#include "attentile/Explain.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {

/// Walks one kernel's programs and adds up what they do.
class Counter {
public:
  /// `lists`: the kernels whose lists of blocks are known.
  Counter(tile::ProgramOp program, tile::KernelOp kernel, ScalarValues &scalars,
          const llvm::DenseSet<mlir::Operation *> &lists)
      : head(program), kernel(kernel), scalars(scalars), knownLists(lists) {}

  llvm::Expected<GridFigures> run();

private:
  llvm::Error block(mlir::Block &block, double times);
  llvm::Error loop(mlir::scf::ForOp loop, double times);
  llvm::Error listed(mlir::scf::ForOp loop, double times);
  llvm::Error boundsOf(mlir::scf::ForOp loop, std::optional<int64_t> extent,
                       int64_t (&bounds)[3]);
  void visit(mlir::scf::ForOp loop, int64_t block, bool masked);
  void finishMap();
  bool mayEvaluateMask(mlir::scf::ForOp loop);
  double elementsInside(mlir::ValueRange indices, mlir::Value tensor);
  int64_t extentOf(mlir::Value tensor, unsigned dimension);
  llvm::Expected<int64_t> need(mlir::Value value, const llvm::Twine &what);
  bool lacksScalar(mlir::Value value);
  std::optional<int64_t> extentOfLoop(mlir::scf::ForOp loop);
  std::optional<int64_t> countListed(mlir::scf::ForOp loop);
  llvm::SetVector<mlir::Value> idsThatMatter();
  std::optional<int64_t> rowOf(mlir::Value id);

  attn::SignatureOpInterface head;
  tile::KernelOp kernel;
  ScalarValues &scalars;
  const llvm::DenseSet<mlir::Operation *> &knownLists;
  GridFigures figures;
  /// Of the map, while one of the first head's programs is walked.
  std::optional<int64_t> mapRow;
  int64_t mapColumns = 0;
  llvm::SetVector<mlir::Value> touched;
  llvm::MapVector<mlir::StringAttr, int64_t> tiles;
  /// Where loops start that take the blocks of one before them, whose end
  /// elements of a tensor decide.
  llvm::DenseMap<mlir::Operation *, int64_t> openFrom;
};

} // namespace attentile

#endif
