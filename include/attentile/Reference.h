//===- Reference.h - the float64 evaluator of the attn level ----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel means: its formulas over float64, no tiling, sums in plain
// order. With each value goes a bound on what an f32 kernel may lose, so that
// a comparison needs no tolerance (compare, below). It takes an attn.kernel
// before or after attn-lower-softmax, not one with grids.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_REFERENCE_H
#define ATTENTILE_REFERENCE_H

#include "Attn/Attn.h"
#include "attentile/Tensor.h"
#include "llvm/Support/Error.h"
#include <cmath>

namespace attentile {

/// The element type of an element of the attn level; none for types that the
/// language lacks.
std::optional<ElementType> elementTypeOf(mlir::Type type);

/// The run-time sizes of `kernel`, in the order of getSizeArgs(), read from
/// the shapes of its arguments: `ins` in order, then `outs` (may be empty).
/// Scalars may have no data. Errors name the two tensors that disagree.
llvm::Expected<std::vector<int64_t>>
bindSizes(attn::KernelOp kernel, llvm::ArrayRef<HostTensor> ins,
          llvm::ArrayRef<HostTensor> outs = {});

/// One extent; a division by a size of 0 is 0. Negative where sizes make no
/// tensor.
int64_t evaluateExtent(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> sizes);

/// The extents of an input or output, at least 0 (empty for a scalar) or, for
/// an index variable, its one extent; a division by a size of 0 is 0.
std::vector<int64_t> evaluateShape(mlir::AffineMap map,
                                   llvm::ArrayRef<int64_t> sizes);

/// Gives each scalar of `ins` that has no data its attn.default. The error
/// names a scalar that has neither.
llvm::Error applyDefaults(attn::KernelOp kernel, std::vector<HostTensor> &ins,
                          llvm::ArrayRef<int64_t> sizes);

/// The text of the first attn.assume that does not hold; none if all do. One
/// that needs a scalar without data is passed over.
std::optional<std::string> findBrokenAssumption(attn::KernelOp kernel,
                                                llvm::ArrayRef<HostTensor> ins,
                                                llvm::ArrayRef<int64_t> sizes);

struct ReferenceOptions {
  /// Threads to use; 0 takes the processors this process may run on.
  unsigned threads = 0;
  /// Above so many multiply-adds and elements, random rows are evaluated.
  int64_t sampleAbove = int64_t(1) << 27;
  /// Draws those rows.
  uint64_t seed = 0;
  /// Whether a reduction gives the same bits wherever its formula stands, as on
  /// a CPU: a score is its row's maximum then, where no other is near.
  bool reductionsAgree = false;
};

/// One output of the reference, for all elements in row-major order or, if
/// sampled, for those at `positions`.
struct ReferenceOutput {
  std::string name;
  ElementType type;
  std::vector<int64_t> sizes;
  /// The row-major numbers of the elements evaluated; empty if all are.
  std::vector<int64_t> positions;
  bool sampled = false;
  /// The exact formula. An integer or bool output as a number.
  std::vector<double> values;
  /// e of DESIGN section 3, before the factor 2 and the output's own rounding;
  /// infinite for an element that is taken out of the comparison.
  std::vector<double> bounds;
  /// The formula with only the computed factors of products and the output
  /// rounded: what the norm criterion measures against.
  std::vector<double> rounded;
  /// ||e|| with the factors of products counted as exact: what f32 alone may
  /// lose. Computed where the norm criterion applies, else 0.
  double arithmeticNorm = 0;
  /// The inputs' rows are all the same, and so are their rounding errors.
  bool rowsAreAlike = false;

  /// Whether the norm criterion applies: 16 bits, 64 rows, 4096 elements, and
  /// errors of more than one row.
  bool takesNormCriterion() const;

  /// Whether nothing can be told of an element: nor can it of a truth that may
  /// be the other.
  bool isExcluded(size_t i) const {
    return !(bounds[i] < (type == ElementType::Bool ? 1 : INFINITY));
  }
  int64_t positionOf(size_t i) const {
    return sampled ? positions[i] : static_cast<int64_t>(i);
  }
};

struct ReferenceResult {
  std::vector<ReferenceOutput> outputs; // in the order of getOutArgs()
  bool sampled = false;                 // by ReferenceOptions::seed
  /// Rows of softmaxes and logsumexps that have terms and see none of them,
  /// each as often as it was evaluated.
  int64_t emptyRows = 0;
};

/// Evaluates `kernel` on `ins` (every scalar with data) at `sizes`. Errors:
/// an operation that is not of the attn level, or sizes whose values do not
/// fit in memory.
llvm::Expected<ReferenceResult> evaluate(attn::KernelOp kernel,
                                         llvm::ArrayRef<HostTensor> ins,
                                         llvm::ArrayRef<int64_t> sizes,
                                         const ReferenceOptions &options = {});

/// Whether `evaluate` takes seconds and some hundred megabytes at most: its
/// arrays have 2^24 elements or fewer.
bool isQuicklyEvaluated(attn::KernelOp kernel, llvm::ArrayRef<int64_t> sizes);

/// How an output of a kernel compares with the reference.
struct Comparison {
  std::string name;
  ElementType type;
  int64_t elements = 0; // compared or taken out
  int64_t excluded = 0; // taken out
  int64_t failed = 0;
  /// |out - ref| / (2 e + half a unit of the output), at worst.
  double worstRatio = 0;
  /// ||out - ref||, ||ref||, and ||rounded - ref||, over finite elements.
  double errorNorm = 0, norm = 0, roundedNorm = 0;
  bool normApplies = false;  ///< ReferenceOutput::takesNormCriterion
  double arithmeticNorm = 0; ///< of the reference
  /// The first element that failed.
  std::vector<int64_t> index;
  double got = 0, expected = 0, allowed = 0;

  /// ||out - ref|| <= 1.5 ||rounded - ref||, with what f32 alone may lose added
  /// in squares: it is more than all rounding to 16 bits where scores reach
  /// 10^4.
  bool normHolds() const {
    return !normApplies ||
           errorNorm <= std::hypot(1.5 * roundedNorm, arithmeticNorm);
  }
  bool passed() const { return failed == 0 && normHolds(); }
};

/// Compares a kernel's output, of the reference's sizes and type.
Comparison compare(const ReferenceOutput &reference, const HostTensor &got);

/// One line: what failed first, or the worst ratio and the relative error.
void print(llvm::raw_ostream &os, const Comparison &comparison);

} // namespace attentile

#endif
