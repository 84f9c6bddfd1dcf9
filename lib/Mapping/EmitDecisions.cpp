//===- EmitDecisions.cpp - tile-to-warp: branches on votes ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which rows decide together is the target's choice (tile.vote). A warp may
// hold several blocks of 16 rows, one below the other, and both sides of a
// decision need the scores: if all blocks decided at once, the scores and the
// exponentials of all of them would be live together. So a block decides after
// the other: the branches on votes are emitted once for each block, and only
// one block has both. Where there is room for all (a small head size), they
// decide at once: fewer votes and branches, and longer runs of instructions for
// ptxas to order.
//
//   for each block of 16 rows:
//     p, t, ok = if calm { ... vote(t <= T) }      the branches of one
//     p', .., calm' = if ok { ... } else { ... }   decision, in order
//   the results of all blocks joined; calm' = of all blocks
//
// While a block is emitted, a tile with the rows' axis stands for the vector of
// that block's registers, and its layout is the tile's without the digit that
// counts the blocks.
//
//===----------------------------------------------------------------------===//

#include "WarpEmitter.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attentile {

/// Rows of a matrix instruction.
static constexpr int64_t kBlockRows = 16;

/// The layout of one of the parts of so many positions of an axis that a thread
/// holds, and how many there are (1: none to tell apart).
static std::pair<tile::Layout, int64_t>
splitAxis(const tile::Layout &layout, unsigned axis, int64_t extent) {
  SmallVector<tile::Layout::Digits> axes(layout.allDigits());
  tile::Layout::Digits kept;
  int64_t positions = 1, parts = 1;
  for (tile::Digit digit : layout.digits(axis)) {
    // Positions below `extent` and those of other threads stay.
    int64_t inner = std::clamp<int64_t>(extent / positions, 1, digit.extent);
    positions *= digit.extent;
    if (digit.unit == tile::Unit::Register && inner < digit.extent) {
      parts *= digit.extent / inner;
      digit.extent = inner;
    }
    if (digit.extent > 1)
      kept.push_back(digit);
  }
  axes[axis] = kept;
  return {tile::Layout(axes), parts};
}

/// Likewise for a block of rows.
static std::pair<tile::Layout, int64_t> splitRows(const tile::Layout &layout,
                                                  unsigned axis) {
  return splitAxis(layout, axis, kBlockRows);
}

tile::Layout WarpEmitter::layoutOf(Type type) {
  tile::Layout layout = tile::getFragment(type).getLayout();
  std::optional<unsigned> axis;
  if (part.axis)
    axis = tile::getAxisPosition(type, part.axis);
  return axis ? splitAxis(layout, *axis, part.extent).first : layout;
}

/// Which of a tile's registers are those of one block of rows.
static SmallVector<int64_t> registersOfBlock(Type type, StringAttr axis,
                                             int64_t block) {
  tile::Layout whole = tile::getFragment(type).getLayout();
  unsigned position = *tile::getAxisPosition(type, axis);
  tile::Layout part = splitRows(whole, position).first;
  SmallVector<int64_t> registers;
  for (int64_t reg = 0; reg < part.registers(); ++reg) {
    SmallVector<int64_t> place = part.positionOf({.reg = reg});
    place[position] += kBlockRows * block;
    registers.push_back(whole.placeOf(place).reg);
  }
  return registers;
}

/// The branches that one decision takes: `first`, and those behind it on what
/// the ones before have decided.
static SmallVector<scf::IfOp> findDecision(scf::IfOp first) {
  SmallVector<scf::IfOp> branches{first};
  auto isReady = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || op->getBlock() != first->getBlock() ||
           op->isBeforeInBlock(first) || llvm::is_contained(branches, op);
  };
  for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
    auto next = dyn_cast<scf::IfOp>(op);
    if (!next ||
        !llvm::is_contained(branches, next.getCondition().getDefiningOp()))
      continue;
    bool ready = true;
    next->walk([&](Operation *inner) {
      ready &= llvm::all_of(inner->getOperands(), isReady);
    });
    if (ready)
      branches.push_back(next);
  }
  return branches;
}

