//===- OrderPrograms.cpp - the longest programs first ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where the end of a loop grows along the grid's last axis, the programs
// of that axis run from its end on, so that what starts last is short; where
// programs share lists of blocks, those that share one run side by side.
// Expects: tile.kernel with loop bounds. Leaves: the same programs under other
// numbers, `tile.common_bytes`. Does not handle: bounds that are not monotone
// in the coordinate; those stay.
//
//===----------------------------------------------------------------------===//
//
// Programs go in sections of heads (CommonBytes.h). Where the loop's start
// rises too, as of a window, programs side by side read a part of the keys:
// they count half.
//

#include "BlockLists.h"
#include "CommonBytes.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Trend.h"
#include "mlir/IR/Matchers.h"

namespace attentile {
#define GEN_PASS_DEF_TILEORDERPROGRAMS
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// How values change as the coordinate grows.
class Trends {
public:
  explicit Trends(Value id) : known{{id, Trend::Rises}} {}

  Trend of(Value value) {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    Trend trend = find(value.getDefiningOp());
    known[value] = trend;
    return trend;
  }

private:
  Trend find(Operation *op);

  llvm::DenseMap<Value, Trend> known;
};

Trend Trends::find(Operation *op) {
  if (!op) // an argument of the program, another coordinate
    return Trend::Constant;
  SmallVector<Trend> operands;
  for (Value operand : op->getOperands())
    operands.push_back(of(operand));
  if (llvm::all_of(operands, [](Trend t) { return t == Trend::Constant; }))
    return op->getNumRegions() == 0 ? Trend::Constant : Trend::Unknown;
  if (isa<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return join(operands[0], operands[1]);
  if (isa<arith::SubIOp>(op))
    return join(operands[0], negate(operands[1]));
  // One of two ends, of which both rise: the loop's, or its start if it is
  // empty.
  if (isa<arith::SelectOp>(op))
    return operands[1] == Trend::Rises && operands[2] == Trend::Rises
               ? Trend::Rises
               : Trend::Unknown;
  // Times or by a positive constant.
  APInt factor;
  if (isa<arith::MulIOp, arith::DivUIOp, arith::DivSIOp, arith::CeilDivSIOp,
          attn::FloorDivOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&factor)) &&
      factor.isStrictlyPositive())
    return operands[0];
  return Trend::Unknown;
}

/// Whether `loop` visits a list that each of the last axis's coordinates has,
/// the same along the axis before it: that of a tile of rows, for all heads.
bool sharesList(scf::ForOp loop, Block &body) {
  tile::LoadOp load = getListStart(loop);
  if (body.getNumArguments() < 2)
    return false;
  auto has = [&](BlockArgument id) {
    return llvm::is_contained(load.getIndices(), id);
  };
  ArrayRef<BlockArgument> ids = body.getArguments();
  return load && has(ids.back()) && !has(ids.drop_back().back());
}

void order(tile::KernelOp kernel) {
  // What lists blocks is short.
  if (kernel.getBounds().empty() || kernel->hasAttr("tile.block_list"))
    return;
  Block &body = kernel.getBody().front();
  BlockArgument id = body.getArguments().back();
  // Chained loops end where the last one of them does.
  Trends trends(id);
  auto loops = body.getOps<scf::ForOp>();
  bool rises = llvm::any_of(loops, [&](scf::ForOp loop) {
    return trends.of(loop.getUpperBound()) == Trend::Rises;
  });
  bool isWindow = llvm::all_of(loops, [&](scf::ForOp loop) {
    return trends.of(loop.getLowerBound()) == Trend::Rises;
  });
  bool shares = llvm::any_of(
      loops, [&](scf::ForOp loop) { return sharesList(loop, body); });
  if (!rises && !shares)
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  Location loc = kernel.getLoc();
  int64_t bytes = rises ? getCommonBytes(kernel) : 1;
  setCommonBytes(kernel, isWindow ? llvm::divideCeil(bytes, 2) : bytes);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value last =
      arith::SubIOp::create(builder, loc, kernel.getBounds().back(), one);
  auto left = arith::SubIOp::create(builder, loc, last, id);
  // Never below 0, which ranges of the operands do not tell.
  Value reversed = arith::MaxSIOp::create(
      builder, loc, left, arith::ConstantIndexOp::create(builder, loc, 0));
  id.replaceAllUsesExcept(reversed, left);
}

struct TileOrderPrograms : impl::TileOrderProgramsBase<TileOrderPrograms> {
  void runOnOperation() override { getOperation()->walk(order); }
};

} // namespace
} // namespace attentile
