//===- SkipHidden.cpp - warps leave out blocks that are hidden from them --===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where warp.hidden holds, an iteration requests its part of the copies,
//   arrives where it would have and goes on with what it carries.
// Expects: registers, no fragments; loops whose warps meet at mbarriers, or at
//   an iteration's start alone.
// Leaves: no warp.hidden.
// Does not handle: loops with barriers behind it, at which a warp that leaves
//   out its work waits for the others.
//
//===----------------------------------------------------------------------===//
//
// What others wait for, and what it is made of, stands on both sides:
//
//   wait until this block's copies have arrived      wait ..
//   request the next keys                            request ..
//   warp.hidden %none                                if %none {
//   first product                                      arrive: keys read
//   arrive: keys read                         ->       wait .., request ..
//   wait until values are free, request the next       arrive: values read
//   softmax, second product                            yield what is carried
//   arrive: values read                              } else { .. as before .. }
//

#include "Warp/Warp.h"
#include "WorkSlice.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {
#define GEN_PASS_DEF_WARPSKIPHIDDEN
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

class Skipper {
public:
  explicit Skipper(warp::HiddenOp hidden)
      : hidden(hidden), body(hidden->getBlock()),
        needed(hidden, /*withReads=*/false) {}

  /// Whether no warp waits for others behind the marker but at mbarriers.
  bool find() {
    return isa<scf::ForOp>(body->getParentOp()) && needed.addShared();
  }
  void run();

private:
  warp::HiddenOp hidden;
  Block *body;
  WorkSlice needed; ///< behind the marker, by all warps
};

void Skipper::run() {
  auto loop = cast<scf::ForOp>(body->getParentOp());
  Operation *terminator = body->getTerminator();
  // What the loop carries on, where it is no result of the work: the buffers'
  // number.
  SmallVector<OpOperand *> made;
  SmallVector<Value> kept;
  IRMapping copies;
  for (auto [operand, carried] :
       llvm::zip_equal(terminator->getOpOperands(), loop.getRegionIterArgs())) {
    Operation *op = operand.get().getDefiningOp();
    if (!needed.isBehind(op))
      continue;
    made.push_back(&operand);
    bool goesOn = op->getNumRegions() == 0 && needed.add(op);
    kept.push_back(goesOn ? operand.get() : carried);
  }
  SmallVector<Operation *> work;
  for (Operation *op = hidden->getNextNode(); op != terminator;
       op = op->getNextNode())
    work.push_back(op);

  OpBuilder builder(hidden);
  Location loc = hidden.getLoc();
  SmallVector<Type> types(llvm::map_range(
      made, [](OpOperand *operand) { return operand->get().getType(); }));
  auto branch = scf::IfOp::create(builder, loc, types, hidden.getCondition(),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder skips = OpBuilder::atBlockEnd(branch.thenBlock());
  needed.clone(skips, copies);
  for (Value &value : kept)
    value = copies.lookupOrDefault(value);
  scf::YieldOp::create(skips, loc, kept);

  Block *works = branch.elseBlock();
  for (Operation *op : work)
    op->moveBefore(works, works->end());
  SmallVector<Value> results;
  for (OpOperand *operand : made)
    results.push_back(operand->get());
  OpBuilder end = OpBuilder::atBlockEnd(works);
  scf::YieldOp::create(end, loc, results);
  for (auto [operand, result] : llvm::zip_equal(made, branch.getResults()))
    operand->set(result);
}

struct WarpSkipHidden : impl::WarpSkipHiddenBase<WarpSkipHidden> {
  void runOnOperation() override {
    SmallVector<warp::HiddenOp> found;
    getOperation()->walk([&](warp::HiddenOp op) { found.push_back(op); });
    for (warp::HiddenOp hidden : found) {
      Skipper skipper(hidden);
      if (skipper.find())
        skipper.run();
      hidden.erase();
    }
  }
};

} // namespace
} // namespace attentile
