//===- Statement.cpp - the roles of a statement's axes --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Statement.h"
#include "StatementSlice.h"
#include "WholeAxes.h"

using namespace mlir;

namespace attentile {

namespace {

/// How many columns stand whole that no score has, where these are of several
/// axes, each of which takes a multiple of 16; and beside the rows of a product
/// that stands alone, which holds a sum for each pair.
constexpr int64_t kMostColumns = 256;

/// Decides the roles of one statement's axes (see attn-form-grids).
class RoleAssignment {
public:
  RoleAssignment(Statement &statement, const KnownAxes &known)
      : statement(statement), kernel(known.kernel), axes(known.axes),
        wholeOfKernel(known.whole), tiled(known.tiled), none(axes.setOf({})),
        step(none), tile(none), loop(none), walk(none), whole(none), rest(none),
        bounds(none), carried(none) {}

  void run() {
    collectReductions();
    for (BlockArgument index : statement.left)
      rest.set(axes.numberOf(index));
    rest.reset(loop).reset(whole);
    // A program has one loop: where it begins and ends is the same for all.
    step = rest;
    step &= bounds;
    rest.reset(step);
    scored = findScoredAxes();
    placeUnscored();
    placeTiles();
    step |= rest;
    placeWalks();
    statement.roles = {inLeftOrder(step), inLeftOrder(tile), inOrder(loop),
                       inOrder(walk), inOrder(whole)};
  }

private:
  void collectReductions() {
    forEachReduction(statement, [&](attn::ReduceOp reduction) {
      attn::Axes bound = axes.setOf(reduction.getAxes());
      bool isLoop = bound.test(wholeOfKernel);
      (isLoop ? loops : scores).push_back(reduction);
      attn::Axes inTile = bound;
      inTile &= wholeOfKernel;
      whole |= inTile;
      bound.reset(wholeOfKernel);
      loop |= bound;
    });
    forEachLoop(statement, [&](attn::ForOp op) {
      loop |= axes.setOf(op.getAxis());
      bounds |= axes.of(op.getLower());
      bounds |= axes.of(op.getUpper());
      carried |= axes.ofAny(op.getResults());
      if (op.getSize() == 1) // one index at a time
        walk |= axes.setOf(op.getAxis());
      isOverTiles = true;
    });
  }

  /// The axes of the scores: of the sums that stand whole in the tile; without
  /// one, of the rows that maxima describe; else all.
  attn::Axes findScoredAxes() {
    attn::Axes result = none;
    for (attn::ReduceOp score : scores)
      result |= axes.of(score);
    if (scores.empty())
      for (attn::ReduceOp reduction : loops)
        if (reduction.getKind() == attn::ReduceKind::Ref ||
            reduction.getKind() == attn::ReduceKind::Max)
          result |= axes.of(reduction);
    if (result.none())
      for (BlockArgument index : statement.left)
        result.set(axes.numberOf(index));
    return result;
  }

  /// Axes of the left side that no score has: whole or, where that is much or
  /// not known, tiled where a sum keeps them (an output's head size, e); a loop
  /// around the write where no loop needs them. Of several that are kept the
  /// last one is; others stand whole beside it if all are a few, else each
  /// index is a program (heads of values that share one attention).
  void placeUnscored() {
    attn::Axes kept = carried;
    for (attn::ReduceOp reduction : loops)
      kept |= axes.of(reduction);
    int64_t columns = 0; // that stand whole, as tiles have them
    for (BlockArgument index : llvm::reverse(statement.left)) {
      unsigned number = axes.numberOf(index);
      if (!rest.test(number) || scored.test(number))
        continue;
      std::optional<int64_t> extent = getConstantExtent(kernel, index);
      rest.reset(number);
      if (!kept.test(number)) {
        loop.set(number);
        continue;
      }
      bool isLast = columns == 0;
      int64_t taken = extent ? llvm::alignTo(*extent, 16) : kMostColumns + 1;
      columns = isLast                   ? taken
                : columns > kMostColumns ? columns
                                         : columns * taken;
      if (!isLast)
        (columns <= kMostColumns ? whole : step).set(number);
      else if (!extent) // of what goes through workspace: no head size
        (axesOfOneFactor(loops).test(number) ? tile : step).set(number);
      else
        (*extent <= maxWholeExtent ? whole : tile).set(number);
    }
  }

