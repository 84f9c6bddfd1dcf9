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
// known, c = log2 e and the maximum stays that of the scaled scores. Expects:
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
    Value c = multiplier(builder, factor);
    unscaled = factor.isOne() ? nullptr : &factors;
    for (RunningMaximum &member : members) {
      builder.setInsertionPoint(member.reduce);
      member.reduce.getOperandMutable().assign(
          withoutFactor(builder, member.reduce.getOperand()));
    }
    llvm::MapVector<tile::RefOp, Value> scaled;
    double least = llvm::any_of(members, roundsToF16) ? -0x1p28 : -0x1p31;
    for (tile::RefOp reference : references) {
      builder.setInsertionPointAfter(reference);
      scaled[reference] = bounded(builder, times(builder, reference, c), least);
    }
    for (Exponential &exponential : exponentials)
      rewrite(exponential, scaled[exponential.reference], c);
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
    TypedAttr scalar = builder.getF32FloatAttr(float(value));
    if (auto tileType = dyn_cast<RankedTensorType>(type))
      scalar = SplatElementsAttr::get(tileType, Attribute(scalar));
    return arith::ConstantOp::create(builder, loc, scalar);
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

  /// A scaled reference, `least` at least. The fma is off from the product that
  /// it subtracts by 64 at -2^31, 8 at -2^28, and beyond that an exponential of
  /// what equals its reference infinite, in f32 or in f16: a row whose first
  /// blocks are all at -1e30, a mask by a finite number, would then be NaN
  /// though later ones are normal.
  static Value bounded(OpBuilder &builder, Value reference, double least) {
    Location loc = reference.getLoc();
    return arith::MaxNumFOp::create(
        builder, loc, reference,
        constant(builder, loc, least, reference.getType()));
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

  void rewrite(Exponential &exponential, Value scaled, Value c) {
    OpBuilder builder(exponential.op);
    Location loc = exponential.op.getLoc();
    Type type = exponential.op.getType();
    Value argument;
    if (exponential.rescales) {
      // Rounded as the old reference was: two roundings that agree cancel, and
      // a maximum that did not move rescales by exactly 1. An fma would not.
      Value old = times(builder, exponential.minuend, c);
      argument = arith::SubFOp::create(builder, loc, old,
                                       broadcast(builder, scaled, type));
    } else {
      Value &negated = negations[scaled];
      if (!negated) {
        OpBuilder after(builder);
        after.setInsertionPointAfter(scaled.getDefiningOp());
        negated = arith::NegFOp::create(after, loc, scaled);
      }
      argument = math::FmaOp::create(
          builder, loc, withoutFactor(builder, exponential.minuend),
          broadcast(builder, c, type), broadcast(builder, negated, type));
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

  /// Replaces what is left of the uses of `reference` by scaled * ln 2.
  static void restore(tile::RefOp reference, Value scaled) {
    auto isOther = [&](OpOperand &use) {
      // A broadcast that nothing reads any more is not worth a product.
      return use.getOwner() !=
                 scaled.getDefiningOp()->getOperand(0).getDefiningOp() &&
             !isOpTriviallyDead(use.getOwner());
    };
    if (llvm::none_of(reference->getUses(), isOther))
      return;
    OpBuilder builder(reference.getContext());
    builder.setInsertionPointAfterValue(scaled);
    Location loc = reference.getLoc();
    Value restored = arith::MulFOp::create(
        builder, loc, scaled,
        constant(builder, loc, std::numbers::ln2, reference.getType()));
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
      remark::missed(program.getLoc(), remark::RemarkOpts::name("Compared")
                                           .category(DEBUG_TYPE))
          << "computed floats are compared: equal ones are to come out equal";
    });
  }
};

} // namespace
} // namespace attentile
