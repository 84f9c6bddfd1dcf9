//===- SemaBounds.cpp - reads known to lie outside ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An index is written as a sum of coefficient * atom, atoms being sizes, index
// variables and what is not linear. With the dimension subtracted, equal atoms
// cancel: m + M in a dimension M is m, which is at least 0, so outside. What
// sizes are bound to counts only for an index that is the same everywhere: with
// N = 1, n + 1 is outside too, but the same program is right for any other N.
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include <algorithm>

using namespace attentile;
using namespace attentile::frontend;
using llvm::Twine;

namespace {
constexpr unsigned firstIndex = 1u << 25;
constexpr unsigned firstNode = 1u << 26;
constexpr int64_t unbounded = std::numeric_limits<int64_t>::max();

/// A linear form; `isValid` is false once it got too large to be of use.
struct Form {
  __int128 constant = 0;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 8> terms;
  bool isValid = true;
  unsigned visited = 0; // calls share their arguments: many paths

  void add(unsigned atom, int64_t coefficient) {
    for (auto &[known, sum] : terms)
      if (known == atom) {
        sum += coefficient;
        return;
      }
    terms.push_back({atom, coefficient});
    isValid &= terms.size() <= 16;
  }
  void add(const LinearSize &size, int64_t factor) {
    constant += __int128(size.constant) * factor;
    for (auto [atom, coefficient] : size.terms)
      add(atom, coefficient * factor);
  }
};
} // namespace

/// Adds `factor` times the index expression.
static void addExpr(Form &form, const TypedExpr &expr, int64_t factor,
                    llvm::function_ref<LinearSize(const SizeExpr &)> linear,
                    unsigned depth) {
  if (!form.isValid || depth > 32 || ++form.visited > 256 ||
      std::abs(factor) > (1 << 20)) {
    form.isValid = false;
    return;
  }
  auto descend = [&](unsigned i, int64_t times) {
    addExpr(form, *expr.operands[i], factor * times, linear, depth + 1);
  };
  switch (expr.op) {
  case TypedExpr::IntConst:
    form.constant += __int128(expr.intValue) * factor;
    return;
  case TypedExpr::IndexVar:
    form.add(firstIndex + expr.id, factor);
    return;
  case TypedExpr::Size:
    form.add(linear(*expr.size), factor);
    return;
  case TypedExpr::Add:
    descend(0, 1);
    descend(1, 1);
    return;
  case TypedExpr::Sub:
    descend(0, 1);
    descend(1, -1);
    return;
  case TypedExpr::Neg:
    descend(0, -1);
    return;
  case TypedExpr::Mul:
    for (unsigned i : {0, 1}) {
      auto constant = expr.operands[i]->constant();
      if (constant && std::abs(*constant) <= (1 << 20))
        return descend(1 - i, *constant);
    }
    break;
  default:
    break;
  }
  form.add(firstNode + expr.order, factor);
}

void Sema::checkInside(const TypedExpr *index, const CheckedParam &tensor,
                       unsigned dimension, const Scope &scope) {
  const SizeExpr &size = *tensor.shape[dimension];
  if (index->op == TypedExpr::IndexVar &&
      kernel.indices[index->id].extent == &size)
    return;
  auto value = kernel.evaluate(size);
  if (value == 0)
    return; // nothing is read
  auto linearOf = [&](const SizeExpr &e) {
    auto value = kernel.evaluate(e);
    if (value && !index->axes) {
      LinearSize known;
      known.constant = *value;
      return known;
    }
    return linear(e);
  };
  // The largest value of a form, negated for the smallest of its negative.
  auto upperBound = [&](Form form) -> std::optional<__int128> {
    // An index variable is from 0 to its extent - 1; extents may cancel too.
    llvm::SmallVector<std::pair<unsigned, int64_t>, 8> terms = form.terms;
    form.terms.clear();
    for (auto [atom, coefficient] : terms) {
      if (atom < firstIndex || atom >= firstNode)
        form.add(atom, coefficient);
      else if (coefficient > 0) {
        form.add(linearOf(*kernel.indices[atom - firstIndex].extent),
                 coefficient);
        form.constant -= coefficient;
      }
    }
    if (!form.isValid)
      return std::nullopt;
    __int128 bound = form.constant;
    for (auto [atom, coefficient] : form.terms) {
      int64_t low = -unbounded, high = unbounded;
      if (atom < kernel.sizes.size()) {
        low = 0;
        high = std::numeric_limits<int32_t>::max();
      } else if (atom >= firstNode) {
        low = nodes[atom - firstNode]->low;
        high = nodes[atom - firstNode]->high;
      }
      int64_t extreme = coefficient > 0 ? high : low;
      if (coefficient != 0 && (extreme >= unbounded || extreme <= -unbounded))
        return std::nullopt;
      bound += __int128(extreme) * coefficient;
    }
    return bound;
  };

  Form below; // index
  addExpr(below, *index, 1, linearOf, 0);
  Form above; // size - 1 - index
  addExpr(above, *index, -1, linearOf, 0);
  if (above.isValid) {
    above.add(linearOf(size), 1);
    above.constant -= 1;
  }
  for (const Form &form : {below, above}) {
    if (!form.isValid)
      continue;
    auto bound = upperBound(form);
    if (!bound || *bound >= 0)
      continue;
    // [L1.14]
    error(scope, index->range,
          "expected an index that can lie inside dimension " +
              Twine(dimension) + " of '" + tensor.name + "', of size " +
              kernel.text(size) +
              (value && size.kind != SizeExpr::Constant
                   ? " = " + std::to_string(*value)
                   : "") +
              ", got one that is always outside")
        .note(
            file, tensor.range,
            "dimensions count from 0, and indices run from 0 to the size - 1");
    return;
  }
}
