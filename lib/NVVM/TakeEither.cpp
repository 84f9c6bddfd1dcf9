//===- TakeEither.cpp - a warp computes one of two ways -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where what an iteration carries on is chosen by warp.either's
//   condition, a branch of which each side computes what it hands on.
// Expects: registers, no fragments; behind warp-skip-hidden.
// Leaves: no warp.either; where warps would meet at barriers in a branch, or
//   write anything behind the marker, the second choices.
// Does not handle: what is computed before the marker, which stays there.
//
//===----------------------------------------------------------------------===//

#include "Warp/Warp.h"
#include "WorkSlice.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attentile {
#define GEN_PASS_DEF_WARPTAKEEITHER
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

class Chooser {
public:
  explicit Chooser(warp::EitherOp either)
      : either(either), terminator(either->getBlock()->getTerminator()),
        first(either, /*withReads=*/true), second(either, /*withReads=*/true) {}

  /// Whether each side can be computed alone.
  bool find();
  void run();
  /// Chooses the second side everywhere.
  void takeSecond();

private:
  arith::SelectOp getChoice(Value value) {
    auto choice = value.getDefiningOp<arith::SelectOp>();
    return choice && choice.getCondition() == either.getCondition()
               ? choice
               : arith::SelectOp();
  }
  static void fill(Block *block, const WorkSlice &work, ValueRange results,
                   Location loc);

  warp::EitherOp either;
  Operation *terminator;
  WorkSlice first, second; ///< behind the marker, of each side
  SmallVector<OpOperand *> handedOn;
  SmallVector<Value> ofFirst, ofSecond;
};

bool Chooser::find() {
  if (!first.addShared() || !second.addShared())
    return false;
  for (OpOperand &operand : terminator->getOpOperands()) {
    if (!first.isBehind(operand.get().getDefiningOp()))
      continue;
    arith::SelectOp choice = getChoice(operand.get());
    handedOn.push_back(&operand);
    ofFirst.push_back(choice ? choice.getTrueValue() : operand.get());
    ofSecond.push_back(choice ? choice.getFalseValue() : operand.get());
  }
  auto add = [](WorkSlice &work, ValueRange results) {
    return llvm::all_of(results, [&](Value result) {
      Operation *op = result.getDefiningOp();
      return !work.isBehind(op) || work.add(op);
    });
  };
  return add(first, ofFirst) && add(second, ofSecond) &&
         !first.leavesChanges(second);
}

void Chooser::fill(Block *block, const WorkSlice &work, ValueRange results,
                   Location loc) {
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  IRMapping copies;
  work.clone(builder, copies);
  scf::YieldOp::create(builder, loc,
                       llvm::map_to_vector(results, [&](Value result) {
                         return copies.lookupOrDefault(result);
                       }));
}

void Chooser::run() {
  OpBuilder builder(terminator);
  Location loc = either.getLoc();
  auto branch = scf::IfOp::create(builder, loc, ValueRange(ofFirst).getTypes(),
                                  either.getCondition(),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  fill(branch.thenBlock(), first, ofFirst, loc);
  fill(branch.elseBlock(), second, ofSecond, loc);
  for (auto [operand, result] : llvm::zip_equal(handedOn, branch.getResults()))
    operand->set(result);
  while (branch->getPrevNode() != either)
    branch->getPrevNode()->erase();
}

void Chooser::takeSecond() {
  for (OpOperand &operand : terminator->getOpOperands())
    if (arith::SelectOp choice = getChoice(operand.get()))
      operand.set(choice.getFalseValue());
}

struct WarpTakeEither : impl::WarpTakeEitherBase<WarpTakeEither> {
  void runOnOperation() override {
    SmallVector<warp::EitherOp> found;
    getOperation()->walk([&](warp::EitherOp op) { found.push_back(op); });
    for (warp::EitherOp either : found) {
      Chooser chooser(either);
      if (chooser.find())
        chooser.run();
      else
        chooser.takeSecond();
      either.erase();
    }
  }
};

} // namespace
} // namespace attentile
