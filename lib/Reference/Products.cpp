//===- Products.cpp - sums of products ------------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nearly all of an attention's time. The bound of sum_k a b,
//
//   sum |a| e(b) + |b| e(a) + e(a) e(b)  +  (4 sqrt(k) + 1) u sum |a b|,
//
// is a sum of products too: with c = e(a) + (4 sqrt(k) + 1) u |a|, that is
// sum c |b| + (|a| + e(a)) e(b), and the last is absent where b is read from
// memory. So value and bound are two or three sums, over rows of memory. (More
// than 4 sqrt(k) where both factors have runs of equal elements, Runs.h.)
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "Runs.h"

// The rows are compiled for wide vectors too, and the machine chooses. Not
// under sanitizers: the choice is made before they are set up.
#if defined(__x86_64__) && defined(__clang__)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define ATTENTILE_WIDE                                                         \
  __attribute__((target_clones("arch=x86-64-v3", "default")))
#endif
#endif
#ifndef ATTENTILE_WIDE
#define ATTENTILE_WIDE
#endif

namespace attentile::reference {

/// A factor made ready: null pointers are absent.
struct Prepared {
  const double *v;
  const double *e = nullptr; // e(x) with roundings and flushes
  const double *w = nullptr; // rounded to the product's type
  std::vector<double> eStorage, wStorage;