  void placeTiles() {
    SmallVector<attn::ReduceOp> products;
    llvm::copy_if(scores, std::back_inserter(products), isProduct);
    if (!products.empty()) {
      // One tile of rows against a loop over keys; without such a loop a
      // product stands alone, and its two sides are tiled. So it does at each
      // index of a loop over what both sides have: a mean over heads; not of
      // a loop over tiles that is written so.
      bool isOfEach = !loops.empty() && !isOverTiles &&
                      products.size() == scores.size() &&
                      llvm::all_of(products, [&](attn::ReduceOp product) {
                        return hasLoopInBothFactors(product);
                      });
      if (isOfEach)
        std::swap(walk, loop);
      placeSides(products, /*both=*/isOfEach || loops.empty());
      return;
    }
    llvm::copy_if(loops, std::back_inserter(products), isProduct);
    if (scores.empty() && !products.empty() && !hasMaximum()) {
      placeSides(products, /*both=*/true);
      return;
    }
    // Two that stand whole are a tile; a third would multiply what it holds.
    auto isWhole = [&](BlockArgument index) {
      return whole.test(axes.numberOf(index));
    };
    if (llvm::count_if(statement.left, isWhole) > 1)
      return;
    if (!loops.empty() || !scores.empty()) {
      placeRows(products);
      return;
    }
    // Where nothing is reduced: the last two axes.
    unsigned tiles = 2;
    for (BlockArgument index : llvm::reverse(statement.left))
      if (tiles && rest.test(axes.numberOf(index)))
        place(index, /*beside=*/tiles-- > 1);
  }

  /// Whether a sum of products, each of whose factors has all of its axes, has
  /// some that stand whole.
  bool hasWholeAxisInBothFactors(attn::ReduceOp sum) {
    if (!isProduct(sum))
      return false;
    const attn::Axes summed = axes.setOf(sum.getAxes());
    return summed.anyCommon(wholeOfKernel) &&
           llvm::none_of(
               sum.getOperand().getDefiningOp()->getOperands(),
               [&](Value factor) { return summed.test(axes.of(factor)); });
  }

  attn::Axes axesOfBothFactors(attn::ReduceOp product) {
    auto factors = product.getOperand().getDefiningOp<arith::MulFOp>();
    attn::Axes both = axes.of(factors.getLhs());
    both &= axes.of(factors.getRhs());
    return both;
  }

  bool hasLoopInBothFactors(attn::ReduceOp product) {
    return !attn::Axes(loop).test(axesOfBothFactors(product));
  }

  /// Rows of reductions whose scores are no product: the axis whose rows share
  /// most of what the loop reads, of several the last, one that a sum has of
  /// one factor alone before others. Where none does, as in a query a head for
  /// decoding, each row is a program of its own: a tile would hold as many keys
  /// again for each.
  void placeRows(ArrayRef<attn::ReduceOp> sums) {
    bool mustShare = !loops.empty() && (!scores.empty() || whole.any());
    for (const attn::Axes &among : {axesOfOneFactor(sums), rest})
      if (BlockArgument rows = findRows(among, mustShare))
        return place(rows, /*beside=*/false);
  }

  /// The axis without a role whose rows share most, the last of several.
  BlockArgument findRows(const attn::Axes &among, bool mustShare) {
    BlockArgument best;
    unsigned most = 0;
    for (BlockArgument index : llvm::reverse(statement.left)) {
      unsigned number = axes.numberOf(index);
      if (!rest.test(number) || !among.test(number))
        continue;
      unsigned shared = countShared(number);
      if ((mustShare && shared == 0) || (best && shared <= most) ||
          isThirdOfLoop(number))
        continue;
      best = index;
      most = shared;
    }
    return best;
  }

  /// The axes that the left factors alone of sums of products have, and those
  /// that the right ones alone have.
  std::pair<attn::Axes, attn::Axes>
  getSides(ArrayRef<attn::ReduceOp> reductions) {
    std::pair sides(none, none);
    for (attn::ReduceOp reduction : reductions) {
      if (!isProduct(reduction))
        continue;
      auto multiply = reduction.getOperand().getDefiningOp<arith::MulFOp>();
      attn::Axes lhs = axes.of(multiply.getLhs());
      attn::Axes rhs = axes.of(multiply.getRhs());
      attn::Axes onlyLhs = lhs, onlyRhs = rhs;
      sides.first |= onlyLhs.reset(rhs);
      sides.second |= onlyRhs.reset(lhs);
    }
    return sides;
  }

  attn::Axes axesOfOneFactor(ArrayRef<attn::ReduceOp> reductions) {
    auto [lhs, rhs] = getSides(reductions);
    lhs |= rhs;
    return lhs;
  }

  /// How much of what the loop reads lacks the axis, so that all its rows have
  /// it in common. What only says where else to read, a page's number, does not
  /// count, nor does what is one element an iteration.
  unsigned countShared(unsigned axis) {
    unsigned shared = 0;
    forEachRead([&](Value read) {
      attn::Axes own = axes.of(read);
      shared += own.anyCommon(loop) && own.test(walk) && !own.test(axis) &&
                !isIndexOnly(read);
    });
    return shared;
  }

