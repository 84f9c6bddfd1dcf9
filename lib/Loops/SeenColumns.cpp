//===- SeenColumns.cpp - how few columns of a block rows see --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SeenColumns.h"
#include "VisibilityFormula.h"
#include "attentile/KnownFactor.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <numeric>

using namespace mlir;

namespace attentile {

using P = arith::CmpIPredicate;

/// More cases than this are not tried.
static constexpr int64_t kMostPeriod = 4096;

//===----------------------------------------------------------------------===//
// What repeats
//===----------------------------------------------------------------------===//

/// Takes account of the remainders that a value is made of; false where their
/// common period is too long.
bool SeenColumns::findPeriod(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !tile::isTile(value.getType()))
    return true;
  auto remainder = dyn_cast<attn::FloorModOp>(op);
  auto index = remainder ? remainder.getLhs().getDefiningOp<tile::IndexOp>()
                         : tile::IndexOp();
  std::optional<APInt> by =
      index ? getIntegerConstant(remainder.getRhs()) : std::nullopt;
  if (by && by->isStrictlyPositive() && by->isSignedIntN(32)) {
    period = std::lcm(period, by->getSExtValue());
    if (period > kMostPeriod)
      return false;
    int64_t factor = knownFactor(index.getBase(), kMostPeriod);
    if (isLoopIndex(index, loop))
      columnStep = std::gcd(columnStep, factor);
    else
      rowStep = std::gcd(rowStep, std::gcd(factor, rows));
    return true;
  }
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return findPeriod(operand); });
}

bool SeenColumns::findPeriod(Formula formula) {
  return !Formulas::anyAtom(formula,
                            [&](Value atom) { return !findPeriod(atom); });
}

//===----------------------------------------------------------------------===//
// One case
//===----------------------------------------------------------------------===//

/// Of an interval that no multiple cuts; else all that there are.
std::optional<SeenColumns::Range> SeenColumns::getRemainder(tile::IndexOp index,
                                                            int64_t divisor) {
  bool isColumns = isLoopIndex(index, loop);
  int64_t start = (isColumns ? column + first : row) % divisor;
  int64_t end = start + (isColumns ? columns : rows) - 1;
  return end < divisor ? Range{start, end} : Range{0, divisor - 1};
}

std::optional<SeenColumns::Range> SeenColumns::getRange(Value value) {
  value = stripBroadcast(value);
  if (std::optional<APInt> constant = getIntegerConstant(value)) {
    if (!constant->isSignedIntN(32))
      return std::nullopt;
    return Range{constant->getSExtValue(), constant->getSExtValue()};
  }
  Operation *op = value.getDefiningOp();
  if (auto remainder = dyn_cast_or_null<attn::FloorModOp>(op)) {
    auto index = remainder.getLhs().getDefiningOp<tile::IndexOp>();
    std::optional<APInt> by = getIntegerConstant(remainder.getRhs());
    if (!index || !by || !by->isStrictlyPositive() || !by->isSignedIntN(32) ||
        !(isLoopIndex(index, loop) ||
          tile::getAxes(index.getType()).front() == rowAxis))
      return std::nullopt;
    return getRemainder(index, by->getSExtValue());
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, math::AbsIOp>(op))
    return std::nullopt;
  std::optional<Range> a = getRange(op->getOperand(0));
  std::optional<Range> b =
      a && op->getNumOperands() == 2 ? getRange(op->getOperand(1)) : a;
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return Range{a->lo + b->lo, a->hi + b->hi};
  if (isa<arith::SubIOp>(op))
    return Range{a->lo - b->hi, a->hi - b->lo};
  return Range{std::max({a->lo, -a->hi, int64_t(0)}), std::max(-a->lo, a->hi)};
}

/// Whether a comparison of pairs surely holds, or with `negated` fails.
bool SeenColumns::holds(arith::CmpIOp compare, bool negated) {
  auto type = dyn_cast<RankedTensorType>(compare.getType());
  std::optional<Range> a = getRange(compare.getLhs());
  std::optional<Range> b = getRange(compare.getRhs());
  if (!type || type.getRank() != 2 || !a || !b)
    return false;
  P predicate = compare.getPredicate();
  switch (negated ? arith::invertPredicate(predicate) : predicate) {
  case P::sgt:
    return a->lo > b->hi;
  case P::sge:
    return a->lo >= b->hi;
  case P::slt:
    return a->hi < b->lo;
  case P::sle:
    return a->hi <= b->lo;
  default:
    return false;
  }
}

/// Whether a formula surely holds of so many columns from `from` on.
bool SeenColumns::holds(Formula hidden, int64_t from, int64_t count) {
  first = from;
  columns = count;
  switch (hidden->kind) {
  case FormulaNode::False:
  case FormulaNode::True:
    return false;
  case FormulaNode::Atom: {
    auto compare = stripBroadcast(hidden->atom).getDefiningOp<arith::CmpIOp>();
    return compare && holds(compare, hidden->negated);
  }
  case FormulaNode::And:
    return holds(hidden->lhs, from, count) && holds(hidden->rhs, from, count);
  case FormulaNode::Or:
    return holds(hidden->lhs, from, count) || holds(hidden->rhs, from, count);
  }
  llvm_unreachable("a kind of formula");
}

//===----------------------------------------------------------------------===//
// All cases
//===----------------------------------------------------------------------===//

bool SeenColumns::suffices(Formula hidden, int64_t seen) {
  for (row = 0; row < period; row += std::gcd(rowStep, period))
    for (column = 0; column < period; column += std::gcd(columnStep, period)) {
      int64_t from = 0;
      while (from + kColumnStep + seen <= size &&
             holds(hidden, 0, from + kColumnStep))
        from += kColumnStep;
      if (from + seen < size && !holds(hidden, from + seen, size - from - seen))
        return false;
    }
  return true;
}

int64_t SeenColumns::count(Formula hidden) {
  if (!findPeriod(hidden) || period == 1)
    return size;
  int64_t seen = kColumnStep;
  while (seen < size && !suffices(hidden, seen))
    seen += kColumnStep;
  return std::min(seen, size);
}

} // namespace attentile
