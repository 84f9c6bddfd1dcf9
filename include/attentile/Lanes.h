//===- Lanes.h - arithmetic on f32 in every lane ----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the expansions of mathematics are written with: one function for each
// operation, on scalars or on vectors of any shape alike.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LANES_H
#define ATTENTILE_LANES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/bit.h"

namespace attentile::native {

/// Builds operations on values of one shape, that of `like` (a float).
class Lanes {
public:
  using Value = mlir::Value;

  /// `fused`: whether a * b + c is one instruction, rounded once. Without it
  /// fma() rounds twice, so an expansion may not rely on one rounding.
  Lanes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type like,
        bool fused)
      : builder(builder), loc(loc), like(like), fused(fused) {}

  // Constants.
  Value f(double value) const {
    return constant(
        floatType(),
        builder.getFloatAttr(mlir::getElementTypeOrSelf(floatType()), value));
  }
  Value i(int64_t value) const {
    return constant(integerType(),
                    builder.getIntegerAttr(
                        mlir::getElementTypeOrSelf(integerType()), value));
  }
  Value infinity() const { return f(std::numeric_limits<double>::infinity()); }

  // Floats.
  Value add(Value a, Value b) const { return make<mlir::arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) const { return make<mlir::arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) const { return make<mlir::arith::MulFOp>(a, b); }
  Value div(Value a, Value b) const { return make<mlir::arith::DivFOp>(a, b); }
  /// 1 / a within a unit of the last place, where the machine has an
  /// instruction for that.
  Value reciprocal(Value a) const {
    return mlir::arith::DivFOp::create(builder, loc, f(1), a,
                                       mlir::arith::FastMathFlags::afn);
  }
  Value fma(Value a, Value b, Value c) const {
    return fused ? make<mlir::math::FmaOp>(a, b, c) : add(mul(a, b), c);
  }
  /// c[0] + x * (c[1] + x * (...)), by fma.
  Value polynomial(Value x, llvm::ArrayRef<double> c) const {
    Value result = f(c.back());
    for (double next : llvm::reverse(c.drop_back()))
      result = fma(result, x, f(next));
    return result;
  }
  Value abs(Value a) const { return make<mlir::math::AbsFOp>(a); }
  /// The sign of the second with the size of the first.
  Value copySign(Value size, Value sign) const {
    return make<mlir::math::CopySignOp>(size, sign);
  }

  // Comparisons and choice. A predicate O.. is false, U.. true of NaN.
  Value compare(mlir::arith::CmpFPredicate predicate, Value a, Value b) const {
    return mlir::arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value compareInt(mlir::arith::CmpIPredicate predicate, Value a,
                   Value b) const {
    return mlir::arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return mlir::arith::SelectOp::create(builder, loc, condition, a, b);
  }

  // Bits, as integers of the floats' width.
  Value bits(Value a) const {
    return mlir::arith::BitcastOp::create(builder, loc, integerType(), a);
  }
  Value fromBits(Value a) const {
    return mlir::arith::BitcastOp::create(builder, loc, floatType(), a);
  }
  Value addInt(Value a, Value b) const {
    return make<mlir::arith::AddIOp>(a, b);
  }
  Value subInt(Value a, Value b) const {
    return make<mlir::arith::SubIOp>(a, b);
  }
  Value andInt(Value a, Value b) const {
    return make<mlir::arith::AndIOp>(a, b);
  }
  Value orInt(Value a, Value b) const { return make<mlir::arith::OrIOp>(a, b); }
  Value xorInt(Value a, Value b) const {
    return make<mlir::arith::XOrIOp>(a, b);
  }
  Value shiftLeft(Value a, int64_t by) const {
    return make<mlir::arith::ShLIOp>(a, i(by));
  }
  Value shiftRight(Value a, int64_t by) const { // keeps the sign
    return make<mlir::arith::ShRSIOp>(a, i(by));
  }

  // The same lanes in another type.
  Lanes in(mlir::Type element) const {
    return {builder, loc, withElement(element), fused};
  }
  mlir::Type withElement(mlir::Type element) const {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(like))
      return vector.clone(element);
    return element;
  }
  mlir::Type floatType() const { return like; }
  mlir::Type integerType() const {
    return withElement(builder.getIntegerType(
        mlir::getElementTypeOrSelf(like).getIntOrFloatBitWidth()));
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  template <typename Op, typename... Operands>
  Value make(Operands... operands) const {
    return Op::create(builder, loc, operands...);
  }
  Value constant(mlir::Type type, mlir::TypedAttr value) const {
    if (auto shaped = mlir::dyn_cast<mlir::ShapedType>(type))
      value = mlir::DenseElementsAttr::get(shaped, value);
    return mlir::arith::ConstantOp::create(builder, loc, value);
  }

  mlir::Type like;
  bool fused;
};

} // namespace attentile::native

#endif