namespace {

/// Whether a decision can be taken by blocks of rows, and what it reads and
/// leaves.
struct Decision {
  SmallVector<scf::IfOp> branches;
  StringAttr axis;
  int64_t blocks = 1;
  llvm::SetVector<Value> inputs;
  SmallVector<Value> results;

  bool isInside(Value value) const {
    Operation *op = value.getParentBlock()->getParentOp();
    return llvm::any_of(branches, [&](scf::IfOp branch) {
      return value.getDefiningOp() == branch || branch->isAncestor(op);
    });
  }

  bool analyze();

  /// The registers of a thread that what the decision reads and speculates
  /// takes, if all blocks decide at once. Some share theirs: scores stand here
  /// before and after their factor.
  int64_t registersAtOnce();

private:
  bool findAxis();
  bool addTile(Type type);
  bool addYield(scf::YieldOp yield);
};

/// The axis whose rows vote for what leaves the branches. A vote that is only
/// asked inside them (of a mask's bound) decides nothing.
bool Decision::findAxis() {
  for (scf::IfOp branch : branches)
    branch->walk([&](tile::VoteOp vote) {
      bool leaves = llvm::any_of(vote->getUsers(), [](Operation *user) {
        return !isa<scf::IfOp>(user);
      });
      if (!axis && leaves && tile::isTile(vote.getOperand().getType()))
        axis = tile::getAxes(vote.getOperand().getType()).front();
    });
  return axis != nullptr;
}

/// All tiles with the axis have the same blocks of rows.
bool Decision::addTile(Type type) {
  std::optional<unsigned> position = tile::getAxisPosition(type, axis);
  if (!position)
    return true;
  if (!tile::getFragment(type))
    return false;
  tile::Layout layout = tile::getFragment(type).getLayout();
  if (layout.size(*position) % kBlockRows != 0)
    return false;
  int64_t count = splitRows(layout, *position).second;
  if (blocks == 1)
    blocks = count;
  // Blocks that lie one below the other in a thread.
  return count == blocks && llvm::all_of(llvm::seq(blocks), [&](int64_t block) {
           SmallVector<int64_t> place(layout.rank(), 0);
           place[*position] = kBlockRows * block;
           tile::Place at = layout.placeOf(place);
           return at.lane == 0 && at.warp == 0;
         });
}

/// What leaves a branch: rows of the blocks, and conditions that hold for all
/// blocks if they hold for each.
bool Decision::addYield(scf::YieldOp yield) {
  std::function<bool(Value)> isDecision = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (auto both = dyn_cast_or_null<arith::AndIOp>(op))
      return isDecision(both.getLhs()) && isDecision(both.getRhs());
    return isa_and_nonnull<tile::VoteOp, arith::ConstantOp>(op);
  };
  return llvm::all_of(yield.getOperands(), [&](Value value) {
    if (tile::isTile(value.getType()))
      return tile::getAxisPosition(value.getType(), axis).has_value();
    return value.getType().isInteger(1) && isDecision(value);
  });
}

