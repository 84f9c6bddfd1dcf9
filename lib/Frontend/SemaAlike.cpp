//===- SemaAlike.cpp - sums that are a product at other indices -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LANGUAGE, section 2, "Numbers". A matrix product's factors are grouped by
// their axes (SemaProducts.cpp), of a sum that is none they stay as written:
//
//   let other = sum[d](0.37 * Q[m, d] * K[n, d]);      0.37 * sum[d](Q * K)
//   let own = sum[d](0.37 * Q[m, d] * K[label[m], d]); sum[d]((0.37 * Q) * K)
//
// One is the other where n is label[m], and a rank compares them: where the
// kernel has both, the sum is grouped as the product is. The more general of
// the two says how, also where that is none and the other is a product:
//
//   let pairs = sum[d](W[f, d] * Q[m, d] * K[n, d]);   three axes: as written
//   let own = sum[d](W[f, d] * Q[m, d] * Q[m, d]);     so this is, too
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace attentile;
using namespace attentile::frontend;

/// A kernel that needs more comparisons, or deeper ones, is nothing anybody
/// writes.
static constexpr unsigned kMostCompared = 1 << 20, kDeepest = 1 << 10;

/// How one formula becomes another: what stands for its index variables, and
/// for each of its nodes.
class attentile::frontend::IndexMatch {
public:
  /// Compares as many nodes as `budget` has left.
  IndexMatch(Sema &sema, unsigned &budget) : sema(sema), budget(budget) {}

  bool matches(const TypedExpr &pattern, const TypedExpr &other);
  bool matches(const WrittenSum &pattern, const WrittenSum &other) {
    return matches(*pattern.operand, *other.operand) &&
           matchesBound(pattern.bound, other.bound);
  }
  /// What stands for a node; null for one that was not asked about.
  const TypedExpr *of(const TypedExpr &pattern) const {
    return nodes.lookup(&pattern);
  }
  AxisSet boundOf(AxisSet pattern) const;

private:
  /// The same of a reduction within the formula.
  bool matchesWithin(const WrittenSum &pattern, const WrittenSum &other);
  /// Whether bound variables stand for bound ones of the same extents.
  bool matchesBound(AxisSet pattern, AxisSet other);
  bool matchesIndex(unsigned variable, const TypedExpr &other);
  bool hasSameFields(const TypedExpr &pattern, const TypedExpr &other) const;

  Sema &sema;
  unsigned &budget;
  unsigned depth = 0;
  llvm::DenseMap<unsigned, const TypedExpr *> indices;
  llvm::DenseMap<const TypedExpr *, const TypedExpr *> nodes;
  llvm::DenseSet<std::pair<const TypedExpr *, const TypedExpr *>> compared;
};

/// The numbers of a set's index variables.
static llvm::SmallVector<unsigned, 4> bits(AxisSet set) {
  llvm::SmallVector<unsigned, 4> result;
  for (; set; set &= set - 1)
    result.push_back(llvm::countr_zero(set));
  return result;
}

/// Whether it is what a loop over tiles carries, at no other indices.
static bool isOfLoop(const TypedExpr &expr) {
  return expr.op == TypedExpr::Carried || expr.op == TypedExpr::Loop ||
         expr.op == TypedExpr::LoopResult;
}

/// What is kept in memory is the same value.
static const TypedExpr &valueOf(const TypedExpr &expr) {
  const TypedExpr *value = &expr;
  while (value->op == TypedExpr::Materialize)
    value = value->operands[0];
  return *value;
}

bool IndexMatch::matchesIndex(unsigned variable, const TypedExpr &other) {
  auto [entry, isNew] = indices.try_emplace(variable, &other);
  if (isNew || entry->second == &other)
    return true;
  IndexMatch again(sema, budget);
  return again.matches(*entry->second, other) &&
         llvm::all_of(again.indices, [](const auto &pair) {
           return pair.second->op == TypedExpr::IndexVar &&
                  pair.second->id == pair.first;
         });
}

AxisSet IndexMatch::boundOf(AxisSet pattern) const {
  AxisSet result = 0;
  for (unsigned variable : bits(pattern)) {
    const TypedExpr *expr = indices.lookup(variable);
    if (expr && expr->op == TypedExpr::IndexVar)
      result |= AxisSet(1) << expr->id;
  }
  return result;
}

bool IndexMatch::matchesBound(AxisSet pattern, AxisSet other) {
  if (boundOf(pattern) != other ||
      llvm::popcount(pattern) != llvm::popcount(other))
    return false;
  return llvm::all_of(bits(pattern), [&](unsigned variable) {
    return sema.sameSize(
        *sema.kernel.indices[variable].extent,
        *sema.kernel.indices[indices.lookup(variable)->id].extent);
  });
}

bool IndexMatch::hasSameFields(const TypedExpr &pattern,
                               const TypedExpr &other) const {
  if (pattern.op != other.op || pattern.type != other.type ||
      pattern.element != other.element || pattern.id != other.id ||
      pattern.operands.size() != other.operands.size())
    return false;
  if (pattern.op == TypedExpr::Size)
    return sema.sameSize(*pattern.size, *other.size);
  return pattern.intValue == other.intValue;
}

