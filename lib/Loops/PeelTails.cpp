//===- PeelTails.cpp - full blocks without the axis's bound ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: a loop over full blocks ends with the last block that lies within the
// axis; in it "n < N" is true, and loads along the axis need no bound. What is
// left, at most one block, goes to the loop over partial blocks that follows,
// else to a copy of the loop. Expects: loops classified by
// tile-skip-masked-blocks. Leaves: the same blocks in the same order,
// `tile.inside`, remarks. Does not handle: bounds that are no size or constant.
//
//===----------------------------------------------------------------------===//

#include "AffineForms.h"
#include "ChainedLoops.h"
#include "ExtentValues.h"
#include "IndexBuilder.h"
#include "VisibilityFormula.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Splat.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace attentile {
#define GEN_PASS_DEF_TILEPEELTAILS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-peel-tails"

using namespace mlir;

namespace attentile {
namespace {

/// A comparison of the loop's index with an extent.
struct BoundCondition {
  arith::CmpIOp op;
  bool isInside; // its value where the index is below the extent
};

class TailPeeler {
public:
  explicit TailPeeler(scf::ForOp loop) : loop(loop) {}

  void run();

private:
  void collectConditions();
  bool isOwn(AffineExpr extent, int64_t size);
  scf::ForOp getFollowing();
  void assumeInside(ArrayRef<BoundCondition> conditions);

  remark::RemarkOpts getOptions(StringRef name) {
    return remark::RemarkOpts::name(name)
        .category(DEBUG_TYPE)
        .function(loop->getParentOfType<tile::KernelOp>().getName());
  }

