//===- GuardedStep.cpp - what a loop does with its references -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GuardedStep.h"
#include "FarRows.h"
#include "PositiveFactors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace attentile {

std::optional<RunningMaximum> matchMaximum(scf::ForOp loop, unsigned index) {
  auto next = loop.getYieldedValues()[index].getDefiningOp<arith::MaxNumFOp>();
  if (!next)
    return std::nullopt;
  Value carried = loop.getRegionIterArg(index);
  if (next.getLhs() != carried && next.getRhs() != carried)
    return std::nullopt;
  auto reduce = (next.getLhs() == carried ? next.getRhs() : next.getLhs())
                    .getDefiningOp<tile::ReduceOp>();
  if (!reduce || reduce.getKind() != attn::ReduceKind::Ref ||
      !reduce->hasOneUse())
    return std::nullopt;
  return RunningMaximum{loop, index, next, reduce};
}

static bool isExponential(Operation *op) {
  return isa_and_nonnull<math::ExpOp, math::Exp2Op>(op);
}

/// What is behind broadcasts and negations.
static Value getScaled(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tile::BroadcastOp, arith::NegFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The reference that `value` is, or a broadcast, negation or multiple of.
static tile::RefOp getReference(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto reference = dyn_cast<tile::RefOp>(op))
      return reference;
    if (!isa<tile::BroadcastOp, arith::NegFOp, arith::MulFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return {};
}

/// Follows the old maximum to the exponentials of its difference to the new
/// reference.
LogicalResult GuardedStep::followRescaling(GuardedReference &reference,
                                           ValueSet &seen) {
  RunningMaximum &maximum = reference.maximum;
  auto isDifference = [&](Operation *op, Value old) {
    auto difference = dyn_cast<arith::SubFOp>(op);
    if (!difference || difference.getLhs() != old)
      return false;
    tile::RefOp newer = getReference(difference.getRhs());
    return newer && newer.getOperand() == maximum.next.getResult();
  };
  auto follow = [&](Operation *difference) {
    for (Operation *user : difference->getUsers()) {
      if (isExponential(user)) {
        reference.rescale = user->getResult(0);
        rescales.insert(user->getResult(0));
        continue;
      }
      // A power: exp of a multiple.
      if (!isa<arith::MulFOp>(user) ||
          !llvm::all_of(user->getUsers(), isExponential))
        return false;
      for (Operation *power : user->getUsers())
        rescales.insert(power->getResult(0));
    }
    return true;
  };
  for (Operation *user : maximum.carried().getUsers()) {
    if (user == maximum.next)
      continue;
    bool known = isDifference(user, maximum.carried()) && follow(user);
    if (auto scaled = dyn_cast<arith::MulFOp>(user))
      known = scaled.getLhs() == maximum.carried() &&
              llvm::all_of(scaled->getUsers(), [&](Operation *next) {
                return isDifference(next, scaled) && follow(next);
              });
    if (!known)
      return fail("the running maximum is used for more than rescaling");
  }
  for (Operation *user : maximum.next->getUsers())
    if (!isa<tile::RefOp>(user) && user != loop.getBody()->getTerminator())
      return fail("the maximum itself is used, not only as reference");
  if (llvm::count(loop.getYieldedValues(), maximum.next.getResult()) != 1 ||
      !isOnlyReference(maximum.result(), seen))
    return fail("the maximum itself is used, not only as reference");
  if (!reference.rescale)
    return fail("nothing is rescaled by the running maximum");
  return success();
}

/// Whether a maximum serves only as reference behind its loop: in later ones,
/// and in those around it, which start it again with what it left.
bool GuardedStep::isOnlyReference(Value maximum, ValueSet &seen) {
  if (!seen.insert(maximum).second)
    return true;
  return llvm::all_of(maximum.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<tile::RefOp>(user))
      return true;
    if (auto around = dyn_cast<scf::ForOp>(user->getParentOp());
        around && isa<scf::YieldOp>(user)) {
      unsigned index = use.getOperandNumber();
      return isOnlyReference(around.getResult(index), seen) &&
             isOnlyReference(around.getRegionIterArg(index), seen);
    }
    auto next = dyn_cast<scf::ForOp>(user);
    if (!next || use.getOperandNumber() < next.getNumControlOperands())
      return false;
    unsigned index = use.getOperandNumber() - next.getNumControlOperands();
    auto running = matchMaximum(next, index);
    if (!running) // one that passes it on to those in it
      return tile::isAround(next) &&
             isOnlyReference(next.getRegionIterArg(index), seen);
    GuardedStep step;
    step.loop = next;
    GuardedReference reference{*running, {}, {}, {}};
    return succeeded(step.followRescaling(reference, seen));
  });
}

/// The tile's row sum of exp(a - reference), a the very value whose maximum the
/// reference is.
LogicalResult GuardedStep::findTileSum(GuardedReference &reference) {
  RunningMaximum &maximum = reference.maximum;
  Value a = maximum.reduce.getOperand();
  for (auto reduce : loop.getBody()->getOps<tile::ReduceOp>()) {
    Operation *exponential = reduce.getOperand().getDefiningOp();
    if (reduce.getKind() != attn::ReduceKind::Sum ||
        reduce.getOver() != maximum.reduce.getOver() ||
        !isExponential(exponential))
      continue;
    Operation *argument = exponential->getOperand(0).getDefiningOp();
    auto fma = dyn_cast_or_null<math::FmaOp>(argument);
    auto difference = dyn_cast_or_null<arith::SubFOp>(argument);
    if ((!fma || fma.getA() != a) && (!difference || difference.getLhs() != a))
      continue;
    tile::RefOp newer = getReference(fma ? fma.getC() : difference.getRhs());
    if (!newer || newer.getOperand() != maximum.next.getResult())
      continue;
    reference.tileSum = reduce.getResult();
    reference.isFar = fma ? matchRowFactor(fma.getB()).isFar : arith::CmpFOp();
  }
  if (!reference.tileSum)
    return fail("no row sum of the exponential itself");
  return success();
}

