//===- AllocateShared.cpp - where each buffer lies in shared memory -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: gives every buffer of a warp.kernel an offset and the kernel its
// `shared_bytes`; buffers that are not needed at the same time share room.
// Expects: copies where they will run (warp-pipeline-copies). Leaves: a barrier
// before a buffer is first written where another was read and none stood
// between. Does not handle: copies that a loop requests for its next turn,
// which are kept through it.
//
// What is written in each turn of a loop and read before the next one could
// make room in each turn, for a barrier or two: it does where the buffers would
// not fit otherwise.
//
//===----------------------------------------------------------------------===//

#include "Warp/Warp.h"
#include "attentile/Loops/Targets.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/IR/Remarks.h"

namespace attentile {
#define GEN_PASS_DEF_WARPALLOCATESHARED
#include "Mapping/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "warp-allocate-shared"

using namespace mlir;

namespace attentile {
namespace {

/// A buffer with the operations of the kernel's body that touch it first and
/// last.
struct Life {
  warp::AllocOp alloc;
  Operation *first = nullptr, *last = nullptr;
  SmallVector<Operation *> accesses;
  int64_t bytes = 0, offset = 0;

  bool isBefore(const Life &other) const {
    return last->isBeforeInBlock(other.first);
  }
  bool overlapsInMemory(const Life &other) const {
    return offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
};

/// All operations that use a buffer or one of its stages.
void collectAccesses(Value buffer, SmallVectorImpl<Operation *> &accesses) {
  for (Operation *user : buffer.getUsers())
    if (auto stage = dyn_cast<warp::StageOp>(user))
      collectAccesses(stage, accesses);
    else
      accesses.push_back(user);
}

/// Whether all threads meet from `op` on, in its block, and before the life's
/// first access, whatever way is taken.
bool meetFrom(Operation *op, const Life &life) {
  for (; op != life.first; op = op->getNextNode())
    if (isa<warp::BarrierOp>(op))
      return true;
  // Inside: down to the block of the first access.
  Block *block = life.first->getBlock();
  Operation *within = life.first;
  while (within->getNumRegions() != 0) {
    Block *inner = nullptr;
    for (Region &region : within->getRegions())
      for (Block &candidate : region)
        if (llvm::any_of(life.accesses, [&](Operation *access) {
              return candidate.findAncestorOpInBlock(*access);
            })) {
          if (inner)
            return false; // in several regions: do not look further
          inner = &candidate;
        }
    block = inner;
    within = nullptr;
    for (Operation &op : *block) {
      if (isa<warp::BarrierOp>(op))
        return true;
      if (llvm::any_of(life.accesses, [&](Operation *access) {
            return op.isAncestor(access);
          })) {
        within = &op;
        break;
      }
    }
  }
  return false;
}

/// The life as a block sees it; null where nothing in it is accessed.
Life seenFrom(Block &block, const Life &life) {
  Life result = life;
  result.first = result.last = nullptr;
  for (Operation *access : life.accesses) {
    Operation *op = block.findAncestorOpInBlock(*access);
    if (!op)
      continue;
    if (!result.first || op->isBeforeInBlock(result.first))
      result.first = op;
    if (!result.last || result.last->isBeforeInBlock(op))
      result.last = op;
  }
  return result;
}

/// The first of a life's accesses in the order of the program, from `op` on,
/// which holds some.
Operation *findFirst(Operation *op, const Life &life) {
  if (llvm::is_contained(life.accesses, op))
    return op;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (Operation *first = seenFrom(block, life).first)
        return findFirst(first, life);
  return nullptr;
}

/// Whether the buffer holds nothing from one turn to the next of the loop that
/// all of its accesses stand in: the first of them writes it. What a loop
/// requests for its next turn it has requested before its first turn too, so
/// that an access stands outside of it; all else that is copied has been waited
/// for where it is read, or behind where it may be (warp-pipeline-copies).
bool isFreshEachTurn(const Life &life) {
  return isa_and_nonnull<warp::StoreSharedOp, warp::CopyAsyncOp>(
      findFirst(life.first, life));
}

/// Calls `visit` with each of the two lives that ends before the other begins,
/// and the other, as the block sees them where that is so; whether there is
/// such a block. Within loops they begin anew each turn.
bool visitApart(const Life &a, const Life &b, bool withinLoops,
                function_ref<void(const Life &, const Life &)> visit) {
  if (a.isBefore(b)) {
    visit(a, b);
    return true;
  }
  if (b.isBefore(a)) {
    visit(b, a);
    return true;
  }
  auto loop = dyn_cast<scf::ForOp>(a.first);
  if (!withinLoops || !loop || a.last != loop || b.first != loop ||
      b.last != loop || !isFreshEachTurn(a) || !isFreshEachTurn(b))
    return false;
  return visitApart(seenFrom(*loop.getBody(), a), seenFrom(*loop.getBody(), b),
                    withinLoops, visit);
}

struct WarpAllocateShared : impl::WarpAllocateSharedBase<WarpAllocateShared> {
  using WarpAllocateSharedBase::WarpAllocateSharedBase;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](warp::KernelOp kernel) {
      return failed(allocate(kernel)) ? WalkResult::interrupt()
                                      : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult allocate(warp::KernelOp kernel) {
    SmallVector<Life> lives = findLives(kernel);
    int64_t end = place(lives, /*withinLoops=*/false);
    if (end > limit)
      end = place(lives, /*withinLoops=*/true);
    for (Life &life : lives)
      life.alloc.setOffset(life.offset);
    protectReuse(lives);
    for (auto op : kernel.getBody().getOps<warp::MbarriersOp>()) {
      op.setOffset(llvm::alignTo(end, kMbarrierBytes));
      end = *op.getOffset() + kMbarrierBytes * op.getNumResults();
    }
    kernel.setSharedBytes(end);
    if (end > limit)
      return kernel.emitError("expected at most ")
             << int64_t(limit) << " bytes of shared memory, got " << end;
    remark::analysis(
        kernel.getLoc(),
        remark::RemarkOpts::name("SharedMemory").category(DEBUG_TYPE))
        << remark::add("{0} bytes of shared memory", end);
    return success();
  }

  /// The buffers in the order of their first access; those that nothing reads
  /// go, with the copies to them, which would be on their way still when what
  /// comes after them writes there.
  SmallVector<Life> findLives(warp::KernelOp kernel) {
    Block &body = kernel.getBody().front();
    SmallVector<Life> lives;
    for (auto alloc :
         llvm::make_early_inc_range(body.getOps<warp::AllocOp>())) {
      if (llvm::all_of(alloc->getUsers(), llvm::IsaPred<warp::CopyAsyncOp>)) {
        for (Operation *copy : llvm::make_early_inc_range(alloc->getUsers()))
          copy->erase();
        alloc.erase();
        continue;
      }
      Life life;
      life.alloc = alloc;
      collectAccesses(alloc, life.accesses);
      for (Operation *access : life.accesses) {
        Operation *top = body.findAncestorOpInBlock(*access);
        if (!life.first || top->isBeforeInBlock(life.first))
          life.first = top;
        if (!life.last || life.last->isBeforeInBlock(top))
          life.last = top;
      }
      if (life.accesses.empty())
        continue;
      life.bytes = warp::getBufferBytes(alloc.getType());
      lives.push_back(std::move(life));
    }
    return lives;
  }

  /// Each buffer, the largest first, at the lowest place that is free during
  /// its life. Returns the end of all.
  int64_t place(SmallVector<Life> &lives, bool withinLoops) {
    SmallVector<Life *> order;
    for (Life &life : lives) {
      life.offset = 0;
      order.push_back(&life);
    }
    llvm::sort(order, [&](Life *a, Life *b) {
      return std::pair(-a->bytes, a - lives.data()) <
             std::pair(-b->bytes, b - lives.data());
    });
    int64_t end = 0;
    SmallVector<Life *> placed;
    for (Life *life : order) {
      bool moved = true;
      while (moved) {
        moved = false;
        for (Life *other : placed)
          if (life->overlapsInMemory(*other) &&
              !visitApart(*life, *other, withinLoops, [](auto &, auto &) {})) {
            life->offset = other->offset + other->bytes;
            moved = true;
          }
      }
      placed.push_back(life);
      end = std::max(end, life->offset + life->bytes);
    }
    return end;
  }

  /// All threads have read a buffer before another is written into its room.
  void protectReuse(ArrayRef<Life> lives) {
    auto meet = [](Operation *from, const Life &life) {
      if (meetFrom(from, life))
        return;
      OpBuilder builder(life.first);
      warp::BarrierOp::create(builder, life.first->getLoc());
    };
    for (auto [i, life] : llvm::enumerate(lives))
      for (const Life &other : lives.take_front(i)) {
        if (!life.overlapsInMemory(other))
          continue;
        visitApart(life, other, /*withinLoops=*/true,
                   [&](const Life &earlier, const Life &later) {
                     meet(earlier.last->getNextNode(), later);
                     Block *block = earlier.first->getBlock();
                     if (!isa<scf::ForOp>(block->getParentOp()))
                       return;
                     // The loop's next turn.
                     for (Operation *op = later.last; op;
                          op = op->getNextNode())
                       if (isa<warp::BarrierOp>(op))
                         return;
                     meet(&block->front(), earlier);
                   });
      }
  }
};

} // namespace
} // namespace attentile
