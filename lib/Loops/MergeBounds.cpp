//===- MergeBounds.cpp - one comparison where a mask had several ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: selects of one neutral element around each other become one, and two
// bounds of the same index one: n < N and n <= last become n <= min(N - 1,
// last), whose right side a row computes once; where no row that exists sees
// beyond the axis (last = m + N - M), n <= last alone. Expects: tile loops.
// Leaves: the same values, fewer comparisons an element. Does not handle:
// bounds that both vary, along different axes.
//
//===----------------------------------------------------------------------===//

#include "AffineForms.h"
#include "VisibilityFormula.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Splat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attentile {
#define GEN_PASS_DEF_TILEMERGEBOUNDS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-merge-bounds"

using namespace mlir;

namespace attentile {
namespace {

using P = arith::CmpIPredicate;

/// An index on one side of a bound, both without tile.broadcast around them.
struct Bound {
  Value index, limit;
  P predicate; // slt, sle, sgt or sge
};

/// `condition` as a bound of its left or right side.
std::optional<Bound> matchBound(Value condition, bool swapped) {
  auto compare = stripBroadcast(condition).getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return std::nullopt;
  Value lhs = stripBroadcast(compare.getLhs());
  Value rhs = stripBroadcast(compare.getRhs());
  if (!tile::getElementType(lhs.getType()).isIndex())
    return std::nullopt;
  switch (compare.getPredicate()) {
  case P::slt:
    return swapped ? Bound{rhs, lhs, P::sgt} : Bound{lhs, rhs, P::slt};
  case P::sle:
    return swapped ? Bound{rhs, lhs, P::sge} : Bound{lhs, rhs, P::sle};
  case P::sgt:
    return swapped ? Bound{rhs, lhs, P::slt} : Bound{lhs, rhs, P::sgt};
  case P::sge:
    return swapped ? Bound{rhs, lhs, P::sle} : Bound{lhs, rhs, P::sge};
  default:
    return std::nullopt;
  }
}

bool isUpper(const Bound &bound) {
  return bound.predicate == P::slt || bound.predicate == P::sle;
}

bool isStrict(const Bound &bound) {
  return bound.predicate == P::slt || bound.predicate == P::sgt;
}

/// Whether one less or more than this limit cannot wrap: a size or constant.
bool isSmall(Value limit) {
  if (auto constant = getIntegerConstant(limit))
    return constant->isSignedIntN(32);
  auto argument = dyn_cast<BlockArgument>(limit);
  auto program =
      argument ? dyn_cast<tile::ProgramOp>(argument.getOwner()->getParentOp())
               : tile::ProgramOp();
  return program &&
         llvm::is_contained(attn::SignatureOpInterface(program).getSizeArgs(),
                            argument);
}

/// n < 64 as n <= 63.
void makeInclusive(PatternRewriter &rewriter, Bound &bound) {
  Location loc = bound.limit.getLoc();
  Type type = bound.limit.getType();
  TypedAttr one = rewriter.getIndexAttr(isUpper(bound) ? -1 : 1);
  Value step = arith::ConstantOp::create(rewriter, loc, splat(type, one));
  bound.limit = arith::AddIOp::create(rewriter, loc, bound.limit, step);
  bound.predicate = isUpper(bound) ? P::sle : P::sge;
}

/// Whether the two are one bound of the same index, that of the nearer limit.
bool canMerge(const Bound &a, const Bound &b) {
  Type typeA = a.limit.getType(), typeB = b.limit.getType();
  return a.index == b.index && isUpper(a) == isUpper(b) &&
         (isStrict(a) == isStrict(b) || isSmall((isStrict(a) ? a : b).limit)) &&
         (!tile::isTile(typeA) || !tile::isTile(typeB) || typeA == typeB);
}

/// The bounds that two conditions are, if they can be one.
std::optional<std::pair<Bound, Bound>> matchPair(Value first, Value second) {
  for (bool swapA : {false, true})
    for (bool swapB : {false, true}) {
      auto a = matchBound(first, swapA), b = matchBound(second, swapB);
      if (a && b && canMerge(*a, *b))
        return std::pair(*a, *b);
    }
  return std::nullopt;
}

/// What rows a tile counts: up to this extent, those beyond belong to nothing.
Value getExtentOfRows(Value rows) {
  auto index = rows.getDefiningOp<tile::IndexOp>();
  auto start = index ? index.getOperand().getDefiningOp<arith::MulIOp>()
                     : arith::MulIOp();
  auto id = start ? dyn_cast<BlockArgument>(start.getLhs()) : BlockArgument();
  auto kernel = id ? dyn_cast<tile::KernelOp>(id.getOwner()->getParentOp())
                   : tile::KernelOp();
  if (!kernel)
    return {};
  auto count =
      kernel.getBounds()[id.getArgNumber()].getDefiningOp<arith::CeilDivSIOp>();
  return count && count.getRhs() == start.getRhs() ? count.getLhs() : Value();
}

/// Whether the limit of `near` is below that of `far` in each row that exists:
/// m + N - M and N - 1.
bool isNearer(const Bound &near, const Bound &far) {
  if (!isUpper(near) || tile::isTile(far.limit.getType()))
    return false;
  AffineForm distance = getAffineForm(near.limit);
  if (!distance.add(getAffineForm(far.limit), -1) || distance.terms.size() != 2)
    return false;
  distance.constant += isStrict(far) - isStrict(near);
  auto [rows, extent] = std::pair(distance.terms[0], distance.terms[1]);
  if (rows.second < 0)
    std::swap(rows, extent);
  return rows.second == 1 && extent.second == -1 && distance.constant <= 1 &&
         getExtentOfRows(rows.first) == extent.first;
}

/// Two bounds of one index, both above or both below.
struct MergeTwo : OpRewritePattern<arith::AndIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AndIOp op,
                                PatternRewriter &rewriter) const override {
    if (!tile::isTile(op.getType()) ||
        !tile::getElementType(op.getType()).isInteger(1))
      return failure();
    auto pair = matchPair(op.getLhs(), op.getRhs());
    if (!pair)
      return failure();
    auto [a, b] = *pair;
    for (auto [near, far, condition] :
         {std::tuple(a, b, op.getLhs()), std::tuple(b, a, op.getRhs())})
      if (isNearer(near, far)) {
        rewriter.replaceOp(op, condition);
        return success();
      }
    if (isStrict(a) != isStrict(b))
      makeInclusive(rewriter, isStrict(a) ? a : b);
    Type type = a.limit.getType();
    if (!tile::isTile(type))
      type = b.limit.getType();
    Location loc = op.getLoc();
    auto spread = [&](Value value, Type type) -> Value {
      if (value.getType() == type)
        return value;
      return tile::BroadcastOp::create(rewriter, loc, type, value);
    };
    Value first = spread(a.limit, type), second = spread(b.limit, type);
    Value limit =
        isUpper(a)
            ? arith::MinSIOp::create(rewriter, loc, first, second).getResult()
            : arith::MaxSIOp::create(rewriter, loc, first, second).getResult();
    Type full = tile::withElementType(op.getType(), rewriter.getIndexType());
    rewriter.replaceOpWithNewOp<arith::CmpIOp>(
        op, a.predicate, spread(a.index, full), spread(limit, full));
    return success();
  }
};

