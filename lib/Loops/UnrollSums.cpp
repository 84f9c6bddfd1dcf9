//===- UnrollSums.cpp - scores over several axes, one at a time -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: makes a score that is a sum of products over several axes, as over
// groups of features, a sum of products over one of them, one for each index of
// the others; and a score that is a sum of few terms, such as a distance of
// points, the terms added one by one; of many terms over several axes it marks
// it with attn.materialize. Expects: attn.kernel, before
// attn-form-grids; nested sums as one (attn-merge-sums). Leaves: the same
// formulas. Does not handle: axes whose size is not known; sums within loops
// over tiles.
//
//===----------------------------------------------------------------------===//
//
// Axes of a score stand whole in a tile, where a product of matrices has one
// axis to sum over. Each index of a short axis is a product of its own, whose
// accumulators are the next one's. Of many indices, or of what goes through
// memory, a sum of sums is made: all scores go through memory, which is slow,
// but not as slow as products element by element.
//
// Terms that are no product of matrices are computed for each row and key, and
// a tile has a multiple of 16 of them along each axis: of three coordinates it
// computes sixteen. One by one they are tiles of rows and keys.
//
// Many such terms over several axes, as of a Mahalanobis distance, would be
// tiles of rows, keys and both axes, each element written out. In workspace the
// sum is a grid's own, which goes over one of the axes index by index.
//
// On a CPU, where one formula is one number, the order of such sums hangs on
// the formula alone: one axis inside, as of a product of matrices, a sum for
// each of the others, the first outermost. Sums of a row's own products, which
// no rule above is for, are nested so, too.
//

#include "Attn/Attn.h"
#include "MadeOf.h"
#include "Products.h"
#include "Unrolling.h"
#include "WholeAxes.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

namespace attentile {
#define GEN_PASS_DEF_ATTNUNROLLSUMS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "attn-unroll-sums"

using namespace mlir;

namespace attentile {
namespace {

/// Elements of all products that a score is made of: what a tile holds, and
/// what registers do.
constexpr int64_t kMostTerms = 1024, kMostInRegisters = 256;

/// Few terms: fewer than would be computed of padded axes; on a CPU, whose
/// loops need not be written out, over several axes more (measured:
/// docs/performance.md).
constexpr uint64_t kFewTerms = 24, kFewInLoops = 256;

/// Longer sums are left alone.
constexpr uint64_t kMostSummed = 1 << 16;

/// Elements of 16 bits that one copy reads.
constexpr int64_t kPacket = 8;

/// Whether a value is made of reductions, but for those that go through memory:
/// what is summed of these would go through memory for each term.
bool isMadeOfReductionsHere(Value value) {
  return llvm::any_of(sliceOf(value, isHere),
                      llvm::IsaPred<attn::ReduceOp, attn::ForOp>);
}

/// A sum over short axes: that which stays, if one does, and the others.
struct ShortAxes {
  BlockArgument kept;
  SmallVector<BlockArgument> others;
  uint64_t indices = 1; // of the others
  bool fitsTile = false;
};

class ScoreSearch {
public:
  explicit ScoreSearch(attn::KernelOp kernel) : kernel(kernel), axes(kernel) {}

  std::optional<ShortAxes> find(attn::ReduceOp sum) {
    std::optional<ShortAxes> few = findFewTerms(sum);
    return few ? few : findGroups(sum);
  }

  /// The axes of a sum of products over several that both factors have.
  std::optional<ShortAxes> findOrder(attn::ReduceOp sum) {
    if (sum.getAxes().size() < 2 || !findMultiplyAdds(sum, axes) ||
        !isShort(sum) || isMadeOfReductionsHere(sum.getOperand()))
      return std::nullopt;
    ShortAxes result;
    const attn::Axes summed = axes.setOf(sum.getAxes());
    result.kept = findInner(sum, summed);
    result.others = llvm::to_vector(axes.indicesOf(summed));
    llvm::erase(result.others, result.kept);
    return result;
  }

  /// Whether a sum over several axes, for each row and key of another
  /// reduction, has more terms than `most` that are no product of matrices.
  bool hasManyTerms(attn::ReduceOp sum, uint64_t most) {
    if (sum.getAxes().size() < 2 || sum.getKind() != attn::ReduceKind::Sum ||
        !isa<FloatType>(sum.getType()) || sum.getProduct() || !isReduced(sum) ||
        isMadeOfReductions(sum.getOperand()) || !isOfPairs(sum.getOperand()))
      return false;
    std::optional<uint64_t> terms = countTerms(sum);
    return terms && *terms > most;
  }

  SmallVector<int64_t> extentsOf(const ShortAxes &found) {
    SmallVector<int64_t> result;
    for (BlockArgument axis : found.others)
      result.push_back(*getConstantExtent(kernel, axis));
    result.push_back(*getConstantExtent(kernel, found.kept));
    return result;
  }

