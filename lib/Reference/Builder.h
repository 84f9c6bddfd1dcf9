//===- Builder.h - makes the steps of a program -----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_REFERENCE_BUILDER_H
#define ATTENTILE_REFERENCE_BUILDER_H

#include "Program.h"

namespace attentile::reference {

/// The axes that an operation binds.
mlir::ValueRange boundAxes(mlir::Operation *op);

/// Floats, integers or bools.
Kind kindOf(mlir::Type type);

/// A reduction, softmax or logsumexp.
bool isReduction(mlir::Operation *op);

/// The operands that are values, not axes.
mlir::OperandRange valueOperands(mlir::Operation *op);

/// What a step of `op` is computed from: its operands, of a product its
/// factors.
mlir::OperandRange neededBy(mlir::Operation *op);

/// The values from before a loop that it is computed from.
llvm::SmallVector<mlir::Value> neededBefore(attn::ForOp loop);

/// Makes the steps of one program.
class Builder {
public:
  Builder(const Inputs &inputs, attn::AxesAnalysis &axes, attn::Axes outer)
      : inputs(inputs), axes(axes), outer(std::move(outer)) {}

  /// The step that computes `value`.
  unsigned add(mlir::Value value);
  void addWrite(attn::WriteOp write);
  Program finish();

  std::string error;

private:
  /// For the body of a loop.
  Builder(Builder &parent, attn::ForOp loop)
      : inputs(parent.inputs), axes(parent.axes), outer(parent.outer),
        parent(&parent), loop(loop) {}

  void orderOuterAxes();
  void addLoop(attn::ForOp loop);
  void addOutside(mlir::Value value, LoopBody &body);
  unsigned tileAxis() const { return axes.numberOf(loop.getAxis()); }
  std::vector<unsigned> boundInOrder(const attn::Axes &bound);
  attn::Axes reducedAxesOf(mlir::Value value);
  std::vector<unsigned> statisticsOf(const Step &select, mlir::Value value);
  unsigned push(Step step, const attn::Axes &of);
  unsigned addArgument(mlir::BlockArgument argument);
  void addConstant(mlir::arith::ConstantOp constant);
  void addRead(attn::ReadOp read);
  void addReduction(mlir::Operation *op);
  void addProduct(attn::ReduceOp reduce, mlir::arith::MulFOp product);
  Factor makeFactor(mlir::Value value, mlir::Value other,
                    attn::ReduceOp reduce);
  bool gathersForPairs(mlir::Value factor, mlir::Value other);
  int64_t sharedWeights(mlir::Value factor);
  bool isExactFactor(mlir::Value value, mlir::Type product,
                     const attn::Axes &bound);
  llvm::SmallVector<mlir::Value> roundedTerms(mlir::Value value,
                                              const attn::Axes &bound);
  RoundedTerm makeTerm(mlir::Value value, const Factor &factor,
                       const attn::Axes &bound);
  bool holdsExponential(mlir::Value root, const attn::Axes &bound);
  llvm::SmallVector<mlir::Operation *> inOrder(mlir::Value root,
                                               const attn::Axes &bound);
  bool markHidden(mlir::Value root, const attn::Axes &bound);
  bool holdsSplitSum(mlir::Value root, const attn::Axes &bound);
  bool isAppliedLate(mlir::Value operand, mlir::Operation *op,
                     const attn::Axes &bound);
  std::vector<unsigned> arrayAxesOf(const attn::Axes &of);
  std::vector<int64_t> stridesAlong(const Step &operand,
                                    llvm::ArrayRef<unsigned> along);
  std::vector<int64_t> offsetsOf(const Step &operand,
                                 llvm::ArrayRef<unsigned> along);
  Offsets seenFrom(const Step &operand, llvm::ArrayRef<unsigned> along);
  int64_t extentOf(unsigned axis) {
    if (loop && axis == tileAxis())
      return loop.getSize();
    return evaluateShape(
        inputs.kernel.getExtent(inputs.kernel.getIndexArgs()[axis]),
        inputs.sizes)[0];
  }

  const Inputs &inputs;
  attn::AxesAnalysis &axes;
  attn::Axes outer;
  Builder *parent = nullptr;
  mutable attn::ForOp loop; // a handle, whose accessors are not const
  Program program;
  llvm::DenseMap<mlir::Value, unsigned> steps;
};

} // namespace attentile::reference

#endif
