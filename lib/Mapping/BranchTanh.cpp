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
//   tanh x = x P(z) = y Q(w),  w = y^2 - C,  C = limit / f^2
//
// where Q is f P as a polynomial in w, whose coefficients are computed once.
// z is below the limit where w has a sign: all signs and'ed are the test, half
// an operation an element. That w has lost up to 2^-25 of C costs Q a hundredth
// of a unit.
//
// Of many scores a warp (64 registers) a shorter polynomial, for still smaller
// operands, comes first. It does not wait for the vote: it is computed before
// the branch. Behind it, operands that are small keep what it gave, so that
// ptxas does not move it there.
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

/// tanh x / x in z = x^2, a minimax fit up to a limit. Its first coefficient is
/// 1 more than what stands here.
struct Fit {
  double limit;
  ArrayRef<double> coefficients;
};
/// 1.26 and 0.63 half units off.
constexpr double kShortOnes[] = {-7.509006e-8, -0.33329543, 0.13048916};
constexpr double kLongOnes[] = {-3.75977213e-8, -0.33332367421, 0.13294321053,
                                -0.04886281568};
constexpr Fit kShort{1.0 / 28, kShortOnes}, kLong{0.125, kLongOnes};
/// Between the square of tanh(sqrt(kShort.limit)), 0.0349, and kShort.limit.
constexpr double kBetween = 0.0353;
/// Of a fragment with so many registers the shorter one is tried first.
constexpr int64_t kMany = 64;
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
  Value shift; ///< -C; positive where the coefficients are out of range
  SmallVector<Value> coefficients;
  /// Below which a square is that of a small operand, and of its tanh; no
  /// square is where the coefficients are out of range.
  Value limit, between;
  Value first, second; ///< x = (y * first) * second, whatever a and b are
};

/// The coefficients of a polynomial in z as one in z - limit, by Taylor.
SmallVector<double, 4> shiftToLimit(const Fit &fit) {
  SmallVector<double, 4> result(fit.coefficients);
  for (size_t first = 0; first + 1 < result.size(); ++first)
    for (size_t i = result.size() - 1; i > first; --i)
      result[i - 1] += fit.limit * result[i];
  return result;
}

Uniform makeUniform(OpBuilder &builder, Location loc, Value a, Value b,
                    const Fit &fit) {
  Lanes m(builder, loc, builder.getF32Type(), /*fused=*/true);
  Uniform result;
  Value f = b ? m.div(a, b) : a;
  // The seventh power of f enters; beyond, factors go one after the other.
  Value size = m.abs(f);
  Value valid = arith::AndIOp::create(
      builder, loc, m.compare(CmpFPredicate::OGE, size, m.f(0x1p-16)),
      m.compare(CmpFPredicate::OLE, size, m.f(0x1p16)));
  Value square = m.mul(f, f), power = f;
  result.shift = m.select(valid, m.div(m.f(-fit.limit), square), m.f(1));
  for (double coefficient : shiftToLimit(fit)) {
    bool isFirst = result.coefficients.empty();
    if (!isFirst)
      power = m.mul(power, square);
    result.coefficients.push_back(isFirst ? m.fma(f, m.f(coefficient), f)
                                          : m.mul(m.f(coefficient), power));
  }
  result.limit = m.select(valid, m.f(fit.limit), m.f(-1));
  result.between = m.select(valid, m.f(kBetween), m.f(-1));
  result.first = m.select(valid, f, a);
  result.second = b ? m.select(valid, m.f(1), m.div(m.f(1), b)) : Value();
  return result;
}

/// Emits a side of a branch: its value.
using Side = function_ref<Value(OpBuilder &)>;

Value emitBranch(OpBuilder &builder, Location loc, Value condition, Side yes,
                 Side no) {
  auto choice = scf::IfOp::create(
      builder, loc, condition,
      [&](OpBuilder &b, Location loc) { scf::YieldOp::create(b, loc, yes(b)); },
      [&](OpBuilder &b, Location loc) { scf::YieldOp::create(b, loc, no(b)); });
  return choice.getResult(0);
}

/// tanh of a part of a fragment, an operand x = y * a / b.
class Part {
public:
  Part(Value y, Location loc)
      : y(y), loc(loc), type(cast<VectorType>(y.getType())) {}

