//===- FoldExp2.cpp - a softmax's exponentials in base 2 ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: exp(scale * s - ref) becomes exp2(fma(s, c, -ref * c)) with
// c = scale * log2 e, one operation less than scaling, subtracting and
// changing the base, and the maximum is of s. Where the factor's sign is not
// known, c = log2 e and the maximum stays that of the scaled scores. In rows
// whose reference is too far from 0 for an fma, c is a power of two. Expects:
// loops that carry a softmax's running maximum, fused or not, chained or not,
// within loops that pass it on or not. Leaves: the same loops. Does not handle:
// exponentials of anything but a difference to a softmax's reference; a maximum
// whose exact value is wanted; programs that compare what they compute.
//
//===----------------------------------------------------------------------===//

#include "ComparedValues.h"
#include "GuardedStep.h"
#include "PositiveFactors.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Splat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include <cfloat>
#include <deque>
#include <numbers>

namespace attentile {
#define GEN_PASS_DEF_TILEFOLDEXP2
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-fold-exp2"

using namespace mlir;

namespace attentile {
namespace {

/// exp(kappa * (minuend - reference)).
struct Exponential {
  math::ExpOp op;
  Value minuend;
  tile::RefOp reference;
  std::optional<double> kappa;
  bool rescales; // the minuend is the running maximum
};

/// The maximum of one score, carried through a chain of loops, with all that
/// uses it.
class Family {
public:
  explicit Family(scf::ForOp first) : first(first) {}

  SmallVector<RunningMaximum, 2> members;

  /// `loop`, around the members, carries the maximum at `index`.
  void addAround(scf::ForOp loop, unsigned index) {
    around.emplace_back(loop, index);
  }

  /// Finds the references and exponentials. False if something else asks for
  /// the maximum itself, whose exact value must then stay.
  bool collect() {
    SmallVector<Value> maxima;
    for (RunningMaximum &member : members)
      maxima.append({member.next.getResult(), member.result()});
    for (auto [loop, index] : around)
      maxima.append({loop.getRegionIterArg(index), loop.getResult(index)});
    for (Value maximum : maxima)
      for (Operation *user : maximum.getUsers())
        if (auto reference = dyn_cast<tile::RefOp>(user)) {
          references.push_back(reference);
          collectDifferences(reference, reference.getResult());
        } else if (!isa<scf::ForOp, scf::YieldOp>(user)) {
          return false;
        }
    return !members.empty() && !exponentials.empty() &&
           llvm::all_of(members, [&](RunningMaximum &member) {
             return llvm::all_of(member.carried().getUsers(), [&](auto *user) {
               return user == member.next || rescalings.contains(user);
             });
           });
  }

