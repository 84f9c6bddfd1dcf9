//===- CollectByLanes.cpp - 32 blocks of a list at once -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: gives each lane of a warp an iteration of the loops that put a row's
//   needed blocks into a list, rank it, or copy it. What iterations hand on, if
//   anything, are counts, to which each adds a number or not: a lane's own is
//   that of 32 iterations before, and what the lanes below it add, by a vote.
// Expects: registers, no fragments; loops with tile.to_list; kernels of one
//   warp, whose first lane stores.
// Leaves: loops whose counts depend on anything else.
// Does not handle: loops that judge blocks, which have branches inside.
//
//===----------------------------------------------------------------------===//

#include "Warp/Warp.h"
#include "attentile/NVVM/Passes.h"
#include "attentile/Sources.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace attentile {
#define GEN_PASS_DEF_WARPCOLLECTBYLANES
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

constexpr int64_t kLanes = 32; // of a warp

class Collection {
public:
  explicit Collection(scf::ForOp loop) : loop(loop), body(*loop.getBody()) {}
  bool find();
  void divide();

private:
  /// A count, to which an iteration adds `number` if `condition` holds.
  struct Count {
    Value argument, condition;
    int64_t number;
  };

  std::optional<Count> findCount(unsigned number);
  bool usesCounts(Value value);
  bool isOfFirstLane(Value condition);

  scf::ForOp loop;
  Block &body;
  SmallVector<Count> counts;
};

/// select(condition, count + number, count)
std::optional<Collection::Count> Collection::findCount(unsigned number) {
  Value argument = loop.getRegionIterArg(number);
  auto choice =
      loop.getYieldedValues()[number].getDefiningOp<arith::SelectOp>();
  auto sum = choice ? choice.getTrueValue().getDefiningOp<arith::AddIOp>()
                    : arith::AddIOp();
  APInt added;
  if (!sum || choice.getFalseValue() != argument || sum.getLhs() != argument ||
      !matchPattern(sum.getRhs(), m_ConstantInt(&added)) ||
      usesCounts(choice.getCondition()))
    return std::nullopt;
  return Count{argument, choice.getCondition(), added.getSExtValue()};
}

/// Whether an iteration computes a value from its counts.
bool Collection::usesCounts(Value value) {
  auto isInBody = [&](Value source) {
    return source.getParentBlock() == &body;
  };
  return anySource(
      value,
      [&](Value source) {
        return isInBody(source) && isa<BlockArgument>(source) &&
               source != loop.getInductionVar();
      },
      isInBody);
}

/// lane == 0
bool Collection::isOfFirstLane(Value condition) {
  auto compare =
      condition ? condition.getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
      !matchPattern(compare.getRhs(), m_Zero()))
    return false;
  Value lane = compare.getLhs();
  while (auto cast = lane.getDefiningOp<arith::IndexCastOp>())
    lane = cast.getIn();
  return isa_and_nonnull<warp::LaneIdOp, warp::ThreadIdOp>(
      lane.getDefiningOp());
}

bool Collection::find() {
  auto kernel = loop->getParentOfType<warp::KernelOp>();
  if (!loop->hasAttr("tile.to_list") || !kernel || kernel.getWarps() != 1 ||
      !matchPattern(loop.getStep(), m_One()))
    return false;
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
    std::optional<Count> count = findCount(i);
    if (!count)
      return false;
    counts.push_back(*count);
  }
  return llvm::all_of(body.without_terminator(), [&](Operation &op) {
    if (auto store = dyn_cast<warp::StoreOp>(op))
      return isOfFirstLane(store.getPredicate());
    // What lanes exchange is the same for all of them in one iteration only.
    return isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) ||
           isa<warp::LoadOp>(op);
  });
}

void Collection::divide() {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Type word = b.getI32Type(), indexType = b.getIndexType();
  auto number = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(b, loc, n);
  };
  Value lane = warp::LaneIdOp::create(b, loc, indexType);
  Value one = arith::ConstantIntOp::create(b, loc, 1, 32);
  Value below = arith::SubIOp::create(
      b, loc,
      arith::ShLIOp::create(b, loc, one,
                            arith::IndexCastOp::create(b, loc, word, lane)),
      one);
  auto steps =
      scf::ForOp::create(b, loc, loop.getLowerBound(), loop.getUpperBound(),
                         number(kLanes), loop.getInitArgs());
  b.setInsertionPointToStart(steps.getBody());
  Value own = arith::AddIOp::create(b, loc, steps.getInductionVar(), lane);
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, own,
                                       loop.getUpperBound());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), own);
  auto isEarly = [&](Operation &op) {
    return !isa<warp::StoreOp>(op) &&
           llvm::none_of(op.getOperands(),
                         [&](Value operand) { return usesCounts(operand); });
  };
  for (Operation &op : body.without_terminator())
    if (isEarly(op))
      b.clone(op, mapping);
  SmallVector<Value> next;
  for (auto [count, argument] : llvm::zip(counts, steps.getRegionIterArgs())) {
    Value adds = arith::AndIOp::create(
        b, loc, mapping.lookupOrDefault(count.condition), exists);
    Value lanes = warp::BallotOp::create(b, loc, word, adds);
    auto plus = [&](Value mask) -> Value {
      Value ones = arith::IndexCastUIOp::create(
          b, loc, indexType, math::CtPopOp::create(b, loc, mask));
      return arith::AddIOp::create(
          b, loc, argument,
          arith::MulIOp::create(b, loc, ones, number(count.number)));
    };
    mapping.map(count.argument,
                plus(arith::AndIOp::create(b, loc, lanes, below)));
    next.push_back(plus(lanes));
  }
  for (Operation &op : body.without_terminator()) {
    if (isEarly(op))
      continue;
    Operation *copy = b.clone(op, mapping);
    if (auto store = dyn_cast<warp::StoreOp>(copy))
      store.getPredicateMutable().assign(exists);
  }
  if (!next.empty()) // the loop's own, of no values, is there
    scf::YieldOp::create(b, loc, next);
  steps->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  loop.replaceAllUsesWith(steps.getResults());
  loop.erase();
}

struct WarpCollectByLanes : impl::WarpCollectByLanesBase<WarpCollectByLanes> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (Collection collection(loop); collection.find())
        collection.divide();
  }
};

} // namespace
} // namespace attentile
