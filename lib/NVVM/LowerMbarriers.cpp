//===- LowerMbarriers.cpp - barriers with arriving and waiting apart ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mbarrier instructions as inline PTX: the wait is a loop with a label of its
// own, and the arrival of copies takes a shared address of 32 bits as all else
// here does. They keep their order among what touches memory.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "attentile/Loops/Targets.h"

using namespace mlir;

namespace attentile::nvvm {

static void addPtx(const Emitter &e, StringRef text, StringRef constraints,
                   ValueRange operands) {
  std::string all = (constraints + ",~{memory}").str();
  e.ptx(text, all, TypeRange(), operands, /*sideEffects=*/true);
}

static void makeAll(KernelLowering &k, const Emitter &e, warp::MbarriersOp op) {
  Value isFirst = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq,
                                        k.threadId, e.i32(0));
  for (auto [number, barrier, arrivals] :
       llvm::enumerate(op.getResults(), op.getArrivals())) {
    Value address =
        sharedByte(e, *op.getOffset() + kMbarrierBytes * int64_t(number));
    k.buffers[barrier] = address;
    addPtx(e, "@$0 mbarrier.init.shared.b64 [$1], $2;", "b,r,r",
           {isFirst, address, e.i32(arrivals)});
  }
  NVVM::Barrier0Op::create(e.b, e.loc);
}

void lowerMbarriers(KernelLowering &k, Operation *op) {
  OpBuilder b(op);
  Emitter e(b, op->getLoc());
  if (auto made = dyn_cast<warp::MbarriersOp>(op))
    return makeAll(k, e, made); // erased with the buffers
  Value barrier = k.buffers.lookup(op->getOperand(0));
  if (isa<warp::ArriveCopiesOp>(op)) {
    addPtx(e, "cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", "r", barrier);
  } else if (isa<warp::ArriveOp>(op)) {
    NVVM::SyncWarpOp::create(b, op->getLoc(), e.i32(-1));
    Value isFirst = arith::CmpIOp::create(
        b, op->getLoc(), arith::CmpIPredicate::eq, k.laneId, e.i32(0));
    addPtx(e,
           "{ .reg .b64 state; @$0 mbarrier.arrive.shared.b64 state, [$1]; }",
           "b,r", {isFirst, barrier});
  } else {
    auto wait = cast<warp::WaitPhaseOp>(op);
    addPtx(e,
           "{ .reg\t.pred P; WAIT_${:uid}: "
           "mbarrier.try_wait.parity.shared.b64 P, [$0], $1; "
           "@!P bra WAIT_${:uid}; }",
           "r,r", {barrier, e.to32(wait.getParity())});
  }
  op->erase();
}

} // namespace attentile::nvvm
