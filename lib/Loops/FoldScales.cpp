//===- FoldScales.cpp - constants folded into exponentials ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: exp(scale * s + shift) becomes exp2(fma(s, scale * log2 e, shift *
// log2 e)), scale a constant, shift a constant or a scalar; x / c becomes x *
// (1 / c) for a constant c. Expects: tile kernels whose softmaxes are in base 2
// already (tile-fold-exp2). Leaves: the same values within the bound of the
// formula. Does not handle: a scale that is known only when the kernel runs;
// exponentials of what no f32 operation rounded; programs that compare what
// they compute.
//
// Why the bound (DESIGN section 3) holds, with u = 2^-24. A check grants a value
// twice its bound e: what the kernel loses as the formula stands is at most e,
// so a change may lose e once more, and what the roundings lost that it removes.
// An exponential's own 8u grant exp2's 4u and 4u more.
//
//   exp(x), x a rounded result, e >= u|x|: x * log2 e, log2 e in two parts,
//     loses u|x|. If x is a sum of products, e >= 4u|x|, one part does: 1.23u|x|.
//   exp(c * s + b): removed are the roundings of c * s and of x, 2u|c s| + 2u|x|;
//     lost by c * log2 e, b * log2 e and the fma u|c s| + u|b| + u|x|, and
//     |b| <= |c s| + |x|. If c is a power of two, nothing was removed but the sum's
//     2u|x|, and s must be a sum of products, of which 2e >= 8u|s|.
//   x / c: removed 2u, lost by 1 / c and the product 2u.
//
//===----------------------------------------------------------------------===//

#include "ComparedValues.h"
#include "PositiveFactors.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"
#include <cfloat>
#include <cmath>
#include <numbers>

namespace attentile {
#define GEN_PASS_DEF_TILEFOLDSCALES
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-fold-scales"

using namespace mlir;

namespace attentile {
namespace {

bool isNormal(double value) {
  return std::abs(value) >= FLT_MIN && std::abs(value) <= FLT_MAX;
}

/// A constant that may scale: not 0, not infinite.
std::optional<double> scaleConstant(Value value) {
  std::optional<double> constant = floatConstant(value);
  return constant && isNormal(*constant) ? constant : std::nullopt;
}

/// What a value is behind signs and masks that put 0 or an infinity.
Value behindMasks(Value value) {
  value = withoutBroadcast(value);
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::NegFOp>(op))
    return behindMasks(op->getOperand(0));
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    for (unsigned side : {1, 2}) {
      std::optional<double> arm = floatConstant(select->getOperand(3 - side));
      if (arm && (*arm == 0 || !std::isfinite(*arm)))
        return behindMasks(select->getOperand(side));
    }
  return value;
}

bool isSumOfProducts(Value value) {
  return behindMasks(value).getDefiningOp<tile::DotOp>() != nullptr;
}

/// Whether the formula's bound of `value` has a rounding of its own: it is no
/// element as it was read, nor converted from an integer.
bool isRounded(Value value) {
  return isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp,
                         arith::DivFOp, math::FmaOp, tile::DotOp, math::ExpOp,
                         math::Exp2Op, math::LogOp, math::Log2Op, math::TanhOp,
                         math::SqrtOp>(behindMasks(value).getDefiningOp());
}

/// scale * core + shift.
struct Affine {
  Value core;
  double scale = 1;
  Value shift;       ///< a scalar, or null
  double factor = 0; ///< of the shift; the shift itself where there is no value
};

/// The sum's constant or scalar operand, if it has one.
std::optional<unsigned> shiftOperand(Operation *sum) {
  for (unsigned side : {1, 0}) {
    Value operand = withoutBroadcast(sum->getOperand(side));
    std::optional<double> constant = floatConstant(operand);
    if (constant ? std::isfinite(*constant) : !tile::isTile(operand.getType()))
      return side;
  }
  return std::nullopt;
}

bool isPowerOfTwo(double value) {
  int exponent;
  return std::abs(std::frexp(value, &exponent)) == 0.5;
}

/// Whether match() goes on from a sum to this operand: a sum of products, or
/// what a product with a constant or a quotient by one rounds. One by a power
/// of two rounds nothing.
bool isSumOfProductsOrScaled(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::NegFOp>(op))
    return isSumOfProductsOrScaled(op->getOperand(0));
  for (unsigned side : {1, 0})
    if (isa_and_nonnull<arith::MulFOp>(op) ||
        (side == 1 && isa_and_nonnull<arith::DivFOp>(op)))
      if (auto constant = scaleConstant(op->getOperand(side)))
        return !isPowerOfTwo(*constant) ||
               isSumOfProductsOrScaled(op->getOperand(1 - side));
  return isSumOfProducts(value);
}

Affine match(Value value) {
  Affine affine;
  affine.core = value;
  while (Operation *op = affine.core.getDefiningOp()) {
    double scale = affine.scale;
    Value next;
    if (isa<arith::NegFOp>(op)) {
      scale = -scale, next = op->getOperand(0);
    } else if (isa<arith::MulFOp>(op)) {
      for (unsigned side : {0, 1}) // one of them, if both are constants
        if (auto constant = scaleConstant(op->getOperand(side));
            constant && !next)
          scale *= *constant, next = op->getOperand(1 - side);
    } else if (isa<arith::DivFOp>(op)) {
      if (auto constant = scaleConstant(op->getOperand(1)))
        scale /= *constant, next = op->getOperand(0);
    } else if (isa<arith::AddFOp, arith::SubFOp>(op) && !affine.shift &&
               affine.factor == 0) {
      std::optional<unsigned> side = shiftOperand(op);
      Value rest = side ? op->getOperand(1 - *side) : Value();
      if (!rest || !isSumOfProductsOrScaled(rest))
        break;
      bool minus = isa<arith::SubFOp>(op);
      Value shift = withoutBroadcast(op->getOperand(*side));
      std::optional<double> constant = floatConstant(shift);
      affine.shift = constant ? Value() : shift;
      affine.factor =
          (minus && *side == 1 ? -scale : scale) * constant.value_or(1);
      if (minus && *side == 0)
        scale = -scale;
      next = rest;
    }
    if (!next || !isNormal(scale * std::numbers::log2e))
      break;
    affine.core = next, affine.scale = scale;
  }
  return affine;
}

class Folder {
public:
  explicit Folder(Operation *op)
      : builder(op), loc(op->getLoc()), type(op->getResult(0).getType()) {}

