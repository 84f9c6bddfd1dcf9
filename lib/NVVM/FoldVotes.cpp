//===- FoldVotes.cpp - votes that one lane can answer ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: answers a vote on comparisons of indices that grow or fall with the
//   lane's number by the lane where they are least likely to hold; of those
//   that differ by a constant the strongest remains.
// Expects: registers, no fragments.
// Leaves: comparisons of values that all lanes have in common.
// Does not handle: remainders of the lane's number, values loaded by lanes.
//
//===----------------------------------------------------------------------===//

#include "IndexSums.h"
#include "attentile/NVVM/Passes.h"
#include "attentile/Trend.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {
#define GEN_PASS_DEF_WARPFOLDVOTES
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

using P = arith::CmpIPredicate;

constexpr int64_t kLanes = 32;

/// How one kernel's values change with the lane's number.
class Trends {
public:
  Trend get(Value value) {
    auto [entry, isNew] = known.try_emplace(value, Trend::Unknown);
    if (!isNew)
      return entry->second;
    Trend trend = find(value);
    return known[value] = trend;
  }

private:
  Trend find(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop) // the kernel's coordinates, the program's arguments
        return Trend::Constant;
      return argument == loop.getInductionVar()
                 ? join(get(loop.getLowerBound()), get(loop.getStep()))
                 : Trend::Unknown;
    }
    Operation *op = value.getDefiningOp();
    if (isa<warp::LaneIdOp>(op))
      return Trend::Rises;
    if (isa<warp::WarpIdOp>(op) || op->hasTrait<OpTrait::ConstantLike>())
      return Trend::Constant;
    if (op->getNumRegions() != 0 || !isPure(op) || op->getNumOperands() == 0)
      return Trend::Unknown;
    SmallVector<Trend> of;
    for (Value operand : op->getOperands())
      of.push_back(get(operand));
    if (isa<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp, arith::IndexCastOp>(
            op))
      return of.size() == 1 ? of[0] : join(of[0], of[1]);
    if (isa<arith::SubIOp>(op))
      return join(of[0], negate(of[1]));
    if (isa<arith::MulIOp>(op))
      if (auto factor = getConstantIntValue(op->getOperand(1)))
        return *factor >= 0 ? of[0] : negate(of[0]);
    // Without a sign: of the lane's own number.
    if (isa<arith::DivUIOp>(op) &&
        op->getOperand(0).getDefiningOp<warp::LaneIdOp>() &&
        getConstantIntValue(op->getOperand(1)))
      return Trend::Rises;
    bool isConstant =
        llvm::all_of(of, [](Trend trend) { return trend == Trend::Constant; });
    return isConstant && !isa<warp::ThreadIdOp>(op) ? Trend::Constant
                                                    : Trend::Unknown;
  }

  llvm::DenseMap<Value, Trend> known;
};

class Folder {
public:
  explicit Folder(warp::KernelOp kernel)
      : sums(kernel), builder(kernel.getContext()) {}

  void fold(warp::VoteAllOp vote);

private:
  /// A comparison lesser < greater, or <=.
  struct Leaf {
    arith::CmpIOp op;
    Value lesser, greater;
    bool strict;
    int64_t lane; ///< where it is least likely to hold
    IndexSum difference;
  };

  bool collect(Value condition, SmallVectorImpl<Leaf> &leaves);
  bool add(arith::CmpIOp op, SmallVectorImpl<Leaf> &leaves);
  Value at(Value value, int64_t lane, IRMapping &mapping);

  IndexSums sums;
  Trends trends;
  OpBuilder builder;
};

bool Folder::add(arith::CmpIOp op, SmallVectorImpl<Leaf> &leaves) {
  if (!op.getLhs().getType().isIndex())
    return false;
  Leaf leaf{op, op.getLhs(), op.getRhs(), false, 0, {}};
  P predicate = op.getPredicate();
  if (predicate == P::sgt || predicate == P::sge) {
    std::swap(leaf.lesser, leaf.greater);
    predicate = arith::invertPredicate(predicate) == P::sle ? P::slt : P::sle;
  }
  if (predicate != P::slt && predicate != P::sle)
    return false;
  leaf.strict = predicate == P::slt;
  Trend trend = join(trends.get(leaf.lesser), negate(trends.get(leaf.greater)));
  IndexSum greater;
  if (trend == Trend::Unknown || !sums.collect(leaf.lesser, leaf.difference) ||
      !sums.collect(leaf.greater, greater))
    return false;
  leaf.lane = trend == Trend::Rises ? kLanes - 1 : 0;
  for (auto [place, term] : greater.terms)
    leaf.difference.add(place, term.first, -term.second);
  leaf.difference.constant -= greater.constant;
  // Of those that differ by a constant the one that is farthest from holding.
  for (Leaf &other : leaves)
    if (other.strict == leaf.strict &&
        other.difference.terms == leaf.difference.terms) {
      if (leaf.difference.constant > other.difference.constant)
        other = leaf;
      return true;
    }
  leaves.push_back(leaf);
  return true;
}

bool Folder::collect(Value condition, SmallVectorImpl<Leaf> &leaves) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return collect(both.getLhs(), leaves) && collect(both.getRhs(), leaves);
  auto comparison = condition.getDefiningOp<arith::CmpIOp>();
  return comparison && add(comparison, leaves);
}

/// What `value` is in a lane.
Value Folder::at(Value value, int64_t lane, IRMapping &mapping) {
  if (trends.get(value) == Trend::Constant)
    return value;
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  Value result;
  if (isa<warp::LaneIdOp>(op)) {
    result = arith::ConstantIndexOp::create(builder, op->getLoc(), lane);
  } else {
    for (Value operand : op->getOperands())
      mapping.map(operand, at(operand, lane, mapping));
    Operation *copy = builder.clone(*op, mapping);
    result = copy->getResult(0);
    SmallVector<Value> folded;
    if (succeeded(builder.tryFold(copy, folded)) && !folded.empty()) {
      result = folded.front();
      copy->erase();
    }
  }
  mapping.map(value, result);
  return result;
}

void Folder::fold(warp::VoteAllOp vote) {
  SmallVector<Leaf> leaves;
  if (!collect(vote.getOperand(), leaves))
    return;
  builder.setInsertionPoint(vote);
  Value all;
  for (Leaf &leaf : leaves) {
    IRMapping mapping;
    Value lesser = at(leaf.lesser, leaf.lane, mapping);
    Value greater = at(leaf.greater, leaf.lane, mapping);
    Value holds =
        arith::CmpIOp::create(builder, leaf.op.getLoc(),
                              leaf.strict ? P::slt : P::sle, lesser, greater);
    all = all ? arith::AndIOp::create(builder, vote.getLoc(), all, holds)
                    .getResult()
              : holds;
  }
  vote.replaceAllUsesWith(all);
  vote.erase();
}

struct WarpFoldVotes : impl::WarpFoldVotesBase<WarpFoldVotes> {
  void runOnOperation() override {
    getOperation()->walk([](warp::KernelOp kernel) {
      SmallVector<warp::VoteAllOp> votes;
      kernel.walk([&](warp::VoteAllOp vote) { votes.push_back(vote); });
      if (votes.empty())
        return;
      Folder folder(kernel);
      for (warp::VoteAllOp vote : votes)
        folder.fold(vote);
    });
  }
};

} // namespace
} // namespace attentile
