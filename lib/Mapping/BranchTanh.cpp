//===- BranchTanh.cpp - tanh of small operands by a short polynomial ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: where all of a warp's operands of a tanh are below 0.4, as a soft cap's
// mostly are, x + x^3 P(x^2) takes its place: no exponential, no division. A
// vote decides for a fragment. Expects: fragments; loops that all threads of a
// warp run alike. Leaves: math.tanh in the other branch. Does not handle: tanh
// of scalars, which a fragment has none of.
//
// An operand that is a quotient by the same divisor everywhere is a product
// with the reciprocal. y * a / b rounds twice; so does y * (a / b), a / b being
// computed once. y / b rounds once, y * (1 / b) once more, which together with
// the polynomial (2.9 half units) is still below what a function may lose (4;
// lib/Reference/Bounded.h), as tanh never spreads relative errors.
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

/// Up to here the polynomial is within 2.9 half units of the last place: 1.9
/// its own (a minimax fit of (tanh x / x - 1) / x^2), the rest by rounding.
constexpr double kLimit = 0.4;
constexpr double kCoefficients[] = {-0.3333190183, 0.1327802289, -0.0478118622};

Value polynomial(const Lanes &m, Value x) {
  Value z = m.mul(x, x);
  return m.fma(m.mul(m.polynomial(z, kCoefficients), z), x, x);
}

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

/// fragment * scalar.
Value times(OpBuilder &builder, Location loc, Value fragment, Value scalar) {
  Value all =
      vector::BroadcastOp::create(builder, loc, fragment.getType(), scalar);
  return arith::MulFOp::create(builder, loc, fragment, all);
}

/// The operand of a tanh: x where `valid`, the same in all threads, is true or
/// missing, else x * rest.
struct Operand {
  Value x, rest, valid;
};

Operand makeOperand(OpBuilder &builder, Location loc, Value x) {
  std::optional<Quotient> quotient = matchQuotient(x);
  if (!quotient)
    return {x, {}, {}};
  auto [y, a, b] = *quotient;
  Lanes one(builder, loc, builder.getF32Type(), /*fused=*/true);
  Value factor = one.div(a ? a : one.f(1), b);
  // Beyond, the factor may have lost bits that its product has room for: then
  // one factor after the other.
  Value size = one.abs(factor);
  Value valid = arith::AndIOp::create(
      builder, loc, one.compare(CmpFPredicate::OGE, size, one.f(0x1p-100)),
      one.compare(CmpFPredicate::OLE, size, one.f(0x1p100)));
  Value first = one.select(valid, factor, a ? a : one.f(1));
  Value second = one.select(valid, one.f(1), one.div(one.f(1), b));
  return {times(builder, loc, y, first), second, valid};
}

void branch(math::TanhOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<VectorType>(op.getType());
  auto [x, rest, valid] = makeOperand(builder, loc, op.getOperand());
  Lanes one(builder, loc, builder.getF32Type(), /*fused=*/true);
  Value largest;
  for (Value element :
       vector::ToElementsOp::create(builder, loc, x).getResults()) {
    Value size = one.abs(element);
    largest =
        largest ? arith::MaxNumFOp::create(builder, loc, largest, size) : size;
  }
  // NaN passes through the polynomial as through tanh.
  Value small = one.compare(CmpFPredicate::OLT, largest, one.f(kLimit));
  if (valid)
    small = arith::AndIOp::create(builder, loc, small, valid);
  Value all = warp::VoteAllOp::create(builder, loc, small);
  auto choice = scf::IfOp::create(
      builder, loc, all,
      [&](OpBuilder &b, Location loc) {
        Lanes m(b, loc, type, /*fused=*/true);
        scf::YieldOp::create(b, loc, polynomial(m, x));
      },
      [&](OpBuilder &b, Location loc) {
        Value whole = rest ? times(b, loc, x, rest) : x;
        scf::YieldOp::create(b, loc,
                             math::TanhOp::create(b, loc, whole).getResult());
      });
  op->replaceAllUsesWith(choice);
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
