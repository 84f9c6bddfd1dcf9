//===- CopyUnits.cpp - copies of a loop and when they may run -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyUnits.h"
#include "attentile/Sources.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attentile {

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

void CopyUnit::erase() {
  for (Operation *op : {leading, copy.getOperation(), commit, wait, trailing})
    if (op)
      op->erase();
}

/// Whether `value` is computed from the index of `loop` and from outside it, by
/// operations that may be repeated elsewhere.
static bool dependsOnIndexOnly(Value value, scf::ForOp loop) {
  return isRepeatableFrom(value, [&](Value source) {
    return source != loop.getInductionVar() &&
           !loop.isDefinedOutsideOfLoop(source);
  });
}

/// Whether `value` may differ between iterations of `loop`.
static bool varies(Value value, scf::ForOp loop) {
  auto isInside = [&](Value source) {
    return !loop.isDefinedOutsideOfLoop(source);
  };
  return anySource(
      value,
      [&](Value source) {
        return isInside(source) && isa<BlockArgument>(source);
      },
      isInside);
}

std::optional<CopyUnit> matchCopyUnit(warp::CopyAsyncOp copy) {
  CopyUnit unit{copy, nullptr, nullptr, nullptr, nullptr, {}, nullptr, nullptr};
  unit.buffer = copy.getBuffer().getDefiningOp<warp::AllocOp>();
  auto next = [](Operation *op) {
    do
      op = op->getNextNode();
    while (op && isPure(op));
    return op;
  };
  unit.commit = next(copy);
  if (!isa_and_nonnull<warp::CommitGroupOp>(unit.commit))
    return std::nullopt;
  unit.wait = next(unit.commit);
  auto wait = dyn_cast_or_null<warp::WaitGroupOp>(unit.wait);
  if (!wait || wait.getPending() != 0)
    return std::nullopt;
  unit.trailing = next(unit.wait);
  if (!isa_and_nonnull<warp::BarrierOp>(unit.trailing) || !unit.buffer)
    return std::nullopt;
  auto previous = [](Operation *op) {
    do
      op = op->getPrevNode();
    while (op && isPure(op));
    return op;
  };
  // Behind a wait a barrier ends another copy.
  Operation *before = previous(copy);
  if (isa_and_nonnull<warp::BarrierOp>(before) &&
      !isa_and_nonnull<warp::WaitGroupOp>(previous(before)))
    unit.leading = before;
  return unit;
}

SmallVector<CopyUnit> findCopyUnits(scf::ForOp loop) {
  SmallVector<CopyUnit> units;
  for (auto copy : loop.getBody()->getOps<warp::CopyAsyncOp>()) {
    std::optional<CopyUnit> unit = matchCopyUnit(copy);
    // In a loop the barrier before the copy protects what the buffer holds; it
    // is not the one that ends another copy.
    if (!unit || copy.getByElement() || !unit->leading ||
        llvm::any_of(
            units,
            [&](CopyUnit &other) { return other.trailing == unit->leading; }) ||
        !llvm::all_of(copy.getIndices(), [&](Value index) {
          return dependsOnIndexOnly(index, loop);
        }))
      continue;
    // The same in each iteration, where nothing moves that out of the loop: it
    // has nothing to overlap, and a second buffer has no room.
    if (llvm::none_of(copy.getIndices(),
                      [&](Value index) { return varies(index, loop); }))
      continue;
    bool legal = true;
    for (Operation *user : unit->buffer->getUsers()) {
      if (user == copy)
        continue;
      Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
      if (!inBody || inBody->isBeforeInBlock(copy) ||
          !isa<warp::LdmatrixOp, warp::LoadSharedOp>(user)) {
        legal = false;
        break;
      }
      if (!unit->firstUse || inBody->isBeforeInBlock(unit->firstUse))
        unit->firstUse = inBody;
      if (!unit->lastUse || unit->lastUse->isBeforeInBlock(inBody))
        unit->lastUse = inBody;
    }
    if (legal && unit->firstUse)
      units.push_back(*unit);
  }
  llvm::sort(units, [](const CopyUnit &a, const CopyUnit &b) {
    if (a.firstUse != b.firstUse)
      return a.firstUse->isBeforeInBlock(b.firstUse);
    return a.commit->isBeforeInBlock(b.commit);
  });
  return units;
}