  void fold() {
    PositiveFactors factors(first);
    Factor factor = factors.of(members.front().reduce.getOperand());
    bool common = llvm::all_of(members, [&](RunningMaximum &member) {
      return factors.of(member.reduce.getOperand()) == factor;
    });
    common &= llvm::all_of(exponentials, [&](Exponential &exponential) {
      return exponential.rescales || factors.of(exponential.minuend) == factor;
    });
    // A use in a loop that is no exponential of ours would see the reference
    // rounded twice; with c = log2 e every exponential is ours.
    if (!common)
      factor = Factor();
    report(factor, factors.unknownSign);

    OpBuilder builder(first);
    c = multiplier(builder, factor);
    unscaled = factor.isOne() ? nullptr : &factors;
    for (RunningMaximum &member : members) {
      builder.setInsertionPoint(member.reduce);
      member.reduce.getOperandMutable().assign(
          withoutFactor(builder, member.reduce.getOperand()));
    }
    double limit = llvm::any_of(members, roundsToF16) ? 0x1p28 : 0x1p31;
    // With larger factors than the limit weights are 0 and 1, as with that.
    bool isBounded =
        llvm::all_of(members,
                     [](RunningMaximum &member) {
                       return isAtMostOne(member.reduce.getOperand());
                     }) &&
        llvm::all_of(references, isOnlySubtracted);
    builder.setInsertionPointAfterValue(c);
    if (isBounded)
      c = arith::MinimumFOp::create(
          builder, c.getLoc(), c,
          constant(builder, c.getLoc(), limit, c.getType()));
    else
      power = powerBelow(builder, c);
    llvm::MapVector<tile::RefOp, Scaled> scaled;
    for (tile::RefOp reference : references) {
      builder.setInsertionPointAfter(reference);
      scaled[reference] = isBounded ? scaleNear(builder, reference)
                                    : scale(builder, reference, limit);
    }
    for (Exponential &exponential : exponentials)
      rewrite(exponential, scaled[exponential.reference]);
    // What else asks for the reference gets what was subtracted, in base e.
    for (auto &[reference, product] : scaled)
      restore(reference, product);
  }

private:
  /// Follows `value`, a reference or its broadcast, to the exponentials of
  /// what it is subtracted from.
  void collectDifferences(tile::RefOp reference, Value value) {
    for (Operation *user : value.getUsers()) {
      if (isa<tile::BroadcastOp>(user))
        collectDifferences(reference, user->getResult(0));
      auto difference = dyn_cast<arith::SubFOp>(user);
      if (!difference || difference.getRhs() != value)
        continue;
      bool rescales = llvm::any_of(members, [&](RunningMaximum &member) {
        return difference.getLhs() == member.carried();
      });
      // exp of the difference, or of a multiple of it.
      auto add = [&](Operation *op, std::optional<double> kappa) {
        if (auto exp = dyn_cast<math::ExpOp>(op))
          exponentials.push_back(
              {exp, difference.getLhs(), reference, kappa, rescales});
        return isa<math::ExpOp>(op);
      };
      bool all = true;
      for (Operation *next : difference->getUsers()) {
        auto multiple = dyn_cast<arith::MulFOp>(next);
        if (!multiple) {
          all &= add(next, std::nullopt);
          continue;
        }
        bool first = multiple.getLhs() == difference;
        auto kappa =
            floatConstant(first ? multiple.getRhs() : multiple.getLhs());
        all &= kappa.has_value();
        if (kappa)
          for (Operation *last : multiple->getUsers())
            all &= add(last, kappa);
      }
      if (rescales && all)
        rescalings.insert(difference);
    }
  }

  static Value constant(OpBuilder &builder, Location loc, double value,
                        Type like) {
    Type type = tile::withElementType(like, builder.getF32Type());
    return arith::ConstantOp::create(
        builder, loc, splat(type, builder.getF32FloatAttr(float(value))));
  }

  static Value broadcast(OpBuilder &builder, Value value, Type type) {
    if (value.getType() == type)
      return value;
    return builder.createOrFold<tile::BroadcastOp>(value.getLoc(), type, value);
  }

  /// x * c, of x's type.
  static Value times(OpBuilder &builder, Value x, Value c) {
    return arith::MulFOp::create(builder, x.getLoc(), x,
                                 broadcast(builder, c, x.getType()));
  }

