//===- Reductions.cpp - reductions, softmax and logsumexp -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "Runs.h"

namespace attentile::reference {

namespace {
/// A sum in the order of its terms, with its bound: what each term brings and
/// the roundings of an f32 sum of k terms in any order (roundingsOf).
struct Sum {
  double v = 0, magnitude = 0, e = 0;
  Runs runs;
  bool out = false, isNaN = false;
  /// Whether a term is infinite or NaN: a NaN beside it is not certain.
  bool isFree = false;
  /// Whether a term is so small that it or a partial sum may be subnormal, and
  /// taken as 0: sums of larger terms are multiples of 2^-126.
  bool isTiny = false;

  void add(Num x) {
    v += x.v;
    magnitude += std::fabs(x.v);
    runs.add(x.v);
    e += x.e;
    out |= isOut(x);
    isNaN |= isCertainNaN(x);
    isFree |= isOut(x) && std::isinf(x.v);
    isTiny |= x.v != 0 && std::fabs(x.v) < 0x1p24 * kTiny;
  }
  Num finish(int64_t terms) const {
    if (isNaN && !isFree)
      return {NAN, 0};
    // A partial sum may overflow where the sum does not.
    bool overflows = std::isfinite(v) && !(magnitude <= kMax);
    double sum = e + roundingsOf(terms, runs.squares()) * kU * magnitude;
    if (isTiny)
      sum += terms * kTiny;
    return reference::finish(v, overflows ? kInf : sum, out);
  }
};
} // namespace

/// One reduction of floats; `at(k)` is the k-th term. A ref passes over NaN: a
/// hidden term is then exp(-inf - ref) = 0, which times the NaN of the row's
/// sum may be 0 or NaN where the NaN came from a tensor.
template <typename Terms>
static Num reduceFloats(attn::ReduceKind kind, int64_t terms, Terms at) {
  if (kind == attn::ReduceKind::Sum) {
    Sum sum;
    for (int64_t k = 0; k < terms; ++k)
      sum.add(at(k));
    return sum.finish(terms);
  }
  bool smallest = kind == attn::ReduceKind::Min;
  Num result{smallest ? kInf : -kInf, 0};
  for (int64_t k = 0; k < terms; ++k)
    result = smallest ? min(result, at(k))
                      : max(result, at(k), kind == attn::ReduceKind::Ref);
  if (kind == attn::ReduceKind::Ref) {
    // What depends on it cancels its error (subRef), so it has none.
    if (result.v == -kInf)
      return {0, isOut(result) ? kInf : 0};
    return {result.v, isOut(result) ? kInf : 0};
  }
  return result;
}

/// One reduction of integers or bools.
template <typename Terms>
static Whole reduceWholes(attn::ReduceKind kind, int64_t terms, Terms at) {
  Whole result;
  switch (kind) {
  case attn::ReduceKind::Sum:
    for (int64_t k = 0; k < terms; ++k) {
      Whole x = at(k);
      result.v = static_cast<int64_t>(uint64_t(result.v) + uint64_t(x.v));
      result.e += x.e;
    }
    return result;
  case attn::ReduceKind::Any:
  case attn::ReduceKind::All: {
    int64_t decides = kind == attn::ReduceKind::Any;
    result.v = !decides;
    for (int64_t k = 0; k < terms; ++k) {
      Whole x = at(k);
      if (x.v == decides && x.e == 0)
        return {decides, 0};
      result.v = x.v == decides ? decides : result.v;
      result.e = std::max(result.e, x.e);
    }
    return result;
  }
  default: // an integer max or min of nothing is 0
    for (int64_t k = 0; k < terms; ++k) {
      Whole x = at(k);
      bool better = k == 0 || (kind == attn::ReduceKind::Min ? x.v < result.v
                                                             : x.v > result.v);
      result.v = better ? x.v : result.v;
      result.e = std::max(result.e, x.e);
    }
    return result;
  }
}

void Evaluator::reduce(const Step &step, Array &to) {
  const Array &from = operand(step, 0);
  size_t results = step.outer.size();
  int64_t terms = termsOf(step);
  to.e.resize(results);
  bool exact = true;
  if (step.kind != Kind::Float) {
    to.i.resize(results);
    for (size_t r = 0; r < results; ++r) {
      Whole x = reduceWholes(step.reduce, terms, [&](int64_t k) {
        return from.whole(step.outer[r] + step.inner[k]);
      });
      to.i[r] = x.v;
      to.e[r] = x.e;
      exact &= x.e == 0;
    }
  } else {
    to.v.resize(results);
    to.w.resize(from.w.empty() ? 0 : results);
    for (size_t r = 0; r < results; ++r) {
      Num x = reduceFloats(step.reduce, terms, [&](int64_t k) {
        return from.num(step.outer[r] + step.inner[k]);
      });
      to.v[r] = x.v;
      to.e[r] = x.e;
      exact &= x.e == 0;
    }
    for (size_t r = 0; r < to.w.size(); ++r)
      to.w[r] = reduceFloats(step.reduce, terms, [&](int64_t k) {
                  return Num{from.w[step.outer[r] + step.inner[k]], 0};
                }).v;
  }
  if (exact)
    to.e.clear();
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// exp(s - ref) of each term into `powers`; returns ref and their sum.
template <typename Terms>
static std::pair<Num, Num> exponentials(int64_t terms, Terms at,
                                        std::vector<Num> &powers) {
  Num ref = reduceFloats(attn::ReduceKind::Ref, terms, at);
  powers.resize(terms);
  Sum sum;
  for (int64_t k = 0; k < terms; ++k) {
    powers[k] = exp(subRef(at(k), ref));
    sum.add(powers[k]);
  }
  return {ref, sum.finish(terms)};
}

/// The lowered form (attn-lower-softmax), so that both have the same bounds:
///   softmax = exp(s - ref) * (l == 0 ? 0 : 1 / l),  logsumexp = ref + log l
void Evaluator::softmax(const Step &step, Array &to) {
  const Array &from = operand(step, 0);
  bool isSoftmax = step.op == Op::Softmax;
  int64_t terms = termsOf(step);
  std::vector<Num> powers;
  to.v.resize(step.count);
  to.e.resize(step.count);
  to.w.resize(from.w.empty() ? 0 : step.count);
  auto run = [&](size_t r, auto at, auto put) {
    auto [ref, sum] = exponentials(terms, at, powers);
    emptyRows += terms > 0 && sum.v == 0 && !isOut(sum);
    if (!isSoftmax)
      return put(r, add(ref, log(sum), step.tainted));
    Num inverse = sum.v == 0 && !isOut(sum) ? Num{} : div({1, 0}, sum);
    for (int64_t k = 0; k < terms; ++k)
      put(step.outerTo[r] + step.innerTo[k],
          mul(powers[k], inverse, step.tainted));
  };
  for (size_t r = 0; r < step.outer.size(); ++r) {
    run(
        r, [&](int64_t k) { return from.num(step.outer[r] + step.inner[k]); },
        [&](size_t i, Num x) {
          to.v[i] = x.v;
          to.e[i] = x.e;
        });
    if (!from.w.empty())
      run(
          r,
          [&](int64_t k) {
            return Num{from.w[step.outer[r] + step.inner[k]], 0};
          },
          [&](size_t i, Num x) { to.w[i] = x.v; });
  }
}

} // namespace attentile::reference
