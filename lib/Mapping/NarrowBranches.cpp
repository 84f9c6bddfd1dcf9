//===- NarrowBranches.cpp - round in a branch what is rounded behind it ---===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: a result of scf.if whose only use is a rounding to 16 bits is rounded
// on both sides, so that half the registers live across the branch. Expects:
// tiles with layouts. Leaves: branches that yield 16-bit tiles. Does not
// handle: results with other uses.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

namespace attentile {
#define GEN_PASS_DEF_TILENARROWBRANCHES
#include "Mapping/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Rounds before the branch's yields; what was rounded there in its place.
void narrow(arith::TruncFOp round, scf::IfOp branch, unsigned number,
            SmallVectorImpl<arith::TruncFOp> &next) {
  Type type = round.getType();
  for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()}) {
    OpOperand &operand = yield->getOpOperand(number);
    OpBuilder builder(yield);
    if (operand.get().getDefiningOp<ub::PoisonOp>()) {
      operand.set(ub::PoisonOp::create(builder, round.getLoc(), type));
      continue;
    }
    auto inside =
        arith::TruncFOp::create(builder, round.getLoc(), type, operand.get());
    operand.set(inside);
    next.push_back(inside);
  }
  branch.getResult(number).setType(type);
  round.replaceAllUsesWith(branch.getResult(number));
  round.erase();
}

struct TileNarrowBranches : impl::TileNarrowBranchesBase<TileNarrowBranches> {
  void runOnOperation() override {
    SmallVector<arith::TruncFOp> open;
    getOperation()->walk([&](arith::TruncFOp round) { open.push_back(round); });
    while (!open.empty()) {
      arith::TruncFOp round = open.pop_back_val();
      auto result = dyn_cast<OpResult>(round.getIn());
      auto branch = result ? dyn_cast<scf::IfOp>(result.getOwner()) : nullptr;
      if (branch && result.hasOneUse())
        narrow(round, branch, result.getResultNumber(), open);
    }
  }
};

} // namespace
} // namespace attentile
