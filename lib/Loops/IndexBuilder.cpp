//===- IndexBuilder.cpp - folded arithmetic on indices --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexBuilder.h"
#include "AffineForms.h"
#include "VisibilityFormula.h"

using namespace mlir;

namespace attentile {

Value IndexBuilder::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value IndexBuilder::boolean(bool value) {
  return arith::ConstantIntOp::create(builder, loc, value, 1);
}

Value IndexBuilder::fill(RankedTensorType type, int64_t value) {
  Type element = type.getElementType();
  Attribute number = element.isInteger(1)
                         ? Attribute(builder.getBoolAttr(value != 0))
                         : builder.getIntegerAttr(element, value);
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, number));
}

Value IndexBuilder::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value IndexBuilder::add(Value a, int64_t b) {
  if (auto sum = a.getDefiningOp<arith::AddIOp>())
    if (auto constant = getIntegerConstant(sum.getRhs())) {
      a = sum.getLhs();
      b += constant->getSExtValue();
    }
  return b == 0 ? a : add(a, constant(b));
}

Value IndexBuilder::subtract(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}

Value IndexBuilder::multiply(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}

Value IndexBuilder::multiply(Value a, int64_t b) {
  return b == 1 ? a : multiply(a, constant(b));
}

Value IndexBuilder::minimum(Value a, Value b) {
  if (isProvablyAtLeast(b, a))
    return a;
  if (isProvablyAtLeast(a, b))
    return b;
  return builder.createOrFold<arith::MinSIOp>(loc, a, b);
}

Value IndexBuilder::maximum(Value a, Value b) {
  if (isProvablyAtLeast(a, b))
    return a;
  if (isProvablyAtLeast(b, a))
    return b;
  return builder.createOrFold<arith::MaxSIOp>(loc, a, b);
}

Value IndexBuilder::clamp(Value value, int64_t lo, int64_t hi) {
  StaticRange range = getStaticRange(value);
  if (range.lo < lo)
    value = builder.createOrFold<arith::MaxSIOp>(loc, value, constant(lo));
  if (range.hi > hi)
    value = builder.createOrFold<arith::MinSIOp>(loc, value, constant(hi));
  return value;
}

Value IndexBuilder::floorDivide(Value a, Value b) {
  auto divisor = getIntegerConstant(b);
  if (divisor && divisor->isOne())
    return a;
  if (divisor && divisor->isStrictlyPositive() && getStaticRange(a).lo >= 0)
    return divideUnsigned(a, divisor->getSExtValue());
  return builder.createOrFold<attn::FloorDivOp>(loc, a, b);
}

Value IndexBuilder::divideUnsigned(Value a, int64_t b) {
  if (b == 1)
    return a;
  return builder.createOrFold<arith::DivUIOp>(loc, a, constant(b));
}

Value IndexBuilder::divideUp(Value a, int64_t b) {
  return b == 1 ? a : divideUnsigned(add(a, b - 1), b);
}

Value IndexBuilder::isLessOrEqual(Value a, Value b) {
  if (isProvablyAtLeast(b, a))
    return boolean(true);
  if (isProvablyAtLeast(a, b, 1))
    return boolean(false);
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, a,
                                             b);
}

Value IndexBuilder::select(Value condition, Value a, Value b) {
  return builder.createOrFold<arith::SelectOp>(loc, condition, a, b);
}

Value IndexBuilder::logicalAnd(Value a, Value b) {
  return builder.createOrFold<arith::AndIOp>(loc, a, b);
}

Value IndexBuilder::logicalOr(Value a, Value b) {
  return builder.createOrFold<arith::OrIOp>(loc, a, b);
}

Value IndexBuilder::logicalNot(Value a) {
  return builder.createOrFold<arith::XOrIOp>(loc, a, boolean(true));
}

//===----------------------------------------------------------------------===//
// Sums that may leave 64 bits
//===----------------------------------------------------------------------===//

static constexpr int64_t kSaturated = int64_t(1) << 60;

Value IndexBuilder::saturatingSum(ArrayRef<std::pair<Value, int64_t>> terms,
                                  int64_t constantTerm) {
  // A term is large if it may reach 2^56; fewer than eight others then stay
  // below 2^59 together.
  auto isLarge = [](const std::pair<Value, int64_t> &term) {
    AffineForm product{{term}, 0};
    return getStaticRange(product).magnitude() >= uint64_t(1) << 56;
  };
  size_t large = llvm::count_if(terms, isLarge);
  bool inIndex = terms.size() < 8 && std::abs(constantTerm) < kSaturated / 16;
  // One scalar that may be anything (a window of 2^62) is cut to what decides
  // the same; two could differ by little, and are added in 128 bits.
  inIndex &=
      large == 0 || (large == 1 && llvm::all_of(terms, [&](const auto &term) {
                       return !isLarge(term) || std::abs(term.second) == 1;
                     }));
  if (inIndex) {
    Value sum;
    // What is subtracted comes last, so that no term need be negated.
    for (bool positive : {true, false})
      for (const auto &term : terms) {
        if ((term.second > 0) != positive)
          continue;
        Value value = isLarge(term)
                          ? clamp(term.first, -2 * kSaturated, 2 * kSaturated)
                          : term.first;
        value = multiply(value, std::abs(term.second));
        if (positive)
          sum = sum ? add(sum, value) : value;
        else
          sum = subtract(sum ? sum : constant(0), value);
      }
    return sum ? add(sum, constantTerm) : constant(constantTerm);
  }
  Type wide = builder.getIntegerType(128);
  auto wideConstant = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(wide, value));
  };
  Value sum = wideConstant(APInt(128, constantTerm, /*isSigned=*/true));
  for (auto [value, factor] : terms) {
    Value extended = arith::IndexCastOp::create(builder, loc, wide, value);
    sum = arith::AddIOp::create(
        builder, loc, sum,
        builder.createOrFold<arith::MulIOp>(
            loc, extended, wideConstant(APInt(128, factor, true))));
  }
  sum = arith::MaxSIOp::create(builder, loc, sum,
                               wideConstant(APInt(128, -kSaturated, true)));
  sum = arith::MinSIOp::create(builder, loc, sum,
                               wideConstant(APInt(128, kSaturated, true)));
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), sum);
}

} // namespace attentile