/// Whether two values are the same function of their loops' indices.
static bool isSameFunction(Value a, scf::ForOp loopA, Value b,
                           scf::ForOp loopB) {
  if (a == b)
    return loopA.isDefinedOutsideOfLoop(a) && loopB.isDefinedOutsideOfLoop(b);
  if (a == loopA.getInductionVar())
    return b == loopB.getInductionVar();
  Operation *opA = a.getDefiningOp(), *opB = b.getDefiningOp();
  if (!opA || !opB || opA->getName() != opB->getName() ||
      opA->getAttrDictionary() != opB->getAttrDictionary() ||
      opA->getNumOperands() != opB->getNumOperands() ||
      opA->getResultTypes() != opB->getResultTypes() || !isPure(opA) ||
      cast<OpResult>(a).getResultNumber() !=
          cast<OpResult>(b).getResultNumber())
    return false;
  return llvm::all_of(llvm::zip_equal(opA->getOperands(), opB->getOperands()),
                      [&](auto pair) {
                        return isSameFunction(std::get<0>(pair), loopA,
                                              std::get<1>(pair), loopB);
                      });
}

bool readSameWindow(const CopyUnit &a, scf::ForOp loopA, const CopyUnit &b,
                    scf::ForOp loopB) {
  warp::CopyAsyncOp copyA = a.copy, copyB = b.copy;
  return copyA.getTensor() == copyB.getTensor() &&
         copyA.getDims() == copyB.getDims() &&
         copyA.getBuffer().getType() == copyB.getBuffer().getType() &&
         llvm::all_of(llvm::zip_equal(copyA.getIndices(), copyB.getIndices()),
                      [&](auto pair) {
                        return isSameFunction(std::get<0>(pair), loopA,
                                              std::get<1>(pair), loopB);
                      });
}

//===----------------------------------------------------------------------===//
// Before the loop
//===----------------------------------------------------------------------===//

/// Whether a value is computed in the operation's block, behind it.
static bool isBehind(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  return definition && definition->getBlock() == op->getBlock() &&
         !definition->isBeforeInBlock(op);
}

static void moveBefore(Value value, Operation *op) {
  if (!isBehind(value, op))
    return;
  for (Value operand : value.getDefiningOp()->getOperands())
    moveBefore(operand, op);
  value.getDefiningOp()->moveBefore(op);
}

bool computeBefore(Value value, Operation *op, bool move) {
  if (!isRepeatableFrom(value,
                        [&](Value source) { return isBehind(source, op); }))
    return false;
  if (move)
    moveBefore(value, op);
  return true;
}

/// Moves what computes all of `values` before `op`, if it can be.
static bool moveAllBefore(ValueRange values, Operation *op) {
  for (bool move : {false, true})
    for (Value value : values)
      if (!computeBefore(value, op, move))
        return false;
  return true;
}

