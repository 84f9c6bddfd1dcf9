//===- Program.cpp - an attn.kernel as lists of steps ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attentile::attn;

namespace attentile::reference {

/// The operations that a statement's values come from.
static llvm::SetVector<Operation *> coneOf(WriteOp write) {
  llvm::SetVector<Operation *> cone;
  SmallVector<Operation *> stack{write};
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val();
    auto use = [&](Value operand) {
      if (Operation *producer = operand.getDefiningOp())
        if (cone.insert(producer))
          stack.push_back(producer);
    };
    auto loop = dyn_cast<ForOp>(op);
    if (!loop) {
      llvm::for_each(op->getOperands(), use);
      continue;
    }
    loop.forEachUsed(use);
    for (Operation &inner : loop.getBody().front())
      cone.insert(&inner);
  }
  return cone;
}

/// Elements of an array above which its axes are split, some megabytes, and
/// what is left of the largest at least: a point of outer axes has its cost.
static constexpr double kLargeArray = 1 << 18, kSmallArray = 16;

/// The axes that a reduction of `op`, or its loop, binds.
static Axes boundBy(Operation *op, AxesAnalysis &axes) {
  if (auto loop = dyn_cast<ForOp>(op))
    return axes.setOf(loop.getAxis());
  return axes.setOf(boundAxes(op));
}

/// See the head of Program.h.
static Axes outerAxesOf(WriteOp write, AxesAnalysis &axes) {
  Axes left = axes.ofAny(write->getOperands());
  SmallVector<Axes> reductions;
  Axes bound(left.size()), ends(left.size());
  for (Operation *op : coneOf(write)) {
    bound |= boundBy(op, axes);
    if (auto loop = dyn_cast<ForOp>(op))
      ends |= axes.ofAny({loop.getLower(), loop.getUpper()});
    if (isReduction(op))
      reductions.push_back(axes.of(op->getResult(0)));
  }
  Axes outer = left;
  for (const Axes &own : reductions) {
    bool large = llvm::none_of(reductions, [&](const Axes &other) {
      return own != other && !own.test(other);
    });
    if (large)
      outer &= own;
  }
  outer |= ends;
  outer.reset(bound);
  // Without a reduction the last axis is the array.
  if (reductions.empty() && left.any())
    outer.reset(left.find_last());
  return outer;
}

/// Whether the operation is a sum's product, whose terms are added as they are
/// made.
static bool isAddedUp(Operation *op) {
  return isa<arith::MulFOp>(op) &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           auto reduce = dyn_cast<ReduceOp>(user);
           return reduce && reduce.getKind() == ReduceKind::Sum;
         });
}

namespace {

/// What some statements make together at given sizes.
class Arrays {
public:
  Arrays(ArrayRef<WriteOp> writes, KernelOp kernel, ArrayRef<int64_t> sizes,
         AxesAnalysis &axes);

  /// Makes further axes outer ones while an array has too many elements, first
  /// those that leave the fewest: keys that are sums of their own have no
  /// query, so that queries are none of outerAxesOf's.
  void splitLarge(Axes &outer) const;
  /// The elements of the largest array, and of all.
  std::pair<double, double> measure(const Axes &outer) const;

private:
  Axes candidates; // axes that may be outer ones
  SmallVector<Axes> arrays;
  SmallVector<double> extents;
};

} // namespace

Arrays::Arrays(ArrayRef<WriteOp> writes, KernelOp kernel,
               ArrayRef<int64_t> sizes, AxesAnalysis &axes)
    : candidates(axes.setOf({}).flip()) {
  llvm::SetVector<Operation *> all;
  for (WriteOp write : writes) {
    candidates &= axes.ofAny(write->getOperands());
    all.insert_range(coneOf(write));
  }
  for (Operation *op : all) {
    candidates.reset(boundBy(op, axes));
    if (!isAddedUp(op))
      for (Value result : op->getResults())
        arrays.push_back(axes.of(result));
  }
  for (BlockArgument index : kernel.getIndexArgs())
    extents.push_back(evaluateShape(kernel.getExtent(index), sizes).front());
}

std::pair<double, double> Arrays::measure(const Axes &outer) const {
  std::pair<double, double> largestAndAll;
  for (const Axes &array : arrays) {
    double count = 1;
    for (unsigned axis : array.set_bits())
      count *= outer.test(axis) ? 1 : extents[axis];
    largestAndAll.first = std::max(largestAndAll.first, count);
    largestAndAll.second += count;
  }
  return largestAndAll;
}

void Arrays::splitLarge(Axes &outer) const {
  while (measure(outer).first > kLargeArray) {
    Axes best = outer;
    for (unsigned axis : candidates.set_bits()) {
      Axes more = outer;
      more.set(axis);
      auto [largest, all] = measure(more);
      if (largest >= kSmallArray && all < measure(best).second)
        best = more;
    }
    if (best == outer)
      return;
    outer = best;
  }
}

/// Statements of the same outer axes.
static SmallVector<std::pair<Axes, SmallVector<WriteOp>>>
groupWrites(KernelOp kernel, AxesAnalysis &axes) {
  SmallVector<std::pair<Axes, SmallVector<WriteOp>>> groups;
  for (Operation &op : kernel.getHeadBlock()) {
    auto write = dyn_cast<WriteOp>(op);
    if (!write)
      continue;
    Axes outer = outerAxesOf(write, axes);
    auto *group = llvm::find_if(
        groups, [&](auto &candidate) { return candidate.first == outer; });
    if (group == groups.end()) {
      groups.push_back({outer, {}});
      group = &groups.back();
    }
    group->second.push_back(write);
  }
  return groups;
}

/// Why a kernel is none that is evaluated.
static llvm::Error checkLevel(KernelOp kernel) {
  for (Operation &op : kernel.getHeadBlock())
    if (isa<GridOp, WorkspaceOp>(op))
      return llvm::createStringError(
          "expected a kernel without grids, got one after attn-form-grids");
  return llvm::Error::success();
}

llvm::Expected<std::vector<Program>> buildPrograms(const Inputs &inputs) {
  KernelOp kernel = inputs.kernel;
  if (llvm::Error error = checkLevel(kernel))
    return std::move(error);
  AxesAnalysis axes(kernel);
  std::vector<Program> programs;
  for (auto &[outer, writes] : groupWrites(kernel, axes)) {
    Arrays(writes, kernel, inputs.sizes, axes).splitLarge(outer);
    Builder builder(inputs, axes, outer);
    for (WriteOp write : writes)
      builder.addWrite(write);
    if (!builder.error.empty())
      return llvm::createStringError(builder.error);
    programs.push_back(builder.finish());
  }
  return programs;
}

llvm::Expected<Program> buildScalarProgram(const Inputs &inputs, Value value) {
  if (llvm::Error error = checkLevel(inputs.kernel))
    return std::move(error);
  AxesAnalysis axes(inputs.kernel);
  Builder builder(inputs, axes, Axes(inputs.kernel.getIndexNames().size()));
  builder.add(value);
  if (!builder.error.empty())
    return llvm::createStringError(builder.error);
  return builder.finish();
}

double countLargestArray(KernelOp kernel, ArrayRef<int64_t> sizes) {
  AxesAnalysis axes(kernel);
  double largest = 0;
  for (auto &[outer, writes] : groupWrites(kernel, axes)) {
    Arrays arrays(writes, kernel, sizes, axes);
    arrays.splitLarge(outer);
    largest = std::max(largest, arrays.measure(outer).first);
  }
  return largest;
}

} // namespace attentile::reference
