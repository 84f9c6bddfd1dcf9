//===- SemaHeadSizes.cpp - which sizes must be known ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole axes stand in a tile as they are, so their sizes are part of the code:
//
//   - an axis over which some reduction stands inside a reduction over another
//     axis (d of the scores), if no reduction over it has one over another axis
//     in its body, and none that stands inside nothing has any;
//   - but no axis whose reductions stand in sums alone over axes of known sizes
//     (n of O[m, e] = sum[d](q * sum[n](k * v)) with D bound) where its own
//     size is unknown or that of an output's axis that they lack, in a kernel
//     without loops over tiles;
//   - an axis that is reduced within a loop over another axis's tiles (d of
//     sum[d](q * state)), if no loop runs over it;
//   - the last axis of an output that no score has (e). A score is a reduction
//     over an axis of the first kind in the body of another reduction.
//
// attn-form-grids decides by the same rules which axes are whole.
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace attentile;
using namespace attentile::frontend;

void Sema::markHead(const SizeExpr &extent, HeadAxis why) {
  if (extent.kind == SizeExpr::Size) {
    kernel.sizes[extent.size].isHead = true;
    headAxes.try_emplace(extent.size, why);
  } else if (extent.kind != SizeExpr::Constant) {
    markHead(*extent.lhs, why);
    markHead(*extent.rhs, why);
  }
}

/// Of each node of a kernel, in creation order.
using Operands = std::vector<llvm::ArrayRef<const TypedExpr *>>;

std::optional<bool>
frontend::truthOf(const TypedExpr &node, const CheckedKernel &kernel,
                  llvm::ArrayRef<std::optional<bool>> known) {
  if (node.type != ValueType::Bool)
    return std::nullopt;
  if (node.op == TypedExpr::And || node.op == TypedExpr::Or) {
    bool deciding = node.op == TypedExpr::Or;
    std::optional<bool> a = known[node.operands[0]->order],
                        b = known[node.operands[1]->order];
    if (a == deciding || b == deciding)
      return deciding;
    return a && b ? std::optional(!deciding) : std::nullopt;
  }
  return node.axes == 0 ? evaluateCondition(node, kernel) : std::nullopt;
}

/// A choice whose condition is known is one of its sides: no other is emitted.
static Operands operandsOf(llvm::ArrayRef<const TypedExpr *> nodes,
                           const CheckedKernel &kernel) {
  Operands result;
  std::vector<std::optional<bool>> truth;
  for (const TypedExpr *node : nodes) {
    truth.push_back(truthOf(*node, kernel, truth));
    result.push_back(node->operands);
    if (node->op != TypedExpr::Select)
      continue;
    if (std::optional<bool> is = truth[node->operands[0]->order])
      result.back() = node->operands.slice(*is ? 1 : 2, 1);
  }
  return result;
}

/// What goes through memory is a statement of its own. A value without axes is
/// a constant, cheaper than any memory.
static bool isMaterialized(const TypedExpr &node) {
  return node.op == TypedExpr::Materialize && node.axes != 0;
}

/// All that is reduced in each node's value. Operands come before their users.
static std::vector<AxisSet> reducedIn(llvm::ArrayRef<const TypedExpr *> nodes,
                                      const Operands &operands) {
  std::vector<AxisSet> result(nodes.size());
  for (auto [node, own, reduced] : llvm::zip_equal(nodes, operands, result)) {
    if (node->op == TypedExpr::Loop || node->isOfTile()) {
      reduced = node->reduced; // of all that is in the loop
      continue;
    }
    if (isMaterialized(*node))
      continue; // it is read again
    reduced = node->isReduction() ? node->bound : AxisSet(0);
    for (const TypedExpr *operand : own)
      reduced |= result[operand->order];
  }
  return result;
}

/// The union of the axes that reductions above a node run over, sums or others,
/// from the root's value down. Users come after their operands in `nodes`.
static std::vector<AxisSet> enclosing(const TypedExpr *value,
                                      const Operands &operands,
                                      std::vector<bool> &isLive,
                                      bool withSums = true) {
  std::vector<AxisSet> above(value->order + 1, 0);
  llvm::SmallVector<const TypedExpr *> open = {value};
  isLive.assign(value->order + 1, false);
  // Reverse creation order is an order in which every user comes first.
  std::vector<const TypedExpr *> byOrder(value->order + 1, nullptr);
  while (!open.empty()) {
    const TypedExpr *node = open.pop_back_val();
    if (byOrder[node->order])
      continue;
    byOrder[node->order] = node;
    isLive[node->order] = true;
    if (!isMaterialized(*node))
      llvm::append_range(open, operands[node->order]);
  }
  for (size_t i = byOrder.size(); i-- > 0;) {
    if (!byOrder[i])
      continue;
    bool counts = withSums || byOrder[i]->op != TypedExpr::Sum;
    AxisSet passed = above[i] | (counts ? byOrder[i]->bound : AxisSet(0));
    if (!isMaterialized(*byOrder[i]))
      for (const TypedExpr *operand : operands[i])
        above[operand->order] |= passed;
  }
  return above;
}

static AxisSet leftOf(const CheckedStatement &statement) {
  AxisSet left = 0;
  for (unsigned id : statement.index)
    left |= AxisSet(1) << id;
  return left;
}

