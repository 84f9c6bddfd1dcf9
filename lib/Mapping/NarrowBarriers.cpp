//===- NarrowBarriers.cpp - barriers that only a warp needs ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where each warp touches its own rows alone on both sides of a barrier,
// the warp waits for itself. Expects: allocated buffers. Leaves: warp.sync, and
// copies that deal a warp's rows to that warp. Does not handle: barriers within
// loops or branches, buffers with stages.
//
//===----------------------------------------------------------------------===//
//
// Outputs lie where the queries lay, a warp's rows in the room of its own:
//
//   warp 0   queries 0 .. 31    read by warp 0      outputs 0 .. 31
//   warp 1   queries 32 .. 63   read by warp 1      outputs 32 .. 63
//
// So a warp that is done with its keys need not wait for the others before it
// writes its outputs. The queries must have been copied by that warp too: a
// loop over keys may have no turn, and then nobody has waited for the copies of
// others.
//

#include "Warp/Warp.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {
#define GEN_PASS_DEF_WARPNARROWBARRIERS
#include "Mapping/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// An index between warps * warp_id + low and warps * warp_id + high.
struct Rows {
  int64_t warps, low, high;
};

std::optional<Rows> rowsOf(Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return Rows{0, constant.getSExtValue(), constant.getSExtValue()};
  Operation *op = index.getDefiningOp();
  if (isa_and_nonnull<warp::WarpIdOp>(op))
    return Rows{1, 0, 0};
  if (isa_and_nonnull<warp::LaneIdOp>(op))
    return Rows{0, 0, 31};
  if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp, arith::DivUIOp,
                       arith::RemUIOp>(op))
    return std::nullopt;
  std::optional<Rows> x = rowsOf(op->getOperand(0)),
                      y = rowsOf(op->getOperand(1));
  if (!x || !y || x->low < 0 || y->low < 0)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return Rows{x->warps + y->warps, x->low + y->low, x->high + y->high};
  int64_t by = y->low;
  if (y->warps != 0 || by != y->high || by == 0)
    return std::nullopt;
  if (isa<arith::MulIOp>(op))
    return Rows{x->warps * by, x->low * by, x->high * by};
  if (x->warps != 0)
    return std::nullopt;
  if (isa<arith::DivUIOp>(op))
    return Rows{0, x->low / by, x->high / by};
  return Rows{0, 0, std::min(x->high, by - 1)};
}

/// One operation on a buffer.
struct Access {
  Operation *op;
  Operation *top; ///< it or what holds it, in the kernel's block
  int64_t offset, bytes;
  bool writes;
  /// Each warp touches this many bytes alone, in the order of the warps; 0: all
  /// may touch all.
  int64_t share = 0;

  bool overlaps(const Access &other) const {
    return offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
};

/// Rows that matrices of 8 reach to, from the first on.
int64_t rowsRead(warp::LdmatrixOp op) {
  bool byRows = op.getOrder() == warp::MatrixOrder::Rows;
  return op.getNum() == 4 || (op.getNum() == 2 && byRows) ? 16 : 8;
}

class Barriers {
public:
  explicit Barriers(warp::KernelOp kernel)
      : kernel(kernel), body(kernel.getBody().front()) {}

  void run() {
    collect();
    Operation *last = nullptr; // the barrier before that stays
    for (auto barrier :
         llvm::make_early_inc_range(body.getOps<warp::BarrierOp>())) {
      llvm::SetVector<Operation *> copies;
      if (!isNarrow(barrier, last, copies)) {
        last = barrier;
        continue;
      }
      for (Operation *copy : copies)
        cast<warp::CopyAsyncOp>(copy).setOwnRows(true);
      OpBuilder builder(barrier);
      warp::SyncOp::create(builder, barrier.getLoc());
      barrier.erase();
    }
  }

private:
  void collect() {
    for (auto alloc : body.getOps<warp::AllocOp>())
      for (Operation *user : alloc->getUsers())
        if (auto stage = dyn_cast<warp::StageOp>(user))
          for (Operation *access : stage->getUsers())
            add(alloc, access, /*isStage=*/true);
        else
          add(alloc, user, /*isStage=*/false);
  }

