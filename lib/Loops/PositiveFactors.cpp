//===- PositiveFactors.cpp - what scores are scaled by --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PositiveFactors.h"
#include "KnownSigns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;

namespace attentile {

Value withoutBroadcast(Value value) {
  while (auto broadcast = value.getDefiningOp<tile::BroadcastOp>())
    value = broadcast.getOperand();
  return value;
}

std::optional<double> floatConstant(Value value) {
  Attribute attribute;
  if (!matchPattern(withoutBroadcast(value), m_Constant(&attribute)))
    return std::nullopt;
  if (auto dense = dyn_cast<SplatElementsAttr>(attribute))
    attribute = dense.getSplatValue<Attribute>();
  auto number = dyn_cast<FloatAttr>(attribute);
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

bool Factor::operator==(const Factor &other) const {
  auto same = [](ArrayRef<Value> a, ArrayRef<Value> b) {
    return a.size() == b.size() &&
           std::is_permutation(a.begin(), a.end(), b.begin());
  };
  return constant == other.constant && same(values, other.values) &&
         same(divisors, other.divisors);
}

bool PositiveFactors::isKnownBefore(Value value) const {
  Operation *parent = value.getParentRegion()->getParentOp();
  if (!parent->isProperAncestor(before))
    return false;
  Operation *op = value.getDefiningOp();
  Operation *at = parent->getRegion(0).findAncestorOpInRegion(*before);
  return !op || op->isBeforeInBlock(at);
}

bool PositiveFactors::isFactor(Value value) {
  value = withoutBroadcast(value);
  if (auto number = floatConstant(value))
    return *number > 0 && std::isfinite(*number);
  if (tile::isTile(value.getType()))
    return false; // a row's own scale
  if (!isKnownBefore(value))
    return false;
  if (isKnownPositive(value))
    return true;
  unknownSign = value;
  return false;
}

/// The branch of a select that is not -inf, or null.
static Value visibleBranch(arith::SelectOp select) {
  auto hidden = [](Value branch) {
    auto number = floatConstant(branch);
    return number && std::isinf(*number) && *number < 0;
  };
  return hidden(select.getFalseValue())  ? select.getTrueValue()
         : hidden(select.getTrueValue()) ? select.getFalseValue()
                                         : Value();
}

Factor PositiveFactors::of(Value score) {
  Operation *op = score.getDefiningOp();
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
    if (Value visible = visibleBranch(select))
      return of(visible);
    return {};
  }
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op))
    return {};
  bool quotient = isa<arith::DivFOp>(op);
  for (unsigned i : {1u, 0u}) {
    if ((quotient && i == 0) || !isFactor(op->getOperand(i)))
      continue;
    Factor result = of(op->getOperand(1 - i));
    Value factor = withoutBroadcast(op->getOperand(i));
    if (auto number = floatConstant(factor))
      quotient ? result.constant /= *number : result.constant *= *number;
    else
      (quotient ? result.divisors : result.values).push_back(factor);
    return result;
  }
  return {};
}

Value PositiveFactors::divide(OpBuilder &builder, Value score,
                              PositiveFactors &factors) {
  Operation *op = score.getDefiningOp();
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
    Value visible = visibleBranch(select);
    if (!visible)
      return score;
    Value rest = divide(builder, visible, factors);
    if (rest == visible)
      return score;
    bool first = visible == select.getTrueValue();
    return arith::SelectOp::create(builder, select.getLoc(),
                                   select.getCondition(),
                                   first ? rest : select.getTrueValue(),
                                   first ? select.getFalseValue() : rest);
  }
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op))
    return score;
  if (factors.isFactor(op->getOperand(1)))
    return divide(builder, op->getOperand(0), factors);
  if (isa<arith::MulFOp>(op) && factors.isFactor(op->getOperand(0)))
    return divide(builder, op->getOperand(1), factors);
  return score;
}

} // namespace attentile