  Value constant(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(float(value)));
  }
  Value spread(Value scalar) {
    if (!tile::isTile(type))
      return scalar;
    return builder.createOrFold<tile::BroadcastOp>(loc, type, scalar);
  }
  /// x * factor, rounded once.
  Value times(Value x, double factor) {
    float high(factor);
    auto like = [&](double part) {
      Value scalar = constant(part);
      return tile::isTile(x.getType()) ? spread(scalar) : scalar;
    };
    Value low = arith::MulFOp::create(builder, loc, x,
                                      like(factor - double(high)));
    return math::FmaOp::create(builder, loc, x, like(high), low);
  }
  Value exponential(const Affine &affine) {
    double whole = affine.scale * std::numbers::log2e;
    Value scale = spread(constant(whole));
    double factor = affine.factor * std::numbers::log2e;
    Value argument;
    if (factor == 0 && std::abs(affine.scale) == 1 &&
        !isSumOfProducts(affine.core))
      argument = times(affine.core, whole);
    else if (factor == 0)
      argument = arith::MulFOp::create(builder, loc, affine.core, scale);
    else
      argument = math::FmaOp::create(builder, loc, affine.core, scale,
                                     spread(affine.shift
                                                ? times(affine.shift, factor)
                                                : constant(factor)));
    return math::Exp2Op::create(builder, loc, argument);
  }
  Value product(Value x, double factor) {
    return arith::MulFOp::create(builder, loc, x, spread(constant(factor)));
  }

private:
  OpBuilder builder;
  Location loc;
  Type type;
};

bool isFloat32(Value value) {
  return tile::getElementType(value.getType()).isF32();
}

struct TileFoldScales : impl::TileFoldScalesBase<TileFoldScales> {
  void runOnOperation() override {
    getOperation()->walk([](tile::KernelOp kernel) {
      if (comparesComputed(kernel->getParentOfType<tile::ProgramOp>()))
        return;
      SmallVector<math::ExpOp> exponentials;
      SmallVector<arith::DivFOp> quotients;
      kernel->walk([&](Operation *op) {
        if (auto exponential = dyn_cast<math::ExpOp>(op))
          exponentials.push_back(exponential);
        else if (auto quotient = dyn_cast<arith::DivFOp>(op))
          quotients.push_back(quotient);
      });
      llvm::SmallDenseSet<Operation *> exact; // quotients that must stay so
      for (math::ExpOp op : exponentials) {
        if (!isFloat32(op.getResult()) || !isRounded(op.getOperand()))
          continue;
        Affine argument = match(op.getOperand());
        exact.insert(behindMasks(argument.core).getDefiningOp());
        remark::passed(op.getLoc(),
                       remark::RemarkOpts::name("Folded").category(DEBUG_TYPE))
            << "an exponential in base 2";
        op.replaceAllUsesWith(Folder(op).exponential(argument));
        op.erase();
      }
      for (arith::DivFOp op : quotients) {
        std::optional<double> divisor = scaleConstant(op.getRhs());
        if (!divisor || !isFloat32(op.getResult()) ||
            !isNormal(1 / *divisor) || exact.contains(op))
          continue;
        op.replaceAllUsesWith(Folder(op).product(op.getLhs(), 1 / *divisor));
        op.erase();
      }
    });
  }
};

} // namespace
} // namespace attentile
