//===- SemaFactors.cpp - factors that are computed once -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys and values that are reductions themselves, as projected in the kernel,
//
//   let k = sum[r](X[b, n, r] * Wk[r, h, d]);
//   let s = sum[d](Q[b, h, m, d] * k);
//
// would be computed again for each tile of rows, and all of r would have to
// stand in a tile. They are materialized, as a schedule would have them. So are
//
//   - the factors of a product that is a score: one in a function that is not
//     linear, within a reduction;
//   - a factor beside weights: softmaxes, or what is made of scores;
//   - a factor of a product over an axis longer than head sizes, beside as many
//     rows, sum[n](A[m, n] * sum[f](X[n, f] * W[f, e])), where its size is
//     known, or where the kernel would be refused for a size that is not;
//
// where a factor has the axes of a reduction in it, and lacks one of the other
// factor's. Not what is of pairs of the factor's own axes, as scores that heads
// mix: that would be larger than what it is made of. Decided here, not by a
// pass, as head sizes depend on it: what goes through memory is inside nothing.
// So no head size is asked: one may be given later. And so are factors of what
// a score sums alone, as softmax[h](w[h]) in a sum over h and d: they are the
// same for all rows and keys, and what is summed with them would stand in no
// tile.
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "attentile/WholeExtent.h"

using namespace attentile;
using namespace attentile::frontend;

/// A factor of more is nothing anybody writes.
static constexpr unsigned kMostSums = 16;

/// Whether a value is not a sum of its operands' multiples.
static bool isNonlinear(const TypedExpr &node) {
  return node.op == TypedExpr::Softmax || node.op == TypedExpr::Logsumexp ||
         node.op == TypedExpr::ReduceMax || node.op == TypedExpr::ReduceMin ||
         (node.op >= TypedExpr::Exp && node.op <= TypedExpr::Max);
}

namespace {
/// What stands below a node, itself included.
struct Below {
  bool hasProduct = false;
  bool hasScores = false; // a product in a function that is not linear
  AxisSet statistics = 0; // what softmaxes and extrema reduce
  bool isOfWeights() const { return hasScores || statistics; }
  llvm::SmallVector<const TypedExpr *, 4> sums;
};

/// Finds the factors. What stands above a node is known before it is visited.
class FactorSearch {
public:
  /// `unknownIsLong`: an axis is longer than head sizes if its size is unknown.
  FactorSearch(const CheckedKernel &kernel,
               llvm::ArrayRef<const TypedExpr *> nodes, bool unknownIsLong)
      : isLive(nodes.size()), isReduced(nodes.size()), isScore(nodes.size()),
        isKept(nodes.size()) {
    for (auto [i, index] : llvm::enumerate(kernel.indices)) {
      std::optional<int64_t> extent = kernel.evaluate(*index.extent);
      const AxisSet axis = AxisSet(1) << i;
      if (extent ? *extent > maxWholeExtent : unknownIsLong)
        isLong |= axis;
      if (!extent || *extent > maxWholeExtent)
        isLongOrUnknown |= axis;
    }
    for (const TypedExpr *node : nodes)
      below.push_back(collect(*node));
    for (const CheckedStatement &statement : kernel.body)
      if (statement.kind == CheckedStatement::Output)
        isLive[statement.value->order] = true;
    for (const TypedExpr *node : nodes)
      if (node->isProduct &&
          llvm::any_of(factorsOf(*node->operands[0]), [&](const auto *factor) {
            return isOfSummed(*node, *factor);
          }))
        weighted.push_back(node->bound);
    for (const TypedExpr *node : llvm::reverse(nodes))
      if (isLive[node->order])
        visit(*node);
  }

  bool isNeeded(const TypedExpr &node) const { return isLive[node.order]; }
  bool isFactorKept(const TypedExpr &node) const { return isKept[node.order]; }

private:
  Below collect(const TypedExpr &node) const {
    Below result;
    for (const TypedExpr *operand : node.operands) {
      const Below &part = below[operand->order];
      result.hasProduct |= part.hasProduct;
      result.hasScores |= part.hasScores;
      result.statistics |= part.statistics;
      for (const TypedExpr *reduction : part.sums)
        if (result.sums.size() < kMostSums &&
            !llvm::is_contained(result.sums, reduction))
          result.sums.push_back(reduction);
    }
    if (node.op == TypedExpr::Materialize)
      result.sums.clear(); // it is made once
    result.hasScores |= isNonlinear(node) && result.hasProduct;
    result.hasProduct |= node.isProduct;
    if (!node.isReduction())
      return result;
    if (isNonlinear(node))
      result.statistics |= node.bound;
    if (node.op == TypedExpr::Sum)
      result.sums.push_back(&node);
    return result;
  }

  void visit(const TypedExpr &node) {
    unsigned i = node.order;
    if (node.isProduct)
      for (unsigned side : {0, 1}) {
        const TypedExpr &factors = *node.operands[0];
        const TypedExpr &factor = *factors.operands[side];
        if (isComputedAgain(node, factor, *factors.operands[1 - side]))
          keep(factor);
      }
    if (node.op == TypedExpr::Sum && isReduced[i] &&
        llvm::is_contained(weighted, node.bound))
      for (const TypedExpr *factor : factorsOf(*node.operands[0]))
        if (isOfSummed(node, *factor))
          keep(*factor);
    bool isRoot = isKept[i] || node.op == TypedExpr::Materialize;
    bool reduced = !isRoot && isReduced[i], score = !isRoot && isScore[i];
    reduced |= node.isReduction();
    score |= reduced && isNonlinear(node);
    for (const TypedExpr *operand : node.operands) {
      isLive[operand->order] = true;
      isReduced[operand->order] = isReduced[operand->order] || reduced;
      isScore[operand->order] = isScore[operand->order] || score;
    }
  }

