//===- BuilderReductions.cpp - steps that sum over axes -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Builder.h"

using namespace mlir;
using namespace attentile::attn;

namespace attentile::reference {

/// Whether the factor enters a product in `product` without rounding: a read
/// of that type, or one times what lacks the axes that are summed (which the
/// product may be multiplied by afterwards).
bool Builder::isExactFactor(Value value, Type product, const Axes &bound) {
  if (product.isF32())
    return true;
  if (auto cast = value.getDefiningOp<arith::ExtFOp>())
    value = cast.getIn();
  if (auto read = value.getDefiningOp<ReadOp>())
    return read.getType() == product;
  if (auto scaled = value.getDefiningOp<arith::MulFOp>())
    for (auto [kept, other] : {std::pair(scaled.getLhs(), scaled.getRhs()),
                               std::pair(scaled.getRhs(), scaled.getLhs())})
      if (!axes.of(other).anyCommon(bound) &&
          axes.of(kept).anyCommon(bound) && // else there may be two ways down
          isExactFactor(kept, product, bound))
        return true;
  return value.getDefiningOp<arith::TruncFOp>() && value.getType() == product;
}

static bool isExponential(Operation *op) {
  return isa<SoftmaxOp, math::ExpOp, math::Exp2Op>(op);
}

/// Whether a softmax or exponential along the summed axes is in the formula.
bool Builder::holdsExponential(Value root, const Axes &bound) {
  SmallVector<Value> stack{root};
  llvm::SmallPtrSet<Value, 16> seen;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second || !axes.of(value).anyCommon(bound))
      continue;
    if (isExponential(op))
      return true;
    llvm::append_range(stack, valueOperands(op));
  }
  return false;
}

/// A sum or difference of two softmaxes may be two products, each rounded.
SmallVector<Value> Builder::roundedTerms(Value value, const Axes &bound) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op) &&
      steps.contains(op->getOperand(0)) && steps.contains(op->getOperand(1)) &&
      holdsExponential(op->getOperand(0), bound) &&
      holdsExponential(op->getOperand(1), bound)) {
    SmallVector<Value> terms = roundedTerms(op->getOperand(0), bound);
    terms.append(roundedTerms(op->getOperand(1), bound));
    return terms;
  }
  return {value};
}

/// See RoundedTerm.
RoundedTerm Builder::makeTerm(Value value, const Factor &factor,
                              const Axes &bound) {
  auto seen = [&](unsigned step) {
    return seenFrom(program.steps[step], program.steps[factor.step].arrayAxes);
  };
  unsigned own = steps.lookup(value);
  RoundedTerm term;
  term.step = own;
  term.from = seen(own);
  SmallVector<Value> stack{value};
  constexpr unsigned kMostOps = 64; // a power counts its operand twice
  for (unsigned ops = 0; !stack.empty(); ++ops) {
    if (ops == kMostOps) {
      term.gains.clear();
      term.isOfScalars = true;
      break;
    }
    Operation *op = stack.pop_back_val().getDefiningOp();
    // What a loop over tiles has from before it is one value.
    if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op) ||
        !llvm::all_of(op->getOperands(),
                      [&](Value operand) { return steps.contains(operand); }))
      continue;
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      bool divides = isa<arith::DivFOp>(op) && number == 1;
      if (axes.of(operand).anyCommon(bound)) {
        if (!divides)
          stack.push_back(operand);
      } else if (isa<arith::MulFOp>(op) || divides) {
        unsigned step = steps.lookup(operand);
        term.gains.push_back({step, seen(step), divides});
        term.isOfScalars &= axes.of(operand).none();
      }
    }
  }
  return term;
}

static bool isProduct(Operation *op) {
  return isa<arith::MulFOp, arith::DivFOp, math::PowFOp>(op);
}

/// Whether a kernel may apply an operand of `op`, in a formula that is summed
/// over `bound`, to the sum: one that lacks these axes, where a reduction over
/// them is in the formula.
bool Builder::isAppliedLate(Value operand, Operation *op, const Axes &bound) {
  auto depends = [&](Value value) {
    return program.steps[steps.lookup(value)].bound.anyCommon(bound);
  };
  return !axes.of(operand).anyCommon(bound) &&
         (loop || llvm::any_of(op->getOperands(), depends));
}

