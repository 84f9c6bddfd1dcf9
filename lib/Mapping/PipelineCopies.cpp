//===- PipelineCopies.cpp - copies that overlap computation ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: requests the copies of a loop ahead of their use. Expects: copies that
// are waited for at once (tile-to-warp). Leaves: one buffer for each copy, or
// `stages` of them; loops that follow each other and read the same windows hand
// over; loops over a list read the entry of the next iteration first. Does not
// handle: copies whose address depends on what the loop computes, and those of
// a loop of whole programs (`tile.programs`), whose tiles leave no room for two
// programs' queries: they stay as they are.
//
// With one buffer each, as FlashAttention-2 has them, a loop with copies K, V
// that are read one after the other becomes
//
//     request K of the first iteration
//     for i:
//       wait for K; barrier                  // (1)
//       request V of i
//       ... read K ...
//       wait for V; barrier                  // (2)
//       request K of i + 1
//       ... read V ...
//
// Barrier (1) makes all threads' parts of K visible. It also stands behind all
// reads of V in iteration i - 1, so that V may be overwritten. Barrier (2)
// makes V visible and stands behind all reads of K. Each thread waits for its
// own part before the barrier. V has the time of K's product to arrive, K that
// of the softmax and of V's product. The number of groups a wait lets pass is
// that of the groups committed after the one it waits for, in the steady state
// (CopySchedule); an iteration commits each group whether it has a copy or not,
// and so does what stands before the loop, so that the count is always right.
//
//===----------------------------------------------------------------------===//

#include "CopyRequests.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

namespace attentile {
#define GEN_PASS_DEF_WARPPIPELINECOPIES
#include "Mapping/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "warp-pipeline-copies"

using namespace mlir;

namespace attentile {
namespace {

/// Loops of one block that hand over to each other, and their copies.
struct Chain {
  SmallVector<scf::ForOp> loops;
  SmallVector<SmallVector<CopyUnit>> units; // of each loop
  SmallVector<CopySchedule> schedules;
};

//===----------------------------------------------------------------------===//
// One buffer for each copy
//===----------------------------------------------------------------------===//

class ChainPipeliner {
public:
  explicit ChainPipeliner(Chain &chain) : chain(chain) {}

  void run() {
    shareBuffers();
    placePrologue();
    findStarts();
    emitPrologue();
    for (size_t i = 0; i < chain.loops.size(); ++i)
      emitLoop(i);
    for (auto &units : chain.units)
      for (CopyUnit &unit : units)
        unit.erase();
    if (prologue != chain.loops.front())
      waitInLoops(prologue, chain.loops);
  }

private:
  /// All loops of the chain use the first one's buffers.
  void shareBuffers() {
    for (auto &units : MutableArrayRef(chain.units).drop_front())
      for (auto [unit, shared] : llvm::zip_equal(units, chain.units.front())) {
        unit.getBuffer().replaceAllUsesWith(shared.getBuffer());
        unit.buffer.erase();
        unit.buffer = shared.buffer;
      }
  }

  /// The first requests go out with those of what stands before the loop.
  void placePrologue() {
    SmallVector<Value> needed =
        findNeeded(chain.loops.front(), chain.units.front());
    for (scf::ForOp loop : chain.loops)
      llvm::append_values(needed, loop.getLowerBound(), loop.getUpperBound());
    const CopySchedule &schedule = chain.schedules.front();
    unsigned groups = 0;
    for (unsigned i : schedule.requestOrder())
      groups += groups != 0 || !schedule.sameIteration[i];
    prologue = chain.loops.front();
    // In a loop a barrier must come first (emitPrologue).
    if (!prologue->getParentOfType<scf::ForOp>())
      prologue = requestTogether(chain.loops.front(), needed, groups);
  }

  /// Of each loop, the first iteration from there on, in it or in a later one.
  void findStarts() {
    OpBuilder builder(prologue);
    Location loc = chain.loops.front().getLoc();
    starts.resize(chain.loops.size());
    for (size_t i = chain.loops.size(); i-- > 0;) {
      scf::ForOp loop = chain.loops[i];
      Value some =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                loop.getLowerBound(), loop.getUpperBound());
      starts[i] = {loop.getLowerBound(), some};
      if (i + 1 == chain.loops.size())
        continue;
      starts[i].index = arith::SelectOp::create(
          builder, loc, some, loop.getLowerBound(), starts[i + 1].index);
      starts[i].exists =
          arith::OrIOp::create(builder, loc, some, starts[i + 1].exists);
    }
  }