  scf::ForOp loop;
  /// By the extent that the index is compared with.
  llvm::MapVector<AffineExpr, SmallVector<BoundCondition>> conditions;
  llvm::MapVector<AffineExpr, Value> extents;
};

void TailPeeler::collectConditions() {
  using P = arith::CmpIPredicate;
  for (auto op : loop.getBody()->getOps<arith::CmpIOp>()) {
    Value n = op.getLhs(), bound = op.getRhs();
    P predicate = op.getPredicate();
    if (isLoopIndex(bound, loop)) {
      std::swap(n, bound);
      predicate = predicate == P::sgt   ? P::slt
                  : predicate == P::sle ? P::sge
                                        : P::eq;
    }
    if (!isLoopIndex(n, loop) || (predicate != P::slt && predicate != P::sge))
      continue;
    bound = stripBroadcast(bound);
    if (AffineExpr extent = getExtent(bound)) {
      conditions[extent].push_back({op, predicate == P::slt});
      extents.insert({extent, bound});
    }
  }
}

/// Whether a loop reads a tensor along a dimension of this extent.
bool runsAlong(scf::ForOp loop, AffineExpr extent) {
  return llvm::any_of(loop.getBody()->getOps<tile::LoadOp>(), [&](auto load) {
    return llvm::any_of(
        llvm::zip_equal(load.getIndices(),
                        getTensorShape(load.getTensor()).getResults()),
        [&](auto pair) {
          return std::get<1>(pair) == extent &&
                 isLoopIndex(std::get<0>(pair), loop);
        });
  });
}

/// Whether blocks of `size` that end at `end`, or earlier, cover this extent.
bool endsAt(Value end, AffineExpr extent, int64_t size) {
  if (auto least = end.getDefiningOp<arith::MinSIOp>())
    return endsAt(least.getLhs(), extent, size) ||
           endsAt(least.getRhs(), extent, size);
  AffineExpr own = getExtent(end);
  return own && (own == extent || own == extent.ceilDiv(size) * size ||
                 own == (extent + (size - 1)).floorDiv(size) * size);
}

/// Whether an extent that the index is compared with is the axis's: a mask may
/// compare it with any other number.
bool TailPeeler::isOwn(AffineExpr extent, int64_t size) {
  scf::ForOp following = getFollowing();
  return runsAlong(loop, extent) ||
         (following && runsAlong(following, extent)) ||
         endsAt(loop.getUpperBound(), extent, size);
}

/// The loop over partial blocks that goes on where this one ends.
scf::ForOp TailPeeler::getFollowing() {
  scf::ForOp next = getNextInChain(loop);
  auto blocks = next ? next->getAttrOfType<tile::BlockClassAttr>("tile.blocks")
                     : tile::BlockClassAttr();
  bool isPartial = blocks && blocks.getValue() == tile::BlockClass::Partial;
  return isPartial ? next : scf::ForOp();
}

void TailPeeler::assumeInside(ArrayRef<BoundCondition> conditions) {
  for (auto [op, isInside] : conditions) {
    OpBuilder builder(loop);
    TypedAttr value = splat(op.getType(), builder.getBoolAttr(isInside));
    op.replaceAllUsesWith(
        arith::ConstantOp::create(builder, op.getLoc(), value).getResult());
    op->erase();
  }
}

void TailPeeler::run() {
  auto blocks = loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks");
  auto step = getIntegerConstant(loop.getStep());
  if (!blocks || blocks.getValue() != tile::BlockClass::Full || !step ||
      loop->hasAttr("tile.inside"))
    return;
  int64_t size = step->getSExtValue();
  // A list's full blocks lie within the axis.
  bool isListed = loop->hasAttr("tile.from_list");
  collectConditions();
  if (conditions.empty())
    return;
  // A mask n < G that stands in the code yet is not the axis's bound.
  auto isForeign = [&](auto &entry) { return !isOwn(entry.first, size); };
  conditions.remove_if(isForeign);
  extents.remove_if(isForeign);
  if (conditions.empty())
    return;
  if (conditions.size() != 1 ||
      (!isListed && !isMultiple(loop.getLowerBound(), size))) {
    remark::missed(loop.getLoc(), getOptions("BoundKept"))
        << remark::add("every full block evaluates the axis's bound")
        << remark::reason("{0}", conditions.size() != 1
                                     ? "its extent is not known"
                                     : "blocks may start anywhere");
    return;
  }
  auto &[extent, bound] = extents.front();
  OpBuilder builder(loop);
  IndexBuilder index(builder, loop.getLoc());
  auto constant = getIntegerConstant(bound);
  if (isListed) {
    remark::passed(loop.getLoc(), getOptions("Listed"))
        << remark::add("the list's full blocks lie within the axis");
  } else if (!constant || constant->getSExtValue() % size != 0) {
    // A size is at least 0.
    Value whole = constant
                      ? index.constant(constant->getSExtValue() / size * size)
                      : index.multiply(index.divideUnsigned(bound, size), size);
    Value upper = loop.getUpperBound(), end = whole;
    if (upper != bound)
      end = index.minimum(upper, whole);
    // Where the loop has no block, neither may what follows run one again.
    end = index.maximum(loop.getLowerBound(), end);
    scf::ForOp following = getFollowing();
    if (following) {
      following.setLowerBound(end);
    } else {
      builder.setInsertionPointAfter(loop);
      auto tail = cast<scf::ForOp>(builder.clone(*loop));
      loop->replaceAllUsesWith(tail);
      tail.getInitArgsMutable().assign(loop.getResults());
      tail.setLowerBound(end);
      tail->setAttr("tile.blocks",
                    tile::BlockClassAttr::get(loop.getContext(),
                                              tile::BlockClass::Partial));
    }
    loop.setUpperBound(end);
    remark::passed(loop.getLoc(), getOptions("Peeled"))
        << remark::add("full blocks run without the axis's bound; the last, "
                       "shorter one is left to {0}",
                       following ? "the loop that follows"
                                 : "a loop of its "
                                   "own");
  } else {
    remark::passed(loop.getLoc(), getOptions("Whole"))
        << remark::add("the axis is a whole number of blocks");
  }
  unsigned sizes = cast<attn::SignatureOpInterface>(
                       loop->getParentOfType<tile::ProgramOp>().getOperation())
                       .getSizeArgs()
                       .size();
  loop->setAttr("tile.inside",
                AffineMapAttr::get(AffineMap::get(0, sizes, extent)));
  assumeInside(conditions.front().second);
}

struct TilePeelTails : impl::TilePeelTailsBase<TilePeelTails> {
  void runOnOperation() override {
    getOperation()->walk([](tile::KernelOp kernel) {
      SmallVector<scf::ForOp> loops;
      kernel->walk([&](scf::ForOp loop) {
        if (loop->hasAttr("tile.axis") && loop->getNumResults() != 0)
          loops.push_back(loop);
      });
      for (scf::ForOp loop : loops)
        TailPeeler(loop).run();
    });
  }
};

} // namespace
} // namespace attentile