bool Decision::analyze() {
  if (!findAxis())
    return false;
  auto check = [&](Operation *op) {
    for (Type type : llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()),
                                        llvm::to_vector(op->getResultTypes())))
      if (tile::isTile(type) && !addTile(type))
        return WalkResult::interrupt();
    for (Value operand : op->getOperands())
      if (tile::isTile(operand.getType()) && !isInside(operand))
        inputs.insert(operand);
    bool rowByRow =
        llvm::TypeSwitch<Operation *, bool>(op)
            .Case([&](tile::VoteOp vote) {
              Type type = vote.getOperand().getType();
              return tile::isTile(type) &&
                     tile::getAxisPosition(type, axis).has_value();
            })
            .Case([&](tile::ReduceOp reduce) {
              return !llvm::is_contained(reduce.getOver(), Attribute(axis));
            })
            .Case([&](scf::YieldOp yield) { return addYield(yield); })
            .Case<scf::IfOp, tile::BroadcastOp, ub::PoisonOp>(
                [](Operation *) { return true; })
            .Default([](Operation *op) {
              return op->hasTrait<OpTrait::ConstantLike>() ||
                     OpTrait::hasElementwiseMappableTraits(op);
            });
    return rowByRow ? WalkResult::advance() : WalkResult::interrupt();
  };
  for (scf::IfOp branch : branches) {
    if (branch.getElseRegion().empty() || branch->walk(check).wasInterrupted())
      return false;
    for (Value result : branch.getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return llvm::none_of(branches, [&](scf::IfOp other) {
              return other->isAncestor(user);
            });
          }))
        results.push_back(result);
  }
  return blocks > 1;
}

} // namespace

int64_t Decision::registersAtOnce() {
  int64_t bits = 0;
  auto add = [&](Value value) {
    if (tile::FragmentAttr fragment = tile::getFragment(value.getType()))
      bits += fragment.getLayout().registers() *
              tile::getElementType(value.getType()).getIntOrFloatBitWidth();
  };
  llvm::for_each(inputs, add);
  llvm::for_each(branches.front().getResults(), add);
  return bits / 32;
}

std::optional<LogicalResult> WarpEmitter::emitByBlocks(scf::IfOp first) {
  if (part.axis)
    return std::nullopt;
  Decision decision;
  decision.branches = findDecision(first);
  if (!decision.analyze() || decision.registersAtOnce() <= registersAtOnce)
    return std::nullopt;
  SmallVector<Value> wholes;
  for (Value input : decision.inputs)
    wholes.push_back(get(input));
  SmallVector<SmallVector<Value>> parts(decision.results.size());
  for (int64_t block = 0; block < decision.blocks; ++block) {
    for (auto [input, whole] : llvm::zip_equal(decision.inputs, wholes))
      if (tile::getAxisPosition(input.getType(), decision.axis))
        set(input, gather(whole, registersOfBlock(input.getType(),
                                                  decision.axis, block)));
    part = {decision.axis, kBlockRows, {}};
    for (scf::IfOp branch : decision.branches)
      if (failed(emitIf(branch)))
        return failure();
    part = {};
    for (auto [result, ofBlocks] : llvm::zip_equal(decision.results, parts))
      ofBlocks.push_back(get(result));
  }
  for (auto [input, whole] : llvm::zip_equal(decision.inputs, wholes))
    set(input, whole);
  for (auto [result, ofBlocks] : llvm::zip_equal(decision.results, parts))
    set(result, joinBlocks(result.getType(), decision.axis, ofBlocks));
  emittedBranches.insert_range(decision.branches);
  return success();
}

Value WarpEmitter::joinBlocks(Type type, StringAttr axis,
                              ArrayRef<Value> parts) {
  if (!tile::isTile(type))
    return combineAll(attn::ReduceKind::All, llvm::to_vector(parts));
  Value joined = ub::PoisonOp::create(builder, loc, convertType(type));
  SmallVector<int64_t> from;
  for (auto [block, part] : llvm::enumerate(parts)) {
    joined = vector::InsertStridedSliceOp::create(
        builder, loc, part, joined, ArrayRef<int64_t>{int64_t(from.size())},
        ArrayRef<int64_t>{1});
    llvm::append_range(from, registersOfBlock(type, axis, block));
  }
  // Register `from[i]` of the tile is register i of the parts in a row.
  SmallVector<int64_t> order(from.size());
  for (auto [i, reg] : llvm::enumerate(from))
    order[reg] = i;
  return gather(joined, order);
}

} // namespace attentile