  /// By polynomials in w = y^2 + shift where all w have a sign; `far` is the
  /// longer one, null if there is one alone.
  Value emit(OpBuilder &builder, const Uniform &near, const Uniform *far);

private:
  Value all(OpBuilder &b, Value scalar) {
    return vector::BroadcastOp::create(b, loc, type, scalar);
  }
  Value evaluate(OpBuilder &b, const Uniform &uniform, Value w);
  Value voteSigns(OpBuilder &b, Value w);
  Value emitTanh(OpBuilder &b, const Uniform &uniform, Value near);

  Value y;
  Location loc;
  VectorType type;
};

Value Part::evaluate(OpBuilder &b, const Uniform &uniform, Value w) {
  Lanes m(b, loc, type, /*fused=*/true);
  Value q = all(b, uniform.coefficients.back());
  for (Value next : llvm::reverse(ArrayRef(uniform.coefficients).drop_back()))
    q = m.fma(q, w, all(b, next));
  return m.mul(y, q);
}

/// NaN has none: its way is that of tanh.
Value Part::voteSigns(OpBuilder &b, Value w) {
  Lanes one(b, loc, b.getF32Type(), /*fused=*/true);
  Value signs;
  for (Value element : vector::ToElementsOp::create(b, loc, w).getResults())
    signs = signs ? one.andInt(signs, one.bits(element)) : one.bits(element);
  return warp::VoteAllOp::create(
      b, loc, one.compareInt(arith::CmpIPredicate::slt, signs, one.i(0)));
}

/// The function itself; of operands that are small `near`, if there is one.
Value Part::emitTanh(OpBuilder &b, const Uniform &uniform, Value near) {
  Lanes m(b, loc, type, /*fused=*/true);
  Value x = m.mul(y, all(b, uniform.first));
  if (uniform.second)
    x = m.mul(x, all(b, uniform.second));
  auto isBelow = [&](Value value, Value limit) {
    return m.compare(CmpFPredicate::OLT, m.mul(value, value), all(b, limit));
  };
  // One register for both: its size tells which it is.
  if (near)
    x = m.select(isBelow(x, uniform.limit), near, x);
  Value tanh = math::TanhOp::create(b, loc, x);
  return near ? m.select(isBelow(x, uniform.between), x, tanh) : tanh;
}

Value Part::emit(OpBuilder &builder, const Uniform &near, const Uniform *far) {
  auto square = [&](OpBuilder &b, const Uniform &uniform) {
    return Lanes(b, loc, type, /*fused=*/true).fma(y, y, all(b, uniform.shift));
  };
  Value w = square(builder, near), vote = voteSigns(builder, w);
  if (!far)
    return emitBranch(
        builder, loc, vote, [&](OpBuilder &b) { return evaluate(b, near, w); },
        [&](OpBuilder &b) { return emitTanh(b, near, {}); });
  Value early = evaluate(builder, near, w);
  return emitBranch(
      builder, loc, vote, [&](OpBuilder &) { return early; },
      [&](OpBuilder &b) {
        Value w = square(b, *far);
        return emitBranch(
            b, loc, voteSigns(b, w),
            [&](OpBuilder &b) { return evaluate(b, *far, w); },
            [&](OpBuilder &b) { return emitTanh(b, near, early); });
      });
}

void branch(math::TanhOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Lanes one(builder, loc, builder.getF32Type(), /*fused=*/true);
  std::optional<Quotient> quotient = matchQuotient(op.getOperand());
  Value y = quotient ? quotient->y : op.getOperand();
  Value a = quotient && quotient->a ? quotient->a : one.f(1);
  Value divisor = quotient ? quotient->b : Value();
  Uniform near, far = makeUniform(builder, loc, a, divisor, kLong);
  SmallVector<Value> elements = llvm::to_vector_of<Value>(
      vector::ToElementsOp::create(builder, loc, y).getResults());
  bool isMany = int64_t(elements.size()) >= kMany;
  if (isMany)
    near = makeUniform(builder, loc, a, divisor, kShort);
  SmallVector<Value> results;
  for (size_t first = 0; first < elements.size(); first += kAtOnce) {
    ArrayRef<Value> part = ArrayRef(elements).slice(
        first, std::min<size_t>(kAtOnce, elements.size() - first));
    auto type = VectorType::get({int64_t(part.size())}, builder.getF32Type());
    Value fragment = vector::FromElementsOp::create(builder, loc, type, part);
    Part tanh(fragment, loc);
    Value result = isMany ? tanh.emit(builder, near, &far)
                          : tanh.emit(builder, far, nullptr);
    llvm::append_range(
        results,
        vector::ToElementsOp::create(builder, loc, result).getResults());
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