  Prepared() = default;
  Prepared(const Prepared &) = delete; // of its own storage
};

namespace {
/// Where the three sums of a row go, or single numbers (step 0).
struct Sums {
  double *v, *e, *w;
};

/// One row of the loops: `count` elements along the last axis, with strides
/// (0 or more) of the factors and the result.
struct Row {
  int64_t count, a, b, to;
};
} // namespace

/// The product of a term's gains at an element of its factor.
static double gainOf(const RoundedTerm &term, const std::vector<Array> &arrays,
                     size_t i) {
  double gain = 1;
  for (const RoundedTerm::Gain &each : term.gains) {
    double x = arrays[each.step].num(each.from[i]).v;
    gain = each.divides ? gain / x : gain * x;
  }
  return gain;
}

/// What a term of this value may be off by when it is rounded, with all of its
/// gain or without it, where it may be below the type's normal numbers or
/// beyond its largest, `most`.
static double roundingOf(double value, double gain, ElementType type,
                         double most) {
  double e = halfUnit(type, value), bare = value / gain;
  if (gain == 1 || !std::isfinite(bare))
    return e;
  if (std::fabs(bare) > most)
    return kInf;
  bool isBelow = halfUnit(type, bare) == halfUnit(type, 0);
  return isBelow ? std::max(e, std::fabs(gain) * halfUnit(type, bare)) : e;
}

/// A value of a factor that is this term, rounded without its gain; with it
/// where that is a row's and the type does not hold the rest.
static double roundedWithout(double gain, double value, const RoundedTerm &term,
                             ElementType type) {
  double bare = value / gain;
  bool isHeld = term.isOfScalars || (std::fabs(bare) <= largest(type) &&
                                     halfUnit(type, bare) > halfUnit(type, 0));
  return std::isnormal(gain) && isHeld ? gain * roundTo(type, bare)
                                       : roundTo(type, value);
}

/// The factor's rounding and flush; the exact evaluation goes on unrounded.
static std::shared_ptr<const Prepared>
prepare(const Array &array, const Factor &factor, const Step &step,
        const std::vector<Array> &arrays) {
  auto made = std::make_shared<Prepared>();
  Prepared &prepared = *made;
  prepared.v = array.v.data();
  size_t count = array.v.size();
  bool rounds = !factor.roundedTerms.empty();
  if (array.e.empty() && !rounds && !array.holdsTiny()) {
    prepared.w = array.w.empty() ? array.v.data() : array.w.data();
    return made;
  }
  double most = largest(step.type) / double(factor.shared);
  prepared.eStorage.resize(count);
  prepared.e = prepared.eStorage.data();
  if (!rounds) {
    for (size_t i = 0; i < count; ++i)
      prepared.eStorage[i] = ofOperand(array.num(i));
    prepared.w = array.w.empty() ? array.v.data() : array.w.data();
    return made;
  }
  prepared.wStorage.resize(count);
  prepared.w = prepared.wStorage.data();
  const bool isOneTerm = factor.roundedTerms.size() == 1;
  for (size_t i = 0; i < count; ++i) {
    Num x = array.num(i);
    double e = ofOperand(x), gain = 1;
    for (const RoundedTerm &rounded : factor.roundedTerms) {
      Num term = arrays[rounded.step].num(rounded.from[i]);
      gain = gainOf(rounded, arrays, i);
      // What the type holds is not rounded, as an 8-bit integer in bf16.
      if (term.e != 0 || roundTo(step.type, term.v) != term.v)
        e +=
            roundingOf(term.v, rounded.isOfScalars ? gain : 1, step.type, most);
    }
    bool isHeld =
        double(factor.shared) * std::fabs(x.v) + e <= largest(step.type);
    prepared.eStorage[i] = isHeld ? e : kInf;
    double value = array.roundedAt(i);
    prepared.wStorage[i] =
        isOneTerm ? roundedWithout(gain, value, factor.roundedTerms.front(),
                                   step.type)
                  : roundTo(step.type, value);
  }
  return made;
}

/// The same, made again only where the arrays are others: keys stay for all
/// queries. A loop over tiles computes all of its arrays again.
std::shared_ptr<const Prepared> Evaluator::prepareFactor(const Step &step,
                                                         unsigned number) {
  const Factor &factor = step.factors[number];
  const Array &array = arrays[factor.step];
  if (tileCount > 0)
    return prepare(array, factor, step, arrays);
  std::vector<uint64_t> stamps{array.stamp};
  for (const RoundedTerm &term : factor.roundedTerms) {
    stamps.push_back(arrays[term.step].stamp);
    for (const RoundedTerm::Gain &gain : term.gains)
      stamps.push_back(arrays[gain.step].stamp);
  }
  Kept &kept = keptFactors[&factor];
  if (kept.stamps != stamps)
    kept = {stamps, prepare(array, factor, step, arrays)};
  return kept.factor;
}

/// Sums along the row: `to` has stride 0, the factors 0 or 1.
ATTENTILE_WIDE static void dotRow(const double *a, const double *c,
                                  const double *b, const Row &row, double *v,
                                  double *e) {
#pragma clang fp reassociate(on)
  double sum = 0, bound = 0;
  if (row.a == 1 && row.b == 1) {
    for (int64_t i = 0; i < row.count; ++i) {
      sum += a[i] * b[i];
      bound += c[i] * __builtin_fabs(b[i]);
    }
  } else {
    for (int64_t i = 0; i < row.count; ++i) {
      sum += a[i * row.a] * b[i * row.b];
      bound += c[i * row.a] * __builtin_fabs(b[i * row.b]);
    }
  }
  *v += sum;
  *e += bound;
}

/// Adds to a row of results: a number times a row of b.
ATTENTILE_WIDE static void axpyRow(double a, double c, const double *b,
                                   int64_t count, double *v, double *e) {
  for (int64_t i = 0; i < count; ++i) {
    v[i] += a * b[i];
    e[i] += c * __builtin_fabs(b[i]);
  }
}

/// Any strides.
static void anyRow(const double *a, const double *c, const double *b,
                   const Row &row, double *v, double *e) {
  for (int64_t i = 0; i < row.count; ++i) {
    v[i * row.to] += a[i * row.a] * b[i * row.b];
    e[i * row.to] += c[i * row.a] * __builtin_fabs(b[i * row.b]);
  }
}

static void addRow(const double *a, const double *c, const double *b,
                   const Row &row, double *v, double *e) {
  if (row.to == 0)
    return dotRow(a, c, b, row, v, e);
  if (row.to == 1 && row.a == 0 && row.b == 1)
    return axpyRow(*a, *c, b, row.count, v, e);
  anyRow(a, c, b, row, v, e);
}

/// Calls `body(offset of a, of b, of the result, row)` for every row.
template <typename Body>
static void forEachRow(const Step &step, const std::vector<int64_t> &loops,
                       const std::vector<int64_t> &a,
                       const std::vector<int64_t> &b, Body body) {
  size_t depth = loops.size();
  for (int64_t extent : loops)
    if (extent == 0)
      return;
  if (depth == 0)
    return body(0, 0, 0, Row{1, 0, 0, 0});
  std::vector<int64_t> outer(loops.begin(), loops.end() - 1);
  std::vector<int64_t> index(outer.size());
  Row row{loops.back(), a.back(), b.back(), step.resultStrides.back()};
  do {
    int64_t atA = 0, atB = 0, to = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      atA += index[i] * a[i];
      atB += index[i] * b[i];
      to += index[i] * step.resultStrides[i];
    }
    body(atA, atB, to, row);
  } while (nextIndex(index, outer));
}