/// Whether a value belongs to a sum over the scores' columns that is no matrix
/// product and has other axes: its layout may change at barriers of all warps,
/// so it stays out of branches that warps take for themselves, as products do.
static bool isTermOfSum(Operation &op, Type scores, StringAttr column) {
  return llvm::any_of(op.getResultTypes(), [&](Type type) {
    return tile::getAxisPosition(type, column) &&
           llvm::any_of(tile::getAxes(type), [&](StringAttr axis) {
             return !tile::getAxisPosition(scores, axis);
           });
  });
}

/// Sorts the body's operations.
LogicalResult GuardedStep::split() {
  llvm::DenseSet<Value> ofStep, ofProducts;
  for (GuardedReference &reference : references) {
    ofStep.insert(reference.maximum.carried());
    step.insert(reference.maximum.reduce);
    ofStep.insert(reference.maximum.reduce.getResult());
  }
  tile::ReduceOp first = references[0].maximum.reduce;
  ArrayAttr over = first.getOver();
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (step.contains(&op))
      continue;
    auto uses = [&](const llvm::DenseSet<Value> &values) {
      return llvm::any_of(op.getOperands(),
                          [&](Value x) { return values.contains(x); });
    };
    bool afterStep = uses(ofStep), afterProduct = uses(ofProducts);
    if (!afterStep && !afterProduct)
      continue;
    bool isProduct =
        isa<tile::DotOp>(op) || isTermOfSum(op, first.getOperand().getType(),
                                            cast<StringAttr>(over[0]));
    (isProduct || afterProduct ? products : step).insert(&op);
    (isProduct || afterProduct ? ofProducts : ofStep)
        .insert_range(op.getResults());
    if (isProduct || afterProduct)
      continue;
    auto reduce = dyn_cast<tile::ReduceOp>(op);
    bool allowed = op.getNumRegions() == 0 && op.getNumResults() == 1 &&
                   (isa<tile::BroadcastOp, tile::RefOp>(op) ||
                    OpTrait::hasElementwiseMappableTraits(&op));
    if (reduce)
      allowed = over.size() == 1 && reduce.getOver() == over;
    if (!allowed)
      return fail("'" + op.getName().getStringRef() +
                  "' depends on the reference");
  }
  return success();
}

/// How many exponentials are multiplied in `value`; nothing if there is a
/// factor that may exceed 1.
static std::optional<double> getPower(Value value, bool &bounded) {
  if (auto constant = floatConstant(value)) {
    bounded &= std::fabs(*constant) <= 1;
    return 0;
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tile::BroadcastOp, arith::TruncFOp, arith::ExtFOp>(op))
    return getPower(op->getOperand(0), bounded);
  if (isExponential(op)) {
    auto multiple = op->getOperand(0).getDefiningOp<arith::MulFOp>();
    auto kappa = multiple ? floatConstant(multiple.getRhs()) : std::nullopt;
    return kappa && *kappa > 0 ? *kappa : 1;
  }
  if (isa_and_nonnull<arith::MulFOp>(op))
    return *getPower(op->getOperand(0), bounded) +
           *getPower(op->getOperand(1), bounded);
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return std::max(*getPower(select.getTrueValue(), bounded),
                    *getPower(select.getFalseValue(), bounded));
  bounded = false;
  return 0;
}

LogicalResult GuardedStep::measurePowers() {
  for (Operation *op : products) {
    auto dot = dyn_cast<tile::DotOp>(op);
    if (!dot)
      continue;
    for (Value factor : {dot.getLhs(), dot.getRhs()}) {
      if (!step.contains(factor.getDefiningOp()))
        continue;
      bool bounded = true;
      double power = *getPower(factor, bounded);
      if (!dot.getProduct().isF16()) {
        widePower = std::max(widePower, power);
        continue;
      }
      // Rounded to f16, exponential times factor must stay below its limit.
      if (!bounded)
        return fail("an exponential is multiplied by what may exceed 1 before "
                    "it is rounded to f16");
      narrowPower = std::max(narrowPower, power);
    }
  }
  return success();
}

LogicalResult GuardedStep::analyze(scf::ForOp forOp) {
  loop = forOp;
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    if (auto maximum = matchMaximum(loop, i))
      references.push_back({*maximum, {}, {}, {}});
  if (references.empty()) {
    // tile-fuse-online-softmax shares a maximum that the formula asks for.
    if (!loop.getBody()->getOps<tile::RefOp>().empty())
      return fail("the maximum itself is used, not only as reference");
    return failure();
  }
  for (GuardedReference &reference : references) {
    llvm::SmallPtrSet<Value, 8> seen;
    if (failed(followRescaling(reference, seen)) ||
        failed(findTileSum(reference)))
      return failure();
  }
  if (failed(split()))
    return failure();
  return measurePowers();
}

} // namespace attentile
