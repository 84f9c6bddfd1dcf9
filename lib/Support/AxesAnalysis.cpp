//===- AxesAnalysis.cpp - the axes of a value -----------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/AxesAnalysis.h"

using namespace mlir;

namespace attentile::attn {

AxesAnalysis::AxesAnalysis(Operation *op)
    : kernel(cast<KernelOp>(op)), count(kernel.getIndexNames().size()) {
  firstIndex = kernel.getHeadBlock().getNumArguments() - count;
}

/// The loop over tiles that an argument belongs to, or null.
static ForOp loopOf(BlockArgument argument) {
  return dyn_cast<ForOp>(argument.getOwner()->getParentOp());
}

unsigned AxesAnalysis::numberOf(Value index) const {
  if (ForOp loop = loopOf(cast<BlockArgument>(index)))
    index = loop.getAxis();
  return cast<BlockArgument>(index).getArgNumber() - firstIndex;
}

Axes AxesAnalysis::setOf(ValueRange indices) const {
  Axes set(count);
  for (Value index : indices)
    set.set(numberOf(index));
  return set;
}

/// The axes that an operation binds: those its result lacks.
static ValueRange boundAxes(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getAxes();
  if (auto logsumexp = dyn_cast<LogSumExpOp>(op))
    return logsumexp.getAxes();
  return {};
}

/// What a loop carries has the axes of its start and its next, which may have
/// those of all that is carried: the least that agree. Axes only grow, and
/// there are finitely many.
void AxesAnalysis::addLoop(ForOp loop) {
  Axes bounds = of(loop.getLower());
  bounds |= of(loop.getUpper());
  SmallVector<Axes> carried;
  for (Value start : loop.getStarts())
    carried.emplace_back(of(start)) |= bounds;
  llvm::DenseMap<Value, Axes> inside;
  auto lookup = [&](Value value) -> const Axes & {
    auto found = inside.find(value);
    return found == inside.end() ? of(value) : found->second;
  };
  for (bool changed = true; changed;) {
    changed = false;
    inside[loop.getTileIndex()] = setOf(loop.getAxis());
    for (auto [argument, own] : llvm::zip_equal(loop.getCarried(), carried))
      inside[argument] = own;
    for (Operation &op : loop.getBody().front().without_terminator()) {
      Axes own(count);
      for (Value operand : op.getOperands())
        own |= lookup(operand);
      own.reset(setOf(boundAxes(&op)));
      for (Value result : op.getResults())
        inside[result] = own;
    }
    for (auto [own, next] : llvm::zip_equal(carried, loop.getNexts())) {
      Axes grown = lookup(next);
      grown.reset(setOf(loop.getAxis()));
      changed |= grown.test(own);
      own |= grown;
    }
  }
  for (auto &[value, own] : inside)
    axes.try_emplace(value, own);
  for (auto [result, own] : llvm::zip_equal(loop.getResults(), carried))
    axes.try_emplace(result, own);
}

const Axes &AxesAnalysis::of(Value value) {
  // Chains of operations are long (a mask of a thousand terms), so no
  // recursion: a value waits on the stack until its operands are known.
  SmallVector<Value> stack{value};
  while (!stack.empty()) {
    Value top = stack.back();
    if (axes.contains(top)) {
      stack.pop_back();
      continue;
    }
    auto loop = top.getDefiningOp<ForOp>();
    // A value of a loop's body is found with the loop.
    if (Operation *parent = top.getParentRegion()->getParentOp(); !loop)
      loop = dyn_cast<ForOp>(parent);
    if (loop) {
      size_t waiting = stack.size();
      loop.forEachUsed([&](Value used) {
        if (!axes.contains(used))
          stack.push_back(used);
      });
      if (stack.size() == waiting)
        addLoop(loop);
      continue;
    }
    if (auto argument = dyn_cast<BlockArgument>(top)) {
      Axes own(count);
      if (argument.getOwner() == &kernel.getHeadBlock() &&
          argument.getArgNumber() >= firstIndex)
        own.set(argument.getArgNumber() - firstIndex);
      axes.try_emplace(top, std::move(own));
      continue;
    }
    Operation *op = top.getDefiningOp();
    size_t waiting = stack.size();
    for (Value operand : op->getOperands())
      if (!axes.contains(operand))
        stack.push_back(operand);
    if (stack.size() != waiting)
      continue;
    ValueRange bound = boundAxes(op);
    Axes own(count);
    // The axes of a reduction are operands too, and bound with the rest.
    for (Value operand : op->getOperands())
      own |= axes.find(operand)->second;
    own.reset(setOf(bound));
    axes.try_emplace(top, std::move(own));
  }
  return axes.find(value)->second;
}

Axes AxesAnalysis::ofAny(ValueRange values) {
  Axes set(count);
  for (Value value : values)
    set |= of(value);
  return set;
}

bool AxesAnalysis::dependsOn(Value value, BlockArgument index) {
  return of(value).test(numberOf(index));
}

SmallVector<BlockArgument> AxesAnalysis::indicesOf(const Axes &set) {
  SmallVector<BlockArgument> indices;
  for (unsigned i : set.set_bits())
    indices.push_back(kernel.getIndexArgs()[i]);
  return indices;
}

} // namespace attentile::attn
