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

/// See the head of Program.h.
static Axes outerAxesOf(WriteOp write, AxesAnalysis &axes) {
  Axes left = axes.ofAny(write->getOperands());
  SmallVector<Axes> reductions;
  Axes bound(left.size()), ends(left.size());
  for (Operation *op : coneOf(write)) {
    if (auto loop = dyn_cast<ForOp>(op)) {
      bound |= axes.setOf(loop.getAxis());
      ends |= axes.ofAny({loop.getLower(), loop.getUpper()});
    }
    if (!isReduction(op))
      continue;
    reductions.push_back(axes.of(op->getResult(0)));
    bound |= axes.setOf(boundAxes(op));
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
  std::vector<Program> programs;
  for (auto &[outer, writes] : groups) {
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

} // namespace attentile::reference