bool IndexMatch::matches(const TypedExpr &pattern, const TypedExpr &other) {
  const TypedExpr &from = valueOf(pattern), &to = valueOf(other);
  nodes.try_emplace(&pattern, &other);
  nodes.try_emplace(&from, &to);
  // A comparison that fails fails as a whole, so what was compared is alike.
  if (!compared.insert({&from, &to}).second)
    return true;
  if (budget == 0 || depth == kDeepest)
    return false;
  --budget;
  llvm::SaveAndRestore inner(depth, depth + 1);
  if (from.op == TypedExpr::IndexVar)
    return to.type == ValueType::Int && matchesIndex(from.id, to);
  auto fromSum = sema.writtenSums.find(&from),
       toSum = sema.writtenSums.find(&to), none = sema.writtenSums.end();
  if (fromSum != none && toSum != none)
    return matchesWithin(fromSum->second, toSum->second);
  if (!hasSameFields(from, to) || isOfLoop(from))
    return false;
  if (from.isReduction() && from.op != TypedExpr::Softmax)
    return matchesWithin({from.bound, from.operands[0]},
                         {to.bound, to.operands[0]});
  return llvm::all_of_zip(from.operands, to.operands,
                          [&](const TypedExpr *a, const TypedExpr *b) {
                            return matches(*a, *b);
                          }) &&
         matchesBound(from.bound, to.bound);
}

bool IndexMatch::matchesWithin(const WrittenSum &pattern,
                               const WrittenSum &other) {
  // An index variable that is bound here may be another elsewhere.
  const auto outerIndices = indices;
  const auto outerNodes = nodes;
  const auto outerCompared = std::exchange(compared, {});
  budget -= std::min(budget, nodes.size()); // what is copied
  for (unsigned variable : bits(pattern.bound))
    indices.erase(variable);
  const bool result = matches(pattern, other);
  for (unsigned variable : bits(pattern.bound)) {
    indices.erase(variable);
    if (const TypedExpr *outer = outerIndices.lookup(variable))
      indices[variable] = outer;
  }
  nodes = outerNodes;
  compared = outerCompared;
  return result;
}

/// `grouped`, which was made of the sum that matches, of the factors of the
/// other sum, whose copies are in `copies` by their order.
const TypedExpr *Sema::groupAs(const TypedExpr &grouped,
                               const IndexMatch &match,
                               llvm::ArrayRef<const TypedExpr *> copies) {
  if (const TypedExpr *factor = match.of(grouped))
    return copies[factor->order];
  llvm::SmallVector<const TypedExpr *, 2> operands;
  for (const TypedExpr *operand : grouped.operands) {
    operands.push_back(groupAs(*operand, match, copies));
    if (!operands.back())
      return nullptr;
  }
  if (grouped.op == TypedExpr::Sum) {
    const AxisSet bound = match.boundOf(grouped.bound);
    if (grouped.isProduct)
      return sumOfFactors(bound, *operands[0], grouped.range);
    TypedExpr sum = grouped;
    sum.bound = bound;
    return node(sum, operands);
  }
  return remake(grouped, operands);
}

void Sema::groupAlike() {
  // Grouped ones, products as they are written, and what is none.
  enum Kind { Grouped, Product, Written };
  llvm::SmallVector<std::pair<const TypedExpr *, Kind>> sums;
  for (const TypedExpr *node : nodes) {
    auto sum = writtenSums.find(node);
    if (sum == writtenSums.end() || node->type != ValueType::Float)
      continue;
    bool isWritten =
        node->op == TypedExpr::Sum && node->operands[0] == sum->second.operand;
    sums.push_back({node, !isWritten        ? Grouped
                          : node->isProduct ? Product
                                            : Written});
  }
  // Those for which another says how they are grouped, and what stands for
  // what.
  llvm::DenseMap<const TypedExpr *,
                 std::pair<const TypedExpr *, std::unique_ptr<IndexMatch>>>
      alike;
  unsigned budget = kMostCompared;
  for (auto [sum, kind] : sums)
    for (auto [general, its] : sums) {
      if ((its == Written) == (kind == Written) || its == Product)
        continue;
      auto match = std::make_unique<IndexMatch>(*this, budget);
      if (!match->matches(writtenSums[general], writtenSums[sum]))
        continue;
      alike[sum] = {general, std::move(match)};
      break;
    }
  if (alike.empty())
    return;
  copyGraph([](const TypedExpr &) { return true; },
            [&](const TypedExpr &old, const TypedExpr *copy,
                llvm::ArrayRef<const TypedExpr *> copies) {
              auto found = alike.find(&old);
              if (found == alike.end())
                return copy;
              auto &[general, match] = found->second;
              llvm::SaveAndRestore loop(currentLoop, old.loop);
              return groupAs(*general, *match, copies);
            });
}