/// What a formula that is reduced over `bound` is made of along these axes,
/// operands before what is computed from them.
SmallVector<Operation *> Builder::inOrder(Value root, const Axes &bound) {
  SmallVector<Operation *> result;
  SmallVector<std::pair<Operation *, bool>> stack;
  llvm::SmallPtrSet<Operation *, 16> seen;
  auto visit = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && axes.of(value).anyCommon(bound) && seen.insert(op).second)
      stack.push_back({op, false});
  };
  visit(root);
  while (!stack.empty()) {
    auto [op, isDone] = stack.back();
    if (isDone) {
      result.push_back(op);
      stack.pop_back();
      continue;
    }
    stack.back().second = true;
    for (Value operand : valueOperands(op))
      visit(operand);
  }
  return result;
}

/// Marks what a condition in a formula that is reduced over `bound` may hide;
/// returns whether there is one.
bool Builder::markHidden(Value root, const Axes &bound) {
  llvm::SmallPtrSet<Operation *, 16> hidden;
  for (Operation *op : inOrder(root, bound)) {
    bool isHidden = llvm::any_of(valueOperands(op), [&](Value operand) {
      return hidden.contains(operand.getDefiningOp());
    });
    if (isHidden && steps.contains(op->getResult(0)))
      program.steps[steps.lookup(op->getResult(0))].hides = true;
    if (isHidden || isa<arith::SelectOp>(op))
      hidden.insert(op);
  }
  return hidden.contains(root.getDefiningOp());
}

/// Whether a sum or difference of which one side holds a softmax is in the
/// formula, outside of any softmax: a kernel may multiply its terms apart. The
/// products between it and the root are marked, for what of an infinite factor
/// is then inf - inf; so are operands that a kernel may apply to the whole sum.
bool Builder::holdsSplitSum(Value root, const Axes &bound) {
  llvm::SmallPtrSet<Operation *, 16> exponentials, splits;
  for (Operation *op : inOrder(root, bound)) {
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(op) &&
        steps.contains(op->getResult(0))) {
      Step &step = program.steps[steps.lookup(op->getResult(0))];
      step.rowFirst |= isAppliedLate(op->getOperand(0), op, bound);
      step.rowSecond |= isAppliedLate(op->getOperand(1), op, bound);
    }
    auto holdsAny = [&](const llvm::SmallPtrSet<Operation *, 16> &set) {
      return llvm::any_of(valueOperands(op), [&](Value operand) {
        return set.contains(operand.getDefiningOp());
      });
    };
    bool isSum =
        isa<arith::AddFOp, arith::SubFOp>(op) && holdsAny(exponentials);
    bool isWhole = isExponential(op) || isa<ReduceOp, LogSumExpOp>(op);
    if (!isWhole && (isSum || holdsAny(splits))) {
      splits.insert(op);
      if (isProduct(op) && steps.contains(op->getResult(0))) {
        Step &step = program.steps[steps.lookup(op->getResult(0))];
        step.splitsFirst |= splits.contains(op->getOperand(0).getDefiningOp());
        step.splitsSecond |= splits.contains(op->getOperand(1).getDefiningOp());
      }
    }
    if (isExponential(op) || holdsAny(exponentials))
      exponentials.insert(op);
  }
  return splits.contains(root.getDefiningOp());
}

/// Whether the factor reads a tensor at an index that has axes of the other
/// factor and others: a row of a table for each pair.
bool Builder::gathersForPairs(Value factor, Value other) {
  const Axes ofOther = axes.of(other);
  SmallVector<Value> stack{factor};
  llvm::SmallPtrSet<Value, 16> seen;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    llvm::append_range(stack, valueOperands(op));
    auto read = dyn_cast<ReadOp>(op);
    if (read && llvm::any_of(read.getIndices(), [&](Value index) {
          return axes.of(index).anyCommon(ofOther) &&
                 axes.of(index).test(ofOther);
        }))
      return true;
  }
  return false;
}

/// See Factor::shared. A weight by itself is at most 1 before, too.
int64_t Builder::sharedWeights(Value factor) {
  if (factor.getDefiningOp<SoftmaxOp>())
    return 1;
  int64_t result = 1;
  SmallVector<Value> stack{factor};
  llvm::SmallPtrSet<Value, 16> seen;
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val().getDefiningOp();
    if (!op || isa<ReduceOp>(op))
      continue;
    if (auto softmax = dyn_cast<SoftmaxOp>(op)) {
      int64_t elements = 1;
      for (unsigned axis : boundInOrder(axes.setOf(softmax.getAxes())))
        elements *= extentOf(axis);
      result = std::max(result, elements);
      continue;
    }
    for (Value operand : valueOperands(op))
      if (seen.insert(operand).second)
        stack.push_back(operand);
  }
  return result;
}

