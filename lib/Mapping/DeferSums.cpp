//===- DeferSums.cpp - lanes meet after the loop --------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: a running sum to which each iteration adds a sum over lanes is kept as
// a part in each lane, and the lanes are added once, after the loop; votes on
// such a sum look at the parts. Expects:
// warp.kernel as tile-to-warp leaves it. Leaves: no exchange between lanes for
// such sums in the loop. Does not handle: sums that the loop itself uses
// otherwise, inits that differ between lanes.
//
//===----------------------------------------------------------------------===//

#include "LaneInvariance.h"
#include "Warp/Warp.h"
#include "attentile/Mapping/Passes.h"
#include "attentile/Splat.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

namespace attentile {
#define GEN_PASS_DEF_WARPDEFERSUMS
#include "Mapping/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

// A carried value is linear in itself and in sums over lanes:
//
//   next = carried * c + sum over lanes of t       (c the same in all lanes)
//
// so it is the sum over lanes of parts that follow the same recurrence with t
// in place of its sum. c = exp(old - new maximum) is such a factor. A choice
// between two such forms, by a condition that is the same in all lanes, is one,
// and so are registers of such forms, put together or taken apart.
class Recurrence {
public:
  Recurrence(scf::ForOp loop, unsigned number)
      : loop(loop), carried(loop.getRegionIterArg(number)),
        next(loop.getYieldedValues()[number]) {}

  /// Whether it has that form, with a sum over lanes in it.
  bool match();
  /// Replaces the sums by their parts; the loop's result is then a part.
  void rewrite();
  ArrayRef<int64_t> getMasks() const { return masks; }
  /// Whether all lanes that are added have the same value.
  bool isInvariant(Value value);

private:
  bool isLinear(Value value);

  scf::ForOp loop;
  Value carried, next;
  SmallVector<int64_t> masks;
  llvm::SetVector<Value> inner; // the recurrence's own values
  SmallVector<std::pair<OpOperand *, Value>> parts;
};

/// 0, or anything: what a side yields that is not taken.
bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) ||
         value.getDefiningOp<ub::PoisonOp>();
}

bool Recurrence::isInvariant(Value value) {
  return llvm::all_of(
      masks, [&](int64_t mask) { return LaneInvariance(mask).holds(value); });
}

bool Recurrence::isLinear(Value value) {
  if (value == carried || isZero(value) || inner.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isProperAncestor(op) ||
      !isa<arith::AddFOp, arith::MulFOp, arith::SelectOp, scf::IfOp,
           vector::ShuffleOp, vector::ExtractStridedSliceOp,
           vector::InsertStridedSliceOp>(op))
    return false;
  auto enter = [&](OpOperand &operand) {
    if (std::optional<LaneSum> sum = matchLaneSum(operand.get())) {
      if (!masks.empty() && masks != sum->masks)
        return false;
      masks = sum->masks;
      parts.push_back({&operand, sum->part});
      return true;
    }
    return isLinear(operand.get());
  };
  auto isForm = [&] {
    if (auto choice = dyn_cast<scf::IfOp>(op)) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      return enter(choice.thenYield()->getOpOperand(number)) &&
             enter(choice.elseYield()->getOpOperand(number));
    }
    if (auto choice = dyn_cast<arith::SelectOp>(op))
      return choice.getCondition().getType().isInteger(1) &&
             enter(choice.getTrueValueMutable()) &&
             enter(choice.getFalseValueMutable());
    // Of a product the other factor is looked at when the masks are known.
    if (isa<arith::MulFOp>(op))
      return isLinear(op->getOperand(0)) || isLinear(op->getOperand(1));
    // Registers taken apart or put together: all in one way.
    return llvm::all_of(op->getOpOperands(), enter);
  };
  return isForm() && inner.insert(value);
}

bool Recurrence::match() {
  if (!isa<FloatType>(getElementTypeOrSelf(carried.getType())) ||
      !isLinear(next) || masks.empty())
    return false;
  for (Value value : inner) {
    Operation *op = value.getDefiningOp();
    if (isa<arith::MulFOp>(op)) {
      bool first =
          op->getOperand(0) == carried || inner.contains(op->getOperand(0));
      if (!isInvariant(op->getOperand(first ? 1 : 0)))
        return false;
    }
    if (isa<scf::IfOp, arith::SelectOp>(op) && !isInvariant(op->getOperand(0)))
      return false;
  }
  // Nothing else may see the parts.
  auto isOwn = [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto yield = dyn_cast<scf::YieldOp>(user)) {
      Operation *parent = yield->getParentOp();
      Value result = parent == loop
                         ? next
                         : Value(parent->getResult(use.getOperandNumber()));
      return parent == loop ? use.get() == next : inner.contains(result);
    }
    return user->getNumResults() == 1 && inner.contains(user->getResult(0));
  };
  if (!llvm::all_of(carried.getUses(), isOwn))
    return false;
  return llvm::all_of(
      inner, [&](Value value) { return llvm::all_of(value.getUses(), isOwn); });
}