  /// What is known of a copy's bounds in every loop from `from` on.
  SmallVector<bool> boundsFrom(size_t from, unsigned copy) {
    SmallVector<bool> result = knownBounds(chain.units[from][copy].copy);
    for (auto &units : ArrayRef(chain.units).drop_front(from + 1))
      for (auto [inside, other] :
           llvm::zip_equal(result, knownBounds(units[copy].copy)))
        inside &= other;
    return result;
  }

  /// What the iteration before the first would have requested.
  void emitPrologue() {
    scf::ForOp loop = chain.loops.front();
    OpBuilder builder(prologue);
    // A loop around this one: in its last iteration the buffers were read.
    if (loop->getParentOfType<scf::ForOp>())
      warp::BarrierOp::create(builder, loop.getLoc());
    const CopySchedule &schedule = chain.schedules.front();
    bool some = false;
    for (unsigned i : schedule.requestOrder()) {
      const CopyUnit &unit = chain.units.front()[i];
      if (!schedule.sameIteration[i]) {
        requestIfExists(builder, unit, loop, starts.front(), unit.getBuffer(),
                        boundsFrom(0, i));
        some = true;
      }
      if (some) // groups before the first copy need not be counted
        warp::CommitGroupOp::create(builder, loop.getLoc());
    }
  }

  void emitLoop(size_t number) {
    scf::ForOp loop = chain.loops[number];
    const CopySchedule &schedule = chain.schedules[number];
    for (auto [i, point] : llvm::enumerate(schedule.points)) {
      OpBuilder builder(point.before);
      Location loc = loop.getLoc();
      if (!point.arrivals.empty())
        warp::WaitGroupOp::create(builder, loc, schedule.pendingAt(i));
      warp::BarrierOp::create(builder, loc);
      for (unsigned request : point.requests) {
        const CopyUnit &unit = chain.units[number][request];
        if (schedule.sameIteration[request])
          requestAt(builder, unit, loop, loop.getInductionVar(),
                    unit.getBuffer(), knownBounds(unit.copy));
        else
          requestNext(builder, number, request);
        warp::CommitGroupOp::create(builder, loc);
      }
    }
  }

  /// The copy for the next iteration, of this loop or of a later one.
  void requestNext(OpBuilder &builder, size_t number, unsigned request) {
    scf::ForOp loop = chain.loops[number];
    const CopyUnit &unit = chain.units[number][request];
    Location loc = unit.copy->getLoc();
    SmallVector<bool> own = knownBounds(unit.copy);
    Value next = arith::AddIOp::create(builder, loc, loop.getInductionVar(),
                                       loop.getStep());
    Value inThis = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, next, loop.getUpperBound());
    if (number + 1 == chain.loops.size())
      return requestIfExists(builder, unit, loop, {next, inThis},
                             unit.getBuffer(), own);
    const Iteration &later = starts[number + 1];
    SmallVector<bool> laterBounds = boundsFrom(number + 1, request);
    if (own == laterBounds) {
      Value index =
          arith::SelectOp::create(builder, loc, inThis, next, later.index);
      Value exists = arith::OrIOp::create(builder, loc, inThis, later.exists);
      return requestIfExists(builder, unit, loop, {index, exists},
                             unit.getBuffer(), own);
    }
    auto branch =
        scf::IfOp::create(builder, loc, inThis, /*withElseRegion=*/true);
    OpBuilder inside = branch.getThenBodyBuilder();
    requestAt(inside, unit, loop, next, unit.getBuffer(), own);
    inside = branch.getElseBodyBuilder();
    requestIfExists(inside, unit, loop, later, unit.getBuffer(), laterBounds);
  }

