//===- AttnFolds.cpp - folds of the attn dialect's operations -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attn/Attn.h"
#include "mlir/Dialect/CommonFolders.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile::attn {

static APInt zeroOf(const APInt &value) {
  return APInt::getZero(value.getBitWidth());
}

/// The quotient toward minus infinity; 0 for a divisor of 0. The one overflow,
/// INT_MIN / -1, wraps.
static APInt floorDivide(const APInt &a, const APInt &b) {
  if (b.isZero())
    return zeroOf(b);
  APInt quotient = a.sdiv(b);
  bool inexact = quotient * b != a;
  if (inexact && a.isNegative() != b.isNegative())
    --quotient;
  return quotient;
}

OpFoldResult FloorDivOp::fold(FoldAdaptor adaptor) {
  if (matchPattern(adaptor.getRhs(), m_One()))
    return getLhs();
  return constFoldBinaryOp<IntegerAttr>(adaptor.getOperands(), floorDivide);
}

OpFoldResult FloorModOp::fold(FoldAdaptor adaptor) {
  return constFoldBinaryOp<IntegerAttr>(
      adaptor.getOperands(), [](const APInt &a, const APInt &b) {
        return b.isZero() ? zeroOf(b) : a - floorDivide(a, b) * b;
      });
}

} // namespace attentile::attn