/// The extents of a product's loops: in a loop's last tile fewer.
std::vector<int64_t> Evaluator::loopsOf(const Step &step) const {
  std::vector<int64_t> loops = step.loops;
  if (step.tileTerms)
    loops[step.tileLoop] = tileCount;
  return loops;
}

/// The most that runs of equal elements along the summed loops have, of a
/// factor's rows.
static double squaresOfRuns(const Array &array,
                            const std::vector<int64_t> &strides,
                            const Step &step,
                            const std::vector<int64_t> &loops) {
  std::vector<int64_t> rows, rowStrides, summed, summedStrides;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (step.resultStrides[i] == 0) {
      summed.push_back(loops[i]);
      summedStrides.push_back(strides[i]);
    } else if (strides[i] != 0) {
      rows.push_back(loops[i]);
      rowStrides.push_back(strides[i]);
    }
  }
  if (summed.empty())
    return 1;
  const int64_t count = summed.back(), stride = summedStrides.back();
  summed.pop_back();
  double most = 0;
  std::vector<int64_t> row(rows.size()), term(summed.size());
  do {
    Runs runs;
    do {
      const double *at = array.v.data();
      for (size_t i = 0; i < row.size(); ++i)
        at += row[i] * rowStrides[i];
      for (size_t i = 0; i < term.size(); ++i)
        at += term[i] * summedStrides[i];
      for (int64_t i = 0; i < count; ++i)
        runs.add(at[i * stride]);
    } while (nextIndex(term, summed));
    most = std::max(most, runs.squares());
  } while (nextIndex(row, rows));
  return most;
}

/// How many roundings the sums of a product may make up (roundingsOf).
double Evaluator::roundingsOfProduct(const Step &step) const {
  const std::vector<int64_t> loops = loopsOf(step);
  double terms = termsOf(step), squares = terms * terms;
  if (terms <= 4 * std::sqrt(terms))
    return roundingsOf(terms, squares); // whatever the runs
  // The smaller one first: where it has no runs, the other is not looked at.
  const Factor *factors[] = {&step.factors[0], &step.factors[1]};
  auto sizeOf = [&](const Factor *f) { return arrays[f->step].v.size(); };
  if (sizeOf(factors[1]) < sizeOf(factors[0]))
    std::swap(factors[0], factors[1]);
  for (const Factor *factor : factors) {
    const Array &array = arrays[factor->step];
    if (!array.v.empty() && squares > terms && !llvm::is_contained(loops, 0))
      squares =
          std::min(squares, squaresOfRuns(array, factor->strides, step, loops));
  }
  return roundingsOf(terms, squares);
}

