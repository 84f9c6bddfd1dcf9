//===- ExtentValues.cpp - extents as values of a program ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExtentValues.h"
#include "Tile/Tile.h"
#include "VisibilityFormula.h"

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

AffineExpr getExtent(Value value) {
  MLIRContext *context = value.getContext();
  if (auto constant = getIntegerConstant(value))
    return getAffineConstantExpr(constant->getSExtValue(), context);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto program =
        dyn_cast<tile::ProgramOp>(argument.getOwner()->getParentOp());
    if (!program)
      return {};
    attn::SignatureOpInterface head = program;
    auto sizes = head.getSizeArgs();
    auto *size = llvm::find(sizes, argument);
    return size == sizes.end()
               ? AffineExpr()
               : getAffineSymbolExpr(size - sizes.begin(), context);
  }
  Operation *op = value.getDefiningOp();
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::CeilDivSIOp,
           arith::DivUIOp, attn::FloorDivOp>(op))
    return {};
  AffineExpr a = getExtent(op->getOperand(0)), b = getExtent(op->getOperand(1));
  if (!a || !b)
    return {};
  if (isa<arith::AddIOp>(op))
    return a + b;
  if (isa<arith::SubIOp>(op))
    return a - b;
  auto constant = dyn_cast<AffineConstantExpr>(b);
  if (isa<arith::MulIOp>(op))
    return constant || isa<AffineConstantExpr>(a) ? a * b : AffineExpr();
  if (!constant || constant.getValue() <= 0)
    return {};
  return isa<arith::CeilDivSIOp>(op) ? a.ceilDiv(b) : a.floorDiv(b);
}

} // namespace attentile