  /// Whether a sum is one for each pair of rows and keys, which are reduced.
  bool isScore(attn::ReduceOp sum) {
    return isReduced(sum) && (isMatrixProduct(sum, axes) || findFewTerms(sum));
  }

  std::optional<SmallVector<Operation *>> findSlice(attn::ReduceOp sum,
                                                    const ShortAxes &found) {
    return findSliceOf(sum.getOperand(), found.others, axes);
  }

private:
  /// The axes of a sum of few terms for each row and key, unless it is a
  /// product of matrices.
  std::optional<ShortAxes> findFewTerms(attn::ReduceOp sum) {
    if (sum.getKind() != attn::ReduceKind::Sum ||
        !isa<FloatType>(sum.getType()) || !isReduced(sum) ||
        isMadeOfReductions(sum.getOperand()) || !isOfPairs(sum.getOperand()) ||
        isMatrixProduct(sum, axes))
      return std::nullopt;
    ShortAxes result;
    bool isPadded = false;
    for (BlockArgument index : axes.indicesOf(axes.setOf(sum.getAxes()))) {
      std::optional<int64_t> extent = getConstantExtent(kernel, index);
      if (!extent || *extent == 0 || (result.indices *= *extent) > kFewTerms)
        return std::nullopt;
      isPadded |= *extent % kBlock != 0;
      result.others.push_back(index);
    }
    if (findMultiplyAdds(sum, axes)) {
      BlockArgument inner = findInner(sum, axes.setOf(sum.getAxes()));
      llvm::erase(result.others, inner);
      result.others.push_back(inner);
    }
    result.fitsTile = true;
    return isPadded ? std::optional(result) : std::nullopt;
  }

  /// Whether a value is made of tensors none of which has all of its axes.
  bool isOfPairs(Value value) {
    const attn::Axes own = axes.of(value);
    return llvm::none_of(sliceOf(value), [&](Operation *op) {
      return isa<attn::ReadOp>(op) && !own.test(axes.of(op->getResult(0)));
    });
  }

  std::optional<ShortAxes> findGroups(attn::ReduceOp sum) {
    auto factors = sum.getProduct()
                       ? sum.getOperand().getDefiningOp<arith::MulFOp>()
                       : arith::MulFOp();
    if (!factors || sum.getAxes().size() < 2 || !isReduced(sum) ||
        isMadeOfReductions(sum.getOperand()))
      return std::nullopt;
    if (!isShort(sum))
      return std::nullopt;
    const int64_t terms = *countTerms(sum);
    const attn::Axes summed = axes.setOf(sum.getAxes());
    attn::Axes shared = summed;
    shared &= axes.of(factors.getLhs());
    shared &= axes.of(factors.getRhs());
    ShortAxes result;
    result.kept = findInner(sum, shared);
    if (!result.kept)
      return std::nullopt;
    for (BlockArgument index : axes.indicesOf(summed))
      if (index != result.kept)
        result.others.push_back(index);
    result.indices = terms / *getConstantExtent(kernel, result.kept);
    result.fitsTile = result.indices <= kMostProducts && terms <= kMostTerms;
    // What one factor has alone is better summed by itself than in all scores.
    if (!result.fitsTile && shared != summed)
      return std::nullopt;
    return result;
  }

  /// The terms of a sum, if they are known to be some.
  std::optional<uint64_t> countTerms(attn::ReduceOp sum) {
    uint64_t terms = 1;
    for (BlockArgument index : axes.indicesOf(axes.setOf(sum.getAxes()))) {
      std::optional<int64_t> extent = getConstantExtent(kernel, index);
      if (!extent || *extent == 0)
        return std::nullopt;
      terms = llvm::SaturatingMultiply(terms, uint64_t(*extent));
    }
    return terms;
  }

  bool isShort(attn::ReduceOp sum) {
    std::optional<uint64_t> terms = countTerms(sum);
    return terms && *terms <= kMostSummed;
  }

  /// That of these axes which a sum of products has inside; null if it is none
  /// or there are none.
  BlockArgument findInner(attn::ReduceOp sum, const attn::Axes &candidates) {
    auto factors = sum.getOperand().getDefiningOp<arith::MulFOp>();
    if (!factors)
      return {};
    const int64_t terms = *countTerms(sum);
    const attn::Axes last = findContiguous(factors);
    // Copies of packets are worth more than few products, except than few that
    // fit registers; rows of other sizes are read element by element anyway.
    auto rank = [&](BlockArgument axis) {
      int64_t extent = *getConstantExtent(kernel, axis);
      return std::tuple(
          terms <= kMostInRegisters && terms / extent <= kMostProducts,
          last.test(axes.numberOf(axis)) && extent % kPacket == 0, extent);
    };
    BlockArgument result;
    for (BlockArgument index : axes.indicesOf(candidates))
      if (!result || rank(index) > rank(result))
        result = index;
    return result;
  }

