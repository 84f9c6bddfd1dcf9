//===- CopyRequests.cpp - copies asked for ahead of their use -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyRequests.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace attentile {

/// The value that `value`, computed in a loop from its index, has for another
/// index.
static Value cloneFor(OpBuilder &builder, Value value, scf::ForOp loop,
                      IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (loop.isDefinedOutsideOfLoop(value))
    return value;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    cloneFor(builder, operand, loop, mapping);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

/// What `value`, computed in a loop from its index, takes from outside it.
static void collectOutside(Value value, scf::ForOp loop,
                           SmallVectorImpl<Value> &outside) {
  if (loop.isDefinedOutsideOfLoop(value))
    outside.push_back(value);
  else if (Operation *op = value.getDefiningOp())
    for (Value operand : op->getOperands())
      collectOutside(operand, loop, outside);
}

void requestAt(OpBuilder &builder, const CopyUnit &unit, scf::ForOp loop,
               Value index, Value buffer, ArrayRef<bool> inBounds) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), index);
  warp::CopyAsyncOp copy = unit.copy;
  SmallVector<Value> indices;
  for (Value operand : copy.getIndices())
    indices.push_back(cloneFor(builder, operand, loop, mapping));
  DenseBoolArrayAttr flags;
  if (llvm::is_contained(inBounds, true))
    flags = builder.getDenseBoolArrayAttr(inBounds);
  warp::CopyAsyncOp::create(builder, copy.getLoc(), copy.getTensor(), indices,
                            copy.getDims(), buffer, flags,
                            /*by_element=*/false);
}

void requestIfExists(OpBuilder &builder, const CopyUnit &unit, scf::ForOp loop,
                     Iteration iteration, Value buffer,
                     ArrayRef<bool> inBounds) {
  auto branch =
      scf::IfOp::create(builder, unit.copy->getLoc(), iteration.exists,
                        /*withElseRegion=*/false);
  OpBuilder inside = branch.getThenBodyBuilder();
  requestAt(inside, unit, loop, iteration.index, buffer, inBounds);
}

SmallVector<bool> knownBounds(warp::CopyAsyncOp copy) {
  if (copy.getInBounds())
    return SmallVector<bool>(*copy.getInBounds());
  return SmallVector<bool>(copy.getIndices().size(), false);
}

SmallVector<Value> findNeeded(scf::ForOp loop, ArrayRef<CopyUnit> units) {
  SmallVector<Value> needed{loop.getLowerBound(), loop.getUpperBound()};
  for (const CopyUnit &unit : units)
    for (Value index : warp::CopyAsyncOp(unit.copy).getIndices())
      collectOutside(index, loop, needed);
  return needed;
}

/// Whether `op` touches shared memory, other than by a copy if `copiesToo` is
/// not set.
static bool usesBuffers(Operation *op, bool copiesToo) {
  WalkResult result = op->walk([&](Operation *inner) {
    bool uses =
        (copiesToo || !isa<warp::CopyAsyncOp>(inner)) &&
        llvm::any_of(inner->getOperandTypes(), llvm::IsaPred<warp::BufferType>);
    return uses ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether something is copied element by element behind what another loop has
/// left in shared memory. Threads store that themselves: no group and no
/// mbarrier for copies says that it is there.
static bool copiesElementsBefore(scf::ForOp loop) {
  for (Operation *op = loop->getPrevNode(); op && !isa<scf::ForOp>(op);
       op = op->getPrevNode())
    if (auto copy = dyn_cast<warp::CopyAsyncOp>(op);
        copy && copy.getByElement())
      return true;
  return false;
}

void waitInLoops(Operation *from, ArrayRef<scf::ForOp> loops) {
  if (copiesElementsBefore(loops.front()))
    return;
  SmallVector<Operation *> meetings;
  for (Operation *op = from; op != loops.front(); op = op->getNextNode())
    if (isa<warp::WaitGroupOp, warp::BarrierOp>(op))
      meetings.push_back(op);
    else if (usesBuffers(op, /*copiesToo=*/false))
      return;
  // Between the loops another copy may take the room of one that no loop has
  // waited for, as none has turned.
  for (Operation *op = loops.front(); op != loops.back();
       op = op->getNextNode())
    if (!llvm::is_contained(loops, op) && usesBuffers(op, /*copiesToo=*/true))
      return;
  if (meetings.empty())
    return;
  for (Operation *op : meetings)
    op->erase();
  scf::ForOp last = loops.back();
  OpBuilder behind(last->getContext());
  behind.setInsertionPointAfter(last);
  warp::WaitGroupOp::create(behind, last.getLoc(), 0);
}

} // namespace attentile
