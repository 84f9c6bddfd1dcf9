//===- StartSumsAtBias.cpp - a position's bias in a product's sum ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: a bias that is linear in the key's position, as ALiBi's is, starts the
// sum of the scores' product: a matrix instruction adds it. Expects: scores
// that a softmax takes maxima and exponentials of. Leaves: the same
// exponentials. Does not handle: f32 products; kernels that store a
// logarithm, which ask for more digits than matrix instructions keep of a sum;
// those that store maxima to which another's scores are compared; kernels
// without registers to spare (`tile.resources`).
//
// With keys n0 + j of a tile, j counted from its middle, and a row's position l
//
//   scale * (q . k) + slope * (n0 + j - l)
//     = scale * ((slope / scale) * j + q . k)  +  slope * (n0 - l)
//     = scale * t                              +  r
//
// where the first summand of t is the same in all tiles and rows, and r that of
// a row: the exponential takes it from the reference, 2^(t * (scale * c) +
// (r * c - ref * c)), and a row's maximum is scale * max t + r. So an element
// costs what it costs without the bias. A sum that starts at slope / scale * j,
// j at most half a tile, loses to it some 2^-22 of that, times slope: little
// beside what 16 bits leave of a probability.
//
//===----------------------------------------------------------------------===//

#include "ComparedValues.h"
#include "KnownSigns.h"
#include "PositiveFactors.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {
#define GEN_PASS_DEF_TILESTARTSUMSATBIAS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-start-sums-at-bias"

using namespace mlir;

namespace attentile {
namespace {

/// Registers above which a kernel has no room for what its sums start at: four
/// for each 8 columns.
constexpr int64_t kMostRegisters = 232;

/// A term of an index, added or subtracted.
struct Term {
  Value value;
  int sign;
};

/// scale * dot + slope * (sign * columns + rows).
struct Biased {
  Value score, scaled; ///< the sum, and scale * dot
  tile::DotOp dot;
  Value scale, slope; ///< scalars; no scale: null
  tile::IndexOp columns;
  int sign;
  SmallVector<Term> rows; ///< scalars, or tiles along the rows
};

/// The scalar that a tile is everywhere, or null.
Value scalarOf(Value tile) {
  auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
  Value operand = broadcast ? broadcast.getOperand() : Value();
  return operand && !tile::isTile(operand.getType()) ? operand : Value();
}

/// The product's operands if one is the same everywhere: (scalar, other).
std::pair<Value, Value> matchScaled(Value product) {
  auto mul = product.getDefiningOp<arith::MulFOp>();
  for (unsigned side : {0, 1})
    if (Value scalar = mul ? scalarOf(mul->getOperand(side)) : Value())
      return {scalar, mul->getOperand(1 - side)};
  return {};
}

/// Splits an index into `into`'s columns and rows; false where it is more than
/// a sum.
bool split(Value index, int sign, StringAttr column, Biased &into) {
  index = withoutBroadcast(index);
  Operation *op = index.getDefiningOp();
  auto axes = tile::getAxes(index.getType());
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) && !axes.empty())
    return split(op->getOperand(0), sign, column, into) &&
           split(op->getOperand(1), isa<arith::SubIOp>(op) ? -sign : sign,
                 column, into);
  if (!llvm::is_contained(axes, column)) {
    into.rows.push_back({index, sign});
    return axes.size() <= 1;
  }
  auto columns = dyn_cast_or_null<tile::IndexOp>(op);
  if (!columns || into.columns)
    return false;
  into.columns = columns;
  into.sign = sign;
  return true;
}

std::optional<Biased> match(arith::AddFOp score) {
  auto axes = tile::getAxes(score.getType());
  if (axes.size() != 2)
    return std::nullopt;
  for (unsigned side : {0, 1}) {
    Biased found;
    found.score = score;
    Value scaled = found.scaled = score->getOperand(side);
    found.dot = scaled.getDefiningOp<tile::DotOp>();
    if (!found.dot) {
      auto [scale, rest] = matchScaled(scaled);
      found.scale = scale;
      found.dot = rest ? rest.getDefiningOp<tile::DotOp>() : tile::DotOp();
    }
    auto [slope, distance] = matchScaled(score->getOperand(1 - side));
    auto asFloat = distance ? distance.getDefiningOp<arith::SIToFPOp>()
                            : arith::SIToFPOp();
    if (!found.dot || found.dot.getAcc() || !found.dot->hasOneUse() ||
        !scaled.hasOneUse() || !asFloat ||
        found.dot.getProduct().getIntOrFloatBitWidth() != 16 ||
        (found.scale && !isKnownPositive(found.scale)))
      continue;
    Value index = asFloat.getIn();
    if (auto cast = index.getDefiningOp<arith::IndexCastOp>())
      index = cast.getIn();
    found.slope = slope;
    if (split(index, 1, axes[1], found) && found.columns)
      return found;
  }
  return std::nullopt;
}

