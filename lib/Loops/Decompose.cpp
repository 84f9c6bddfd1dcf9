//===- Decompose.cpp - sums of exponentials, term by term -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace attentile::fusion {

constexpr size_t maxTerms = 8, maxFactors = 64;

FailureOr<std::vector<Term>> Decomposer::decompose(Expr *x) {
  sumsOfSoftmaxes.clear();
  findSumsOfSoftmaxes(x);
  Result terms = visit(x, /*inExponent=*/false);
  if (failed(terms))
    return failure();
  for (const Term &term : *terms)
    for (const Exponential &exponential : term.exponentials)
      if (exponential.kappa <= 0)
        return fail(x, "an exponential stays in a denominator");
  return terms;
}

bool Decomposer::isRow(const Expr *x) const {
  return !x->varies && llvm::none_of(tile::getAxes(x->type), [&](StringAttr a) {
    return llvm::is_contained(over, Attribute(a));
  });
}

/// Whether an exponential along the summed axes is in the formula.
bool Decomposer::holdsExponential(const Expr *x) const {
  SmallVector<const Expr *> stack{x};
  llvm::SmallPtrSet<const Expr *, 16> seen;
  while (!stack.empty()) {
    const Expr *next = stack.pop_back_val();
    if (isRow(next) || !seen.insert(next).second)
      continue;
    if (next->is<math::ExpOp>() || next->is<math::Exp2Op>())
      return true;
    llvm::append_range(stack, next->operands);
  }
  return false;
}

void Decomposer::findSumsOfSoftmaxes(const Expr *x) {
  if ((!x->is<arith::AddFOp>() && !x->is<arith::SubFOp>()) ||
      !llvm::all_of(x->operands,
                    [&](const Expr *y) { return holdsExponential(y); }) ||
      !sumsOfSoftmaxes.insert(x).second)
    return;
  for (const Expr *y : x->operands)
    findSumsOfSoftmaxes(y);
}

Decomposer::Result Decomposer::fail(Expr *x, const char *why) {
  if (!obstacle) {
    obstacle = x;
    reason = why;
  }
  return failure();
}

Decomposer::Result Decomposer::visit(Expr *x, bool inExponent) {
  if (isRow(x)) {
    Term term;
    if (auto constant = constantOf(x))
      term.weight = *constant;
    else
      term.numerators = {x};
    return Terms{term};
  }
  if (!isHot(x)) { // whole: what is inside need not be known
    Term term;
    term.factor = x;
    return Terms{term};
  }
  if (x->is<arith::AddFOp>() || x->is<arith::SubFOp>())
    return sum(x, inExponent);
  if (x->is<arith::MulFOp>()) {
    Result a = visit(x->operands[0], inExponent);
    if (failed(a))
      return failure();
    Result b = visit(x->operands[1], inExponent);
    if (failed(b))
      return failure();
    return products(x, *a, *b);
  }
  if (x->is<arith::NegFOp>()) {
    Result terms = visit(x->operands[0], inExponent);
    if (succeeded(terms))
      for (Term &term : *terms)
        term.weight = -term.weight;
    return terms;
  }
  if (x->is<arith::DivFOp>())
    return quotient(x, inExponent);
  if (x->is<math::ExpOp>())
    return exponential(x, x->operands[0], 1);
  if (x->is<math::Exp2Op>())
    return exponential(x, x->operands[0], std::log(2.0));
  if (x->is<math::LogOp>())
    return logarithm(x);
  if (x->is<math::SqrtOp>())
    return squareRoot(x);
  if (x->is<math::PowFOp>())
    return power(x);
  if (x->is<arith::SelectOp>())
    return select(x);
  return fail(x, "the operation is no product, sum or exponential");
}

Decomposer::Result Decomposer::products(Expr *x, const Terms &a,
                                        const Terms &b) {
  if (a.size() * b.size() > maxTerms)
    return fail(x, "there would be more than 8 terms");
  Terms result;
  for (const Term &lhs : a)
    for (const Term &rhs : b) {
      result.push_back(multiply(graph, lhs, rhs, /*joinFactors=*/true));
      const Term &term = result.back();
      if (term.numerators.size() + term.denominators.size() +
              term.exponentials.size() + term.shifts.size() >
          maxFactors)
        return fail(x, "a term would have more than 64 factors");
    }
  return result;
}

