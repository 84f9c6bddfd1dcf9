//===- BlockTruth.h - what a formula is in one block ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A formula over the elements of a block, the rows of a tile by some indices of
// a loop's axis, is true of all, of none, or of some. By interval arithmetic on
// the block's first and last indices and the minima and maxima of what is
// loaded for its rows and columns:
//
//   doc[m] == doc[n]    can be   min doc[m] <= max doc[n] and
//                                min doc[n] <= max doc[m]
//                       surely   all four equal
//
// Where that leaves it open (what two conditions together exclude, a remainder
// that wraps), the elements are asked, one by one: some, evenly spaced, which
// mostly settle it, those of the first row, and the last; then all.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_BLOCKTRUTH_H
#define ATTENTILE_LOOPS_BLOCKTRUTH_H

#include "IntervalSets.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {

/// Two i1 scalars: whether something may hold for an element, and whether it
/// does for every one.
struct Truth {
  mlir::Value can, sure;
};

/// Evaluates formulas over conditions of `loop`'s body for one block. Each can
/// be asked before the loop.
class BlockTruth {
public:
  /// Emits into `index`'s place; what no block changes, where `sets` does. The
  /// block has the `size` indices from `start` on, of which those below the
  /// loop's end count.
  BlockTruth(IndexBuilder &index, IntervalSets &sets, mlir::scf::ForOp loop,
             llvm::ArrayRef<RowAxis> rows, mlir::Value start, int64_t size);

  /// By intervals.
  Truth get(Formula formula);
  /// Whether a condition is one value in all of the block.
  bool isUniform(mlir::Value condition) { return bool(copyUniform(condition)); }

  /// Some of the block's elements: the tile's first row or its last that
  /// counts, or 8 x 4 elements, evenly spaced from corner to corner.
  enum class Part { FirstRow, LastRow, Samples };
  /// The same of a part: can says whether it holds for an element there.
  /// Nothing if a condition cannot be taken apart into elements.
  std::optional<Truth> getOf(Part part, Formula formula);
  /// Whether the formula holds for an element, or for all, by asking each.
  mlir::Value askAny(Formula formula);
  mlir::Value askAll(Formula formula);

private:
  using Range = IntervalSets::Range;

  Truth getCondition(mlir::Value condition);
  Truth getComparison(mlir::arith::CmpIOp compare);
  Truth getUnknown();
  Truth negate(Truth truth);
  Truth both(Truth a, Truth b);
  Truth either(Truth a, Truth b);

  Range getRange(mlir::Value value);
  Range computeRange(mlir::Value value);
  Range getRange(const AffineForm &form);
  Range getQuotient(Range x, mlir::Value divisor);
  Range getRemainder(Range x, mlir::Value divisor);
  Range getProduct(mlir::Operation *product);
  Range getChoice(mlir::arith::SelectOp select);

  mlir::Value copy(mlir::Value value);
  mlir::Value copyUniform(mlir::Value value);
  mlir::Value computeUniform(mlir::Value value);
  mlir::Value getUniformQuotient(attn::FloorDivOp quotient);
  mlir::Value reduce(mlir::Value tile, attn::ReduceKind kind);
  mlir::Value reduceElements(mlir::Value tile, attn::ReduceKind kind);
  mlir::Value getElementsThatCount(mlir::RankedTensorType type);
  mlir::RankedTensorType getType(Formula formula);
  mlir::Value copyOf(Part part, mlir::Value value);
  mlir::Value computeOf(Part part, mlir::Operation *op);
  mlir::Value getSampled(mlir::Value first, mlir::Value last, int64_t extent,
                         bool ofRows);
  mlir::RankedTensorType getType(Part part, mlir::Type element);
  mlir::Value ask(Formula formula, mlir::RankedTensorType type,
                  llvm::function_ref<mlir::Value(mlir::Value)> getElements);

  IndexBuilder &index;
  IntervalSets &sets;
  mlir::scf::ForOp loop;
  llvm::ArrayRef<RowAxis> rows;
  mlir::Value start, last;
  int64_t size;
  mlir::IRMapping copies;
  llvm::DenseMap<mlir::Value, Range> ranges;
  llvm::DenseMap<mlir::Value, mlir::Value> uniform;
  llvm::DenseMap<mlir::Value, mlir::Value> parts[3];
};

/// Whether a condition can be evaluated element by element before its loop, and
/// in another kernel: it is made of integers and of nothing that a loop carries
/// or leaves, and is no matter of what the loop sums up inside of a block.
bool canAskElements(mlir::Value condition, mlir::scf::ForOp loop);

} // namespace attentile

#endif