  /// Whether a loop over tiles has two axes in a tile of which all that it
  /// reads has this one too: as rows it would be a third, with nothing in
  /// common.
  bool isThirdOfLoop(unsigned axis) {
    if (!isOverTiles)
      return false;
    attn::Axes inTile = whole;
    inTile |= loop;
    inTile.reset(walk);
    bool isThird = false, shares = false;
    forEachRead([&](Value read) {
      attn::Axes own = axes.of(read), others = own;
      others &= inTile;
      if (!own.test(axis))
        shares |= others.any() && !isIndexOnly(read);
      else
        isThird |= others.count() > 1;
    });
    return isThird && !shares;
  }

  /// What the statement reads, from tensors and from workspace.
  void forEachRead(llvm::function_ref<void(Value)> visit) {
    forEachOwn(statement, [&](Operation *op) {
      op->walk([&](attn::ReadOp read) { visit(read); });
    });
    llvm::for_each(statement.cuts, visit);
  }

  /// The axes that both factors of a loop's product have and all that the loop
  /// reads: as rows they would be a third axis of what each tile holds.
  attn::Axes findUnshared() {
    attn::Axes result = none;
    for (attn::ReduceOp reduction : loops)
      if (isProduct(reduction))
        for (BlockArgument axis : axes.indicesOf(axesOfBothFactors(reduction)))
          if (countShared(axes.numberOf(axis)) == 0)
            result.set(axes.numberOf(axis));
    return result;
  }

  /// Whether a value is used for indices of reads alone, if at all.
  static bool isIndexOnly(Value read) {
    llvm::SetVector<Operation *> users;
    auto add = [&](Value value) {
      for (OpOperand &use : value.getUses())
        if (!isa<attn::ReadOp>(use.getOwner()))
          users.insert(use.getOwner());
    };
    add(read);
    for (size_t i = 0; i < users.size(); ++i) {
      if (isa<attn::ReduceOp, attn::WriteOp>(users[i]) ||
          users[i]->getNumRegions() || users[i]->getNumResults() == 0)
        return false;
      for (Value result : users[i]->getResults())
        add(result);
    }
    return true;
  }

  /// Tiles the axis that only one factor of a product has and whose rows share
  /// most of what a loop reads, the last of several; with `both`, the last of
  /// each factor.
  void placeSides(ArrayRef<attn::ReduceOp> products, bool both) {
    auto [lhs, rhs] = getSides(products);
    if (!both) {
      lhs |= rhs;
      lhs.reset(findUnshared());
      if (BlockArgument rows = findRows(lhs, /*mustShare=*/false))
        place(rows, /*beside=*/false);
      return;
    }
    const attn::Axes *sides[2] = {&lhs, &rhs};
    bool open[2] = {true, true};
    for (BlockArgument index : llvm::reverse(statement.left)) {
      unsigned number = axes.numberOf(index);
      for (int side : {0, 1})
        if (open[side] && rest.test(number) && sides[side]->test(number)) {
          place(index, /*beside=*/true);
          open[side] = false;
        }
    }
  }

  /// With `beside`, where another tile axis may follow, a small constant one
  /// stands whole.
  void place(BlockArgument index, bool beside) {
    unsigned number = axes.numberOf(index);
    rest.reset(number);
    std::optional<int64_t> extent = getConstantExtent(kernel, index);
    bool isLastOfMany = beside && extent && *extent <= kMostColumns &&
                        rest.any() && index == statement.left.back();
    (isLastOfMany ? whole : tile).set(number);
  }

  /// The last axis of a workspace: of those that stand whole, if any do.
  attn::Axes findLast(const attn::Axes &of) {
    attn::Axes kept = of;
    kept &= wholeOfKernel;
    SmallVector<BlockArgument> own = axes.indicesOf(kept.any() ? kept : of);
    return axes.setOf(own.empty() ? ValueRange() : ValueRange(own.back()));
  }

  /// The axes along which elements of a product's factors lie together.
  attn::Axes findContiguous(attn::ReduceOp reduction) {
    attn::Axes result = none;
    if (!isProduct(reduction))
      return result;
    for (Value factor : reduction.getOperand().getDefiningOp()->getOperands()) {
      while (auto cast = factor.getDefiningOp<arith::ExtFOp>())
        factor = cast.getIn();
      if (statement.cuts.contains(factor)) // as workspace is laid out
        result |= findLast(axes.of(factor));
      if (auto read = factor.getDefiningOp<attn::ReadOp>())
        if (attn::Axes last = axes.of(read.getIndices().back());
            last.count() == 1)
          result |= last;
    }
    return result;
  }