namespace {
/// What is written, to an output or to memory between statements.
struct Root {
  const TypedExpr *value;
  AxisSet left; // the axes of what is written
};
} // namespace

/// The outputs in their order, then what of them goes through memory.
static std::vector<Root> rootsOf(const CheckedKernel &kernel,
                                 const Operands &operands) {
  std::vector<Root> roots;
  for (const CheckedStatement &statement : kernel.body)
    if (statement.kind == CheckedStatement::Output)
      roots.push_back({statement.value, leftOf(statement)});
  llvm::SmallPtrSet<const TypedExpr *, 16> seen;
  for (size_t i = 0; i < roots.size(); ++i) {
    llvm::SmallVector<const TypedExpr *> open = {roots[i].value};
    while (!open.empty()) {
      const TypedExpr *node = open.pop_back_val();
      if (!seen.insert(node).second)
        continue;
      if (isMaterialized(*node))
        roots.push_back({node->operands[0], node->axes});
      else
        llvm::append_range(open, operands[node->order]);
    }
  }
  return roots;
}

void Sema::findHeadSizes() {
  for (CheckedSize &size : kernel.sizes)
    size.isHead = false;
  headAxes.clear();
  sizesAroundSums.clear();
  reducedDeep = 0;
  // Which axes are whole in all that is written.
  AxisSet inside = 0, notWhole = 0, known = 0;
  AxisSet notLoop = 0;                // may not be loops instead
  AxisSet inSums = 0, aroundSums = 0; // might, if those around were known
  AxisSet inTiles = 0, loops = 0;     // of loops over tiles
  for (auto [i, index] : llvm::enumerate(kernel.indices))
    if (kernel.evaluate(*index.extent))
      known |= AxisSet(1) << i;
  std::vector<bool> isLive;
  const Operands operands = operandsOf(nodes, kernel);
  const std::vector<AxisSet> reduced = reducedIn(nodes, operands);
  for (const Root &root : rootsOf(kernel, operands)) {
    std::vector<AxisSet> above = enclosing(root.value, operands, isLive),
                         others = enclosing(root.value, operands, isLive,
                                            /*withSums=*/false);
    for (size_t i = 0; i < isLive.size(); ++i) {
      if (!isLive[i])
        continue;
      if (nodes[i]->op == TypedExpr::Loop) {
        notWhole |= nodes[i]->bound;
        loops |= nodes[i]->bound;
        notLoop = ~AxisSet(0);
      }
      if (!nodes[i]->isReduction())
        continue;
      AxisSet bound = nodes[i]->bound;
      if (nodes[i]->isOfTile())
        inTiles |= bound;
      AxisSet inBody = reduced[nodes[i]->operands[0]->order];
      AxisSet around = above[i] & ~bound;
      AxisSet lacked = root.left & ~nodes[i]->axes;
      if (around) {
        inside |= bound;
        reducedDeep |= inBody & ~bound;
        if ((others[i] & ~bound) || !((bound | lacked) & ~known)) {
          notLoop |= bound;
        } else if (around & ~known) {
          inSums |= bound;
          aroundSums |= around & ~known;
        }
      } else if (inBody) {
        notWhole |= bound;
      }
      if (inBody)
        notWhole |= llvm::has_single_bit(inBody) ? bound & ~inBody : bound;
    }
  }
  inTiles &= ~loops;
  if (loops) // whose lets go through no memory
    reducedDeep = 0;
  AxisSet summed = (inside & ~notWhole & (notLoop | inSums)) | inTiles;
  AxisSet lastOfOutput = 0;
  if (summed & inSums & ~notLoop)
    for (auto [i, index] : llvm::enumerate(kernel.indices))
      if ((aroundSums & ~summed) >> i & 1)
        sizesAroundSums.push_back(kernel.text(*index.extent));

  for (const CheckedStatement &statement : kernel.body) {
    if (statement.kind != CheckedStatement::Output)
      continue;
    std::vector<AxisSet> above = enclosing(statement.value, operands, isLive);
    AxisSet left = leftOf(statement);
    AxisSet scores = 0, maxima = 0;
    bool hasScores = false;
    for (size_t i = 0; i < isLive.size(); ++i) {
      if (!isLive[i] || !nodes[i]->isReduction())
        continue;
      const TypedExpr &node = *nodes[i];
      if (node.isOfTile() && !(node.bound & loops))
        continue; // of what a tile has reduced, or of what is carried
      if (!(node.bound & ~summed) && above[i]) {
        hasScores = true;
        scores |= node.axes;
      }
      if (node.op == TypedExpr::Softmax || node.op == TypedExpr::Logsumexp ||
          node.op == TypedExpr::ReduceMax)
        maxima |= node.axes;
    }
    AxisSet inScore = hasScores ? scores : maxima;
    if (!inScore) // of none, or of what all elements share
      inScore = left;
    for (unsigned id : llvm::reverse(statement.index))
      if (!(inScore >> id & 1)) {
        lastOfOutput |= AxisSet(1) << id;
        break;
      }
  }
  for (auto [i, index] : llvm::enumerate(kernel.indices)) {
    HeadAxis axis = {index.name, inTiles >> i & 1  ? HeadAxis::InTiles
                                 : summed >> i & 1 ? HeadAxis::InReduction
                                                   : HeadAxis::LastOfOutput};
    if ((summed | lastOfOutput) >> i & 1)
      markHead(*index.extent, axis);
  }
}
