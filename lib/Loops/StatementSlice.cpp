//===- StatementSlice.cpp - what a statement computes itself --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StatementSlice.h"
#include "WholeAxes.h"

using namespace mlir;

namespace attentile {

void forEachOwn(const Statement &statement,
                llvm::function_ref<void(Operation *)> callback) {
  for (Operation *op : statement.slice)
    if (llvm::none_of(op->getResults(), [&](Value result) {
          return statement.cuts.contains(result);
        }))
      callback(op);
}

void forEachReduction(const Statement &statement,
                      llvm::function_ref<void(attn::ReduceOp)> callback) {
  forEachOwn(statement, [&](Operation *op) {
    op->walk([&](attn::ReduceOp reduction) { callback(reduction); });
  });
}

void forEachLoop(const Statement &statement,
                 llvm::function_ref<void(attn::ForOp)> callback) {
  forEachOwn(statement, [&](Operation *op) {
    if (auto loop = dyn_cast<attn::ForOp>(op))
      callback(loop);
  });
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

/// The axis of a loop over tiles, as a set; none for other operations.
static attn::Axes ownLoop(Operation *op, attn::AxesAnalysis &axes) {
  auto loop = dyn_cast<attn::ForOp>(op);
  return axes.setOf(loop ? ValueRange(loop.getAxis()) : ValueRange());
}

/// Fills `slice` and `cuts` in one walk up from the statement's roots, users
/// before operands. `underLoop` are the axes over whose tiles the statement's
/// write loops; what `isApart` says is cut.
static void walkSlice(Statement &statement, const KnownAxes &known,
                      const attn::Axes &underLoop,
                      llvm::function_ref<bool(Operation *)> isApart) {
  attn::KernelOp kernel = known.kernel;
  attn::AxesAnalysis &axes = known.axes;
  // The axes of the loops that an operation stands under, on any way to it.
  llvm::DenseMap<Operation *, attn::Axes> loops;
  llvm::DenseSet<Value> reached;
  auto reach = [&](Value value, const attn::Axes &from) {
    Operation *op = value.getDefiningOp();
    reached.insert(value);
    if (!op || op->getBlock() != &kernel.getHeadBlock() ||
        isa<attn::WorkspaceOp>(op))
      return;
    auto [entry, isNew] = loops.try_emplace(op, from);
    if (!isNew)
      entry->second |= from;
  };
  statement.slice.clear();
  statement.cuts.clear();
  reach(statement.value, underLoop);
  for (Value index : statement.indices)
    reach(index, underLoop);
  for (Operation &op : llvm::reverse(kernel.getHeadBlock())) {
    auto found = loops.find(&op);
    if (found == loops.end())
      continue;
    attn::Axes under = found->second;
    statement.slice.push_back(&op);
    bool own = llvm::is_contained(op.getResults(), statement.value);
    attn::Axes bound = ownLoop(&op, axes);
    if (auto reduction = dyn_cast<attn::ReduceOp>(op))
      bound = axes.setOf(reduction.getAxes());
    bool isCut = isApart(&op) || isMaterialized(&op, axes);
    bound.reset(known.whole);
    isCut |= bound.any() && under.anyCommon(axes.ofAny(op.getResults()));
    if (!own && isCut) {
      for (Value result : op.getResults())
        if (reached.contains(result))
          statement.cuts.insert(result);
      continue;
    }
    under |= bound;
    if (auto loop = dyn_cast<attn::ForOp>(op))
      loop.forEachUsed([&](Value used) { reach(used, under); });
    else
      for (Value operand : op.getOperands())
        reach(operand, under);
  }
  std::reverse(statement.slice.begin(), statement.slice.end());
}

bool isLoopOver(Operation *op, const attn::Axes &of, attn::AxesAnalysis &axes) {
  auto reduction = dyn_cast<attn::ReduceOp>(op);
  return (reduction ? axes.setOf(reduction.getAxes()) : ownLoop(op, axes))
      .anyCommon(of);
}

attn::Axes loopAxes(const Statement &statement, attn::AxesAnalysis &axes,
                    const attn::Axes &whole) {
  attn::Axes loops = axes.setOf({});
  forEachReduction(statement, [&](attn::ReduceOp reduction) {
    loops |= axes.setOf(reduction.getAxes());
  });
  forEachLoop(statement,
              [&](attn::ForOp loop) { loops |= axes.setOf(loop.getAxis()); });
  return loops.reset(whole);
}

LogicalResult addReducedInTiles(const Statement &statement,
                                const KnownAxes &known, attn::Axes &whole) {
  attn::AxesAnalysis &axes = known.axes;
  attn::Axes loops = axes.setOf({});
  SmallVector<attn::ReduceOp> reductions;
  forEachLoop(statement, [&](attn::ForOp loop) {
    loops |= axes.setOf(loop.getAxis());
    loop.walk([&](attn::ReduceOp op) { reductions.push_back(op); });
  });
  for (attn::ReduceOp reduction : reductions) {
    const attn::Axes others = axes.setOf(reduction.getAxes()).reset(loops);
    for (BlockArgument axis : axes.indicesOf(others)) {
      attn::KernelOp kernel = known.kernel;
      std::optional<int64_t> extent = getConstantExtent(kernel, axis);
      if (!extent || *extent > maxWholeExtent) { // [L5.8]
        InFlightDiagnostic error =
            reduction.emitError("expected what is reduced within a loop over "
                                "tiles to have a known size of at most ")
            << maxWholeExtent << ", got axis '" << kernel.nameOf(axis) << "'";
        if (extent)
          error << " of " << *extent;
        error.attachNote() << "steps that are written out, each as a let, "
                              "reduce over any axis";
        return error;
      }
      whole.set(axes.numberOf(axis));
    }
  }
  return success();
}

void sliceStatement(Statement &statement, const KnownAxes &known,
                    llvm::function_ref<bool(Operation *)> isApart) {
  attn::AxesAnalysis &axes = known.axes;
  const attn::Axes left = axes.ofAny(statement.indices);
  auto reduction = statement.value.getDefiningOp<attn::ReduceOp>();
  const bool isLoop =
      statement.value.getDefiningOp<attn::ForOp>() ||
      (reduction && axes.setOf(reduction.getAxes()).reset(known.whole).any());
  attn::Axes written = axes.setOf({}), noLoop = written;
  // Again, as what is cut may leave another way to a loop beneath it.
  while (true) {
    walkSlice(statement, known, written, [&](Operation *op) {
      return isApart(op) || isLoopOver(op, noLoop, axes);
    });
    // P[m, n] = softmax[n](s) writes in a loop over n, so what depends on n may
    // not be a loop itself.
    attn::Axes found = loopAxes(statement, axes, known.whole);
    found &= left;
    found.reset(written).reset(noLoop);
    if (found.none())
      return;
    // The value itself may be such a loop: Y[m] = sum[n](x[n, m] * max[m](z)),
    // or what a loop over tiles of n leaves. Then it is the axis's other use
    // that goes to workspace.
    attn::Axes both = found;
    both &= isLoop ? axes.of(statement.value) : axes.setOf({});
    noLoop |= both;
    written |= found.reset(both);
  }
}

} // namespace attentile
