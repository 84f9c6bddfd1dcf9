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
// between. Does not handle: room freed within a loop; a buffer that a loop
// touches is kept through the outermost one.
//
//===----------------------------------------------------------------------===//

#include "Warp/Warp.h"
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

/// Whether all threads meet after `before` and before the life's first access,
/// whatever way is taken.
bool meetBetween(Operation *before, const Life &life) {
  for (Operation *op = before->getNextNode(); op != life.first;
       op = op->getNextNode())
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
    int64_t end = place(lives);
    for (Life &life : lives)
      life.alloc.setOffset(life.offset);
    protectReuse(lives);
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

  /// The buffers in the order of their first access; those without one go.
  SmallVector<Life> findLives(warp::KernelOp kernel) {
    Block &body = kernel.getBody().front();
    SmallVector<Life> lives;
    for (auto alloc :
         llvm::make_early_inc_range(body.getOps<warp::AllocOp>())) {
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
      if (life.accesses.empty()) {
        if (alloc->use_empty())
          alloc.erase();
        continue;
      }
      life.bytes = warp::getBufferBytes(alloc.getType());
      lives.push_back(std::move(life));
    }
    return lives;
  }

  /// Each buffer, the largest first, at the lowest place that is free during
  /// its life. Returns the end of all.
  int64_t place(SmallVector<Life> &lives) {
    SmallVector<Life *> order;
    for (Life &life : lives)
      order.push_back(&life);
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
          if (!life->isBefore(*other) && !other->isBefore(*life) &&
              life->overlapsInMemory(*other)) {
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
    for (const Life &later : lives)
      for (const Life &earlier : lives)
        if (earlier.isBefore(later) && earlier.overlapsInMemory(later) &&
            !meetBetween(earlier.last, later)) {
          OpBuilder builder(later.first);
          warp::BarrierOp::create(builder, later.first->getLoc());
        }
  }
};

} // namespace
} // namespace attentile
