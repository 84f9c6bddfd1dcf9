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
// points, the terms added one by one. Expects: attn.kernel, before
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

#include "Attn/Attn.h"
#include "MadeOf.h"
#include "Products.h"
#include "Unrolling.h"
#include "WholeAxes.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"

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

/// Few terms: fewer than would be computed of padded axes.
constexpr int64_t kFewTerms = 24;

/// Longer sums are left alone.
constexpr int64_t kMostSummed = 1 << 16;

/// Elements of 16 bits that one copy reads.
constexpr int64_t kPacket = 8;

/// A sum over short axes: that which stays, if one does, and the others.
struct ShortAxes {
  BlockArgument kept;
  SmallVector<BlockArgument> others;
  int64_t indices = 1; // of the others
  bool fitsTile = false;
};

class ScoreSearch {
public:
  explicit ScoreSearch(attn::KernelOp kernel) : kernel(kernel), axes(kernel) {}

  std::optional<ShortAxes> find(attn::ReduceOp sum) {
    std::optional<ShortAxes> few = findFewTerms(sum);
    return few ? few : findGroups(sum);
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
    int64_t terms = 1;
    const attn::Axes summed = axes.setOf(sum.getAxes());
    for (BlockArgument index : axes.indicesOf(summed)) {
      std::optional<int64_t> extent = getConstantExtent(kernel, index);
      if (!extent || *extent == 0 || (terms *= *extent) > kMostSummed)
        return std::nullopt;
    }
    const attn::Axes last = findContiguous(factors);
    // Copies of packets are worth more than few products, except than few that
    // fit registers; rows of other sizes are read element by element anyway.
    auto rank = [&](BlockArgument axis) {
      int64_t extent = *getConstantExtent(kernel, axis);
      return std::tuple(
          terms <= kMostInRegisters && terms / extent <= kMostProducts,
          last.test(axes.numberOf(axis)) && extent % kPacket == 0, extent);
    };
    attn::Axes shared = summed;
    shared &= axes.of(factors.getLhs());
    shared &= axes.of(factors.getRhs());
    ShortAxes result;
    for (BlockArgument index : axes.indicesOf(shared))
      if (!result.kept || rank(index) > rank(result.kept))
        result.kept = index;
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

/// A sum over the other axes of sums over what is kept.
void nest(attn::ReduceOp sum, const ShortAxes &found) {
  OpBuilder builder(sum);
  Value inner = attn::ReduceOp::create(builder, sum.getLoc(), sum.getKind(),
                                       sum.getOperand(), ValueRange(found.kept),
                                       sum.getProductAttr());
  sum.replaceAllUsesWith(
      attn::ReduceOp::create(builder, sum.getLoc(), sum.getKind(), inner,
                             llvm::to_vector_of<Value>(found.others),
                             TypeAttr())
          .getResult());
  sum.erase();
}

/// Sums that are no products of matrices over the same axes, as of a row's own,
/// are added up in the same order.
void nestAlike(attn::KernelOp kernel, ArrayRef<ShortAxes> takenApart) {
  attn::AxesAnalysis axes(kernel);
  SmallVector<std::pair<attn::ReduceOp, const ShortAxes *>> found;
  for (auto sum : kernel.getHeadBlock().getOps<attn::ReduceOp>()) {
    if (sum.getProduct() || !findMultiplyAdds(sum, axes))
      continue;
    const attn::Axes summed = axes.setOf(sum.getAxes());
    for (const ShortAxes &product : takenApart) {
      attn::Axes its = axes.setOf(llvm::to_vector_of<Value>(product.others));
      if (summed == (its |= axes.setOf(Value(product.kept)))) {
        found.push_back({sum, &product});
        break;
      }
    }
  }
  for (auto [sum, product] : found)
    nest(sum, *product);
}

struct AttnUnrollSums : impl::AttnUnrollSumsBase<AttnUnrollSums> {
  using AttnUnrollSumsBase::AttnUnrollSumsBase;

  void runOnOperation() override {
    getOperation()->walk([&](attn::KernelOp kernel) {
      ScoreSearch search(kernel);
      SmallVector<attn::ReduceOp> sums(
          kernel.getHeadBlock().getOps<attn::ReduceOp>());
      SmallVector<ShortAxes> takenApart; // products of matrices
      for (attn::ReduceOp sum : sums) {
        std::optional<ShortAxes> found = search.find(sum);
        if (!found)
          continue;
        auto slice = search.findSlice(sum, *found);
        bool isUnrolled = slice && found->fitsTile;
        if (isUnrolled && found->kept)
          takenApart.push_back(*found);
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
        nestAlike(kernel, takenApart);
    });
  }
};

} // namespace
} // namespace attentile
