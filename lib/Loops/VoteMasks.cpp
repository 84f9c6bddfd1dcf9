//===- VoteMasks.cpp - a mask's bounds only for rows that they cut --------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: splits a mask into its bounds (n <= last, n > first), each behind a
// branch of its own on whether the block of keys lies on the visible side of it
// for all rows that decide together: of a window's blocks those at its start
// evaluate one bound, those at its end the other, and no warp evaluates one
// that does not cut its rows; likewise other comparisons of what rows and
// columns have (GroupTruth). Where a comparison is of remainders that nothing
// cuts for the deciding rows and the block, it is one of differences
// (StraightRemainders); where what is loaded for the deciding rows is one
// value, it is one of columns (AlikeRows), for the block's columns one of rows
// (AlikeColumns). Expects: tile loops in which masks are behind a branch.
// Leaves: the same values. Does not handle: conditions that can only be asked
// pair by pair, masks of more than two axes; they stay one select.
//
//===----------------------------------------------------------------------===//

#include "AlikeColumns.h"
#include "AlikeRows.h"
#include "GroupTruth.h"
#include "SeenColumns.h"
#include "StraightRemainders.h"
#include "VisibilityFormula.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Sources.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {
#define GEN_PASS_DEF_TILEVOTEMASKS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-vote-masks"

using namespace mlir;

