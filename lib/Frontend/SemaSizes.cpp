//===- SemaSizes.cpp - size expressions: making, comparing, bounding ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace attentile;
using namespace attentile::frontend;
using ast::Expr;
using llvm::Twine;

static constexpr int64_t largestSize = std::numeric_limits<int32_t>::max();

/// All shapes of a kernel together; more would be no kernel but an attack.
static constexpr unsigned maxSizeNodes = 4096;

//===----------------------------------------------------------------------===//
// Values and text
//===----------------------------------------------------------------------===//

std::optional<int64_t> SizeExpr::evaluate(
    llvm::function_ref<std::optional<int64_t>(unsigned)> lookup) const {
  if (kind == Constant)
    return value;
  if (kind == Size)
    return lookup(size);
  auto a = lhs->evaluate(lookup), b = rhs->evaluate(lookup);
  if (!a || !b)
    return std::nullopt;
  int64_t result = 0;
  bool overflow = false;
  switch (kind) {
  case Add:
    overflow = llvm::AddOverflow(*a, *b, result);
    break;
  case Sub:
    overflow = llvm::SubOverflow(*a, *b, result);
    break;
  case Mul:
    overflow = llvm::MulOverflow(*a, *b, result);
    break;
  case FloorDiv:
  case Mod: {
    if (*b == 0)
      return 0;
    if (*b == -1)
      return kind == Mod ? 0
             : llvm::SubOverflow<int64_t>(0, *a, result)
                 ? std::optional<int64_t>()
                 : result;
    int64_t remainder = *a % *b;
    if (remainder != 0 && (remainder < 0) != (*b < 0))
      remainder += *b;
    return kind == Mod ? remainder : (*a - remainder) / *b;
  }
  default:
    break;
  }
  return overflow ? std::nullopt : std::optional<int64_t>(result);
}

std::optional<int64_t> CheckedKernel::evaluate(const SizeExpr &expr) const {
  return expr.evaluate([&](unsigned size) { return sizes[size].bound; });
}

/// How tightly an expression's operator binds, as in C.
static unsigned precedence(SizeExpr::Kind kind) {
  if (kind == SizeExpr::Constant || kind == SizeExpr::Size)
    return 3;
  return kind == SizeExpr::Add || kind == SizeExpr::Sub ? 1 : 2;
}

std::string CheckedKernel::text(const SizeExpr &expr) const {
  if (expr.kind == SizeExpr::Constant)
    return std::to_string(expr.value);
  if (expr.kind == SizeExpr::Size)
    return sizes[expr.size].name.str();
  unsigned own = precedence(expr.kind);
  auto operand = [&](const SizeExpr &e, unsigned least) {
    std::string inner = text(e);
    return precedence(e.kind) < least ? "(" + inner + ")" : inner;
  };
  static constexpr const char *symbols[] = {" + ", " - ", " * ", " / ", " % "};
  return operand(*expr.lhs, own) + symbols[expr.kind - SizeExpr::Add] +
         operand(*expr.rhs, own + 1);
}

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

const SizeExpr *Sema::makeSize(SizeExpr expr) {
  return new (arena.Allocate<SizeExpr>()) SizeExpr(expr);
}

unsigned Sema::addSize(ast::Name name) {
  auto it = names.find(name.str());
  if (it != names.end())
    return it->second.id;
  unsigned id = kernel.sizes.size();
  kernel.sizes.push_back({name.str(), name.range, std::nullopt, false, false});
  names.try_emplace(name.str(), Entity{Entity::Size, id, name.range});
  return id;
}

