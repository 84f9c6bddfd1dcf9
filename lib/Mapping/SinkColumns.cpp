//===- SinkColumns.cpp - columns loaded where pairs need them -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: what is loaded along one axis for one side of a branch on a vote alone
// is loaded on that side. Expects: tiles with layouts. Leaves: the same values.
// Does not handle: loads with other users, and what else could be sunk: that
// keeps the places which other passes gave it.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/ControlFlowSinkUtils.h"

namespace attentile {
#define GEN_PASS_DEF_TILESINKCOLUMNS
#include "Mapping/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// A load of one axis, or its elements as indices, in a branch already.
bool isOfColumns(Operation *op, Region *) {
  auto isOneAxis = [](Type type) {
    return tile::isTile(type) && tile::getAxes(type).size() == 1;
  };
  return isa<tile::LoadOp, arith::IndexCastOp>(op) &&
         isa<scf::IfOp>(op->getParentOp()) &&
         isOneAxis(op->getResult(0).getType());
}

struct TileSinkColumns : impl::TileSinkColumnsBase<TileSinkColumns> {
  void runOnOperation() override {
    DominanceInfo dominance(getOperation());
    getOperation()->walk([&](scf::IfOp branch) {
      if (!branch.getCondition().getDefiningOp<tile::VoteOp>())
        return;
      SmallVector<Region *> sides(
          llvm::make_pointer_range(branch->getRegions()));
      controlFlowSink(sides, dominance, isOfColumns,
                      [](Operation *op, Region *side) {
                        Block &block = side->front();
                        op->moveBefore(&block, block.begin());
                      });
    });
  }
};

} // namespace
} // namespace attentile
