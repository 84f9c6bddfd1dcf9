//===- OrderPrograms.cpp - the longest programs first ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where the end of a loop grows along the grid's last axis, the programs
// of that axis run from its end on, so that what starts last is short; where
// its start grows too, the long ones run along their rows and the short ones
// last; where programs share lists of blocks, those that share one run side by
// side. Expects: tile.kernel with loop bounds. Leaves: the same programs under
// other numbers, `tile.common_bytes`, `tile.common_programs`. Does not handle:
// bounds that are not monotone in the coordinate; those stay.
//
//===----------------------------------------------------------------------===//
//
// Programs go in sections of heads (CommonBytes.h). Where the loop's start
// rises too, as of a window, programs side by side read a part of the keys:
// they count half, and no more than so many tiles of rows.
//

#include "BlockLists.h"
#include "CommonBytes.h"
#include "CopySlice.h"
#include "Trends.h"
#include "attentile/Loops/Passes.h"

namespace attentile {
#define GEN_PASS_DEF_TILEORDERPROGRAMS
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Along the last axis, programs whose keys are in the cache together, where a
/// window moves with them: some 16 of a head that run, the 8 or 16 tiles of
/// keys behind them that the window reaches, and as many again that are loaded
/// or left.
constexpr int64_t kProgramsOfWindow = 64;

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

/// Whether the blocks of such a list lie in a window that moves with the last
/// coordinate: those that its writer visits start later and later.
bool listsWindow(scf::ForOp loop) {
  Value list = getListStart(loop).getTensor();
  bool isWindow = false;
  for (Operation *user : list.getUsers()) {
    if (!isa<tile::StoreOp>(user))
      continue;
    auto writer = user->getParentOfType<tile::KernelOp>();
    Trends trends(writer.getBody().getArguments().back());
    for (auto visit : writer.getBody().getOps<scf::ForOp>()) {
      if (trends.of(visit.getLowerBound()) != Trend::Rises)
        return false;
      isWindow = true;
    }
  }
  return isWindow;
}

class Order {
public:
  Order(tile::KernelOp kernel, BlockArgument id)
      : kernel(kernel), id(id),
        builder(OpBuilder::atBlockBegin(&kernel.getBody().front())),
        loc(kernel.getLoc()), bound(kernel.getBounds().back()) {}

  /// From the last program on.
  Value reverse() {
    Value last = arith::SubIOp::create(builder, loc, bound, constant(1));
    // Never below 0, which ranges of the operands do not tell.
    return arith::MaxSIOp::create(builder, loc,
                                  arith::SubIOp::create(builder, loc, last, id),
                                  constant(0));
  }

  /// Those of a window: the long ones, which start at a key behind the first,
  /// in their order, so that each finds its first keys in the cache, where the
  /// one before has read them; then the others, the longest first. Null where
  /// it cannot be told which are long.
  Value startWithLong(scf::ForOp loop);

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  tile::KernelOp kernel;
  BlockArgument id;
  OpBuilder builder;
  Location loc;
  Value bound;
};

Value Order::startWithLong(scf::ForOp loop) {
  Value one = constant(1), zero = constant(0);
  Value last = arith::SubIOp::create(builder, loc, bound, one);
  IRMapping mapping;
  mapping.map(id, last);
  Value start =
      copySlice(builder, loop.getLowerBound(), mapping, [&](Value value) {
        Operation *op = value.getDefiningOp();
        return value != id && !(op && kernel->isProperAncestor(op));
      });
  if (!start)
    return {};
  auto least = [&](Value x, Value y) -> Value {
    return arith::MinSIOp::create(builder, loc, x, y);
  };
  auto most = [&](Value x, Value y) -> Value {
    return arith::MaxSIOp::create(builder, loc, x, y);
  };
  // The last program starts as many rows later as there are long ones.
  Value rows = constant(getRowsOfProgram(kernel));
  Value longs = least(
      arith::DivUIOp::create(builder, loc, most(start, zero), rows), bound);
  Value first = arith::SubIOp::create(builder, loc, bound, longs);
  Value isLong =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, id, longs);
  Value number = arith::SelectOp::create(
      builder, loc, isLong, arith::AddIOp::create(builder, loc, id, first),
      arith::SubIOp::create(builder, loc, last, id));
  // Within the bound, which ranges of the operands do not tell.
  return most(least(number, last), zero);
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
  int64_t bytes = rises ? getCommonBytes(kernel) : 1;
  setCommonBytes(kernel, isWindow ? llvm::divideCeil(bytes, 2) : bytes);
  if (isWindow)
    kernel->setAttr("tile.common_programs",
                    OpBuilder(kernel).getI64IntegerAttr(kProgramsOfWindow));
  if (!rises && llvm::all_of(loops, [&](scf::ForOp loop) {
        return sharesList(loop, body) && listsWindow(loop);
      }))
    return;
  auto uses = llvm::to_vector(llvm::make_pointer_range(id.getUses()));
  Order order(kernel, id);
  Value number = isWindow ? order.startWithLong(*loops.begin()) : Value();
  if (!number)
    number = order.reverse();
  for (OpOperand *use : uses)
    use->set(number);
}

struct TileOrderPrograms : impl::TileOrderProgramsBase<TileOrderPrograms> {
  void runOnOperation() override { getOperation()->walk(order); }
};

} // namespace
} // namespace attentile