const SizeExpr *Sema::sizeExpr(const Expr &expr) {
  if (++sizeNodes > maxSizeNodes) {
    if (sizeNodes == maxSizeNodes + 1)
      // [L8.5]
      error(expr.range, "expected shapes of at most " + Twine(maxSizeNodes) +
                            " sizes and operators, got more");
    return nullptr;
  }
  if (expr.kind == Expr::Int) {
    if (expr.intValue <= largestSize)
      return makeSize({SizeExpr::Constant, expr.intValue, 0, nullptr, nullptr});
    // [L1.1]
    error(expr.range, "expected a number below 2^31 in a shape, got " +
                          Twine(expr.intValue));
    return nullptr;
  }
  if (expr.kind == Expr::Ref) {
    auto it = names.find(expr.name.str());
    if (it == names.end() || it->second.kind == Entity::Size)
      return makeSize(
          {SizeExpr::Size, 0, addSize(expr.name), nullptr, nullptr});
    // [L1.1]
    error(expr.range, "expected a size, got " + kindName(it->second) + " '" +
                          expr.name.str() + "'")
        .note(file, it->second.range, "it is declared here");
    return nullptr;
  }
  static constexpr std::pair<ast::BinaryOp, SizeExpr::Kind> operators[] = {
      {ast::BinaryOp::Add, SizeExpr::Add},
      {ast::BinaryOp::Sub, SizeExpr::Sub},
      {ast::BinaryOp::Mul, SizeExpr::Mul},
      {ast::BinaryOp::Div, SizeExpr::FloorDiv},
      {ast::BinaryOp::Mod, SizeExpr::Mod}};
  if (expr.kind == Expr::Binary)
    for (auto [op, kind] : operators)
      if (expr.binaryOp == op) {
        const SizeExpr *lhs = sizeExpr(*expr.args[0]);
        const SizeExpr *rhs = sizeExpr(*expr.args[1]);
        if (!lhs || !rhs)
          return nullptr;
        return makeSize({kind, 0, 0, lhs, rhs});
      }
  // [L1.1]
  error(expr.range, "expected a size: numbers, names, + - * / % and brackets")
      .note("a dimension is computed from sizes only");
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

unsigned Sema::opaqueAtom(SizeExpr::Kind kind, LinearSize lhs, LinearSize rhs) {
  constexpr unsigned firstOpaque = 1u << 24; // above every size
  for (auto [i, atom] : llvm::enumerate(opaqueSizes))
    if (atom.kind == kind && atom.lhs == lhs && atom.rhs == rhs)
      return firstOpaque + i;
  opaqueSizes.push_back({kind, std::move(lhs), std::move(rhs)});
  return firstOpaque + opaqueSizes.size() - 1;
}

/// Adds `factor` times `form`. Coefficients wrap: two shapes that differ by a
/// multiple of 2^64 cannot be told apart, and both are refused elsewhere.
static void addTerms(LinearSize &to, const LinearSize &form, int64_t factor) {
  auto times = [&](int64_t x) {
    return static_cast<int64_t>(uint64_t(x) * uint64_t(factor));
  };
  auto plus = [](int64_t x, int64_t y) {
    return static_cast<int64_t>(uint64_t(x) + uint64_t(y));
  };
  to.constant = plus(to.constant, times(form.constant));
  for (auto [atom, coefficient] : form.terms) {
    auto *it = std::lower_bound(
        to.terms.begin(), to.terms.end(), atom,
        [](const auto &term, unsigned atom) { return term.first < atom; });
    if (it == to.terms.end() || it->first != atom)
      it = to.terms.insert(it, {atom, 0});
    it->second = plus(it->second, times(coefficient));
    if (it->second == 0)
      to.terms.erase(it);
  }
}

LinearSize Sema::linear(const SizeExpr &expr) {
  LinearSize result;
  switch (expr.kind) {
  case SizeExpr::Constant:
    result.constant = expr.value;
    return result;
  case SizeExpr::Size:
    result.terms.push_back({expr.size, 1});
    return result;
  case SizeExpr::Add:
  case SizeExpr::Sub:
    result = linear(*expr.lhs);
    addTerms(result, linear(*expr.rhs), expr.kind == SizeExpr::Add ? 1 : -1);
    return result;
  case SizeExpr::Mul: {
    LinearSize a = linear(*expr.lhs), b = linear(*expr.rhs);
    if (a.terms.empty() || b.terms.empty()) {
      bool constantFirst = a.terms.empty();
      addTerms(result, constantFirst ? b : a,
               constantFirst ? a.constant : b.constant);
      return result;
    }
    // A product is the same in either order.
    if (b.terms.front().first < a.terms.front().first)
      std::swap(a, b);
    result.terms.push_back(
        {opaqueAtom(expr.kind, std::move(a), std::move(b)), 1});
    return result;
  }
  case SizeExpr::FloorDiv:
  case SizeExpr::Mod: {
    LinearSize a = linear(*expr.lhs), b = linear(*expr.rhs);
    if (a.terms.empty() && b.terms.empty()) {
      result.constant =
          expr.evaluate([](unsigned) { return std::nullopt; }).value_or(0);
      return result;
    }
    result.terms.push_back(
        {opaqueAtom(expr.kind, std::move(a), std::move(b)), 1});
    return result;
  }
  }
  return result;
}

bool Sema::sameSize(const SizeExpr &a, const SizeExpr &b) {
  if (a.kind == SizeExpr::Size && b.kind == SizeExpr::Size)
    return a.size == b.size;
  return linear(a) == linear(b);
}

//===----------------------------------------------------------------------===//
// Bounding
//===----------------------------------------------------------------------===//

/// A bound on the expression's constants multiplied out, so that nobody who
/// simplifies it later overflows.
static double magnitude(const SizeExpr &expr) {
  switch (expr.kind) {
  case SizeExpr::Constant:
    return std::max<double>(1, expr.value);
  case SizeExpr::Size:
    return 1;
  case SizeExpr::Add:
  case SizeExpr::Sub:
    return magnitude(*expr.lhs) + magnitude(*expr.rhs);
  case SizeExpr::Mul:
    return magnitude(*expr.lhs) * magnitude(*expr.rhs);
  case SizeExpr::FloorDiv:
  case SizeExpr::Mod:
    return std::max(magnitude(*expr.lhs), magnitude(*expr.rhs));
  }
  return 1;
}

void Sema::checkDimensions() {
  auto check = [&](const ast::Param &param, const CheckedParam &checked) {
    for (auto [dimension, size] : llvm::zip(param.shape, checked.shape)) {
      if (!size)
        continue;
      if (magnitude(*size) > largestSize) {
        // [L1.2]
        error(dimension->range, "expected a dimension below 2^31, got '" +
                                    kernel.text(*size) + "'");
        continue;
      }
      auto value = kernel.evaluate(*size);
      if (value && (*value < 0 || *value > largestSize))
        // [L1.2]
        error(dimension->range,
              "expected a dimension from 0 to 2^31 - 1, got " + Twine(*value));
    }
  };
  for (auto [param, checked] : llvm::zip(decl.ins, kernel.ins))
    check(param, checked);
  for (auto [param, checked] : llvm::zip(decl.outs, kernel.outs))
    check(param, checked);
}