  /// The axes along which elements that a factor reads lie together.
  attn::Axes findContiguous(arith::MulFOp factors) {
    attn::Axes result = axes.setOf({});
    for (Value factor : factors->getOperands()) {
      while (auto cast = factor.getDefiningOp<arith::ExtFOp>())
        factor = cast.getIn();
      if (auto read = factor.getDefiningOp<attn::ReadOp>();
          read && !read.getIndices().empty())
        result |= axes.of(read.getIndices().back());
    }
    return result;
  }

  attn::KernelOp kernel;
  attn::AxesAnalysis axes;
};

/// A sum over each of the other axes, the first outermost, of sums over what is
/// kept.
void nest(attn::ReduceOp sum, const ShortAxes &found) {
  OpBuilder builder(sum);
  auto product = TypeAttr::get(sum.getProduct().value_or(sum.getType()));
  Value result =
      attn::ReduceOp::create(builder, sum.getLoc(), sum.getKind(),
                             sum.getOperand(), ValueRange(found.kept), product);
  SmallVector<Value> others(found.others.begin(), found.others.end());
  // All scores go through memory once: the sum over all others.
  size_t atOnce = sum.getProduct() ? others.size() : 1;
  while (!others.empty()) {
    auto axes = ArrayRef(others).take_back(atOnce);
    result = attn::ReduceOp::create(builder, sum.getLoc(), sum.getKind(),
                                    result, axes, TypeAttr());
    others.truncate(others.size() - atOnce);
  }
  sum.replaceAllUsesWith(result);
  sum.erase();
}

void throughMemory(attn::ReduceOp sum) {
  materialize(sum.getResult(), "score");
  remark::passed(sum.getLoc(),
                 remark::RemarkOpts::name("ManyTerms").category(DEBUG_TYPE))
      << remark::add("a score of many terms over several axes, no product of "
                     "matrices, goes through workspace");
}

/// The extents of a sum's axes, that which is summed first last.
using Order = SmallVector<int64_t>;

/// Nests what is left of sums of products over several axes: scores, and what
/// has a score's order, as a row's own.
void nestOthers(attn::KernelOp kernel, ArrayRef<Order> ofScores) {
  ScoreSearch search(kernel);
  SmallVector<std::pair<attn::ReduceOp, ShortAxes>> found;
  for (auto sum : kernel.getHeadBlock().getOps<attn::ReduceOp>())
    if (std::optional<ShortAxes> axes = search.findOrder(sum))
      if (search.isScore(sum) ||
          llvm::is_contained(ofScores, search.extentsOf(*axes)))
        found.push_back({sum, *axes});
  for (auto &[sum, axes] : found)
    nest(sum, axes);
}

struct AttnUnrollSums : impl::AttnUnrollSumsBase<AttnUnrollSums> {
  using AttnUnrollSumsBase::AttnUnrollSumsBase;

  void runOnOperation() override {
    getOperation()->walk([&](attn::KernelOp kernel) {
      ScoreSearch search(kernel);
      SmallVector<attn::ReduceOp> sums(
          kernel.getHeadBlock().getOps<attn::ReduceOp>());
      SmallVector<Order> ofScores;
      for (attn::ReduceOp sum : sums)
        if (search.isScore(sum))
          if (std::optional<ShortAxes> axes = search.findOrder(sum))
            ofScores.push_back(search.extentsOf(*axes));
      for (attn::ReduceOp sum : sums) {
        std::optional<ShortAxes> found = search.find(sum);
        if (!found) {
          if (search.hasManyTerms(sum, multiplyAdds ? kFewInLoops : kFewTerms))
            throughMemory(sum);
          continue;
        }
        auto slice = search.findSlice(sum, *found);
        bool isUnrolled = slice && found->fitsTile;
        if (!isUnrolled && !found->kept) // through memory
          continue;
        remark::passed(
            sum.getLoc(),
            remark::RemarkOpts::name("ScoreOfAxes").category(DEBUG_TYPE))
            << remark::add(!found->kept
                               ? "the few terms of a score are added one by one"
                           : isUnrolled
                               ? "a score over several axes is a product for "
                                 "each index of the shorter ones"
                               : "a score over several axes is a sum of "
                                 "products that go through memory");
        if (isUnrolled)
          addOneByOne(kernel, sum, found->others, *slice, multiplyAdds,
                      found->kept);
        else
          nest(sum, *found);
      }
      if (multiplyAdds)
        nestOthers(kernel, ofScores);
    });
  }
};

} // namespace
} // namespace attentile
