//===- BoundsTest.cpp - the bounds let right kernels pass, wrong ones not -===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The other side of the reference: causal attention as an f32 kernel would
// compute it, tile by tile in a random order of keys, with P rounded to 16
// bits, compared with the computed bounds. Seeded mistakes must be found.
//
//===----------------------------------------------------------------------===//

#include "ReferenceTesting.h"

using namespace attentile;

namespace {
enum class Mistake { None, ForgottenRescale, MaskOffByOne, LostKey, NoScale };

/// Online softmax in f32.
struct Kernel {
  ElementType type;
  int64_t tile;
  unsigned seed;
  Mistake mistake = Mistake::None;
  bool base2 = false;

  float power(float score, float ref, float scale) const {
    if (!base2)
      return std::exp(score * scale - ref);
    float c = scale * float(M_LOG2E);
    return std::exp2(std::fma(score, c, -ref * float(M_LOG2E)));
  }

  void run(const HostTensor &q, const HostTensor &k, const HostTensor &v,
           float scale, HostTensor &o, HostTensor &l) const {
    int64_t m = q.sizes[0], n = k.sizes[0], d = q.sizes[1], e = v.sizes[1];
    if (mistake == Mistake::NoScale)
      scale = 1;
    std::mt19937 random(seed);
    std::vector<int64_t> order(d);
    for (int64_t i = 0; i < d; ++i)
      order[i] = i;
    for (int64_t i = 0; i < m; ++i) {
      std::shuffle(order.begin(), order.end(), random);
      float largest = -INFINITY, sum = 0;
      std::vector<float> acc(e, 0);
      for (int64_t j0 = 0; j0 < n; j0 += tile) {
        std::vector<float> s;
        for (int64_t j = j0; j < std::min(n, j0 + tile); ++j) {
          float dot = 0;
          for (int64_t c : order)
            dot += float(q.at({i, c})) * float(k.at({j, c}));
          int64_t last = i + n - m - (mistake == Mistake::MaskOffByOne);
          bool lost = mistake == Mistake::LostKey && j == n / 2;
          s.push_back(j <= last && !lost ? dot : -INFINITY);
        }
        float before = largest;
        for (float x : s)
          largest = std::max(largest, x * scale);
        float ref = largest == -INFINITY ? 0 : largest;
        float alpha =
            mistake == Mistake::ForgottenRescale ? 1 : std::exp(before - ref);
        sum *= alpha;
        for (float &x : acc)
          x *= alpha;
        for (size_t j = 0; j < s.size(); ++j) {
          float p = power(s[j], ref, scale);
          sum += p;
          p = float(roundTo(type, p));
          for (int64_t c = 0; c < e; ++c)
            acc[c] += p * float(v.at({j0 + int64_t(j), c}));
        }
      }
      float inverse = sum == 0 ? 0 : 1 / sum;
      for (int64_t c = 0; c < e; ++c)
        o.set({i, c}, acc[c] * inverse);
      float ref = largest == -INFINITY ? 0 : largest;
      l.set({i}, ref + std::log(sum));
    }
  }
};

struct Case {
  ElementType type;
  int64_t m, n, d, e;
  double deviation; // of Q and K
};
} // namespace

/// The comparisons of O and L for one kernel on random data, with one large
/// element of V if `outlier` is its number.
static std::vector<Comparison> runCase(const Case &c, const Kernel &kernel,
                                       unsigned seed, int64_t outlier = -1) {
  ParsedKernel parsed(causalKernel(nameOf(c.type)));
  EXPECT_TRUE(parsed.module);
  HostTensor q = randomTensor(c.type, {c.m, c.d}, seed, c.deviation);
  HostTensor k = randomTensor(c.type, {c.n, c.d}, seed + 1, c.deviation);
  HostTensor v = randomTensor(c.type, {c.n, c.e}, seed + 2);
  if (outlier >= 0)
    v.set({outlier / c.e, outlier % c.e}, roundTo(c.type, 3e4));
  double scale = float(1 / std::sqrt(c.d));
  ReferenceResult result =
      parsed.evaluate({q, k, v, HostTensor::scalar(ElementType::F32, scale)});
  HostTensor o = HostTensor::allocate(c.type, {c.m, c.e});
  HostTensor l = HostTensor::allocate(ElementType::F32, {c.m});
  kernel.run(q, k, v, scale, o, l);
  return {compare(result.outputs[0], o), compare(result.outputs[1], l)};
}

static const std::vector<Case> kCases = {
    {ElementType::F32, 40, 40, 64, 32, 1},
    {ElementType::F32, 20, 70, 16, 16, 30}, // scores up to some thousands
    {ElementType::F32, 50, 33, 128, 8, 1e-3},
    {ElementType::BF16, 64, 64, 64, 64, 1},
    {ElementType::BF16, 30, 65, 72, 40, 10},
    {ElementType::F16, 64, 97, 80, 64, 1},
    {ElementType::F16, 10, 1, 16, 16, 2},
};

