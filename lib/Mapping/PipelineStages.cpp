//===- PipelineStages.cpp - several buffers for each copy of a loop -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyRequests.h"

using namespace mlir;

namespace attentile {

/// With N buffers for each copy all of an iteration's copies are one group,
/// requested N - 1 iterations ahead, and threads meet once:
///
///     wait for the group of i (N - 2 may be on their way); barrier
///     request the copies of i + N - 1: keys, say
///     the first product
///     request the rest, as values
///     the second product
///
/// The barrier stands behind all reads of iteration i - 1, whose buffers these
/// copies overwrite. The loop carries the number of the buffers that iteration
/// i reads.
///
/// With two buffers and mbarriers nobody waits for warps that are a little
/// behind, as one whose rows evaluate a mask: what the barrier is for is asked
/// for where it is needed.
///
///     wait until the copies of i have arrived, all threads' parts
///     wait until all warps have read the keys of i - 1; request those of i + 1
///     the first product; this warp has read the keys of i
///     wait until all warps have read the values of i - 1; request the next
///     the second product; this warp has read the values of i
///
/// Phases of these barriers are the iterations: the number of the buffers is
/// the parity.
namespace {
class StagePipeliner {
public:
  StagePipeliner(scf::ForOp loop, ArrayRef<CopyUnit> units, int64_t stages,
                 bool mbarriers)
      : loop(loop), units(units), stages(stages), loc(loop.getLoc()),
        isInner(loop->getParentOfType<scf::ForOp>()),
        isSplit(mbarriers && stages == 2 && !isInner && requestsLater()) {}

  void run() {
    makeBuffers();
    if (isSplit)
      makeMbarriers();
    emitPrologue();
    carrySlot();
    emitBody();
    for (CopyUnit unit : units) {
      unit.erase();
      unit.buffer.erase();
    }
  }

private:
  Value constant(OpBuilder &builder, int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  void makeBuffers() {
    for (const CopyUnit &unit : units) {
      warp::AllocOp alloc = unit.buffer;
      warp::BufferType type = alloc.getType();
      OpBuilder top(alloc);
      buffers.push_back(warp::AllocOp::create(
          top, loc,
          warp::BufferType::get(type.getContext(), type.getShape(),
                                type.getElementType(), type.getLayout(),
                                stages),
          /*offset=*/nullptr));
    }
  }

  /// One for what has arrived, and one for each copy that has been read.
  void makeMbarriers() {
    auto kernel = loop->getParentOfType<warp::KernelOp>();
    SmallVector<int64_t> arrivals(1 + units.size(), kernel.getWarps());
    arrivals.front() = tile::Layout::kLanes * kernel.getWarps();
    OpBuilder top = OpBuilder::atBlockBegin(&kernel.getBody().front());
    SmallVector<Type> types(arrivals.size(),
                            warp::MbarrierType::get(loop.getContext()));
    mbarriers = warp::MbarriersOp::create(top, loc, types, arrivals,
                                          /*offset=*/nullptr)
                    .getResults();
  }

  /// The index of the loop so many iterations behind `index`.
  Value ahead(OpBuilder &builder, Value index, int64_t count) {
    if (count == 0)
      return index;
    Value distance = loop.getStep();
    if (count > 1)
      distance = arith::MulIOp::create(builder, loc, distance,
                                       constant(builder, count));
    return arith::AddIOp::create(builder, loc, index, distance);
  }

  /// Requests what the iteration at `index` reads, if there is one; a group
  /// either way, behind the last request. Copy i goes out before `places[i]`.
  void request(ArrayRef<Operation *> places, Value index, Value slot) {
    OpBuilder builder(places.front());
    Value exists = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, index, loop.getUpperBound());
    scf::IfOp branch;
    for (auto [unit, buffer, place] : llvm::zip_equal(units, buffers, places)) {
      if (!branch || branch->getNextNode() != place) {
        builder.setInsertionPoint(place);
        branch =
            scf::IfOp::create(builder, loc, exists, /*withElseRegion=*/false);
      }
      OpBuilder inside = branch.getThenBodyBuilder();
      Value stage = warp::StageOp::create(inside, loc, buffer, slot);
      requestAt(inside, unit, loop, index, stage, knownBounds(unit.copy));
    }
    builder.setInsertionPointAfter(branch);
    if (isSplit)
      warp::ArriveCopiesOp::create(builder, loc, mbarriers.front());
    else
      warp::CommitGroupOp::create(builder, loc);
  }

