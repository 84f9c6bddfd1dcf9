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

unsigned AxesAnalysis::numberOf(Value index) const {
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