bool isHidden(Value value) {
  std::optional<double> constant = floatConstant(value);
  return constant && *constant == -std::numeric_limits<double>::infinity();
}

/// What a score becomes on its way to maxima and exponentials.
struct Uses {
  llvm::SetVector<Value> scores; ///< itself, behind masks and branches
  SmallVector<math::FmaOp> exponents;
  SmallVector<tile::ReduceOp> maxima;

  /// False where something else asks for it.
  bool collect(Value score, StringAttr row, StringAttr column);
};

bool Uses::collect(Value score, StringAttr row, StringAttr column) {
  scores.insert(score);
  SmallVector<std::pair<scf::YieldOp, unsigned>> yields;
  auto isRow = [&](Value value) {
    auto axes = tile::getAxes(withoutBroadcast(value).getType());
    return value.getDefiningOp<tile::BroadcastOp>() && axes.size() == 1 &&
           axes[0] == row;
  };
  for (size_t i = 0; i < scores.size(); ++i)
    for (OpOperand &use : scores[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto mask = dyn_cast<arith::SelectOp>(user)) {
        scores.insert(mask);
      } else if (auto fma = dyn_cast<math::FmaOp>(user)) {
        Value factor = fma->getOperand(1 - use.getOperandNumber() % 2);
        if (use.getOperandNumber() == 2 || !isRow(fma.getC()) ||
            (!isRow(factor) && !scalarOf(factor) && !floatConstant(factor)))
          return false;
        exponents.push_back(fma);
      } else if (auto reduce = dyn_cast<tile::ReduceOp>(user)) {
        if (reduce.getKind() != attn::ReduceKind::Ref ||
            reduce.getOver().size() != 1 ||
            cast<StringAttr>(reduce.getOver()[0]) != column)
          return false;
        maxima.push_back(reduce);
      } else if (isa<scf::YieldOp>(user) &&
                 isa<scf::IfOp>(user->getParentOp())) {
        yields.push_back({cast<scf::YieldOp>(user), use.getOperandNumber()});
        scores.insert(user->getParentOp()->getResult(use.getOperandNumber()));
      } else {
        return false;
      }
    }
  // What else arrives where the score does is hidden, or the score.
  auto fits = [&](Value value) {
    return scores.contains(value) || isHidden(value);
  };
  for (Value value : scores) {
    if (auto mask = value.getDefiningOp<arith::SelectOp>();
        mask && value != score &&
        !(fits(mask.getTrueValue()) && fits(mask.getFalseValue())))
      return false;
    if (auto branch = value.getDefiningOp<scf::IfOp>()) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      if (!fits(branch.thenYield().getOperand(number)) ||
          !fits(branch.elseYield().getOperand(number)))
        return false;
    }
  }
  return !exponents.empty();
}

class Rewriter {
public:
  explicit Rewriter(Biased &biased)
      : biased(biased), builder(biased.dot), loc(biased.dot.getLoc()),
        type(cast<RankedTensorType>(biased.score.getType())) {}

  void run(Uses &uses);

private:
  Value toFloat(Value index) {
    auto as = [&](Type element) -> Type {
      auto tile = dyn_cast<RankedTensorType>(index.getType());
      return tile ? Type(tile.clone(element)) : element;
    };
    Value integer = arith::IndexCastOp::create(builder, loc,
                                               as(builder.getI64Type()), index);
    return arith::SIToFPOp::create(builder, loc, as(builder.getF32Type()),
                                   integer);
  }
  Value spread(Value value, Type to) {
    if (value.getType() == to)
      return value;
    return tile::BroadcastOp::create(builder, loc, to, value);
  }
  Value start();
  Value rowTerm(RankedTensorType rowType);

  Biased &biased;
  OpBuilder builder;
  Location loc;
  RankedTensorType type;
};

/// slope / scale * j, of all rows alike.
Value Rewriter::start() {
  auto columnType = cast<RankedTensorType>(biased.columns.getType());
  Value first = arith::ConstantIndexOp::create(builder, loc,
                                               -(columnType.getDimSize(0) / 2));
  Value number =
      toFloat(tile::IndexOp::create(builder, loc, columnType, first));
  Value slope = biased.slope;
  if (biased.sign < 0)
    slope = arith::NegFOp::create(builder, loc, slope);
  if (biased.scale)
    slope = arith::DivFOp::create(builder, loc, slope, biased.scale);
  Value each = arith::MulFOp::create(builder, loc,
                                     spread(slope, number.getType()), number);
  return spread(each, type);
}

