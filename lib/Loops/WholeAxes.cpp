//===- WholeAxes.cpp - axes that stand whole in a tile --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WholeAxes.h"

using namespace mlir;

namespace attentile {

std::optional<int64_t> getConstantExtent(attn::KernelOp kernel,
                                         BlockArgument index) {
  auto constant =
      dyn_cast<AffineConstantExpr>(kernel.getExtent(index).getResult(0));
  if (!constant)
    return std::nullopt;
  return constant.getValue();
}

namespace {

/// Which reductions of a kernel stand in the bodies of which.
struct Nesting {
  explicit Nesting(attn::KernelOp kernel, attn::AxesAnalysis &axes)
      : loopAxes(axes.setOf({})) {
    kernel.walk([&](attn::ReduceOp op) {
      numbers[op] = reductions.size();
      reductions.push_back(op);
      bound.push_back(axes.setOf(op.getAxes()));
    });
    within.resize(reductions.size());
    llvm::DenseMap<Value, llvm::SmallBitVector> reached;
    for (Operation &op : kernel.getBody().front()) {
      llvm::SmallBitVector own(reductions.size());
      auto loop = dyn_cast<attn::ForOp>(op);
      if (!loop) {
        visit(&op, reached);
        continue;
      }
      loopAxes |= axes.setOf(loop.getAxis());
      // What a loop carries is made of all that its tiles reduce.
      loop.forEachUsed([&](Value used) { own |= reached[used]; });
      loop.walk([&](attn::ReduceOp inner) { own.set(numbers[inner]); });
      for (Value value : loop.getBody().getArguments())
        reached[value] = own;
      for (Value value : loop.getResults())
        reached[value] = own;
      for (Operation &inner : loop.getBody().front().without_terminator())
        visit(&inner, reached);
    }
  }

  void visit(Operation *op,
             llvm::DenseMap<Value, llvm::SmallBitVector> &reached) {
    llvm::SmallBitVector own(reductions.size());
    for (Value operand : op->getOperands())
      own |= reached[operand];
    if (auto reduction = dyn_cast<attn::ReduceOp>(op)) {
      unsigned number = numbers[reduction];
      within[number] = own;
      own.set(number);
    }
    for (Value result : op->getResults())
      reached[result] = own;
  }

  /// Whether reduction `i` stands inside one that binds an axis it does not.
  bool isInsideAnother(unsigned i) const {
    for (unsigned outer = 0; outer < reductions.size(); ++outer)
      if (within[outer].test(i) && bound[outer].test(bound[i]))
        return true;
    return false;
  }

  /// Whether the reductions over `axis` that stand inside another, over another
  /// axis, stand in sums alone, over axes of `known` extent: an axis of any
  /// length can then be a loop, whose sums go through workspace (the state of
  /// linear attention).
  bool isLoopOfState(unsigned axis, const attn::Axes &known) const {
    if (loopAxes.any())
      return false;
    for (unsigned i = 0; i < reductions.size(); ++i)
      for (unsigned outer = 0; outer < reductions.size(); ++outer) {
        bool isOther = bound[i].test(axis) && within[outer].test(i) &&
                       bound[outer].test(bound[i]);
        attn::ReduceOp sum = reductions[outer];
        if (isOther && (sum.getKind() != attn::ReduceKind::Sum ||
                        bound[outer].test(known)))
          return false;
      }
    return true;
  }

  /// Whether `axis` is summed inside scores and nothing else.
  bool isInnermost(unsigned axis) const {
    bool inside = false;
    if (loopAxes.test(axis))
      return false;
    for (unsigned i = 0; i < reductions.size(); ++i) {
      if (!bound[i].test(axis))
        continue;
      for (unsigned inner : within[i].set_bits())
        if (bound[inner].count() != 1 || !bound[inner].test(axis))
          return false;
      bool isInside = isInsideAnother(i);
      if (!isInside && within[i].any())
        return false;
      inside |= isInside;
    }
    return inside;
  }

  SmallVector<attn::ReduceOp> reductions;
  llvm::DenseMap<Operation *, unsigned> numbers;
  attn::Axes loopAxes; // of loops over tiles
  SmallVector<attn::Axes> bound;
  SmallVector<llvm::SmallBitVector> within; // the reductions in each one's body
};

} // namespace

FailureOr<attn::Axes> findWholeAxes(attn::KernelOp kernel,
                                    attn::AxesAnalysis &axes) {
  Nesting nesting(kernel, axes);
  attn::Axes whole(kernel.getIndexNames().size()), known = whole;
  for (auto [number, index] : llvm::enumerate(kernel.getIndexArgs()))
    if (getConstantExtent(kernel, index))
      known.set(number);
  for (auto [number, index] : llvm::enumerate(kernel.getIndexArgs())) {
    if (!nesting.isInnermost(number))
      continue;
    std::optional<int64_t> extent = getConstantExtent(kernel, index);
    if (extent && *extent <= maxWholeExtent)
      whole.set(number);
    if (extent || nesting.isLoopOfState(number, known))
      continue;
    for (auto [i, reduction] : llvm::enumerate(nesting.reductions))
      if (reduction.getProduct() && nesting.isInsideAnother(i) &&
          llvm::is_contained(reduction.getAxes(), index))
        return reduction.emitError("expected the size of axis '")
               << kernel.nameOf(index)
               << "' to be known: it is summed inside a score";
  }
  return whole;
}

} // namespace attentile
