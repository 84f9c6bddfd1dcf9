//===- ArithmeticSlice.cpp - what an operation needs of its block ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArithmeticSlice.h"
#include "Warp/Warp.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attentile {

bool collectArithmetic(Operation *op,
                       llvm::SetVector<Operation *> &slice) {
  if (slice.contains(op))
    return true;
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
      isa<warp::MmaOp, warp::ShuffleXorOp, warp::ShuffleFromOp, warp::VoteAllOp,
          warp::VoteAnyOp, warp::BallotOp>(op))
    return false;
  for (Value operand : op->getOperands()) {
    Operation *needed = operand.getDefiningOp();
    if (needed && needed->getBlock() == op->getBlock() &&
        (isa<warp::LoadOp>(needed) ||
         !collectArithmetic(needed, slice)))
      return false;
  }
  slice.insert(op);
  return true;
}

void moveToStart(Block &body, const llvm::SetVector<Operation *> &slice) {
  Operation *first = &body.front();
  for (Operation *op : slice)
    if (op == first)
      first = op->getNextNode();
    else
      op->moveBefore(first);
}

} // namespace attentile