  /// What is multiplied, at most as many as anybody writes.
  static llvm::SmallVector<const TypedExpr *, 4>
  factorsOf(const TypedExpr &multiplied) {
    llvm::SmallVector<const TypedExpr *, 4> result = {&multiplied};
    for (size_t i = 0; i < result.size() && result.size() < kMostSums; ++i)
      while (result[i]->op == TypedExpr::Mul) {
        result.push_back(result[i]->operands[1]);
        result[i] = result[i]->operands[0];
      }
    return result;
  }

  /// Whether a factor is made of reductions and has nothing but what is summed,
  /// as a softmax of the heads' weights: one for all rows and keys.
  bool isOfSummed(const TypedExpr &sum, const TypedExpr &factor) const {
    const Below &own = below[factor.order];
    return factor.axes && !(factor.axes & ~sum.bound) &&
           (own.statistics || !own.sums.empty());
  }

  /// Of what is reduced once more in the factor, as for its norm, each reads
  /// all of a row again: that is a statement of its own.
  void keep(const TypedExpr &factor) {
    isKept[factor.order] = true;
    for (const TypedExpr *reduction : below[factor.order].sums)
      if (reduction->axes == factor.axes && factor.reduced & reduction->axes)
        isKept[reduction->order] = true;
  }

  /// Whether a product gives pairs, as scores do: what only its left side has
  /// by what only its right side has, of the axes of `own`.
  static bool givesPairs(const TypedExpr &sum, AxisSet own) {
    if (!sum.isProduct)
      return false;
    AxisSet left = sum.operands[0]->operands[0]->axes,
            right = sum.operands[0]->operands[1]->axes;
    return left & ~right & own && right & ~left & own;
  }

  /// Whether a factor is a sum for each of its elements, and serves many
  /// indices of the other's.
  bool isComputedAgain(const TypedExpr &sum, const TypedExpr &factor,
                       const TypedExpr &other) const {
    const Below &own = below[factor.order], &beside = below[other.order];
    const AxisSet again = other.axes & ~factor.axes;
    bool isOfValues = beside.statistics & sum.bound ||
                      (beside.isOfWeights() && !own.isOfWeights());
    bool isOfRows = isLong & sum.bound && isLongOrUnknown & again;
    if ((!isScore[sum.order] && !isOfValues && !isOfRows) ||
        own.statistics & sum.bound || !again)
      return false;
    return llvm::any_of(own.sums, [&](const TypedExpr *reduction) {
      return reduction->axes == factor.axes &&
             !(reduction->bound & sum.bound) &&
             !givesPairs(*reduction, factor.axes & ~other.axes);
    });
  }

  AxisSet isLong = 0, isLongOrUnknown = 0;
  std::vector<Below> below;
  // What products sum of which a factor has nothing else.
  llvm::SmallVector<AxisSet> weighted;
  // Of each node: whether an output needs it, whether it stands in a reduction,
  // in a function within one, and whether it goes through memory.
  std::vector<bool> isLive, isReduced, isScore, isKept;
};
} // namespace

/// The let that a value is; of others there is no name.
llvm::StringRef Sema::nameOf(const TypedExpr &value) const {
  for (const CheckedStatement &statement : kernel.body)
    if (statement.kind == CheckedStatement::Let && statement.value == &value)
      return statement.name;
  return "factor";
}

void Sema::keepFactors(bool unknownIsLong) {
  // Loops over tiles say themselves what is computed where.
  if (llvm::any_of(nodes, [](const TypedExpr *node) { return node->loop; }))
    return;
  FactorSearch search(kernel, nodes, unknownIsLong);
  if (llvm::none_of(nodes, [&](const TypedExpr *node) {
        return search.isFactorKept(*node);
      }))
    return;
  copyGraph([&](const TypedExpr &old) { return search.isNeeded(old); },
            [&](const TypedExpr &old, const TypedExpr *copy,
                llvm::ArrayRef<const TypedExpr *>) {
              return search.isFactorKept(old)
                         ? materialize(copy, nameOf(old), old.range)
                         : copy;
            });
}

void Sema::keepFactorsOfRows() {
  auto isRefused = [&] {
    return llvm::any_of(kernel.sizes, [](const CheckedSize &size) {
      return size.isHead && !size.bound;
    });
  };
  if (options.mode == CheckMode::Syntax || !isRefused())
    return;
  std::vector<const TypedExpr *> written = nodes;
  auto body = kernel.body;
  keepFactors(/*unknownIsLong=*/true);
  findHeadSizes();
  if (!isRefused())
    return;
  nodes = std::move(written);
  kernel.body = std::move(body);
  findHeadSizes();
}

const TypedExpr *Sema::materialize(const TypedExpr *value, llvm::StringRef name,
                                   SourceRange range) {
  TypedExpr mark{};
  mark.op = TypedExpr::Materialize;
  mark.type = value->type;
  mark.range = range;
  mark.name = name;
  return node(mark, value);
}
