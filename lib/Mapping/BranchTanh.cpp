//===- BranchTanh.cpp - tanh of small operands by a short polynomial ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where all of a warp's operands of a tanh are small, as a soft cap's
// mostly are, an odd polynomial takes its place: no exponential, no division. A
// vote decides for 32 registers at a time. Expects: fragments; loops that all
// threads of a warp run alike. Leaves: math.tanh in the other branch. Does not
// handle: tanh of scalars, which a fragment has none of.
//
// An operand that is a quotient by the same divisor everywhere, x = y * f, is
// never formed: with z = x^2
//
//   tanh x = x P(z) = y Q(w),  w = y^2 + C
//
// where Q is f P as a polynomial in w, whose coefficients are computed once,
// and C a power of two, from 1/16 / f^2 to 1/8 / f^2. Below C a square leaves w
// in [C, 2 C): so all bits of many w, or'ed together, stay below those of 2 C
// only if every z is below 1/8, and the test is half an operation an element.
// That w has lost up to 2^-25 of C of the square costs Q a hundredth of a unit.
//
// Rounded are, in half units of the last place, f (1), Q's first coefficient
// (1), its sum (1.2), the product with y (1), and P is off by 1.3: 5.5 in all,
// where y * a / b (2) and a function (4; lib/Reference/Bounded.h) may lose 6.
//
//===----------------------------------------------------------------------===//

#include "Warp/Warp.h"
#include "attentile/Lanes.h"
#include "attentile/Mapping/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace attentile {
#define GEN_PASS_DEF_WARPBRANCHTANH
#include "Mapping/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "warp-branch-tanh"

using namespace mlir;