  /// Whether a product in the member's loop rounds a factor to f16.
  static bool roundsToF16(RunningMaximum &member) {
    return member.loop
        ->walk([](tile::DotOp dot) {
          bool isComputed = llvm::any_of(
              ValueRange{dot.getLhs(), dot.getRhs()}, [](Value factor) {
                return tile::getElementType(factor.getType()).isF32();
              });
          return dot.getProduct().isF16() && isComputed
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// reference * factor; `near` is reference * c.
  struct Scaled {
    Value near, isFar, factor, product;
  };

  Scaled scaleNear(OpBuilder &builder, tile::RefOp reference) {
    Value product = times(builder, reference, c);
    return {product, {}, c, product};
  }

  /// Whether a score is at most 1, or hidden.
  static bool isAtMostOne(Value score) {
    if (auto mask = score.getDefiningOp<arith::SelectOp>()) {
      std::optional<double> other = floatConstant(mask.getFalseValue());
      return other && std::isinf(*other) && *other < 0 &&
             isAtMostOne(mask.getTrueValue());
    }
    return score.getDefiningOp<math::TanhOp>() != nullptr;
  }

  static bool isOnlySubtracted(Value reference) {
    return llvm::all_of(reference.getUsers(), [&](Operation *user) {
      return isa<arith::SubFOp>(user) || (isa<tile::BroadcastOp>(user) &&
                                          isOnlySubtracted(user->getResult(0)));
    });
  }

  /// The fma is off from the product that it subtracts by 64 at 2^31, 8 at
  /// 2^28, and beyond that an exponential of what equals its reference is
  /// infinite or 0, in f32 or in f16. So far from 0 a score is 128, or 16, from
  /// its neighbours: that a power of two, whose products are exact, is in c's
  /// place, the largest up to it, makes 2^-8 of a weight at most.
  Scaled scale(OpBuilder &builder, tile::RefOp reference, double limit) {
    Location loc = reference.getLoc();
    Type type = reference.getType();
    Scaled result;
    result.near = times(builder, reference, c);
    result.isFar =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                              math::AbsFOp::create(builder, loc, result.near),
                              constant(builder, loc, limit, type));
    result.factor = arith::SelectOp::create(builder, loc, result.isFar,
                                            broadcast(builder, power, type),
                                            broadcast(builder, c, type));
    result.product = times(builder, reference, result.factor);
    return result;
  }

  /// The largest power of two up to c: its exponent alone.
  static Value powerBelow(OpBuilder &builder, Value c) {
    Location loc = c.getLoc();
    Value bits =
        builder.createOrFold<arith::BitcastOp>(loc, builder.getI32Type(), c);
    Value exponent = arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(0x7f800000));
    return builder.createOrFold<arith::BitcastOp>(
        loc, c.getType(),
        builder.createOrFold<arith::AndIOp>(loc, bits, exponent));
  }

  /// factor * log2 e. Computed from run-time values it may be 0 or infinite
  /// though they are neither, and times -inf or 0 that would be NaN.
  static Value multiplier(OpBuilder &builder, const Factor &factor) {
    Location loc = builder.getInsertionPoint()->getLoc();
    Type type = builder.getF32Type();
    Value c =
        constant(builder, loc, factor.constant * std::numbers::log2e, type);
    if (factor.values.empty() && factor.divisors.empty())
      return c;
    for (Value value : factor.values)
      c = arith::MulFOp::create(builder, loc, c, value);
    for (Value value : factor.divisors)
      c = arith::DivFOp::create(builder, loc, c, value);
    c = arith::MaximumFOp::create(builder, loc, c,
                                  constant(builder, loc, FLT_MIN, type));
    return arith::MinimumFOp::create(builder, loc, c,
                                     constant(builder, loc, FLT_MAX, type));
  }

  Value withoutFactor(OpBuilder &builder, Value score) {
    if (!unscaled)
      return score;
    // One loop's maximum and exponentials share what is left of a score.
    Value &rest = rests[score];
    if (!rest) {
      OpBuilder::InsertionGuard guard(builder);
      if (Operation *op = score.getDefiningOp())
        builder.setInsertionPointAfter(op);
      rest = PositiveFactors::divide(builder, score, *unscaled);
    }
    return rest;
  }

  void rewrite(Exponential &exponential, const Scaled &scaled) {
    OpBuilder builder(exponential.op);
    Location loc = exponential.op.getLoc();
    Type type = exponential.op.getType();
    Value argument;
    if (exponential.rescales) {
      // Rounded as the old reference was: two roundings that agree cancel, and
      // a maximum that did not move rescales by exactly 1. An fma would not.
      Value old = times(builder, exponential.minuend, scaled.factor);
      argument = arith::SubFOp::create(
          builder, loc, old, broadcast(builder, scaled.product, type));
    } else {
      Value &negated = negations[scaled.product];
      if (!negated) {
        OpBuilder after(builder);
        after.setInsertionPointAfterValue(scaled.product);
        negated = arith::NegFOp::create(after, loc, scaled.product);
      }
      argument = math::FmaOp::create(
          builder, loc, withoutFactor(builder, exponential.minuend),
          broadcast(builder, scaled.factor, type),
          broadcast(builder, negated, type));
    }
    if (exponential.kappa)
      argument = arith::MulFOp::create(
          builder, loc, argument,
          constant(builder, loc, *exponential.kappa, type));
    Value power = math::Exp2Op::create(builder, loc, argument);
    Value replaced = exponential.op.getOperand();
    exponential.op.replaceAllUsesWith(power);
    exponential.op.erase();
    // The difference may serve other exponentials yet.
    while (Operation *op = replaced.getDefiningOp()) {
      if (!op->use_empty() || !isa<arith::SubFOp, arith::MulFOp>(op))
        break;
      bool multiple = isa<arith::MulFOp>(op);
      Value next = op->getOperand(
          multiple && !op->getOperand(0).getDefiningOp<arith::SubFOp>());
      op->erase();
      if (!multiple)
        break;
      replaced = next;
    }
  }

  /// Replaces what is left of the uses of `reference` by the product * ln 2, or
  /// where it is far * (c * ln 2 / power).
  void restore(tile::RefOp reference, const Scaled &scaled) {
    auto isOther = [&](OpOperand &use) {
      // A broadcast that nothing reads any more is not worth a product.
      return use.getOwner() != scaled.near.getDefiningOp() &&
             use.getOwner() != scaled.product.getDefiningOp() &&
             !isOpTriviallyDead(use.getOwner());
    };
    if (llvm::none_of(reference->getUses(), isOther))
      return;
    OpBuilder builder(reference.getContext());
    builder.setInsertionPointAfterValue(scaled.product);
    Location loc = reference.getLoc();
    Type type = reference.getType();
    Value ln2 = constant(builder, loc, std::numbers::ln2, type);
    Value far = arith::MulFOp::create(
        builder, loc, constant(builder, loc, std::numbers::ln2, c.getType()),
        arith::DivFOp::create(builder, loc, c, power));
    Value unit = arith::SelectOp::create(builder, loc, scaled.isFar,
                                         broadcast(builder, far, type), ln2);
    Value restored = arith::MulFOp::create(builder, loc, scaled.product, unit);
    reference.getResult().replaceUsesWithIf(restored, isOther);
  }

  void report(const Factor &factor, Value unknownSign) {
    Location loc = members.front().reduce.getLoc();
    auto options = [](StringRef name) {
      return remark::RemarkOpts::name(name).category(DEBUG_TYPE);
    };
    if (factor.isOne() && unknownSign)
      remark::missed(loc, options("ScaleKept"))
          << remark::add("scores are scaled before their maximum is taken")
          << remark::reason("{0}", "a factor is not known to be positive");
    else
      remark::passed(loc, options("Folded")) << remark::add(
          "{0}", factor.isOne() ? "exponentials in base 2"
                                : "exponentials in base 2, with the scale");
  }

  scf::ForOp first;
  SmallVector<std::pair<scf::ForOp, unsigned>, 2> around;
  SmallVector<tile::RefOp> references;
  SmallVector<Exponential> exponentials;
  SmallPtrSet<Operation *, 4> rescalings; // differences of two maxima
  Value c, power; // the scores' factor, and what is in its place far from 0
  PositiveFactors *unscaled = nullptr;
  DenseMap<Value, Value> rests, negations;
};

void foldKernel(tile::KernelOp kernel) {
  std::deque<Family> families;
  DenseMap<Value, Family *> ends; // the last loop's result of each chain
  llvm::SmallPtrSet<Family *, 4> broken;
  SmallVector<std::pair<Value, Family *>> passed; // on by loops around others
  kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    for (unsigned i = 0; i < loop.getNumResults(); ++i) {
      Value start = loop.getInitArgs()[i], next = loop.getYieldedValues()[i];
      Family *family = ends.lookup(start);
      auto maximum = matchMaximum(loop, i);
      auto inner = next.getDefiningOp<scf::ForOp>();
      bool isAround = inner && loop->isProperAncestor(inner);
      auto number = floatConstant(start);
      bool fresh = number && std::isinf(*number) && *number < 0;
      if ((!maximum && !isAround) || (!family && !fresh)) {
        if (family)
          broken.insert(family);
        continue;
      }
      if (!family)
        family = &families.emplace_back(loop);
      if (maximum) {
        family->members.push_back(*maximum);
      } else {
        family->addAround(loop, i);
        ends[loop.getRegionIterArg(i)] = family;
        passed.emplace_back(next, family);
      }
      ends[loop.getResult(i)] = family;
    }
  });
  for (auto [next, family] : passed)
    if (ends.lookup(next) != family)
      broken.insert(family);
  for (Family &family : families) {
    if (broken.contains(&family))
      continue;
    if (family.collect())
      family.fold();
  }
}

struct TileFoldExp2 : impl::TileFoldExp2Base<TileFoldExp2> {
  void runOnOperation() override {
    getOperation()->walk([](tile::ProgramOp program) {
      if (!comparesComputed(program)) {
        program.walk([](tile::KernelOp kernel) { foldKernel(kernel); });
        return;
      }
      remark::missed(program.getLoc(),
                     remark::RemarkOpts::name("Compared").category(DEBUG_TYPE))
          << "computed floats are compared: equal ones are to come out equal";
    });
  }
};

} // namespace
} // namespace attentile