  /// What the iterations before the first would have requested.
  void emitPrologue() {
    Operation *prologue = loop;
    if (!isInner) // what no group holds is not waited for with one
      prologue = requestTogether(loop, findNeeded(loop, units),
                                 isSplit ? 0 : stages - 1);
    OpBuilder builder(prologue);
    if (isInner) // the last iteration around read the buffers
      warp::BarrierOp::create(builder, loc);
    for (int64_t i = 0; i + 1 < stages; ++i)
      request(SmallVector<Operation *>(units.size(), prologue),
              ahead(builder, loop.getLowerBound(), i), constant(builder, i));
    if (!isInner)
      waitInLoops(prologue, loop);
  }

  void carrySlot() {
    IRRewriter rewriter(loop.getContext());
    rewriter.setInsertionPoint(loop);
    Value first = constant(rewriter, 0);
    loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> carried) {
          return SmallVector<Value>{
              after(builder, carried.back(), /*from=*/stages - 1, /*to=*/0, 1)};
        }));
  }

  /// The slot behind `slot`, or before it: `from` is followed by `to`.
  Value after(OpBuilder &builder, Value slot, int64_t from, int64_t to,
              int64_t distance) {
    if (stages == 2)
      return arith::SubIOp::create(builder, loc, constant(builder, 1), slot);
    Value wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        slot, constant(builder, from));
    Value next =
        arith::AddIOp::create(builder, loc, slot, constant(builder, distance));
    return arith::SelectOp::create(builder, loc, wraps, constant(builder, to),
                                   next);
  }

  void emitBody() {
    OpBuilder body(&loop.getBody()->front());
    Value slot = loop.getRegionIterArgs().back();
    for (auto [unit, buffer] : llvm::zip_equal(units, buffers)) {
      Value stage = warp::StageOp::create(body, loc, buffer, slot);
      unit.getBuffer().replaceAllUsesExcept(stage, unit.copy);
    }
    if (isSplit) {
      warp::WaitPhaseOp::create(body, loc, mbarriers.front(), slot);
    } else {
      warp::WaitGroupOp::create(body, loc, stages - 2);
      warp::BarrierOp::create(body, loc);
    }
    Value index = ahead(body, loop.getInductionVar(), stages - 1);
    Value later = after(body, slot, /*from=*/0, /*to=*/stages - 1, -1);
    SmallVector<Operation *> places = findPlaces(&*body.getInsertionPoint());
    request(places, index, later);
    if (!isSplit)
      return;
    // The other buffers were read in the iteration before, if there was one.
    for (auto [unit, place, read] :
         llvm::zip_equal(units, places, mbarriers.drop_front())) {
      Operation *branch = place->getPrevNode();
      while (!isa<scf::IfOp>(branch))
        branch = branch->getPrevNode();
      OpBuilder before(branch), behind(loop.getContext());
      warp::WaitPhaseOp::create(before, loc, read, later);
      behind.setInsertionPointAfter(unit.lastUse);
      warp::ArriveOp::create(behind, loc, read);
    }
  }

  /// Before what an iteration requests each copy: before `first`, but behind
  /// the product that stands before its first use. All at once wait for the
  /// registers of each other's addresses, and the product for them. Where a
  /// loop reads more than keys and values, as a bias, there are no registers
  /// for addresses behind the product, and all is asked for before it.
  SmallVector<Operation *> findPlaces(Operation *first) {
    SmallVector<Operation *> places(units.size(), first);
    if (!requestsLater())
      return places;
    for (auto [place, unit] : llvm::zip_equal(places, units))
      for (Operation *op = first; op != unit.firstUse; op = op->getNextNode())
        if (isa<warp::MmaOp>(op))
          place = op->getNextNode();
    return places;
  }

  bool requestsLater() { return units.size() <= 2 && !loadsElements(); }

  /// Whether every iteration loads anything but the entry of its list. What a
  /// branch loads, as around masks, is loaded and used there.
  bool loadsElements() {
    auto isEntry = [&](warp::LoadOp load) {
      return load->getParentOp() != loop ||
             (loop->hasAttr("tile.from_list") &&
              load.getIndices().back() == loop.getInductionVar());
    };
    return loop
        .walk([&](warp::LoadOp load) {
          return isEntry(load) ? WalkResult::advance()
                               : WalkResult::interrupt();
        })
        .wasInterrupted();
  }

  scf::ForOp loop;
  ArrayRef<CopyUnit> units;
  int64_t stages;
  Location loc;
  bool isInner, isSplit;
  SmallVector<Value> buffers;
  ValueRange mbarriers;
};
} // namespace

void pipelineStages(scf::ForOp loop, ArrayRef<CopyUnit> units, int64_t stages,
                    bool mbarriers) {
  StagePipeliner(loop, units, stages, mbarriers).run();
}

} // namespace attentile
