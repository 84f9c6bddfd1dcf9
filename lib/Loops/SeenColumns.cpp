//===- SeenColumns.cpp - how few columns of a block rows see --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SeenColumns.h"
#include "VisibilityFormula.h"
#include "attentile/KnownFactor.h"
#include "attentile/Sources.h"
#include <numeric>

using namespace mlir;

namespace attentile {

/// Longer periods are not looked at, and no more cases tried than this: some
/// 25 ms.
static constexpr int64_t kMostPeriod = 4096, kMostCases = 4096;

//===----------------------------------------------------------------------===//
// What repeats
//===----------------------------------------------------------------------===//

/// An index and the positive number that it is divided by; no index where the
/// value is no such remainder of a tile.
SeenColumns::Remainder SeenColumns::getRemainder(Value value) {
  auto op = value.getDefiningOp<attn::FloorModOp>();
  if (!op || !tile::isTile(value.getType()))
    return {};
  std::optional<APInt> by = getIntegerConstant(op.getRhs());
  if (!by || !by->isStrictlyPositive() || !by->isSignedIntN(32))
    return {};
  return {op.getLhs().getDefiningOp<tile::IndexOp>(), by->getSExtValue()};
}

/// Takes account of a remainder; false where the common period gets too long.
bool SeenColumns::addRemainder(Remainder remainder) {
  auto [index, by] = remainder;
  period = std::lcm(period, by);
  int64_t factor = knownFactor(index.getBase(), kMostPeriod);
  if (isLoopIndex(index, loop))
    columnStep = std::gcd(columnStep, factor);
  else
    rowStep = std::gcd(rowStep, std::gcd(factor, rows));
  return period <= kMostPeriod;
}

/// Takes account of the remainders that a value is made of; false where their
/// common period is too long.
bool SeenColumns::findPeriod(Value value) {
  return !anySource(
      value,
      [&](Value part) {
        Remainder remainder = getRemainder(part);
        return remainder.index && !addRemainder(remainder);
      },
      [](Value part) {
        return tile::isTile(part.getType()) && !getRemainder(part).index;
      });
}

bool SeenColumns::findPeriod(Formula formula) {
  return !Formulas::anyAtom(formula,
                            [&](Value atom) { return !findPeriod(atom); });
}

//===----------------------------------------------------------------------===//
// One case
//===----------------------------------------------------------------------===//

SeenColumns::Range SeenColumns::getRemainders(Remainder remainder) {
  auto [index, by] = remainder;
  bool isColumns = isLoopIndex(index, loop);
  return rules.getRemainders((isColumns ? column + first : row) % by,
                             (isColumns ? columns : rows) - 1, by);
}

std::optional<SeenColumns::Range> SeenColumns::computeRange(Value value) {
  if (std::optional<APInt> constant = getIntegerConstant(value)) {
    if (!constant->isSignedIntN(32))
      return std::nullopt;
    return Range{constant->getSExtValue(), constant->getSExtValue()};
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<attn::FloorModOp>(op)) {
    Remainder remainder = getRemainder(value);
    tile::IndexOp index = remainder.index;
    bool isKnown = index && (isLoopIndex(index, loop) ||
                             tile::getAxes(index.getType()).front() == rowAxis);
    return isKnown ? std::optional(getRemainders(remainder)) : std::nullopt;
  }
  if (!Rules::canCombine(op))
    return std::nullopt;
  std::optional<Range> a = getRange(op->getOperand(0));
  std::optional<Range> b =
      a && op->getNumOperands() == 2 ? getRange(op->getOperand(1)) : a;
  return a && b ? std::optional(rules.combine(op, *a, *b)) : std::nullopt;
}

std::optional<SeenColumns::Range> SeenColumns::getRange(Value value) {
  value = stripBroadcast(value);
  if (auto known = ranges.find(value); known != ranges.end())
    return known->second;
  std::optional<Range> range = computeRange(value);
  ranges.try_emplace(value, range);
  return range;
}

/// Whether a comparison of pairs surely holds, or with `negated` fails.
bool SeenColumns::holds(arith::CmpIOp compare, bool negated) {
  auto type = dyn_cast<RankedTensorType>(compare.getType());
  std::optional<Range> a = getRange(compare.getLhs());
  std::optional<Range> b = getRange(compare.getRhs());
  if (!type || type.getRank() != 2 || !a || !b)
    return false;
  arith::CmpIPredicate predicate = compare.getPredicate();
  return rules
      .getSure(negated ? arith::invertPredicate(predicate) : predicate, *a, *b)
      .value_or(false);
}

/// Whether a formula surely holds of so many columns from `from` on.
bool SeenColumns::holds(Formula hidden, int64_t from, int64_t count) {
  first = from;
  columns = count;
  ranges.clear();
  return foldFormula<bool>(
      hidden,
      [&](Formula node) {
        if (node->kind != FormulaNode::Atom)
          return false;
        auto compare =
            stripBroadcast(node->atom).getDefiningOp<arith::CmpIOp>();
        return compare && holds(compare, node->negated);
      },
      [](Formula node, bool a, bool b) {
        return node->kind == FormulaNode::And ? a && b : a || b;
      });
}

//===----------------------------------------------------------------------===//
// All cases
//===----------------------------------------------------------------------===//

int64_t SeenColumns::countCases() const {
  return period / std::gcd(rowStep, period) * period /
         std::gcd(columnStep, period);
}

void SeenColumns::forEachCase(llvm::function_ref<void()> visit) {
  for (row = 0; row < period; row += std::gcd(rowStep, period))
    for (column = 0; column < period; column += std::gcd(columnStep, period))
      visit();
}

/// Whether so many columns suffice in this case.
bool SeenColumns::fits(Formula hidden, int64_t seen) {
  int64_t from = 0;
  while (from + kColumnStep + seen <= size &&
         holds(hidden, 0, from + kColumnStep))
    from += kColumnStep;
  return from + seen == size || holds(hidden, from + seen, size - from - seen);
}

int64_t SeenColumns::count(Formula hidden) {
  if (!findPeriod(hidden) || period == 1 || countCases() > kMostCases)
    return size;
  auto suffices = [&](int64_t seen) {
    bool all = true;
    forEachCase([&] { all &= fits(hidden, seen); });
    return all;
  };
  int64_t seen = kColumnStep;
  while (seen < size && !suffices(seen))
    seen += kColumnStep;
  return std::min(seen, size);
}

bool isOfRemainders(Value value, scf::ForOp loop) {
  return anySource(
      value,
      [&](Value part) {
        auto remainder = part.getDefiningOp<attn::FloorModOp>();
        return remainder && tile::isTile(part.getType()) &&
               isLoopIndex(remainder.getLhs(), loop);
      },
      [](Value part) { return tile::isTile(part.getType()); });
}

bool SeenColumns::mayOftenFit(Formula hidden, int64_t seen) {
  bool unknown = Formulas::anyAtom(hidden, [&](Value atom) {
    auto compare = stripBroadcast(atom).getDefiningOp<arith::CmpIOp>();
    return isOfRemainders(atom, loop) &&
           !(compare && getRange(compare.getLhs()) &&
             getRange(compare.getRhs()));
  });
  if (unknown || !findPeriod(hidden))
    return true;
  int64_t fitting = 0, needed = 0, number = 0;
  // Odd, so that a sample has cases of all rows and columns.
  const int64_t every = llvm::divideCeil(countCases(), kMostCases) | 1;
  forEachCase([&] {
    if (number++ % every != 0 || holds(hidden, 0, size))
      return;
    ++needed;
    fitting += fits(hidden, seen);
  });
  return 2 * fitting >= needed;
}

bool repeats(Formula hidden, scf::ForOp loop) {
  return Formulas::anyAtom(
      hidden, [&](Value atom) { return isOfRemainders(atom, loop); });
}

} // namespace attentile