/// Puts a part in place of its sum over lanes; the exchange goes with its last
/// use, additions and shuffles in turn.
void takePart(OpOperand &operand, Value part) {
  llvm::SetVector<Operation *> unused;
  unused.insert(operand.get().getDefiningOp());
  operand.set(part);
  while (!unused.empty()) {
    Operation *op = unused.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value value : op->getOperands())
      if (Operation *source = value.getDefiningOp())
        unused.insert(source);
    op->erase();
  }
}

void Recurrence::rewrite() {
  for (auto [operand, part] : parts)
    takePart(*operand, part);
}

/// The sum of a value over lanes.
Value addLanes(OpBuilder &builder, Location loc, Value value,
               ArrayRef<int64_t> masks) {
  for (int64_t mask : masks) {
    Value other =
        warp::ShuffleXorOp::create(builder, loc, value.getType(), value, mask);
    value = arith::AddFOp::create(builder, loc, value, other);
  }
  return value;
}

// A vote may be stricter than its condition. The sum of n lanes' parts is at
// most T if each part is at most T / n, which all lanes see for themselves;
// with n and T powers of two no rounding interferes.
void compareParts(arith::CmpFOp compare) {
  std::optional<LaneSum> sum = matchLaneSum(compare.getLhs());
  FloatAttr limit;
  DenseFPElementsAttr dense;
  Value bound = compare.getRhs();
  if (!sum || compare.getPredicate() != arith::CmpFPredicate::OLE)
    return;
  llvm::APFloat value(0.f);
  if (matchPattern(bound, m_Constant(&limit)))
    value = limit.getValue();
  else if (matchPattern(bound, m_Constant(&dense)) && dense.isSplat())
    value = dense.getSplatValue<llvm::APFloat>();
  if (!value.isFiniteNonZero() || value.isNegative() ||
      value.getExactLog2() == INT_MIN)
    return;
  // All that sees the comparison must be votes.
  SmallVector<Operation *> open(compare->getUsers());
  while (!open.empty()) {
    Operation *user = open.pop_back_val();
    if (isa<warp::VoteAllOp>(user))
      continue;
    if (!isa<arith::AndIOp, vector::ToElementsOp, vector::FromElementsOp>(user))
      return;
    llvm::append_range(open, user->getUsers());
  }
  OpBuilder builder(compare);
  value = scalbn(value, -int(sum->masks.size()),
                 llvm::APFloat::rmNearestTiesToEven);
  TypedAttr attr = FloatAttr::get(
      cast<FloatType>(getElementTypeOrSelf(bound.getType())), value);
  takePart(compare.getLhsMutable(), sum->part);
  compare.getRhsMutable().assign(arith::ConstantOp::create(
      builder, compare.getLoc(), splat(bound.getType(), attr)));
}

/// What each lane takes of a value that all of them have: exact, as lanes are a
/// power of two.
Value makeShare(OpBuilder &builder, Value value, size_t masks) {
  Type type = value.getType();
  TypedAttr share = builder.getFloatAttr(getElementTypeOrSelf(type),
                                         std::ldexp(1.0, -int(masks)));
  Location loc = value.getLoc();
  return arith::MulFOp::create(
      builder, loc, value,
      arith::ConstantOp::create(builder, loc, splat(type, share)));
}

void deferSums(scf::ForOp loop) {
  for (unsigned number = 0; number < loop.getNumResults(); ++number) {
    OpOperand &init = loop.getInitsMutable()[number];
    Recurrence recurrence(loop, number);
    if (!recurrence.match())
      continue;
    std::optional<LaneSum> before = matchLaneSum(init.get());
    bool goesOn = before && ArrayRef(before->masks) == recurrence.getMasks();
    if (!goesOn && !recurrence.isInvariant(init.get()))
      continue;
    recurrence.rewrite();
    OpBuilder builder(loop);
    if (goesOn)
      init.set(before->part);
    else if (!isZero(init.get()))
      init.set(makeShare(builder, init.get(), recurrence.getMasks().size()));
    builder.setInsertionPointAfter(loop);
    Value result = loop.getResult(number);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : result.getUses())
      uses.push_back(&use);
    Value total =
        addLanes(builder, loop.getLoc(), result, recurrence.getMasks());
    for (OpOperand *use : uses)
      use->set(total);
  }
}

struct WarpDeferSums : impl::WarpDeferSumsBase<WarpDeferSums> {
  void runOnOperation() override {
    getOperation()->walk([](warp::KernelOp kernel) {
      SmallVector<arith::CmpFOp> comparisons;
      kernel->walk(
          [&](arith::CmpFOp compare) { comparisons.push_back(compare); });
      llvm::for_each(comparisons, compareParts);
      // In order: a loop goes on with what the one before it has left.
      kernel->walk<WalkOrder::PreOrder>(
          [](scf::ForOp loop) { deferSums(loop); });
    });
  }
};

} // namespace
} // namespace attentile