namespace attentile {
namespace {

using P = arith::CmpIPredicate;

/// What a thread may have. A kernel that is expected to take all of it (head
/// size 128 with 64 keys) has room for what the branches need only where a row
/// has several bounds, whose comparisons take more.
constexpr int64_t kMostRegisters = 255;

/// A comparison of the loop's index with a limit that a row has, or all rows.
struct Bound {
  tile::IndexOp index;
  Value limit;
  P predicate;
};

std::optional<Bound> matchBound(MaskCondition part, scf::ForOp loop) {
  auto compare = stripBroadcast(part.value).getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() == P::eq ||
      compare.getPredicate() == P::ne || compare.getPredicate() >= P::ult)
    return std::nullopt;
  P predicate = compare.getPredicate();
  if (!part.visible)
    predicate = arith::invertPredicate(predicate);
  Value index = stripBroadcast(compare.getLhs());
  Value limit = stripBroadcast(compare.getRhs());
  if (!isLoopIndex(index, loop)) {
    std::swap(index, limit);
    predicate = predicate == P::slt   ? P::sgt
                : predicate == P::sle ? P::sge
                : predicate == P::sgt ? P::slt
                                      : P::sle;
  }
  auto tile = isLoopIndex(index, loop) ? index.getDefiningOp<tile::IndexOp>()
                                       : tile::IndexOp();
  if (!tile || (!isUniform(limit) &&
                tile::getAxisPosition(limit.getType(),
                                      tile::getAxes(tile.getType()).front())))
    return std::nullopt;
  return Bound{tile, limit, predicate};
}

/// Whether all of the block's indices are on the visible side of the limit, for
/// the rows that decide together.
Value emitVote(OpBuilder &b, Location loc, Bound bound) {
  bool isUpper = bound.predicate == P::slt || bound.predicate == P::sle;
  Value end = bound.index.getBase();
  if (isUpper) {
    int64_t size = bound.index.getType().getDimSize(0);
    end = arith::AddIOp::create(
        b, loc, end, arith::ConstantIndexOp::create(b, loc, size - 1));
  }
  Value limit = getUniform(b, bound.limit);
  Type type = limit.getType();
  if (tile::isTile(type))
    end = tile::BroadcastOp::create(b, loc, type, end);
  Value whole = arith::CmpIOp::create(b, loc, bound.predicate, end, limit);
  return tile::isTile(type) ? tile::VoteOp::create(b, loc, whole).getResult()
                            : whole;
}

/// Whether a part compares something of rows with something of columns.
bool comparesPairs(MaskCondition part) {
  Value value = stripBroadcast(part.value);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return value.getDefiningOp<arith::CmpIOp>() && type && type.getRank() == 2;
}

/// Whether it is made of tiles that are divided.
bool isDivided(Value value) {
  auto isTile = [](Value part) { return tile::isTile(part.getType()); };
  return anySource(
      value,
      [&](Value part) {
        return isTile(part) &&
               isa_and_nonnull<attn::FloorDivOp, attn::FloorModOp>(
                   part.getDefiningOp());
      },
      isTile);
}

/// Likewise of another comparison of what rows and columns have, such as the
/// rows of their pixels; null where scalars do not tell.
Value emitVote(OpBuilder &b, MaskCondition part, scf::ForOp loop) {
  if (!comparesPairs(part))
    return {};
  auto compare = stripBroadcast(part.value).getDefiningOp<arith::CmpIOp>();
  return GroupTruth(loop, b).getSure(compare, !part.visible);
}

/// The comparison again, where the branch needs it, with what is made of pairs
/// and what partial blocks alone load or divide.
Value cloneBound(OpBuilder &b, Value value, scf::ForOp loop,
                 IRMapping &copies) {
  Operation *op = value.getDefiningOp();
  if (!op || !tile::isTile(value.getType())) // a tensor is no tile
    return value;
  if (Value copy = copies.lookupOrNull(value))
    return copy;
  auto type = cast<RankedTensorType>(value.getType());
  bool isOfBranch = loop->isProperAncestor(op) && op->getParentOp() != loop;
  if (type.getRank() < 2 && !isa<arith::CmpIOp, tile::BroadcastOp>(op) &&
      !(isOfBranch && isa<tile::LoadOp, arith::IndexCastOp, attn::FloorDivOp,
                          attn::FloorModOp>(op)))
    return value;
  for (Value operand : op->getOperands())
    copies.map(operand, cloneBound(b, operand, loop, copies));
  return b.clone(*op, copies)->getResult(0);
}

Value cloneBound(OpBuilder &b, Value value, scf::ForOp loop) {
  IRMapping copies;
  return cloneBound(b, value, loop, copies);
}

/// What `one` makes where the condition holds, else what `other` makes; both
/// where the branch stands already.
scf::IfOp either(OpBuilder &b, Location loc, Type type, Value condition,
                 function_ref<Value(OpBuilder &)> one,
                 function_ref<Value(OpBuilder &)> other) {
  auto branch = scf::IfOp::create(b, loc, type, condition,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (auto [block, make] : {std::pair(branch.thenBlock(), one),
                             std::pair(branch.elseBlock(), other)}) {
    OpBuilder in = OpBuilder::atBlockEnd(block);
    scf::YieldOp::create(in, loc, make(in));
  }
  return branch;
}

/// `select` by its parts: what is no bound at once, then each bound.
void split(arith::SelectOp select, ArrayRef<MaskCondition> parts,
           bool hidesTrue, scf::ForOp loop) {
  OpBuilder b(select);
  Location loc = select.getLoc();
  Type type = select.getType();
  Value visible = hidesTrue ? select.getFalseValue() : select.getTrueValue();
  Value hidden = hidesTrue ? select.getTrueValue() : select.getFalseValue();
  auto apply = [&](OpBuilder &b, MaskCondition part, Value value) -> Value {
    return part.visible
               ? arith::SelectOp::create(b, loc, part.value, value, hidden)
               : arith::SelectOp::create(b, loc, part.value, hidden, value);
  };
  // What a part hides, by the first of the forms that hold.
  auto hide = [&](OpBuilder &b, MaskCondition part, Value value) -> Value {
    StraightRemainders remainders(loop, b);
    AlikeRows rows(loop, part.value);
    AlikeColumns columns(loop, part.value);
    auto general = [&](OpBuilder &b) {
      return apply(b, {cloneBound(b, part.value, loop), part.visible}, value);
    };
    auto byRows = [&](OpBuilder &b) {
      return apply(b, {columns.emitByRows(b), part.visible}, value);
    };
    auto byColumns = [&](OpBuilder &b) {
      return apply(b, {rows.emitByColumns(b), part.visible}, value);
    };
    auto straight = [&](OpBuilder &b) {
      return apply(b, {remainders.emitStraight(b, part.value), part.visible},
                   value);
    };
    if (Value uncut = remainders.getUncut(part.value)) {
      scf::IfOp branch = either(b, loc, type, uncut, straight, general);
      branch->setAttr("tile.shortcut", b.getUnitAttr());
      return branch.getResult(0);
    }
    Value areRowsAlike = rows.getAlike(b);
    auto ofSeveralRows = [&](OpBuilder &b) {
      Value areAlike = columns.getAlike(b);
      return areAlike
                 ? either(b, loc, type, areAlike, byRows, general).getResult(0)
                 : general(b);
    };
    return areRowsAlike
               ? either(b, loc, type, areRowsAlike, byColumns, ofSeveralRows)
                     .getResult(0)
               : ofSeveralRows(b);
  };
  Value rest[2]; // what must fail, what must hold
  SmallVector<std::pair<MaskCondition, Value>> votes;
  for (MaskCondition part : parts) {
    bool isBound = matchBound(part, loop).has_value();
    Value vote = isBound ? Value() : emitVote(b, part, loop);
    Value &other = rest[part.visible];
    if (isBound || vote)
      votes.push_back({part, vote});
    else if (!other)
      other = part.value;
    else if (part.visible)
      other = arith::AndIOp::create(b, loc, other, part.value);
    else
      other = arith::OrIOp::create(b, loc, other, part.value);
  }
  for (bool holds : {false, true})
    if (rest[holds])
      visible = apply(b, {rest[holds], holds}, visible);
  for (auto [part, vote] : votes) {
    if (!vote)
      vote = emitVote(b, loc, *matchBound(part, loop));
    scf::IfOp branch = either(
        b, loc, type, vote, [&](OpBuilder &) { return visible; },
        [&](OpBuilder &in) { return hide(in, part, visible); });
    // A mask that repeats in columns hides some in most blocks.
    if (!isOfRemainders(part.value, loop))
      branch->setAttr("tile.shortcut", b.getUnitAttr());
    visible = branch.getResult(0);
  }
  select.replaceAllUsesWith(visible);
  select.erase();
}

struct TileVoteMasks : impl::TileVoteMasksBase<TileVoteMasks> {
  void runOnOperation() override {
    getOperation()->walk([&](scf::ForOp loop) {
      auto kernel = loop->getParentOfType<tile::KernelOp>();
      auto resources =
          kernel->getAttrOfType<tile::ResourcesAttr>("tile.resources");
      bool isFull = resources && resources.getRegisters() >= kMostRegisters;
      auto blocks = loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks");
      if (blocks && blocks.getValue() == tile::BlockClass::Mixed)
        loop->walk([&](scf::IfOp branch) {
          if (branch->getParentOp() == loop && branch.elseBlock())
            splitAll(*branch.elseBlock(), loop, isFull ? 2 : 0);
        });
    });
  }

  /// The masks of a side of a branch, if they have so many bounds of rows.
  void splitAll(Block &block, scf::ForOp loop, unsigned least) {
    struct Mask {
      arith::SelectOp select;
      SmallVector<MaskCondition> parts;
      bool hidesTrue = false;
    };
    SmallVector<Mask> masks;
    unsigned cuts = 0;  // bounds that differ between rows; twice what divides
    unsigned total = 0; // parts of all masks
    for (arith::SelectOp select : block.getOps<arith::SelectOp>()) {
      // A mask of three axes comes to its lanes through shared memory, where
      // warps meet at barriers.
      if (!isa<FloatType>(tile::getElementType(select.getType())) ||
          !tile::isTile(select.getCondition().getType()) ||
          tile::getAxes(select.getType()).size() > 2)
        continue;
      Mask mask{select, {}, false};
      for (bool hidesTrue : {false, true}) {
        if (!mask.parts.empty() ||
            !isConstant(hidesTrue ? select.getTrueValue()
                                  : select.getFalseValue()))
          continue;
        forEachForced(select.getCondition(), !hidesTrue, /*strips=*/false,
                      [&](MaskCondition part) { mask.parts.push_back(part); });
        mask.hidesTrue = hidesTrue;
      }
      total += mask.parts.size();
      for (MaskCondition part : mask.parts)
        if (auto bound = matchBound(part, loop))
          cuts += !isUniform(bound->limit);
        else
          cuts += comparesPairs(part) ? 1 + isDivided(part.value) : 0;
      if (!mask.parts.empty())
        masks.push_back(mask);
    }
    // The axis's end alone is what the branch around asks already.
    if (cuts < least || (cuts == 0 && total < 2))
      return;
    for (Mask &mask : masks)
      if (llvm::any_of(mask.parts, [&](MaskCondition part) {
            return comparesPairs(part) || matchBound(part, loop);
          }))
        split(mask.select, mask.parts, mask.hidesTrue, loop);
  }

  static bool isConstant(Value value) {
    Operation *op = stripBroadcast(value).getDefiningOp();
    return op && op->hasTrait<OpTrait::ConstantLike>();
  }
};

} // namespace
} // namespace attentile
