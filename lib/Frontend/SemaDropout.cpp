//===- SemaDropout.cpp - elements dropped at random -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   dropout(x, rate, seed) = x * where(kept, 1, 0) * (1 / (1 - rate))
//   kept = random(seed, x's indices) >= i32(u + 128 * floor(u / 128))
//   u = floor(16384 * rate + 0.5)
//
// where a random number of 14 bits is two bytes of seven, and so is u; so that
// only `kept` is new: products are what every pass knows, and the last factor,
// the same everywhere, leaves the sum that the value stands under.
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace attentile;
using namespace attentile::frontend;
using ast::Expr;
using llvm::Twine;

/// Whether the value is made of sizes and scalars.
static bool isOfScalars(const TypedExpr *value) {
  llvm::SmallVector<const TypedExpr *> open = {value};
  llvm::DenseSet<const TypedExpr *> seen;
  while (!open.empty()) {
    const TypedExpr *next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (next->op == TypedExpr::Read || next->op == TypedExpr::IndexVar ||
        next->isReduction())
      return false;
    open.append(next->operands.begin(), next->operands.end());
  }
  return true;
}

/// Where an axis's size first stands in the kernel's head.
unsigned Sema::placeInHead(const CheckedIndex &index) {
  unsigned place = 0;
  for (const auto *params : {&kernel.ins, &kernel.outs})
    for (const CheckedParam &param : *params)
      for (const SizeExpr *size : param.shape) {
        if (size == index.extent || sameSize(*size, *index.extent))
          return place;
        ++place;
      }
  return place;
}

/// 0 <= rate < 1, now or as a constraint on the caller.
bool Sema::constrainRate(const TypedExpr *rate, const Expr &written,
                         const Scope &scope) {
  SourceRange range = rate->range;
  auto compare = [&](TypedExpr::Op op, double limit) {
    return make(op, ValueType::Bool, range, {rate, floatConst(limit, range)});
  };
  const TypedExpr *valid =
      make(TypedExpr::And, ValueType::Bool, range,
           {compare(TypedExpr::Ge, 0), compare(TypedExpr::Lt, 1)});
  if (!valid)
    return false;
  std::optional<bool> known = evaluateCondition(*valid, kernel);
  if (known && !*known) {
    // [L2.18]
    error(scope, written.range,
          "expected a rate of at least 0 and below 1, got another one")
        .note("it is the share of elements that become 0; the others are "
              "divided by 1 - rate");
    return false;
  }
  if (!known) {
    std::string source = file.text(range).str();
    llvm::StringRef text = source;
    std::string condition = ("0 <= (" + text + ") && (" + text + ") < 1").str();
    if (llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
      condition = ("0 <= " + text + " && " + text + " < 1").str();
    kernel.constraints.push_back(
        {valid, llvm::StringRef(condition).copy(arena), range});
  }
  return true;
}

const TypedExpr *Sema::dropout(const Expr &expr, const Scope &scope,
                               llvm::ArrayRef<const TypedExpr *> args) {
  const TypedExpr *value = toFloat(args[0]), *rate = toFloat(args[1]),
                  *seed = args[2];
  if (!value || !rate)
    return nullptr;
  const Expr &writtenRate = *expr.args[1], &writtenSeed = *expr.args[2];
  llvm::SmallVector<unsigned, 4> indices;
  for (unsigned i = 0; i < kernel.indices.size(); ++i)
    if (value->axes >> i & 1)
      indices.push_back(i);
  if (indices.empty() || indices.size() > 4) {
    // [L2.18]
    error(scope, expr.args[0]->range,
          "expected a value with one to four axes under 'dropout', got " +
              Twine(indices.size()))
        .note("which elements are dropped depends on their indices, of which "
              "the generator's counter holds four");
    return nullptr;
  }
  if (!isOfScalars(rate)) {
    // [L2.18]
    error(scope, writtenRate.range,
          "expected a rate of sizes and scalars, got one that depends on an "
          "index variable or a tensor")
        .note("one rate holds for the whole value");
    return nullptr;
  }
  if (seed->type != ValueType::Int || seed->axes) {
    // [L2.18]
    error(scope, writtenSeed.range,
          seed->type == ValueType::Int
              ? Twine("expected one seed, got one that depends on an index "
                      "variable")
              : Twine("expected an integer as seed, got ") +
                    spelling(seed->type))
        .note("the elements' indices are counted in by themselves");
    return nullptr;
  }
  if (!constrainRate(rate, writtenRate, scope))
    return nullptr;
  llvm::stable_sort(indices, [&](unsigned a, unsigned b) {
    return placeInHead(kernel.indices[a]) < placeInHead(kernel.indices[b]);
  });

  SourceRange range = expr.range;
  auto apply = [&](TypedExpr::Op op,
                   std::initializer_list<const TypedExpr *> operands) {
    return make(op, ValueType::Float, range, operands);
  };
  TypedExpr least{};
  least.op = TypedExpr::ToInt;
  least.type = ValueType::Int;
  least.element = ElementType::I32;
  least.range = range;
  const TypedExpr *share =
      apply(TypedExpr::Mul, {rate, floatConst(16384, range)});
  share = apply(TypedExpr::Floor,
                {apply(TypedExpr::Add, {share, floatConst(0.5, range)})});
  const TypedExpr *high =
      apply(TypedExpr::Floor,
            {apply(TypedExpr::Mul, {share, floatConst(1. / 128, range)})});
  share = apply(TypedExpr::Add,
                {share, apply(TypedExpr::Mul, {high, floatConst(128, range)})});
  llvm::SmallVector<const TypedExpr *, 6> operands = {seed, node(least, share)};
  for (unsigned i : indices) {
    TypedExpr index{};
    index.op = TypedExpr::IndexVar;
    index.type = ValueType::Int;
    index.range = range;
    index.id = i;
    operands.push_back(node(index, {}));
  }
  const TypedExpr *kept =
      make(TypedExpr::Kept, ValueType::Bool, range, operands);
  const TypedExpr *chosen =
      apply(TypedExpr::Mul,
            {value, apply(TypedExpr::Select,
                          {kept, floatConst(1, range), floatConst(0, range)})});
  const TypedExpr *scale = apply(
      TypedExpr::Div, {floatConst(1, range),
                       apply(TypedExpr::Sub, {floatConst(1, range), rate})});
  return apply(TypedExpr::Mul, {chosen, scale});
}