Factor Builder::makeFactor(Value value, Value other, ReduceOp reduce) {
  Factor factor;
  factor.step = steps.lookup(value);
  Axes bound = axes.setOf(reduce.getAxes());
  factor.mayBeSplit = holdsSplitSum(value, bound);
  factor.gathers = gathersForPairs(value, other);
  factor.shared = sharedWeights(value);
  Type product = reduce.getProduct().value_or(reduce.getType());
  if (!isExactFactor(value, product, bound))
    for (Value term : roundedTerms(value, bound))
      factor.roundedTerms.push_back(makeTerm(term, factor, bound));
  return factor;
}

/// A sum of products is never spread out: its two factors are the operands.
void Builder::addProduct(ReduceOp reduce, arith::MulFOp product) {
  Step step;
  step.op = Op::Product;
  step.kind = Kind::Float;
  step.type = elementTypeOf(reduce.getProduct().value_or(reduce.getType()))
                  .value_or(ElementType::F32);
  Axes all = axes.of(product);
  step.bound = axes.setOf(reduce.getAxes());
  for (Value factor : product->getOperands())
    step.hides |= markHidden(factor, step.bound);
  all |= step.bound;
  std::vector<unsigned> along = arrayAxesOf(all);
  step.factors = {makeFactor(product.getLhs(), product.getRhs(), reduce),
                  makeFactor(product.getRhs(), product.getLhs(), reduce)};
  step.factors[0].isRow = isAppliedLate(product.getLhs(), product, step.bound);
  step.factors[1].isRow = isAppliedLate(product.getRhs(), product, step.bound);
  for (Factor &factor : step.factors) {
    factor.strides = stridesAlong(program.steps[factor.step], along);
    step.operands.push_back(factor.step);
    for (const RoundedTerm &term : factor.roundedTerms) {
      step.operands.push_back(term.step);
      for (const RoundedTerm::Gain &gain : term.gains)
        step.operands.push_back(gain.step);
    }
  }
  int64_t work = 1;
  for (unsigned axis : along)
    step.loops.push_back(extentOf(axis)), work *= step.loops.back();
  for (Value axis : reduce.getAxes())
    step.terms *= extentOf(axes.numberOf(axis));
  if (loop && axes.setOf(reduce.getAxes()).test(tileAxis())) {
    step.tileTerms = step.terms / loop.getSize();
    step.tileLoop = llvm::find(along, tileAxis()) - along.begin();
  }
  program.work += work;
  // The result's strides come from its own layout, known once it is pushed.
  unsigned self = push(std::move(step), axes.of(reduce));
  program.steps[self].resultStrides = stridesAlong(program.steps[self], along);
  steps[reduce] = self;
}

/// The array axes of what a reduction binds; a loop's axis first, so that the
/// last tile has its terms at the beginning.
std::vector<unsigned> Builder::boundInOrder(const Axes &bound) {
  std::vector<unsigned> along = arrayAxesOf(bound);
  auto own = loop ? llvm::find(along, tileAxis()) : along.end();
  if (own != along.end())
    std::rotate(along.begin(), own, own + 1);
  return along;
}

void Builder::addReduction(Operation *op) {
  Step step;
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    auto product = reduce.getOperand().getDefiningOp<arith::MulFOp>();
    if (product && reduce.getKind() == ReduceKind::Sum)
      return addProduct(reduce, product);
    step.op = Op::Reduce;
    step.reduce = reduce.getKind();
    if (step.reduce == ReduceKind::Sum)
      holdsSplitSum(reduce.getOperand(), axes.setOf(reduce.getAxes()));
  } else {
    step.op = isa<SoftmaxOp>(op) ? Op::Softmax : Op::LogSumExp;
  }
  step.kind = kindOf(op->getResult(0).getType());
  step.operands = {steps.lookup(op->getOperand(0))};
  const Step &operand = program.steps[step.operands[0]];
  Axes bound = axes.setOf(boundAxes(op));
  markHidden(op->getOperand(0), bound);
  Axes kept = axes.of(op->getResult(0));
  kept.reset(bound);
  step.outer = offsetsOf(operand, arrayAxesOf(kept));
  step.inner = offsetsOf(operand, boundInOrder(bound));
  step.terms = step.inner.size();
  if (loop && bound.test(tileAxis()))
    step.tileTerms = step.terms / loop.getSize();
  program.work += step.outer.size() * step.inner.size();
  step.bound = bound;
  Axes own = axes.of(op->getResult(0));
  unsigned self = push(std::move(step), own);
  // A softmax is written along the same walk, in its own layout.
  if (isa<SoftmaxOp>(op)) {
    Step &softmax = program.steps[self];
    softmax.outerTo = offsetsOf(softmax, arrayAxesOf(kept));
    softmax.innerTo = offsetsOf(softmax, boundInOrder(bound));
  }
  steps[op->getResult(0)] = self;
}

} // namespace attentile::reference
