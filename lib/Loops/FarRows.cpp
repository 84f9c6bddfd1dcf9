//===- FarRows.cpp - exponents whose factor a row chooses -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FarRows.h"
#include "Tile/Tile.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace attentile {

RowFactor matchRowFactor(Value factor) {
  RowFactor result;
  while (Operation *op = factor.getDefiningOp()) {
    result.chain.push_back(op);
    if (auto choice = dyn_cast<arith::SelectOp>(op)) {
      auto isFar = choice.getCondition().getDefiningOp<arith::CmpFOp>();
      if (isFar && isFar.getPredicate() == arith::CmpFPredicate::OGT &&
          isFar.getLhs().getDefiningOp<math::AbsFOp>()) {
        std::reverse(result.chain.begin(), result.chain.end());
        result.isFar = isFar;
        result.choice = choice;
        return result;
      }
      break;
    }
    if (!isa<tile::BroadcastOp, arith::MulFOp>(op))
      break;
    factor = op->getOperand(0);
  }
  return {};
}

Value voteNear(arith::CmpFOp isFar) {
  OpBuilder b(isFar.getContext());
  b.setInsertionPointAfter(isFar);
  Location loc = isFar.getLoc();
  Value near = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ULE,
                                     isFar.getLhs(), isFar.getRhs());
  return tile::VoteOp::create(b, loc, near);
}

} // namespace attentile
