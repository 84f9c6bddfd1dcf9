//===- WorkSlice.cpp - what of a warp's work is needed --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkSlice.h"
#include "Warp/Warp.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attentile {

template <typename... Ops> static bool holdsAny(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<Ops...>(inner) ? WalkResult::interrupt()
                                  : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether other warps wait for it, or it for them.
static bool isShared(Operation *op) {
  return holdsAny<warp::WaitPhaseOp, warp::ArriveOp, warp::ArriveCopiesOp,
                  warp::CopyAsyncOp, warp::CommitGroupOp>(op);
}

/// Whether it changes nothing. What it reads stays as it is between the waits
/// and arrivals around it.
static bool onlyReads(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const auto &effect) {
           return isa<MemoryEffects::Read>(effect.getEffect());
         });
}

bool WorkSlice::addMakers(Operation *op) {
  if (needed.contains(op))
    return true;
  if (!isShared(op) && !isPure(op) && !(withReads && onlyReads(op)))
    return false;
  llvm::SetVector<Operation *> makers;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (isBehind(operand.getDefiningOp()))
        makers.insert(operand.getDefiningOp());
  });
  for (Operation *maker : makers)
    if (maker != op && !addMakers(maker))
      return false;
  needed.insert(op);
  return true;
}

bool WorkSlice::add(Operation *op) {
  size_t before = needed.size();
  if (addMakers(op))
    return true;
  while (needed.size() > before)
    needed.pop_back();
  return false;
}

bool WorkSlice::addShared() {
  for (Operation *op = marker->getNextNode(); op; op = op->getNextNode())
    if (holdsAny<warp::BarrierOp, warp::WaitGroupOp>(op) ||
        (isShared(op) && !add(op)))
      return false;
  return true;
}

bool WorkSlice::leavesChanges(const WorkSlice &other) const {
  for (Operation *op = marker->getNextNode(); op; op = op->getNextNode())
    if (!op->hasTrait<OpTrait::IsTerminator>() && !needed.contains(op) &&
        !other.needed.contains(op) && !onlyReads(op))
      return true;
  return false;
}

void WorkSlice::clone(OpBuilder &builder, IRMapping &copies) const {
  for (Operation *op = marker->getNextNode(); op; op = op->getNextNode())
    if (needed.contains(op))
      builder.clone(*op, copies);
}

} // namespace attentile