  /// Of several axes that one reduction loops over a single one comes in tiles,
  /// so that its products are of matrices: one that a schedule asks for, else
  /// one along which a factor's elements lie together, else the longest as far
  /// as sizes are known, else one that another reduction has alone, else the
  /// last.
  void placeWalks() {
    SmallVector<std::pair<attn::Axes, attn::Axes>> several;
    attn::Axes alone = none;
    for (attn::ReduceOp reduction : loops) {
      // Within a loop over tiles it has one axis, that loop's.
      if (isa<attn::ForOp>(reduction->getParentOp()))
        continue;
      attn::Axes own = axes.setOf(reduction.getAxes());
      own &= loop;
      if (own.any() && hasWholeAxisInBothFactors(reduction))
        walk |= own; // its products sum over what stands whole
      else if (own.count() == 1)
        alone |= own;
      else if (own.any()) // not walked already
        several.push_back({own, findContiguous(reduction)});
    }
    for (auto &[own, contiguous] : several) {
      auto rank = [&](BlockArgument index) {
        unsigned number = axes.numberOf(index);
        return std::tuple(contiguous.test(number),
                          getConstantExtent(kernel, index)
                              .value_or(std::numeric_limits<int64_t>::max()),
                          alone.test(number));
      };
      attn::Axes kept = own;
      kept &= tiled;
      if (kept.none()) {
        BlockArgument best;
        for (BlockArgument index : axes.indicesOf(own))
          if (!best || rank(index) >= rank(best))
            best = index;
        kept = axes.setOf(Value(best));
      }
      walk |= own.reset(kept);
    }
    loop.reset(walk);
  }

  bool hasMaximum() {
    return llvm::any_of(loops, [](attn::ReduceOp reduction) {
      return reduction.getKind() == attn::ReduceKind::Ref ||
             reduction.getKind() == attn::ReduceKind::Max;
    });
  }

  static bool isProduct(attn::ReduceOp reduction) {
    return reduction.getProduct() &&
           reduction.getOperand().getDefiningOp<arith::MulFOp>();
  }

  SmallVector<Value> inOrder(const attn::Axes &set) {
    return llvm::to_vector_of<Value>(axes.indicesOf(set));
  }

  SmallVector<Value> inLeftOrder(const attn::Axes &set) {
    SmallVector<Value> result;
    for (BlockArgument index : statement.left)
      if (set.test(axes.numberOf(index)))
        result.push_back(index);
    return result;
  }

  Statement &statement;
  attn::KernelOp kernel;
  attn::AxesAnalysis &axes;
  const attn::Axes &wholeOfKernel, &tiled;
  const attn::Axes none;
  bool isOverTiles = false; // it has a loop over tiles
  attn::Axes step, tile, loop, walk, whole;
  attn::Axes rest;            // axes of the left side without a role so far
  attn::Axes bounds, carried; // axes of loops over tiles: bounds, results
  attn::Axes scored;          // axes that a score has
  SmallVector<attn::ReduceOp> loops, scores;
};

} // namespace

void assignRoles(Statement &statement, const KnownAxes &known) {
  RoleAssignment(statement, known).run();
}

void tileColumnsOfTerms(Statement &statement, attn::AxesAnalysis &axes) {
  AxisRoles &roles = statement.roles;
  attn::Axes loop = axes.setOf(roles.loop), rows = axes.setOf(roles.tile);
  attn::Axes kept = axes.setOf(roles.whole), columns = axes.setOf({});
  forEachReduction(statement, [&](attn::ReduceOp reduction) {
    kept.reset(axes.setOf(reduction.getAxes()));
  });
  bool isCostly = false; // to compute scores again
  forEachReduction(statement, [&](attn::ReduceOp sum) {
    Value terms = sum.getOperand();
    auto factors = sum.getProduct() ? terms.getDefiningOp<arith::MulFOp>()
                                    : arith::MulFOp();
    bool isOfLoop = axes.setOf(sum.getAxes()).anyCommon(loop);
    for (Value term : factors ? ValueRange(factors.getOperands()) : terms) {
      attn::Axes own = axes.of(term);
      if (!own.anyCommon(loop) || !own.anyCommon(rows))
        continue;
      isCostly |= !isOfLoop;
      if (isOfLoop)
        columns |= own;
    }
  });
  columns &= kept;
  if (isCostly)
    return;
  for (Value axis : axes.indicesOf(columns))
    roles.tile.push_back(axis);
  llvm::erase_if(roles.whole, [&](Value axis) {
    return llvm::is_contained(roles.tile, axis);
  });
}

} // namespace attentile
