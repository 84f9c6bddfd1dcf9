//===- VerifyBarriers.cpp - barriers that all warps reach -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: fails if a barrier of the block stands in a branch that warps may take
// differently: a GPU would wait for ever, or go on too early. Expects: barriers
// as they are to run. Leaves: everything as it is. Does not handle: loops,
// whose warps take as many turns as each other; warps that share rows
// (--split=k), which exchange what they vote on and so decide alike.
//
//===----------------------------------------------------------------------===//
//
// What a warp decides for its rows is made of their elements, and so of
// `warp.warp_id`, by way of the indices of a load. What is not made of it is
// the same in all warps, votes on columns among it.
//

#include "Warp/Warp.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {
#define GEN_PASS_DEF_WARPVERIFYBARRIERS
#include "Mapping/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Whether a value is made of the warp's number.
bool isOfWarp(Value value) {
  llvm::SetVector<Value> parts;
  parts.insert(value);
  for (size_t i = 0; i < parts.size(); ++i) {
    Value part = parts[i];
    if (auto argument = dyn_cast<BlockArgument>(part)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop) // a program's coordinate or argument
        continue;
      if (OpOperand *init = loop.getTiedLoopInit(argument)) {
        parts.insert(init->get());
        parts.insert(loop.getTiedLoopYieldedValue(argument)->get());
      } else {
        parts.insert(loop.getLowerBound());
        parts.insert(loop.getStep());
      }
      continue;
    }
    Operation *op = part.getDefiningOp();
    if (isa<warp::WarpIdOp>(op))
      return true;
    parts.insert_range(op->getOperands());
    unsigned number = cast<OpResult>(part).getResultNumber();
    if (auto branch = dyn_cast<scf::IfOp>(op))
      for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
        parts.insert(yield.getOperand(number));
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      parts.insert(loop.getYieldedValues()[number]);
  }
  return false;
}

struct WarpVerifyBarriers : impl::WarpVerifyBarriersBase<WarpVerifyBarriers> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](warp::BarrierOp barrier) {
      auto kernel = barrier->getParentOfType<warp::KernelOp>();
      if (kernel.getWarps() == 1)
        return WalkResult::advance();
      for (auto branch = barrier->getParentOfType<scf::IfOp>(); branch;
           branch = branch->getParentOfType<scf::IfOp>()) {
        if (!isOfWarp(branch.getCondition()))
          continue;
        // Barriers have no place in the source.
        mlir::emitError(branch.getLoc())
            << "expected barriers that all warps reach, got one in a branch "
               "that each of them takes for itself";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace attentile