TEST(Bounds, RightKernelsStayWithin) {
  unsigned seed = 1;
  for (const Case &c : kCases)
    for (int64_t tile : {4, 16, 1000})
      for (bool base2 : {false, true}) {
        Kernel kernel{c.type, tile, seed, Mistake::None, base2};
        for (const Comparison &comparison : runCase(c, kernel, seed++)) {
          std::string text;
          llvm::raw_string_ostream os(text);
          print(os, comparison);
          EXPECT_TRUE(comparison.passed()) << text;
          EXPECT_EQ(comparison.excluded, 0) << text;
        }
      }
}

TEST(Bounds, MistakesAreFound) {
  unsigned seed = 1000;
  for (const Case &c : kCases)
    for (Mistake mistake : {Mistake::ForgottenRescale, Mistake::MaskOffByOne,
                            Mistake::LostKey, Mistake::NoScale}) {
      // With nothing to rescale they are no mistakes; where one key takes all,
      // what is done to another does not show.
      if (c.n < 2 || c.deviation != 1)
        continue;
      Kernel kernel{c.type, 4, seed, mistake};
      bool found = false;
      for (const Comparison &comparison : runCase(c, kernel, seed++))
        found |= !comparison.passed();
      EXPECT_TRUE(found) << nameOf(c.type) << " " << c.m << " " << c.n
                         << ": mistake " << int(mistake);
    }
}

/// Rounding P to too few bits passes no element's bound check by much, but the
/// norm shows it.
TEST(Bounds, TheNormFindsLostBits) {
  Case c{ElementType::F16, 64, 64, 64, 64, 1};
  Kernel kernel{ElementType::BF16, 16, 3};
  std::vector<Comparison> comparisons = runCase(c, kernel, 3);
  EXPECT_TRUE(comparisons[0].normApplies);
  EXPECT_FALSE(comparisons[0].normHolds());
}

/// Rows that are all the same have one row's errors.
TEST(Bounds, AlikeRowsHaveNoNorm) {
  ReferenceOutput output{"O", ElementType::F16, {64, 64}};
  output.values.resize(64 * 64);
  EXPECT_TRUE(output.takesNormCriterion());
  output.rowsAreAlike = true;
  EXPECT_FALSE(output.takesNormCriterion());
}

/// An outlier in a late key is seen by few rows, whose roundings are all of the
/// norm.
TEST(Bounds, OneOutlierIsNoNorm) {
  Case c{ElementType::BF16, 64, 64, 16, 64, 1};
  for (unsigned seed = 1; seed < 60; ++seed) {
    Kernel kernel{ElementType::BF16, 32, seed};
    Comparison comparison = runCase(c, kernel, seed, 64 * seed + seed)[0];
    EXPECT_TRUE(comparison.normApplies);
    EXPECT_TRUE(comparison.passed())
        << seed << ": " << comparison.errorNorm << " beside "
        << comparison.roundedNorm << ", " << comparison.arithmeticNorm;
  }
}

/// A GPU takes subnormal terms as 0, however many there are.
TEST(Bounds, SumsOfSubnormals) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N)
    ins(%X: f32[M, N]) outs(%A: f32[M]) {
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %a = attn.reduce sum %x over (%n) : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
  HostTensor x = HostTensor::allocate(ElementType::F32, {2, 100});
  for (int64_t n = 0; n < 100; ++n) {
    x.set({0, n}, 1e-39);
    x.set({1, n}, 1e-20);
  }
  ReferenceResult result = kernel.evaluate({x});
  EXPECT_GE(result.outputs[0].bounds[0], 1e-37);
  EXPECT_LT(result.outputs[0].bounds[1], 1e-23);
}

TEST(Bounds, FailuresArePrinted) {
  ReferenceOutput reference{"O",
                            ElementType::F32,
                            {2, 2},
                            {},
                            false,
                            {1, 2, NAN, 4},
                            {0, 1e-3, 0, INFINITY},
                            {1, 2, 3, 4}};
  HostTensor got = HostTensor::allocate(ElementType::F32, {2, 2});
  got.set({0, 0}, 1);
  got.set({0, 1}, 2.5);
  got.set({1, 0}, 3);
  Comparison comparison = compare(reference, got);
  EXPECT_EQ(comparison.failed, 2);
  EXPECT_EQ(comparison.excluded, 1);
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os, comparison);
  EXPECT_EQ(text, "O: 2 of 4 elements are wrong, first O[0, 1]: expected 2, "
                  "got 2.5, allowed 0.002");
}

/// Each element within its bound, but all of them at its edge: more than
/// rounding to 16 bits explains.
TEST(Bounds, NormsThatAreTooLarge) {
  ReferenceOutput reference;
  reference.name = "O";
  reference.type = ElementType::BF16;
  reference.sizes = {64, 64};
  reference.values = reference.rounded = std::vector<double>(4096, 1);
  reference.bounds = std::vector<double>(4096, 1);
  reference.arithmeticNorm = 0.5;
  HostTensor got = HostTensor::allocate(ElementType::BF16, {64, 64});
  for (int64_t i = 0; i < got.size(); ++i)
    got.writeDouble(i, 1.5);
  Comparison comparison = compare(reference, got);
  EXPECT_EQ(comparison.failed, 0);
  EXPECT_FALSE(comparison.passed());
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os, comparison);
  EXPECT_EQ(text, "O: expected an error norm of at most 1.5 times 0 (the "
                  "formula rounded) and 0.5 (f32 arithmetic), got 32");
}
