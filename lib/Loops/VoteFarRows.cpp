//===- VoteFarRows.cpp - one factor for rows that are near 0 --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where a warp votes that no row's reference is far from 0, exponents
// have the factor that near rows have, one for all. Expects: exponents of
// tile-fold-exp2, whose factor is chosen for each row. Leaves: a branch, with a
// factor for each row on its other side alone. Does not handle: what rescaling
// subtracts, a value for each row, whose two roundings cancel where it stands.
//
//===----------------------------------------------------------------------===//

#include "FarRows.h"
#include "Tile/Tile.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {
#define GEN_PASS_DEF_TILEVOTEFARROWS
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

void branch(math::FmaOp exponent, RowFactor factor) {
  OpBuilder b(exponent);
  Location loc = exponent.getLoc();
  auto branch =
      scf::IfOp::create(b, loc, exponent.getType(), voteNear(factor.isFar),
                        /*withElseRegion=*/true);
  exponent.replaceAllUsesWith(branch.getResult(0));
  b.setInsertionPointToStart(branch.thenBlock());
  IRMapping near;
  near.map(factor.choice.getResult(), factor.choice.getFalseValue());
  for (Operation *op : ArrayRef(factor.chain).drop_front())
    b.clone(*op, near);
  scf::YieldOp::create(b, loc, b.clone(*exponent, near)->getResults());
  exponent->moveBefore(branch.elseBlock(), branch.elseBlock()->end());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, exponent.getResult());
}

struct TileVoteFarRows : impl::TileVoteFarRowsBase<TileVoteFarRows> {
  void runOnOperation() override {
    SmallVector<std::pair<math::FmaOp, RowFactor>> exponents;
    getOperation()->walk([&](math::FmaOp exponent) {
      RowFactor factor = matchRowFactor(exponent.getB());
      if (factor.isFar)
        exponents.push_back({exponent, factor});
    });
    for (auto &[exponent, factor] : exponents)
      branch(exponent, factor);
  }
};

} // namespace
} // namespace attentile