Operation *requestTogether(scf::ForOp loop, ArrayRef<Value> needed,
                           unsigned groups) {
  // Backward, to what another loop has left in shared memory. A copy with a
  // barrier before it overwrites something: it stays.
  SmallVector<CopyUnit> units;
  for (Operation *op = loop->getPrevNode(); op && !isa<scf::ForOp>(op);
       op = op->getPrevNode())
    if (auto copy = dyn_cast<warp::CopyAsyncOp>(op)) {
      std::optional<CopyUnit> unit = matchCopyUnit(copy);
      if (!unit)
        break;
      units.insert(units.begin(), *unit);
      if (unit->leading)
        break;
    }
  if (units.empty())
    return loop;
  Operation *first = units.front().wait;
  SmallVector<CopyUnit> moved{units.front()};
  for (CopyUnit &unit : MutableArrayRef(units).drop_front()) {
    if (!moveAllBefore(unit.copy.getIndices(), first))
      break;
    unit.copy->moveBefore(first);
    unit.commit->moveBefore(first);
    moved.push_back(unit);
  }
  bool all = moved.size() == units.size() && moveAllBefore(needed, first);
  // A wait lets pass what is requested behind the copy it waits for.
  for (auto [i, unit] : llvm::enumerate(moved))
    cast<warp::WaitGroupOp>(unit.wait).setPending(moved.size() - 1 - i +
                                                  (all ? groups : 0));
  return all ? first : loop.getOperation();
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

/// Whether a copy is read in one go, not product by product.
static bool isReadAtOnce(const CopyUnit &unit) {
  for (Operation *op = unit.firstUse; op != unit.lastUse;
       op = op->getNextNode()) {
    WalkResult result = op->walk([](Operation *inner) {
      return isa<warp::MmaOp>(inner) ? WalkResult::interrupt()
                                     : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return false;
  }
  return true;
}

CopySchedule::CopySchedule(scf::ForOp loop, ArrayRef<CopyUnit> units)
    : sameIteration(units.size(), false) {
  // Threads meet before the first use of each copy, and as early as that lets
  // the buffer before it go: right after the last use there. What is read at
  // once between two products' factors, as a bias is, was requested as long ago
  // as the first of them: no wait of its own.
  SmallVector<unsigned> own(units.size(), 0);
  for (auto [i, unit] : llvm::enumerate(units)) {
    Operation *before = unit.firstUse;
    if (i == 0)
      before = &loop.getBody()->front();
    else if (i + 1 < units.size() && isReadAtOnce(unit) &&
             !isReadAtOnce(units[i + 1]))
      before = points.back().before;
    else if (units[i - 1].lastUse->isBeforeInBlock(unit.firstUse))
      before = units[i - 1].lastUse->getNextNode();
    if (points.empty() || points.back().before != before)
      points.push_back({before, {}, {}});
    points.back().arrivals.push_back(i);
  }
  auto isBehind = [](const SyncPoint &point, Operation *op) {
    return op->isBeforeInBlock(point.before);
  };
  // A loop with one copy, or one that is read to the end, has no point between
  // the last use and the next wait: it gets one.
  for (auto [i, unit] : llvm::enumerate(units)) {
    bool isFirst = llvm::is_contained(points.front().arrivals, i);
    auto behind = llvm::find_if(points, [&](const SyncPoint &point) {
      return isBehind(point, unit.lastUse);
    });
    if (behind == points.end() && isFirst)
      points.push_back({unit.lastUse->getNextNode(), {}, {}});
  }
  // Each is requested again at the first point behind its last use: if that is
  // the next iteration's first, for that iteration itself.
  for (auto [i, unit] : llvm::enumerate(units)) {
    auto behind = llvm::find_if(points, [&](const SyncPoint &point) {
      return isBehind(point, unit.lastUse);
    });
    sameIteration[i] = behind == points.end();
    if (sameIteration[i])
      points.front().requests.push_back(i);
    else
      behind->requests.push_back(i);
  }
  for (SyncPoint &point : points)
    llvm::sort(point.requests, [&](unsigned a, unsigned b) {
      return std::pair(!sameIteration[a], a) < std::pair(!sameIteration[b], b);
    });
}

SmallVector<unsigned> CopySchedule::requestOrder() const {
  SmallVector<unsigned> order;
  for (const SyncPoint &point : points)
    llvm::append_range(order, point.requests);
  return order;
}

unsigned CopySchedule::pendingAt(unsigned point) const {
  SmallVector<unsigned> order = requestOrder();
  unsigned before = 0;
  for (unsigned i = 0; i < point; ++i)
    before += points[i].requests.size();
  // Groups that were committed after the one waited for, in this iteration and
  // the one before.
  unsigned pending = order.size();
  for (unsigned unit : points[point].arrivals) {
    unsigned rank = llvm::find(order, unit) - order.begin();
    unsigned after = sameIteration[unit] ? before - 1 - rank
                                         : order.size() - 1 - rank + before;
    pending = std::min(pending, after);
  }
  return pending;
}

bool CopySchedule::continues(const CopySchedule &other) const {
  return sameIteration == other.sameIteration &&
         llvm::equal(
             points, other.points, [](const SyncPoint &a, const SyncPoint &b) {
               return a.arrivals == b.arrivals && a.requests == b.requests;
             });
}

} // namespace attentile