  Chain &chain;
  Operation *prologue = nullptr; // the first requests stand before it
  SmallVector<Iteration> starts;
};

//===----------------------------------------------------------------------===//
// Entries of lists
//===----------------------------------------------------------------------===//

/// Copies of the next iteration would wait for its entry. So each iteration
/// reads that first of all, and hands it on.
void readEntriesAhead(scf::ForOp loop) {
  Value place = loop.getInductionVar();
  warp::LoadOp entry;
  for (auto load : loop.getBody()->getOps<warp::LoadOp>())
    if (!entry && load.getIndices().back() == place &&
        llvm::all_of(load.getIndices().drop_back(), [&](Value index) {
          return loop.isDefinedOutsideOfLoop(index);
        }))
      entry = load;
  if (!entry)
    return;
  SmallVector<warp::LoadOp> ofThis, ofNext;
  loop.getBody()->walk([&](warp::LoadOp load) {
    if (load.getTensor() != entry.getTensor() ||
        load.getType() != entry.getType() ||
        !llvm::equal(load.getIndices().drop_back(),
                     entry.getIndices().drop_back()))
      return;
    auto next = load.getIndices().back().getDefiningOp<arith::AddIOp>();
    if (load.getIndices().back() == place)
      ofThis.push_back(load);
    else if (next && next.getLhs() == place && next.getRhs() == loop.getStep())
      ofNext.push_back(load);
  });
  auto readAt = [&](OpBuilder &builder, Value index) {
    IRMapping mapping;
    mapping.map(place, index);
    return builder.clone(*entry, mapping)->getResult(0);
  };
  OpBuilder before(loop), body(&loop.getBody()->front());
  Value first = readAt(before, loop.getLowerBound());
  Value ahead = readAt(
      body, arith::AddIOp::create(body, loop.getLoc(), place, loop.getStep()));
  IRRewriter rewriter(loop.getContext());
  auto replaced = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
        return SmallVector<Value>{ahead};
      }));
  for (warp::LoadOp load : ofThis)
    rewriter.replaceOp(load, replaced.getRegionIterArgs().back());
  for (warp::LoadOp load : ofNext)
    rewriter.replaceOp(load, ahead);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct WarpPipelineCopies : impl::WarpPipelineCopiesBase<WarpPipelineCopies> {
  using WarpPipelineCopiesBase::WarpPipelineCopiesBase;

  void runOnOperation() override {
    if (stages < 0) {
      getOperation()->emitError("expected 0 or more stages, got ")
          << int64_t(stages);
      return signalPassFailure();
    }
    getOperation()->walk([&](warp::KernelOp kernel) {
      // One buffer for all factors in turn: none may be requested ahead.
      auto resources =
          kernel->getAttrOfType<tile::ResourcesAttr>("tile.resources");
      if (resources && resources.getStages() == 0)
        return;
      int64_t buffers = stages;
      if (buffers == 0)
        buffers = resources ? resources.getStages() : 1;
      SmallVector<Block *> blocks;
      kernel->walk<WalkOrder::PostOrder>(
          [&](Block *block) { blocks.push_back(block); });
      for (Block *block : blocks)
        pipeline(*block, buffers);
      SmallVector<scf::ForOp> listed;
      kernel->walk([&](scf::ForOp loop) {
        if (loop->hasAttr("tile.from_list"))
          listed.push_back(loop);
      });
      llvm::for_each(listed, readEntriesAhead);
    });
  }

  /// Loops that hand over have one buffer for each copy.
  void pipeline(Block &block, int64_t buffers) {
    std::vector<Chain> chains;
    bool isCut = true; // a loop between has buffers that need the room
    for (auto loop : block.getOps<scf::ForOp>()) {
      if (loop->hasAttr("tile.programs"))
        continue;
      SmallVector<CopyUnit> units = findCopyUnits(loop);
      if (units.empty()) {
        isCut |=
            loop.walk([](warp::CopyAsyncOp) { return WalkResult::interrupt(); })
                .wasInterrupted();
        continue;
      }
      remark::passed(
          loop.getLoc(),
          remark::RemarkOpts::name("CopiesAhead").category(DEBUG_TYPE))
          << remark::add("{0} copies run ahead of their use", units.size());
      CopySchedule schedule(loop, units);
      if (isCut || !takesOver(chains.back(), loop, units, schedule))
        chains.emplace_back();
      isCut = false;
      chains.back().loops.push_back(loop);
      chains.back().units.push_back(units);
      chains.back().schedules.push_back(schedule);
    }
    for (Chain &chain : chains) {
      scf::ForOp first = chain.loops.front();
      if (buffers > 1 && chain.loops.size() == 1) {
        pipelineStages(first, chain.units.front(), buffers, mbarriers);
        continue;
      }
      for (scf::ForOp loop : chain.loops) {
        computeBefore(loop.getLowerBound(), first, /*move=*/true);
        computeBefore(loop.getUpperBound(), first, /*move=*/true);
      }
      ChainPipeliner(chain).run();
    }
  }

  /// Whether `loop` reads what the chain's last loop reads, in the same order.
  bool takesOver(Chain &chain, scf::ForOp loop, ArrayRef<CopyUnit> units,
                 const CopySchedule &schedule) {
    return units.size() == chain.units.back().size() &&
           schedule.continues(chain.schedules.back()) &&
           llvm::all_of(llvm::zip_equal(units, chain.units.back()),
                        [&](auto pair) {
                          return readSameWindow(std::get<0>(pair), loop,
                                                std::get<1>(pair),
                                                chain.loops.back());
                        }) &&
           computeBefore(loop.getLowerBound(), chain.loops.front(), false) &&
           computeBefore(loop.getUpperBound(), chain.loops.front(), false);
  }
};

} // namespace
} // namespace attentile