/// select(a, select(b, x, hidden), hidden) by one condition.
struct MergeSelects : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SelectOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getTrueValue().getDefiningOp<arith::SelectOp>();
    if (!tile::isTile(op.getType()) || !inner || !inner->hasOneUse() ||
        inner.getFalseValue() != op.getFalseValue() ||
        inner.getCondition().getType() != op.getCondition().getType())
      return failure();
    Value both = arith::AndIOp::create(rewriter, op.getLoc(), op.getCondition(),
                                       inner.getCondition());
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, both, inner.getTrueValue(),
                                                 op.getFalseValue());
    return success();
  }
};

/// (a and b) and c as a and (b and c), where b and c have one index and side.
struct MoveTogether : OpRewritePattern<arith::AndIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AndIOp op,
                                PatternRewriter &rewriter) const override {
    for (unsigned side : {0, 1}) {
      auto inner = op->getOperand(side).getDefiningOp<arith::AndIOp>();
      Value other = op->getOperand(1 - side);
      if (!inner || !inner->hasOneUse() || !tile::isTile(op.getType()))
        continue;
      // First those two: of three that fit, two would take turns for ever.
      if (matchPair(inner.getLhs(), inner.getRhs()))
        continue;
      for (unsigned near : {0, 1}) {
        if (!matchPair(inner->getOperand(near), other))
          continue;
        Value pair = arith::AndIOp::create(rewriter, op.getLoc(),
                                           inner->getOperand(near), other);
        rewriter.replaceOpWithNewOp<arith::AndIOp>(
            op, inner->getOperand(1 - near), pair);
        return success();
      }
    }
    return failure();
  }
};

struct TileMergeBounds : impl::TileMergeBoundsBase<TileMergeBounds> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MergeTwo, MergeSelects, MoveTogether>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace attentile
