//===- ExtentValues.cpp - extents as values of a program ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExtentValues.h"
#include "Attn/Attn.h"

using namespace mlir;

namespace attentile {

Value ExtentValues::constant(int64_t number) {
  return get(getAffineConstantExpr(number, builder.getContext()));
}

Value ExtentValues::get(AffineExpr extent) {
  if (Value value = known.lookup(extent))
    return value;
  Value value;
  if (auto number = dyn_cast<AffineConstantExpr>(extent))
    value = arith::ConstantIndexOp::create(builder, loc, number.getValue());
  else if (auto symbol = dyn_cast<AffineSymbolExpr>(extent))
    value = sizes[symbol.getPosition()];
  else
    value = make(cast<AffineBinaryOpExpr>(extent));
  known[extent] = value;
  return value;
}

Value ExtentValues::make(AffineBinaryOpExpr expr) {
  Value a = get(expr.getLHS()), b = get(expr.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(builder, loc, a, b);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(builder, loc, a, b);
  case AffineExprKind::FloorDiv:
    return attn::FloorDivOp::create(builder, loc, a, b);
  case AffineExprKind::Mod:
    return attn::FloorModOp::create(builder, loc, a, b);
  case AffineExprKind::CeilDiv: {
    // ceil(a / b) = -floor(-a / b), and 0 for b = 0 too.
    Value zero = constant(0);
    Value negated = arith::SubIOp::create(builder, loc, zero, a);
    Value quotient = attn::FloorDivOp::create(builder, loc, negated, b);
    return arith::SubIOp::create(builder, loc, zero, quotient);
  }
  default:
    llvm_unreachable("expected a binary expression");
  }
}

Value ExtentValues::tiles(AffineExpr extent, int64_t size) {
  if (auto number = dyn_cast<AffineConstantExpr>(extent))
    return constant(llvm::divideCeilSigned(number.getValue(), size));
  return arith::CeilDivSIOp::create(builder, loc, get(extent), constant(size));
}

} // namespace attentile
