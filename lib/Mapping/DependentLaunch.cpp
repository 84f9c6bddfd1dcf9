//===- DependentLaunch.cpp - kernels that start while one before ends -----===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: lets the kernel be launched as a programmatic dependent: it waits for
// the kernel before it where it first accesses memory, and lets the one behind
// it start. Expects: kernels in their final form, a target of sm_90 or later.
// Leaves: nvvm.griddepcontrol. Does not handle: kernels that access no memory;
// those wait at their end, as others rely on that.
//
//===----------------------------------------------------------------------===//
//
// Kernels of a stream run one after the other: the last programs of one, a
// launch, the first copies of the next, some 10 us in which most of the GPU
// has nothing to do. With this a program of the next kernel takes its place as
// soon as there is room, computes where its tile lies, and waits there.
//
// The wait is for all that the kernel before did, and for all that was before
// that, as that one has waited too. So every kernel waits, on every path, and
// nothing of it accesses memory before.
//
// ptxas moves a wait up, before arithmetic that nothing keeps from it. Where a
// kernel's first access is a store, as where the classes of blocks follow from
// indices alone, all of its work would then wait. So the wait stands behind a
// test of what is stored: each lane has from itself what it had.
//

#include "Warp/Warp.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attentile {
#define GEN_PASS_DEF_WARPDEPENDENTLAUNCH
#include "Mapping/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

bool accessesMemory(Operation *op) {
  return isa<warp::LoadOp, warp::StoreOp, warp::CopyAsyncOp>(op);
}

/// A condition that holds, known when `value` is.
Value isThere(OpBuilder &b, Location loc, Value value) {
  Value lane = warp::LaneIdOp::create(b, loc, b.getIndexType());
  Value own = warp::ShuffleFromOp::create(b, loc, value, lane);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, own, value);
}

void startEarly(warp::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto first = llvm::find_if(body, [](Operation &op) {
    return op
        .walk([](Operation *inner) {
          return accessesMemory(inner) ? WalkResult::interrupt()
                                       : WalkResult::advance();
        })
        .wasInterrupted();
  });
  OpBuilder builder(&body, first);
  Location loc = kernel.getLoc();
  auto store =
      first == body.end() ? warp::StoreOp() : dyn_cast<warp::StoreOp>(*first);
  if (store && store.getValue().getType().isInteger(32)) {
    auto wait =
        scf::IfOp::create(builder, loc, isThere(builder, loc, store.getValue()),
                          /*withElseRegion=*/false);
    builder.setInsertionPointToStart(wait.thenBlock());
  }
  NVVM::GriddepcontrolOp::create(builder, loc, NVVM::GridDepActionKind::wait);
  builder.setInsertionPointToStart(&body);
  NVVM::GriddepcontrolOp::create(builder, loc,
                                 NVVM::GridDepActionKind::launch_dependents);
}

struct WarpDependentLaunch
    : impl::WarpDependentLaunchBase<WarpDependentLaunch> {
  void runOnOperation() override { getOperation()->walk(startEarly); }
};

} // namespace
} // namespace attentile