/// slope * (what an index has beside j), along the rows.
Value Rewriter::rowTerm(RankedTensorType rowType) {
  Type indices = rowType.clone(builder.getIndexType());
  auto columnType = cast<RankedTensorType>(biased.columns.getType());
  Value middle =
      arith::AddIOp::create(builder, loc, biased.columns.getBase(),
                            arith::ConstantIndexOp::create(
                                builder, loc, columnType.getDimSize(0) / 2));
  biased.rows.push_back({middle, biased.sign});
  Value sum = spread(arith::ConstantIndexOp::create(builder, loc, 0), indices);
  for (auto [value, sign] : biased.rows) {
    Value term = spread(value, indices);
    sum = sign > 0 ? arith::AddIOp::create(builder, loc, sum, term).getResult()
                   : arith::SubIOp::create(builder, loc, sum, term).getResult();
  }
  return arith::MulFOp::create(builder, loc, spread(biased.slope, rowType),
                               toFloat(sum));
}

void Rewriter::run(Uses &uses) {
  tile::DotOp dot = biased.dot;
  // Behind what the bias is made of; nothing else uses it.
  dot->moveBefore(biased.score.getDefiningOp());
  auto rowType = RankedTensorType::get(
      {type.getDimSize(0)}, type.getElementType(),
      cast<RankedTensorType>(
          withoutBroadcast(uses.exponents.front().getC()).getType())
          .getEncoding());
  Value row = rowTerm(rowType);
  dot.getAccMutable().assign(start());
  biased.score.replaceAllUsesWith(dot);
  biased.score.getDefiningOp()->erase();
  if (biased.scale)
    biased.scaled.getDefiningOp()->erase();
  for (math::FmaOp exponent : uses.exponents) {
    builder.setInsertionPoint(exponent);
    unsigned side = uses.scores.contains(exponent.getB()) ||
                            exponent.getB() == dot.getResult()
                        ? 0
                        : 1;
    Value factor = exponent->getOperand(side);
    Value ofRow =
        spread(floatConstant(factor)
                   ? arith::ConstantOp::create(
                         builder, loc,
                         builder.getF32FloatAttr(float(*floatConstant(factor))))
                   : withoutBroadcast(factor),
               rowType);
    Value own = withoutBroadcast(exponent.getC());
    Value moved = arith::AddFOp::create(
        builder, loc, arith::MulFOp::create(builder, loc, row, ofRow), own);
    exponent.getCMutable().assign(spread(moved, type));
    if (biased.scale)
      exponent->setOperand(
          side, spread(arith::MulFOp::create(builder, loc, ofRow,
                                             spread(biased.scale, rowType)),
                       type));
  }
  for (tile::ReduceOp maximum : uses.maxima) {
    builder.setInsertionPointAfter(maximum);
    Value scaled = maximum;
    Operation *first = nullptr;
    if (biased.scale) {
      scaled = arith::MulFOp::create(builder, loc,
                                     spread(biased.scale, rowType), scaled);
      first = scaled.getDefiningOp();
    }
    Value whole = arith::AddFOp::create(builder, loc, scaled, row);
    maximum.getResult().replaceAllUsesExcept(
        whole, first ? first : whole.getDefiningOp());
  }
}

struct TileStartSumsAtBias
    : impl::TileStartSumsAtBiasBase<TileStartSumsAtBias> {
  void runOnOperation() override {
    getOperation()->walk([&](tile::KernelOp kernel) {
      bool hasLogarithm = false;
      SmallVector<arith::AddFOp> sums;
      kernel->walk([&](Operation *op) {
        hasLogarithm |= isa<math::LogOp, math::Log2Op, math::Log1pOp>(op);
        if (auto sum = dyn_cast<arith::AddFOp>(op);
            sum && sum->getParentOfType<scf::ForOp>())
          sums.push_back(sum);
      });
      auto resources =
          kernel->getAttrOfType<tile::ResourcesAttr>("tile.resources");
      if (hasLogarithm || findsMaximaForOthers(kernel) ||
          comparesComputed(kernel->getParentOfType<tile::ProgramOp>()) ||
          (resources && resources.getRegisters() > kMostRegisters))
        return;
      for (arith::AddFOp sum : sums) {
        std::optional<Biased> biased = match(sum);
        if (!biased)
          continue;
        auto axes = tile::getAxes(sum.getType());
        Uses uses;
        if (!uses.collect(sum, axes[0], axes[1]))
          continue;
        Location loc = sum.getLoc(); // the sum is erased
        Rewriter(*biased).run(uses);
        remark::passed(
            loc, remark::RemarkOpts::name("BiasInSum").category(DEBUG_TYPE))
            << "the product's sum starts at the bias";
      }
    });
  }
};

} // namespace
} // namespace attentile