Decomposer::Result Decomposer::sum(Expr *x, bool inExponent) {
  if (rounds && !inExponent && !sumsOfSoftmaxes.contains(x))
    return fail(x, "its terms would be rounded, and may cancel");
  for (Expr *side : x->operands)
    if (!inExponent && isRow(side) && isHot(side))
      return fail(x, "a statistic of this loop is added, and may cancel");
  Result a = visit(x->operands[0], inExponent);
  if (failed(a))
    return failure();
  Result b = visit(x->operands[1], inExponent);
  if (failed(b))
    return failure();
  for (Term &term : *b) {
    if (x->is<arith::SubFOp>())
      term.weight = -term.weight;
    a->push_back(std::move(term));
  }
  if (a->size() > maxTerms)
    return fail(x, "there would be more than 8 terms");
  return a;
}

Decomposer::Result Decomposer::quotient(Expr *x, bool inExponent) {
  Result terms = visit(x->operands[0], inExponent);
  if (failed(terms))
    return failure();
  Result divisors = visit(x->operands[1], inExponent);
  if (failed(divisors))
    return failure();
  if (divisors->size() != 1 || divisors->front().kept)
    return fail(x, "the divisor is a sum");
  Term &divisor = divisors->front();
  Term inverse;
  inverse.numerators = divisor.denominators;
  inverse.denominators = divisor.numerators;
  if (divisor.weight != 1)
    inverse.denominators.push_back(graph.constant(divisor.weight, x->loc));
  for (auto [multiple, shift] : divisor.shifts)
    inverse.shifts.emplace_back(-multiple, shift);
  for (auto [kappa, a] : divisor.exponentials)
    inverse.exponentials.push_back({-kappa, a});
  Expr *one = graph.constant(1, x->loc);
  for (Term &term : *terms) {
    if (divisor.factor)
      sumOtherwise(graph, term,
                   graph.make<arith::DivFOp>({one, divisor.factor}));
    Expr *factor = term.factor;
    term = multiply(graph, term, inverse, /*joinFactors=*/true);
    if (divisor.factor)
      term.factor =
          graph.make<arith::DivFOp>({factor ? factor : one, divisor.factor});
  }
  return terms;
}

/// exp(scale * argument): what stands for the row goes to the shifts, the rest
/// becomes one exponential.
Decomposer::Result Decomposer::exponential(Expr *x, Expr *argument,
                                           double scale) {
  OperationName name = *x->name;
  if (argument->is<arith::SelectOp>()) {
    auto exponentialOf = [&](Expr *y) -> Expr * {
      if (isConstant(y, -std::numeric_limits<double>::infinity()))
        return graph.constant(0, x->loc);
      return name.getTypeID() == TypeID::get<math::ExpOp>()
                 ? graph.make<math::ExpOp>({y})
                 : graph.make<math::Exp2Op>({y});
    };
    return select(graph.select(argument->operands[0],
                               exponentialOf(argument->operands[1]),
                               exponentialOf(argument->operands[2])));
  }
  Result parts = visit(argument, /*inExponent=*/true);
  if (failed(parts))
    return failure();
  Term result;
  SmallVector<Term *> along; // what changes along the loop
  for (Term &part : *parts) {
    if (!part.exponentials.empty() || !part.shifts.empty() || part.kept)
      return fail(x, "the exponent holds an exponential or a condition");
    if (part.factor) {
      along.push_back(&part);
      continue;
    }
    double multiple = std::exchange(part.weight, 1) * scale;
    Expr *row = rowFactor(graph, part, x->loc);
    result.shifts.emplace_back(multiple, row ? row : graph.constant(1, x->loc));
  }
  assert(!along.empty() && "what is constant along the loop is the row's");

  // A common positive constant stands outside of a: p * p and exp(2 * s) are
  // then powers of the same exponential.
  double kappa = along.front()->weight;
  if (kappa <= 0 ||
      llvm::any_of(along, [&](Term *part) { return part->weight != kappa; }))
    kappa = 1;
  Expr *a = nullptr;
  for (Term *part : along) {
    part->weight /= kappa;
    Expr *row = rowFactor(graph, *part, x->loc);
    if (row && isHot(row))
      return fail(x, "a statistic of this loop multiplies the exponent");
    Expr *summand =
        row ? graph.make<arith::MulFOp>({row, part->factor}) : part->factor;
    a = a ? graph.make<arith::AddFOp>({a, summand}) : summand;
  }
  result.exponentials.push_back({kappa * scale, a});
  return Terms{result};
}