namespace attentile {
namespace {

using arith::CmpFPredicate;
using native::Lanes;

/// tanh x / x in z = x^2, a minimax fit up to z = kLimit: 1.3 half units off.
/// Its first coefficient is 1 + kFirst.
constexpr double kLimit = 0.125, kFirst = -3.75977213e-8;
constexpr double kCoefficients[] = {-0.33332367421, 0.13294321053,
                                    -0.04886281568};
/// Registers that a vote decides for: twice as many are held until then.
constexpr int64_t kAtOnce = 32;

/// The scalar that all elements of a fragment are, or null.
Value getUniform(Value fragment) {
  auto broadcast = fragment.getDefiningOp<vector::BroadcastOp>();
  return broadcast && broadcast.getSourceType().isF32() ? broadcast.getSource()
                                                        : Value();
}

/// y * a / b with a and b the same everywhere; a may be missing.
struct Quotient {
  Value y, a, b;
};

std::optional<Quotient> matchQuotient(Value x) {
  auto quotient = x.getDefiningOp<arith::DivFOp>();
  if (!quotient)
    return std::nullopt;
  Value b = getUniform(quotient.getRhs());
  if (!b)
    return std::nullopt;
  if (auto product = quotient.getLhs().getDefiningOp<arith::MulFOp>())
    for (unsigned side : {0, 1})
      if (Value a = getUniform(product->getOperand(side)))
        return Quotient{product->getOperand(1 - side), a, b};
  return Quotient{quotient.getLhs(), {}, b};
}

/// What is the same for all elements of an operand x = y * a / b.
struct Uniform {
  Value valid; ///< whether the polynomial's coefficients are in range
  Value shift; ///< C
  Value limit; ///< the bits of 2 C
  Value coefficients[4];
  Value first, second; ///< x = (y * first) * second, whatever a and b are
};

Uniform makeUniform(OpBuilder &builder, Location loc, Value a, Value b) {
  Lanes m(builder, loc, builder.getF32Type(), /*fused=*/true);
  Uniform result;
  Value f = b ? m.div(a, b) : a;
  // The seventh power of f enters; beyond, factors go one after the other.
  Value size = m.abs(f);
  result.valid = arith::AndIOp::create(
      builder, loc, m.compare(CmpFPredicate::OGE, size, m.f(0x1p-16)),
      m.compare(CmpFPredicate::OLE, size, m.f(0x1p16)));
  Value square = m.mul(f, f);
  Value bits = m.andInt(m.bits(m.div(m.f(kLimit), square)), m.i(0x7F800000));
  result.shift = m.fromBits(bits);
  result.limit = m.addInt(bits, m.i(1 << 23));

  // P(square * w - c) by Taylor's formula at -c.
  auto [p1, p2, p3] = kCoefficients;
  Value c = m.mul(square, result.shift), minus = m.mul(c, m.f(-1));
  Value atC = m.polynomial(minus, {kFirst, p1, p2, p3}); // less 1
  Value slope = m.polynomial(minus, {p1, 2 * p2, 3 * p3});
  Value curve = m.polynomial(minus, {p2, 3 * p3});
  Value cube = m.mul(f, square), fifth = m.mul(cube, square);
  result.coefficients[0] = m.fma(f, atC, f);
  result.coefficients[1] = m.mul(slope, cube);
  result.coefficients[2] = m.mul(curve, fifth);
  result.coefficients[3] = m.mul(m.f(p3), m.mul(fifth, square));

  result.first = m.select(result.valid, f, a);
  result.second =
      b ? m.select(result.valid, m.f(1), m.div(m.f(1), b)) : Value();
  return result;
}

/// tanh of one part of a fragment, y times the factors of `uniform`.
Value branchAt(OpBuilder &builder, Location loc, Value y,
               const Uniform &uniform) {
  auto type = cast<VectorType>(y.getType());
  Lanes m(builder, loc, type, /*fused=*/true);
  auto all = [&](OpBuilder &b, Value scalar) -> Value {
    return vector::BroadcastOp::create(b, loc, type, scalar);
  };
  Value w = m.fma(y, y, all(builder, uniform.shift));
  Value bits;
  Lanes one(builder, loc, builder.getF32Type(), /*fused=*/true);
  for (Value element :
       vector::ToElementsOp::create(builder, loc, w).getResults())
    bits = bits ? one.orInt(bits, one.bits(element)) : one.bits(element);
  // NaN is above; its way is that of tanh.
  Value small = arith::AndIOp::create(
      builder, loc,
      one.compareInt(arith::CmpIPredicate::ult, bits, uniform.limit),
      uniform.valid);
  Value vote = warp::VoteAllOp::create(builder, loc, small);
  auto choice = scf::IfOp::create(
      builder, loc, vote,
      [&](OpBuilder &b, Location loc) {
        Lanes m(b, loc, type, /*fused=*/true);
        Value q = all(b, uniform.coefficients[3]);
        for (int i = 2; i >= 0; --i)
          q = m.fma(q, w, all(b, uniform.coefficients[i]));
        scf::YieldOp::create(b, loc, m.mul(y, q));
      },
      [&](OpBuilder &b, Location loc) {
        Lanes m(b, loc, type, /*fused=*/true);
        Value x = m.mul(y, all(b, uniform.first));
        if (uniform.second)
          x = m.mul(x, all(b, uniform.second));
        scf::YieldOp::create(b, loc,
                             math::TanhOp::create(b, loc, x).getResult());
      });
  return choice.getResult(0);
}

void branch(math::TanhOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Lanes one(builder, loc, builder.getF32Type(), /*fused=*/true);
  std::optional<Quotient> quotient = matchQuotient(op.getOperand());
  Value y = quotient ? quotient->y : op.getOperand();
  Value a = quotient && quotient->a ? quotient->a : one.f(1);
  Uniform uniform =
      makeUniform(builder, loc, a, quotient ? quotient->b : Value());
  SmallVector<Value> elements = llvm::to_vector_of<Value>(
      vector::ToElementsOp::create(builder, loc, y).getResults());
  SmallVector<Value> results;
  for (size_t first = 0; first < elements.size(); first += kAtOnce) {
    ArrayRef<Value> part = ArrayRef(elements).slice(
        first, std::min<size_t>(kAtOnce, elements.size() - first));
    auto type = VectorType::get({int64_t(part.size())}, builder.getF32Type());
    Value fragment = vector::FromElementsOp::create(builder, loc, type, part);
    Value tanh = branchAt(builder, loc, fragment, uniform);
    llvm::append_range(
        results, vector::ToElementsOp::create(builder, loc, tanh).getResults());
  }
  op.replaceAllUsesWith(
      vector::FromElementsOp::create(builder, loc, op.getType(), results)
          .getResult());
  op->erase();
}

struct WarpBranchTanh : impl::WarpBranchTanhBase<WarpBranchTanh> {
  void runOnOperation() override {
    SmallVector<math::TanhOp> work;
    getOperation()->walk([&](math::TanhOp op) {
      if (auto type = dyn_cast<VectorType>(op.getType());
          type && type.getElementType().isF32())
        work.push_back(op);
    });
    llvm::for_each(work, branch);
  }
};

} // namespace
} // namespace attentile
