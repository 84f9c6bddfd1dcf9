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
  unsigned push(Step step, const attn::Axes &of);
  unsigned addArgument(mlir::BlockArgument argument);
  void addConstant(mlir::arith::ConstantOp constant);
  void addRead(attn::ReadOp read);
  void addReduction(mlir::Operation *op);
  void addProduct(attn::ReduceOp reduce, mlir::arith::MulFOp product);
  Factor makeFactor(mlir::Value value, attn::ReduceOp reduce);
  bool isExactFactor(mlir::Value value, mlir::Type product,
                     const attn::Axes &bound);
  llvm::SmallVector<mlir::Value> roundedTerms(mlir::Value value,
                                              const attn::Axes &bound);
  bool holdsExponential(mlir::Value value, const attn::Axes &bound);
  std::vector<unsigned> arrayAxesOf(const attn::Axes &of);
  std::vector<int64_t> stridesAlong(const Step &operand,
                                    llvm::ArrayRef<unsigned> along);
  std::vector<int64_t> offsetsOf(const Step &operand,
                                 llvm::ArrayRef<unsigned> along);
  Offsets seenFrom(const Step &operand, llvm::ArrayRef<unsigned> along);
  int64_t extentOf(unsigned axis) {
    return evaluateShape(
        inputs.kernel.getExtent(inputs.kernel.getIndexArgs()[axis]),
        inputs.sizes)[0];
  }

  const Inputs &inputs;
  attn::AxesAnalysis &axes;
  attn::Axes outer;
  Program program;
  llvm::DenseMap<mlir::Value, unsigned> steps;
};

} // namespace attentile::reference

#endif
