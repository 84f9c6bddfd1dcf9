//===- WholeAxes.cpp - axes that stand whole in a tile --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WholeAxes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

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

attn::WorkspaceOp createWorkspace(OpBuilder &builder, Location loc,
                                  attn::KernelOp kernel, ValueRange axes,
                                  Type element, StringRef name) {
  llvm::StringSet<> taken;
  for (auto made : kernel.getHeadBlock().getOps<attn::WorkspaceOp>())
    taken.insert(made.getName());
  std::string own = name.str();
  for (unsigned i = 1; taken.contains(own); ++i)
    own = name.str() + "_" + std::to_string(i);
  SmallVector<AffineExpr> extents;
  SmallVector<int64_t> dims;
  for (Value axis : axes) {
    auto index = cast<BlockArgument>(axis);
    extents.push_back(kernel.getExtent(index).getResult(0));
    dims.push_back(
        getConstantExtent(kernel, index).value_or(ShapedType::kDynamic));
  }
  auto shape = AffineMap::get(0, kernel.getSizeNames().size(), extents,
                              kernel.getContext());
  return attn::WorkspaceOp::create(
      builder, loc, RankedTensorType::get(dims, element), own, shape);
}

bool isMaterialized(Operation *op, attn::AxesAnalysis &axes) {
  return isa<attn::MaterializeOp>(op) && axes.of(op->getResult(0)).any();
}

bool readsPlainly(attn::ReadOp read, attn::AxesAnalysis &axes) {
  return llvm::all_of(read.getIndices(),
                      [&](Value index) { return axes.of(index).count() <= 1; });
}

namespace {

/// Which reductions of a kernel stand in the bodies of which.
struct Nesting {
  explicit Nesting(attn::KernelOp kernel, attn::AxesAnalysis &axes)
      : axes(axes), loopAxes(axes.setOf({})) {
    kernel.walk([&](attn::ReduceOp op) {
      numbers[op] = reductions.size();
      reductions.push_back(op);
      bound.push_back(axes.setOf(op.getAxes()));
      lacked.push_back(axes.setOf({}));
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
    // What is written and read again: nothing in it stands in what reads it.
    auto write = dyn_cast<attn::WriteOp>(op);
    if (write || isMaterialized(op, axes)) {
      const attn::Axes left =
          write ? axes.ofAny(write.getIndices()) : axes.of(op->getResult(0));
      for (unsigned i : own.set_bits())
        lacked[i] |= attn::Axes(left).reset(axes.of(reductions[i]));
      own.reset();
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
  /// axis, may be loops of their own, through workspace: the state of linear
  /// attention, `n` of `sum[d](q[m, d] * sum[n](k[n, d] * v[n, e]))`. They
  /// stand in sums alone, over axes of known size, and either are of unknown
  /// size themselves or lack an axis of what is written that is of unknown
  /// size: it would have to be a head size. Where it is long they are better
  /// done once.
  bool isLoopOfState(unsigned axis, const attn::Axes &known,
                     const attn::Axes &small) const {
    if (loopAxes.any())
      return false;
    for (unsigned i = 0; i < reductions.size(); ++i) {
      if (!bound[i].test(axis) || !isInsideAnother(i))
        continue;
      bool isAmongSmall = true;
      for (unsigned outer = 0; outer < reductions.size(); ++outer) {
        attn::ReduceOp sum = reductions[outer];
        if (!within[outer].test(i) || !bound[outer].test(bound[i]))
          continue;
        if (sum.getKind() != attn::ReduceKind::Sum || bound[outer].test(known))
          return false;
        isAmongSmall &= !bound[outer].test(small);
      }
      if (known.test(axis) && !lacked[i].test(known) &&
          !(isAmongSmall && lacked[i].test(small)))
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

  attn::AxesAnalysis &axes;
  SmallVector<attn::ReduceOp> reductions;
  llvm::DenseMap<Operation *, unsigned> numbers;
  attn::Axes loopAxes; // of loops over tiles
  SmallVector<attn::Axes> bound;
  SmallVector<attn::Axes> lacked; // of what is written that has each in it
  SmallVector<llvm::SmallBitVector> within; // the reductions in each one's body
};

} // namespace

attn::Axes findWholeAxes(attn::KernelOp kernel, attn::AxesAnalysis &axes) {
  Nesting nesting(kernel, axes);
  attn::Axes whole = axes.setOf({}), known = whole, small = whole;
  for (auto [number, index] : llvm::enumerate(kernel.getIndexArgs()))
    if (std::optional<int64_t> extent = getConstantExtent(kernel, index)) {
      known.set(number);
      if (*extent <= maxWholeExtent)
        small.set(number);
    }
  for (unsigned number = 0; number < small.size(); ++number)
    if (small.test(number) && nesting.isInnermost(number) &&
        !nesting.isLoopOfState(number, known, small))
      whole.set(number);
  return whole;
}

} // namespace attentile