  void add(warp::AllocOp alloc, Operation *op, bool isStage) {
    warp::BufferType type = alloc.getType();
    bool writes = !isa<warp::LdmatrixOp, warp::LoadSharedOp>(op);
    Access access{op, body.findAncestorOpInBlock(*op),
                  int64_t(alloc.getOffset().value_or(0)),
                  warp::getBufferBytes(type), writes};
    if (!isStage && type.getRank() == 2)
      access.share = shareOf(op, type);
    accesses.push_back(access);
  }

  int64_t shareOf(Operation *op, warp::BufferType type) {
    int64_t warps = kernel.getWarps(), rows = type.getShape()[0];
    int64_t own = rows / warps;
    if (rows % warps != 0)
      return 0;
    int64_t bytes = own * warp::getSharedLayout(type).pitch *
                    warp::getElementBytes(type.getElementType());
    if (auto copy = dyn_cast<warp::CopyAsyncOp>(op))
      return copy.canOwnRows(warps) ? bytes : 0;
    int64_t read = 1;
    Value row;
    if (auto load = dyn_cast<warp::LdmatrixOp>(op)) {
      row = load.getRow();
      read = rowsRead(load);
    } else if (auto load = dyn_cast<warp::LoadSharedOp>(op)) {
      row = load.getIndices().front();
    } else if (auto store = dyn_cast<warp::StoreSharedOp>(op)) {
      row = store.getIndices().front();
    } else {
      return 0;
    }
    std::optional<Rows> known = rowsOf(row);
    bool isOwn = known && known->warps == own && known->high + read <= own;
    return isOwn ? bytes : 0;
  }

  /// Whether no warp needs what another did since `last`; `copies` are those
  /// that must be dealt by warps for it.
  bool isNarrow(warp::BarrierOp barrier, Operation *last,
                llvm::SetVector<Operation *> &copies) {
    Operation *next = barrier->getNextNode();
    while (next && !isa<warp::BarrierOp>(next))
      next = next->getNextNode();
    for (const Access &before : accesses) {
      if (!before.top->isBeforeInBlock(barrier))
        continue;
      // A copy may arrive behind a barrier that it was asked for before.
      bool isCopy = isa<warp::CopyAsyncOp>(before.op);
      if (last && before.top->isBeforeInBlock(last) &&
          (!isCopy || isWaitedFor(before, last)))
        continue;
      for (const Access &after : accesses) {
        if (!barrier->isBeforeInBlock(after.top) ||
            (next && next->isBeforeInBlock(after.top)) ||
            !before.overlaps(after) || !(before.writes || after.writes))
          continue;
        if (before.share == 0 || before.share != after.share ||
            before.offset != after.offset)
          return false;
        for (const Access &access : {before, after})
          if (isa<warp::CopyAsyncOp>(access.op))
            copies.insert(access.op);
        if (isCopy && !isWaitedFor(before, barrier))
          return false;
      }
    }
    return true;
  }

  /// Whether all copies have arrived between a copy and the barrier, whatever
  /// loops do.
  static bool isWaitedFor(const Access &copy, Operation *barrier) {
    for (Operation *op = copy.top; op != barrier; op = op->getNextNode())
      if (auto wait = dyn_cast<warp::WaitGroupOp>(op);
          wait && wait.getPending() == 0)
        return true;
    return false;
  }

  warp::KernelOp kernel;
  Block &body;
  SmallVector<Access> accesses;
};

struct WarpNarrowBarriers : impl::WarpNarrowBarriersBase<WarpNarrowBarriers> {
  void runOnOperation() override {
    getOperation()->walk([](warp::KernelOp kernel) { Barriers(kernel).run(); });
  }
};

} // namespace
} // namespace attentile
