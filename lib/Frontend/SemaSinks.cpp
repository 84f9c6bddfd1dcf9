//===- SemaSinks.cpp - one more logit in a softmax ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With a = logsumexp[n](s) and c the sink, which no value belongs to:
//
//   logsumexp[n](s, sink = c) = max(a, c) + log(1 + exp(-abs(a - c)))
//   softmax[n](s, sink = c)   = softmax[n](s) * sigmoid(a - c)
//
// so that a sink is a factor of the row, which leaves the sum over the keys as
// every such factor does, and no pass has to know of it. Of -inf less -inf,
// which is no number, neither asks.
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include <cmath>

using namespace attentile;
using namespace attentile::frontend;
using ast::Expr;

const TypedExpr *Sema::sinkOf(const Expr &expr, AxisSet bound,
                              const Scope &scope) {
  const Expr &written = *expr.args[1];
  const TypedExpr *sink = visit(written, scope);
  if (expr.reduction != ast::Reduction::Softmax &&
      expr.reduction != ast::Reduction::Logsumexp) {
    // [L2.10]
    error(scope, written.range,
          "expected a sink in a softmax or a logsumexp, got one in '" +
              ast::spelling(expr.reduction) + "'");
    return nullptr;
  }
  if (!expectNumber(sink, written, scope, "for the sink"))
    return nullptr;
  for (ast::Name axis : expr.axes)
    if (auto index = indexVariable(scope, axis);
        index && (sink->axes & bound) >> *index & 1) {
      // [L2.10]
      error(scope, written.range,
            "expected one sink for each row, got one that depends on '" +
                axis.str() + "'");
      return nullptr;
    }
  return toFloat(sink);
}

const TypedExpr *Sema::addSink(const TypedExpr *reduced, const TypedExpr *sink,
                               SourceRange range) {
  auto apply = [&](TypedExpr::Op op,
                   std::initializer_list<const TypedExpr *> operands) {
    return make(op, ValueType::Float, range, operands);
  };
  auto isNothing = [&](const TypedExpr *value) {
    return make(TypedExpr::Eq, ValueType::Bool, range,
                {value, floatConst(-HUGE_VAL, range)});
  };
  TypedExpr all = *reduced;
  all.op = TypedExpr::Logsumexp;
  const TypedExpr *sum = reduced->op == TypedExpr::Logsumexp
                             ? reduced
                             : node(all, reduced->operands);
  const TypedExpr *difference = apply(TypedExpr::Sub, {sum, sink});
  if (reduced->op == TypedExpr::Softmax) {
    const TypedExpr *share = apply(TypedExpr::Sigmoid, {difference});
    share = apply(TypedExpr::Select,
                  {isNothing(sink), floatConst(1, range), share});
    return apply(TypedExpr::Mul, {reduced, share});
  }
  const TypedExpr *larger = apply(TypedExpr::Max, {sum, sink});
  const TypedExpr *distance =
      apply(TypedExpr::Neg, {apply(TypedExpr::Abs, {difference})});
  const TypedExpr *more =
      apply(TypedExpr::Log,
            {apply(TypedExpr::Add,
                   {floatConst(1, range), apply(TypedExpr::Exp, {distance})})});
  return apply(TypedExpr::Select, {isNothing(larger), larger,
                                   apply(TypedExpr::Add, {larger, more})});
}