void Evaluator::product(const Step &step, Array &to) {
  const Array *arrayA = &arrays[step.factors[0].step];
  const Array *arrayB = &arrays[step.factors[1].step];
  if (!arrayA->isFinite() || !arrayB->isFinite())
    return slowProduct(step, to);
  const Factor *factorA = &step.factors[0], *factorB = &step.factors[1];
  // b is the larger of two read factors, else the read one.
  auto isRead = [](const Array &array, const Factor &factor) {
    return array.e.empty() && factor.roundedTerms.empty();
  };
  bool readA = isRead(*arrayA, *factorA), readB = isRead(*arrayB, *factorB);
  if (readA > readB ||
      (readA == readB && arrayA->v.size() > arrayB->v.size())) {
    std::swap(arrayA, arrayB);
    std::swap(factorA, factorB);
  }
  auto preparedA = prepareFactor(step, factorA - step.factors.data());
  auto preparedB = prepareFactor(step, factorB - step.factors.data());
  const Prepared &a = *preparedA, &b = *preparedB;
  double perTerm = (roundingsOfProduct(step) + 1) * kU;
  std::vector<double> c(arrayA->v.size()), reach;
  for (size_t i = 0; i < c.size(); ++i)
    c[i] = perTerm * std::fabs(a.v[i]) + (a.e ? a.e[i] : 0);
  if (b.e) {
    reach.resize(c.size());
    for (size_t i = 0; i < c.size(); ++i)
      reach[i] = std::fabs(a.v[i]) + (a.e ? a.e[i] : 0);
  }
  bool rounded = a.w != a.v || b.w != b.v;
  to.v.assign(step.count, 0);
  to.e.assign(step.count, 0);
  to.w.assign(rounded ? step.count : 0, 0);
  std::vector<double> unused(step.count); // the bound of w, and of reach * e
  forEachRow(step, loopsOf(step), factorA->strides, factorB->strides,
             [&](int64_t atA, int64_t atB, int64_t at, const Row &row) {
               addRow(a.v + atA, c.data() + atA, b.v + atB, row,
                      to.v.data() + at, to.e.data() + at);
               if (b.e)
                 addRow(reach.data() + atA, reach.data() + atA, b.e + atB, row,
                        unused.data() + at, to.e.data() + at);
               if (rounded)
                 addRow(a.w + atA, c.data() + atA, b.w + atB, row,
                        to.w.data() + at, unused.data() + at);
             });
  for (int64_t i = 0; i < step.count; ++i) {
    double e = to.e[i];
    // Partial sums, at most e / perTerm, may overflow where the sum does not;
    // terms below f32's normal range may be lost. NaN is 0 times the infinite
    // bound of a factor that its rounding may make infinite.
    bool out = std::isnan(e) || e > perTerm * kMax;
    e = out ? kInf : e > 0 ? e + termsOf(step) * kTiny : 0;
    Num x = finish(to.v[i], e, false);
    to.v[i] = x.v;
    to.e[i] = x.e;
  }
}

/// The same, a term at a time: where factors are infinite, NaN or out.
void Evaluator::slowProduct(const Step &step, Array &to) {
  auto preparedA = prepareFactor(step, 0), preparedB = prepareFactor(step, 1);
  const Prepared &a = *preparedA, &b = *preparedB;
  double perTerm = roundingsOfProduct(step) * kU;
  bool rounded = a.w != a.v || b.w != b.v;
  to.v.assign(step.count, 0);
  to.e.assign(step.count, 0);
  to.w.assign(rounded ? step.count : 0, 0);
  std::vector<uint8_t> out(step.count), isNaN(step.count), isFree(step.count);
  forEachRow(
      step, loopsOf(step), step.factors[0].strides, step.factors[1].strides,
      [&](int64_t atA, int64_t atB, int64_t at, const Row &row) {
        for (int64_t i = 0; i < row.count; ++i) {
          int64_t ia = atA + i * row.a, ib = atB + i * row.b;
          int64_t r = at + i * row.to;
          Num x = mul({a.v[ia], a.e ? a.e[ia] : 0},
                      {b.v[ib], b.e ? b.e[ib] : 0}, step.tainted);
          // (p - q) * inf, or p * inf - q * inf; inf times the sum.
          auto frees = [&](unsigned i, double v) {
            const Factor &other = step.factors[1 - i];
            return std::isinf(v) &&
                   (step.factors[i].isRow || other.mayBeSplit || other.gathers);
          };
          // 0 * inf, or 0 as of what is outside.
          auto isOutside = [&](unsigned i, double v, double other) {
            return step.factors[1 - i].gathers && other == 0 &&
                   !std::isfinite(v);
          };
          if (frees(0, a.v[ia]) || frees(1, b.v[ib]))
            x.e = std::isinf(x.v) ? kInf : x.e;
          if (isOutside(0, a.v[ia], b.v[ib]) || isOutside(1, b.v[ib], a.v[ia]))
            x.e = kInf;
          x = ifRescaled(step, {a.v[ia], 0}, {b.v[ib], 0}, x);
          x = ifHidden(step, {a.v[ia], 0}, {b.v[ib], 0}, x);
          to.v[r] += x.v;
          to.e[r] += x.e + perTerm * std::fabs(x.v);
          out[r] |= isOut(x);
          isNaN[r] |= isCertainNaN(x);
          isFree[r] |= isOut(x) && std::isinf(x.v);
          if (rounded)
            to.w[r] += a.w[ia] * b.w[ib];
        }
      });
  for (int64_t i = 0; i < step.count; ++i) {
    Num x = finish(to.v[i], to.e[i], out[i]);
    to.v[i] = x.v;
    bool isCertain = isNaN[i] && !isFree[i];
    to.e[i] = isCertain ? 0 : out[i] ? kInf : x.e;
  }
}

} // namespace attentile::reference
