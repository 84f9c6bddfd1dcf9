//===- VisibilityFormula.h - where a loop's elements matter -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element of a loop's axis is hidden if every reduction of the loop receives
// its neutral element there. Whether it does is a Boolean formula over the
// conditions of the selects between the scores and the reductions:
//
//   s = select(k, qk, -inf);  p = exp(s - ref);  acc += p * v
//
//   s is -inf         where !k
//   p is 0            where s is -inf, since ref is never -inf
//   p * v is 0        where p is 0, unless v may be infinite or NaN
//   needed = !hidden = k
//
// Formulas say what holds *by the formula*: an infinity that stands in a tensor
// does not count (0 times it may be 0 or NaN, freely), one that a select, a
// maximum over nothing or a division by a sum makes does.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_VISIBILITYFORMULA_H
#define ATTENTILE_LOOPS_VISIBILITYFORMULA_H

#include "Formula.h"
#include "KnownSigns.h"
#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attentile {

/// What is known of a float by the formula. The first three hold surely where
/// they are true; the last three hold nowhere where they are false.
struct FloatFacts {
  Formula minusInf, plusInf, zero;
  Formula mayMinusInf, mayPlusInf, mayNaN;
};

/// A condition of a select that hides elements, and its visible value.
struct MaskCondition {
  mlir::Value value;
  bool visible;
};

/// Calls `visit` with the conditions that must hold or fail for `condition` to
/// be `visible`, as far as it is a conjunction; with `strips` those that are
/// broadcast are seen through.
void forEachForced(mlir::Value condition, bool visible, bool strips,
                   llvm::function_ref<void(MaskCondition)> visit);

/// The formulas of one program's loops. The IR must not change meanwhile.
class VisibilityAnalysis {
public:
  /// `tail`: what "n < N" is taken to be, N being the loop's own upper bound:
  /// true inside the axis's range, false beyond it.
  VisibilityAnalysis(Formulas &formulas, bool tail)
      : formulas(formulas), tail(tail) {}

  /// Where skipping an element leaves every result of the loop as it is; null
  /// if a carried value is not updated as a reduction.
  Formula getHidden(mlir::scf::ForOp loop);

  /// The conditions that a block may drop where each has its visible value:
  /// those of selects with exactly one neutral side, made of integers and
  /// Booleans. "n < N" is none.
  llvm::SmallVector<MaskCondition> getMaskConditions(mlir::scf::ForOp loop);

  /// An i1 scalar or tile as a formula.
  Formula getCondition(mlir::Value value);

  /// What is known of an f32, f16 or bf16 scalar or tile.
  FloatFacts getFacts(mlir::Value value);

private:
  struct May {
    bool minusInf = false, plusInf = false, nan = false;
    bool operator==(const May &) const = default;
  };

  Formula computeCondition(mlir::Value value);
  FloatFacts computeFacts(mlir::Value value);
  FloatFacts getUnary(mlir::Operation *op);
  FloatFacts getConstant(const llvm::APFloat &value);
  FloatFacts getSum(const FloatFacts &a, const FloatFacts &b);
  FloatFacts getMaximum(const FloatFacts &a, const FloatFacts &b);
  FloatFacts getProduct(mlir::Value lhs, mlir::Value rhs);
  FloatFacts getQuotient(mlir::Value lhs, mlir::Value rhs, bool nonZero);
  FloatFacts getSelect(mlir::arith::SelectOp op);
  FloatFacts getStored(mlir::Value workspace);
  FloatFacts getReduced(FloatFacts facts, mlir::ArrayAttr over);
  FloatFacts getMay(May may);
  FloatFacts negate(const FloatFacts &facts);
  May summarize(const FloatFacts &facts);
  Formula getJ(const FloatFacts &facts);
  Formula getComparison(mlir::arith::CmpFOp compare, Formula atom);
  Formula isInteger(mlir::Value value, const llvm::APInt &constant);

  Formula getHidden(mlir::Value next, mlir::BlockArgument carried,
                    mlir::Value init);
  Formula getNeutral(mlir::Operation *combiner, mlir::Value contribution,
                     mlir::Value init);
  Formula getVanishing(mlir::Value contribution);
  FloatFacts getCarried(mlir::scf::ForOp loop, unsigned number);

  Formulas &formulas;
  bool tail;
  llvm::DenseMap<mlir::Value, FloatFacts> memo;
  llvm::DenseMap<mlir::Value, Formula> conditions;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<May>> carried;
};

/// `value` without tile.broadcast around it.
mlir::Value stripBroadcast(mlir::Value value);

/// Whether all elements of a value are one: a scalar, what is broadcast of one,
/// a constant.
bool isUniform(mlir::Value value);

/// That one, where the value is uniform, else the value; a constant's element
/// is made where `builder` stands.
mlir::Value getUniform(mlir::OpBuilder &builder, mlir::Value value);

/// The constant that a scalar or splat tile is.
std::optional<llvm::APInt> getIntegerConstant(mlir::Value value);

/// Whether no multiple of a constant is among the indices but the first: the
/// pixels of a block that lies in one row.
bool isUncut(tile::IndexOp indices, mlir::Value divisor);

/// The extents of a tensor of the program, ()[sizes] -> (extents): an input,
/// output or workspace.
mlir::AffineMap getTensorShape(mlir::Value tensor);

/// Whether a value is made of integers and Booleans only, none of them drawn:
/// random bits leave no block out and take as long to ask as the block.
bool isMadeOfIntegers(mlir::Value value);

/// Whether a tile is the indices of the axis that `loop` visits.
bool isLoopIndex(mlir::Value value, mlir::scf::ForOp loop);

} // namespace attentile

#endif