Decomposer::Result Decomposer::logarithm(Expr *x) {
  Result terms = visit(x->operands[0], /*inExponent=*/false);
  if (failed(terms))
    return failure();
  if (terms->size() != 1 || terms->front().kept || terms->front().factor)
    return fail(x, "the logarithm's argument is no single exponential");
  Term &term = terms->front();
  // log c + lc is one row value: as two they might cancel.
  Expr *row = nullptr;
  if (Expr *factor = rowFactor(graph, term, x->loc))
    row = graph.make<math::LogOp>({factor});
  for (auto [multiple, shift] : term.shifts) {
    Expr *summand = multiple == 1
                        ? shift
                        : graph.make<arith::MulFOp>(
                              {graph.constant(multiple, x->loc), shift});
    row = row ? graph.make<arith::AddFOp>({row, summand}) : summand;
  }
  Terms result;
  if (row)
    result.emplace_back().numerators = {row};
  for (auto [kappa, a] : term.exponentials) {
    Term &exponent = result.emplace_back();
    exponent.weight = kappa;
    exponent.factor = a;
  }
  return result;
}

Decomposer::Result Decomposer::squareRoot(Expr *x) {
  Result terms = visit(x->operands[0], /*inExponent=*/false);
  if (failed(terms))
    return failure();
  if (terms->size() != 1 || terms->front().factor)
    return fail(x, "the root's argument is no single exponential");
  Term &term = terms->front();
  // The exponentials are positive, so c alone carries the sign.
  if (Expr *row = rowFactor(graph, term, x->loc)) {
    term.numerators = {graph.make<math::SqrtOp>({row})};
    term.denominators.clear();
    term.weight = 1;
  }
  for (auto &[multiple, shift] : term.shifts)
    multiple /= 2;
  for (auto &[kappa, a] : term.exponentials)
    kappa /= 2;
  return terms;
}

Decomposer::Result Decomposer::power(Expr *x) {
  auto exponent = constantOf(x->operands[1]);
  if (!exponent || *exponent != std::floor(*exponent) || *exponent < 1 ||
      *exponent > double(maxTerms))
    return fail(x, "the power is no small constant integer");
  Result base = visit(x->operands[0], /*inExponent=*/false);
  if (failed(base))
    return failure();
  Terms result = *base;
  for (int i = 1; i < int(*exponent); ++i) {
    Result next = products(x, result, *base);
    if (failed(next))
      return failure();
    result = *next;
  }
  return result;
}

Decomposer::Result Decomposer::select(Expr *x) {
  Expr *condition = x->operands[0];
  bool row = isRow(condition);
  if (!row && isHot(condition))
    return fail(condition, "the condition depends on a statistic of this loop");
  Terms result;
  for (bool yes : {true, false}) {
    Expr *branch = x->operands[yes ? 1 : 2];
    if (isZero(branch))
      continue;
    Result terms = visit(branch, /*inExponent=*/false);
    if (failed(terms))
      return failure();
    Expr *when = yes ? condition : graph.logicalNot(condition);
    for (Term &term : *terms) {
      if (row)
        keep(term, when);
      else
        mask(term, when);
      result.push_back(std::move(term));
    }
  }
  if (result.size() > maxTerms)
    return fail(x, "there would be more than 8 terms");
  return result;
}

/// Makes the term 0 where `condition`, the row's, is false.
void Decomposer::keep(Term &term, Expr *condition) {
  if (term.otherwise)
    term.otherwise = graph.select(condition, term.otherwise,
                                  graph.constant(0, condition->loc));
  term.kept =
      term.kept ? graph.make<arith::AndIOp>({term.kept, condition}) : condition;
  if (term.sumsOtherwise)
    zeroUnless(graph, term, condition);
}

/// Makes the term 0 where `condition`, which changes along the loop, is false.
/// An exponential is masked in its exponent, so that its running maximum sees
/// visible elements only; but not if the formula itself subtracts the maximum
/// of the unmasked exponent (a mask after the softmax): that maximum is carried
/// already, and the factor is masked.
void Decomposer::mask(Term &term, Expr *condition) {
  bool masked = false;
  term.present = term.present
                     ? graph.make<arith::AndIOp>({term.present, condition})
                     : condition;
  for (Exponential &exponential : term.exponentials) {
    Expr *a = exponential.a;
    bool subtracted = llvm::any_of(term.shifts, [&](auto &shift) {
      return shift.first == -exponential.kappa &&
             isReferenceOf(shift.second, a);
    });
    if (subtracted || masked)
      continue;
    exponential.a = graph.select(
        condition, a,
        graph.constant(-std::numeric_limits<double>::infinity(), a->loc));
    masked = true;
  }
  if (masked && !term.factor)
    return;
  Location loc = condition->loc;
  term.factor = graph.select(condition,
                             term.factor ? term.factor : graph.constant(1, loc),
                             graph.constant(0, loc));
}

} // namespace attentile::fusion
