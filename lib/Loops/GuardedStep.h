//===- GuardedStep.h - what a loop does with its references -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a fused loop in four parts, for a guard:
//
//   scores    what no running maximum enters: loads, products, masks
//   step      what depends on one: maxima, exponentials, row sums, rescaling
//   products  of exponentials, with an accumulator
//   rest      what depends on those
//
// Only the step comes in two forms, with stale and with new references; all it
// may hold is element by element or a reduction along the loop's axis.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_GUARDEDSTEP_H
#define ATTENTILE_LIB_LOOPS_GUARDEDSTEP_H

#include "Tile/Tile.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {

/// A running maximum that a loop carries as a softmax's reference.
struct RunningMaximum {
  mlir::scf::ForOp loop;
  unsigned index;
  mlir::arith::MaxNumFOp next;
  tile::ReduceOp reduce;

  mlir::Value carried() { return loop.getRegionIterArg(index); }
  mlir::Value result() { return loop.getResult(index); }
};

/// The running maximum that a loop carries at `index`, if it carries one that
/// is a softmax's reference.
std::optional<RunningMaximum> matchMaximum(mlir::scf::ForOp loop,
                                           unsigned index);

/// What a guard must know of one reference.
struct GuardedReference {
  RunningMaximum maximum;
  /// The tile's sum of exp(a - reference), over the loop's axis.
  mlir::Value tileSum;
  /// exp(old maximum - new reference).
  mlir::Value rescale;
  /// What decides on its exponents' factor; or null.
  mlir::arith::CmpFOp isFar;
};

class GuardedStep {
public:
  /// Reads the loop's body. On failure `reason` says what is in the way; it is
  /// empty for a loop without a softmax.
  mlir::LogicalResult analyze(mlir::scf::ForOp loop);

  std::string reason;
  llvm::SmallVector<GuardedReference, 2> references;
  /// Operations of the step, of products and the rest, in order.
  llvm::SetVector<mlir::Operation *> step, products;
  /// Powers of exp(old maximum - new reference): 1 with a stale reference.
  llvm::DenseSet<mlir::Value> rescales;
  /// Exponentials multiplied with each other in the factors of products in f16
  /// and elsewhere, at most.
  double narrowPower = 0, widePower = 1;

private:
  mlir::LogicalResult fail(const llvm::Twine &why) {
    reason = why.str();
    return mlir::failure();
  }
  using ValueSet = llvm::SmallPtrSetImpl<mlir::Value>;

  mlir::LogicalResult followRescaling(GuardedReference &reference,
                                      ValueSet &seen);
  mlir::LogicalResult findTileSum(GuardedReference &reference);
  bool isOnlyReference(mlir::Value maximum, ValueSet &seen);
  mlir::LogicalResult split();
  mlir::LogicalResult measurePowers();

  mlir::scf::ForOp loop;
};

} // namespace attentile

#endif
