//===- ReferenceTest.cpp - the reference against hand-written loops -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceTesting.h"
#include "attentile/Philox.h"

using namespace attentile;

std::string attentile::causalKernel(const std::string &type, bool lowered) {
  std::string text = R"mlir(
attn.kernel @causal sizes(%M, %N, %D, %E)
    indices(%m < M, %n < N, %d < D, %e < E)
    ins(%Q: T[M, D], %K: T[N, D], %V: T[N, E], %scale: f32)
    outs(%O: T[M, E], %L: f32[M]) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %positive = arith.cmpf ogt, %scale, %zero : f32
  attn.assume %positive, "scale > 0"
  %D32 = arith.index_cast %D : index to i64
  %Df = arith.sitofp %D32 : i64 to f32
  %default = math.rsqrt %Df : f32
  attn.default %scale = %default : f32, f32
  %q16 = attn.read %Q[%m, %d] : tensor<?x?xT>
  %q = EXT %q16 : T to f32
  %k16 = attn.read %K[%n, %d] : tensor<?x?xT>
  %k = EXT %k16 : T to f32
  %qk = arith.mulf %q, %k : f32
  %s0 = attn.reduce sum %qk over (%d) product T : f32
  %s1 = arith.mulf %s0, %scale : f32
  %shift = arith.subi %N, %M : index
  %last = arith.addi %m, %shift : index
  %visible = arith.cmpi sle, %n, %last : index
  %hidden = arith.constant 0xFF800000 : f32
  %s = arith.select %visible, %s1, %hidden : f32
SOFTMAX
  %v16 = attn.read %V[%n, %e] : tensor<?x?xT>
  %v = EXT %v16 : T to f32
  %pv = arith.mulf %p, %v : f32
  %o = attn.reduce sum %pv over (%n) product T : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x?xT>
  attn.write %l to %L[%m] : f32, tensor<?xf32>
})mlir";
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, from.size(), to);
  };
  replace("SOFTMAX", lowered ? R"mlir(
  %ref = attn.reduce ref %s over (%n) : f32
  %less = arith.subf %s, %ref : f32
  %x = math.exp %less : f32
  %sum = attn.reduce sum %x over (%n) : f32
  %none = arith.cmpf oeq, %sum, %zero : f32
  %quotient = arith.divf %one, %sum : f32
  %inverse = arith.select %none, %zero, %quotient : f32
  %p = arith.mulf %x, %inverse : f32
  %log = math.log %sum : f32
  %l = arith.addf %ref, %log : f32)mlir"
                             : R"mlir(
  %p = attn.softmax %s over (%n) : f32
  %l = attn.logsumexp %s over (%n) : f32)mlir");
  if (type == "f32") {
    for (std::string name : {"q", "k", "v"}) {
      replace("  %" + name + " = EXT %" + name + "16 : T to f32\n", "");
      replace("%" + name + "16 =", "%" + name + " =");
    }
  }
  replace("EXT", "arith.extf");
  size_t at = 0;
  // T alone: "T[" in the head, "xT>" in tensor types, " T" elsewhere.
  for (std::string context : {": T[", "xT>", " T "})
    for (at = 0; (at = text.find(context, at)) != std::string::npos;)
      text.replace(at + context.find('T'), 1, type);
  return text;
}

namespace {
/// Causal attention in plain loops of float64.
struct Plain {
  std::vector<double> o, l;
  Plain(const HostTensor &q, const HostTensor &k, const HostTensor &v,
        double scale) {
    int64_t m = q.sizes[0], n = k.sizes[0], d = q.sizes[1], e = v.sizes[1];
    for (int64_t i = 0; i < m; ++i) {
      std::vector<double> s;
      double largest = -INFINITY, sum = 0;
      for (int64_t j = 0; j < n; ++j) {
        double dot = 0;
        for (int64_t c = 0; c < d; ++c)
          dot += q.at({i, c}) * k.at({j, c});
        s.push_back(j <= i + n - m ? dot * scale : -INFINITY);
        largest = std::max(largest, s.back());
      }
      if (largest == -INFINITY) {
        l.push_back(-INFINITY);
        o.insert(o.end(), e, 0);
        continue;
      }
      for (double &x : s)
        sum += x = std::exp(x - largest);
      l.push_back(largest + std::log(sum));
      for (int64_t c = 0; c < e; ++c) {
        double out = 0;
        for (int64_t j = 0; j < n; ++j)
          out += s[j] / sum * v.at({j, c});
        o.push_back(out);
      }
    }
  }
};
} // namespace

static void expectNear(const std::vector<double> &got,
                       const std::vector<double> &expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isfinite(expected[i]))
      EXPECT_NEAR(got[i], expected[i], 1e-11 * (1 + std::fabs(expected[i])));
    else
      EXPECT_EQ(got[i], expected[i]);
  }
}

TEST(Reference, CausalAttentionIsThatOfPlainLoops) {
  for (bool lowered : {false, true})
    for (auto [m, n] : {std::pair(33, 50), {50, 33}, {1, 7}, {16, 16}}) {
      ParsedKernel kernel(causalKernel("bf16", lowered));
      ASSERT_TRUE(kernel.module);
      HostTensor q = randomTensor(ElementType::BF16, {m, 20}, 1);
      HostTensor k = randomTensor(ElementType::BF16, {n, 20}, 2);
      HostTensor v = randomTensor(ElementType::BF16, {n, 12}, 3);
      HostTensor none; // the default: 1 / sqrt(D)
      ReferenceResult result = kernel.evaluate({q, k, v, none});
      ASSERT_EQ(result.outputs.size(), 2u);
      Plain plain(q, k, v, float(1 / std::sqrt(20.0)));
      expectNear(result.outputs[0].values, plain.o);
      expectNear(result.outputs[1].values, plain.l);
      for (const ReferenceOutput &output : result.outputs)
        for (size_t i = 0; i < output.values.size(); ++i)
          EXPECT_FALSE(output.isExcluded(i));
    }
}

TEST(Reference, EmptySizes) {
  ParsedKernel kernel(causalKernel("f32"));
  HostTensor scale = HostTensor::scalar(ElementType::F32, 1);
  auto run = [&](int64_t m, int64_t n, int64_t d, int64_t e) {
    return kernel.evaluate({randomTensor(ElementType::F32, {m, d}, 1),
                            randomTensor(ElementType::F32, {n, d}, 2),
                            randomTensor(ElementType::F32, {n, e}, 3), scale});
  };
  ReferenceResult noKeys = run(2, 0, 4, 3);
  expectNear(noKeys.outputs[0].values, std::vector<double>(6, 0));
  expectNear(noKeys.outputs[1].values, {-INFINITY, -INFINITY});
  EXPECT_EQ(noKeys.outputs[0].bounds, std::vector<double>(6, 0));
  EXPECT_TRUE(run(0, 5, 4, 3).outputs[0].values.empty());
  EXPECT_TRUE(run(2, 5, 4, 0).outputs[0].values.empty());
  ReferenceResult noScores = run(3, 3, 0, 1); // all scores are 0
  EXPECT_NEAR(noScores.outputs[1].values[2], std::log(3), 1e-12);
}

TEST(Reference, StridesMayBeAnything) {
  ParsedKernel kernel(causalKernel("f32"));
  HostTensor scale = HostTensor::scalar(ElementType::F32, 0.5);
  HostTensor q = randomTensor(ElementType::F32, {4, 8}, 1);
  HostTensor k = randomTensor(ElementType::F32, {8, 5}, 2);
  HostTensor v = randomTensor(ElementType::F32, {5, 1}, 3);
  HostTensor kView = HostTensor::borrow(ElementType::F32, k.data, {5, 8},
                                        {1, 5}); // transposed
  HostTensor vView = HostTensor::borrow(ElementType::F32, v.data, {5, 6},
                                        {-1, 0}, 4); // reversed, expanded
  ReferenceResult result = kernel.evaluate({q, kView, vView, scale});
  Plain plain(q, kView, vView, 0.5);
  expectNear(result.outputs[0].values, plain.o);
}

TEST(Reference, NaNAndInfinityGoWhereTheFormulaSays) {
  for (bool lowered : {false, true}) {
    ParsedKernel kernel(causalKernel("f32", lowered));
    HostTensor scale = HostTensor::scalar(ElementType::F32, 1);
    HostTensor q = randomTensor(ElementType::F32, {4, 3}, 1);
    HostTensor k = randomTensor(ElementType::F32, {4, 3}, 2);
    HostTensor v = randomTensor(ElementType::F32, {4, 2}, 3);
    q.set({1, 0}, NAN);      // row 1 is NaN, no other
    v.set({0, 1}, INFINITY); // every row sees key 0
    ReferenceResult result = kernel.evaluate({q, k, v, scale});
    const ReferenceOutput &o = result.outputs[0], &l = result.outputs[1];
    EXPECT_TRUE(std::isnan(l.values[1]));
    EXPECT_TRUE(std::isfinite(l.values[2]));
    EXPECT_TRUE(std::isnan(o.values[2]));
    EXPECT_FALSE(o.isExcluded(2));
    EXPECT_EQ(o.values[5], INFINITY);
    EXPECT_FALSE(o.isExcluded(5));
    EXPECT_TRUE(std::isfinite(o.values[4]));
    // A key that row 0 does not see: 0 * NaN is 0 or NaN there, freely.
    v.set({3, 0}, NAN);
    ReferenceResult hidden = kernel.evaluate({q, k, v, scale});
    EXPECT_TRUE(hidden.outputs[0].isExcluded(0));
    EXPECT_TRUE(std::isnan(hidden.outputs[0].values[6]));
    EXPECT_FALSE(hidden.outputs[0].isExcluded(6));
    // A score of inf: inf - inf in all kernels, in every row that sees it.
    k.set({0, 2}, q.at({2, 2}) > 0 ? INFINITY : -INFINITY);
    ReferenceResult infinite = kernel.evaluate({q, k, v, scale});
    EXPECT_TRUE(std::isnan(infinite.outputs[0].values[4]));
    EXPECT_FALSE(infinite.outputs[0].isExcluded(4));
  }
}

/// Reads outside are 0; integers divide toward minus infinity, by 0 to 0; a
/// sum over an axis that the operand lacks multiplies by its extent.
TEST(Reference, IntegersAndReadsOutside) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%N, %R) indices(%n < N, %r < R)
    ins(%X: i32[R], %I: i64[N], %c: index)
    outs(%Y: i32[N], %Z: f32[N], %W: i1[N], %T: i32[N]) {
  %i64 = attn.read %I[%n] : tensor<?xi64>
  %i = arith.index_cast %i64 : i64 to index
  %x32 = attn.read %X[%i] : tensor<?xi32>
  %x = arith.index_cast %x32 : i32 to index
  attn.write %x to %Y[%n] : index, tensor<?xi32>
  %q = attn.floordiv %i, %c : index
  %rest = attn.floormod %i, %c : index
  %ten = arith.constant 100 : index
  %scaled = arith.muli %q, %ten : index
  %both = arith.addi %scaled, %rest : index
  %both64 = arith.index_cast %both : index to i64
  %f = arith.sitofp %both64 : i64 to f32
  attn.write %f to %Z[%n] : f32, tensor<?xf32>
  %zero = arith.constant 0 : index
  %negative = arith.cmpi slt, %i, %zero : index
  attn.write %negative to %W[%n] : i1, tensor<?xi1>
  %total = attn.reduce sum %i over (%r) : index
  attn.write %total to %T[%n] : index, tensor<?xi32>
})mlir");
  ASSERT_TRUE(kernel.module);
  HostTensor x = HostTensor::allocate(ElementType::I32, {3});
  for (int i = 0; i < 3; ++i)
    x.writeInt(i, 10 + i);
  std::vector<int64_t> places{-7, 0, 2, 3, 1LL << 40};
  HostTensor i = HostTensor::borrow(ElementType::I64, places.data(), {5}, {1});
  auto run = [&](int64_t c) {
    return kernel.evaluate({x, i, HostTensor::scalarInt(ElementType::I64, c)});
  };
  ReferenceResult result = run(3);
  expectNear(result.outputs[0].values, {0, 10, 12, 0, 0});
  expectNear(result.outputs[2].values, {1, 0, 0, 0, 0});
  EXPECT_EQ(result.outputs[1].values[0], -300 + 2); // -7 = -3 * 3 + 2
  EXPECT_EQ(result.outputs[1].values[3], 100);
  expectNear(result.outputs[3].values, {-21, 0, 6, 9, INT32_MAX});
  EXPECT_EQ(run(0).outputs[1].values, std::vector<double>(5, 0));
  EXPECT_EQ(run(-2).outputs[1].values[0], 300 - 1); // -7 = 3 * -2 - 1
}

/// A sum over queries of a softmax over keys: m and n are both reduced.
TEST(Reference, ColumnSums) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N)
    ins(%X: f32[M, N]) outs(%A: f32[N], %C: f32[M]) {
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %p = attn.softmax %x over (%n) : f32
  %a = attn.reduce sum %p over (%m) : f32
  %c = attn.reduce max %p over (%n) : f32
  attn.write %a to %A[%n] : f32, tensor<?xf32>
  attn.write %c to %C[%m] : f32, tensor<?xf32>
})mlir");
  HostTensor x = randomTensor(ElementType::F32, {7, 5}, 1);
  std::vector<double> a(5), c(7);
  for (int64_t m = 0; m < 7; ++m) {
    double sum = 0;
    for (int64_t n = 0; n < 5; ++n)
      sum += std::exp(x.at({m, n}));
    for (int64_t n = 0; n < 5; ++n) {
      double p = std::exp(x.at({m, n})) / sum;
      a[n] += p;
      c[m] = std::max(c[m], p);
    }
  }
  ReferenceResult result = kernel.evaluate({x});
  expectNear(result.outputs[0].values, a);
  expectNear(result.outputs[1].values, c);
}

/// A cast rounds the value; the bound then has a whole unit, unless the
/// operand is exact. A comparison of computed numbers that are too close lets
/// either branch count.
TEST(Reference, RoundingsAndCloseComparisons) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%N) indices(%n < N) ins(%X: f32[N])
    outs(%Y: f32[N], %Z: f32[N], %W: f32[N]) {
  %x = attn.read %X[%n] : tensor<?xf32>
  %x16 = arith.truncf %x : f32 to bf16
  %xr = arith.extf %x16 : bf16 to f32
  attn.write %xr to %Y[%n] : f32, tensor<?xf32>
  %twice = arith.addf %x, %x : f32
  %t16 = arith.truncf %twice : f32 to f16
  %tr = arith.extf %t16 : f16 to f32
  attn.write %tr to %Z[%n] : f32, tensor<?xf32>
  %two = arith.constant 2.0 : f32
  %five = arith.constant 5.0 : f32
  %large = arith.cmpf oge, %twice, %two : f32
  %w = arith.select %large, %five, %two : f32
  attn.write %w to %W[%n] : f32, tensor<?xf32>
})mlir");
  HostTensor x = HostTensor::allocate(ElementType::F32, {4});
  for (auto [i, value] : llvm::enumerate(std::vector{1.0, 1.001, 0.3, 4e4}))
    x.writeDouble(i, value);
  ReferenceResult result = kernel.evaluate({x});
  const ReferenceOutput &y = result.outputs[0], &z = result.outputs[1],
                        &w = result.outputs[2];
  EXPECT_EQ(y.values[1], roundTo(ElementType::BF16, float(1.001)));
  EXPECT_EQ(y.bounds[1], 0);
  EXPECT_EQ(z.values[2], roundTo(ElementType::F16, 2 * double(0.3f)));
  EXPECT_NEAR(z.bounds[2], halfUnit(ElementType::F16, 0.6), 1e-7);
  EXPECT_TRUE(z.isExcluded(3)); // 80000 overflows f16
  expectNear(w.values, {5, 5, 2, 5});
  EXPECT_EQ(w.bounds[0], 3); // 2 >= 2 may go either way
  EXPECT_EQ(w.bounds[1], 0);
}

/// Loops over tiles are run as they are written: 1 .. 5 by two, each tile
/// halving what is there, the last with one index; then from 1 to below 4.
TEST(Reference, LoopsOverTiles) {
  ParsedKernel kernel(R"mlir(
attn.kernel @fading sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M, N])
    outs(%Y: f32[M], %Z: f32[M], %C: i32[M]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %y:2 = attn.for %t of %n from %c0 to %N by 2 carry(%sum = %zero, %count = %c0) : f32, index {
    %less = arith.mulf %sum, %half : f32
    %of_tile = attn.reduce sum %x over (%t) : f32
    %next = arith.addf %less, %of_tile : f32
    %more = arith.addi %count, %c1 : index
    attn.next %next, %more : f32, index
  }
  %product = arith.mulf %x, %x : f32
  %z = attn.for %t of %n from %c1 to %c4 by 2 carry(%sum = %zero) : f32 {
    %less = arith.mulf %sum, %half : f32
    %of_tile = attn.reduce sum %product over (%t) product f32 : f32
    %next = arith.addf %less, %of_tile : f32
    attn.next %next : f32
  }
  attn.write %y#0 to %Y[%m] : f32, tensor<?xf32>
  attn.write %z to %Z[%m] : f32, tensor<?xf32>
  attn.write %y#1 to %C[%m] : index, tensor<?xi32>
})mlir");
  HostTensor x = HostTensor::allocate(ElementType::F32, {2, 5});
  for (int64_t i = 0; i < 10; ++i)
    x.writeDouble(i, i < 5 ? i + 1 : 0);
  ReferenceResult result = kernel.evaluate({x});
  // ((1 + 2) / 2 + (3 + 4)) / 2 + 5; (4 + 9) / 2 + 16
  EXPECT_EQ(result.outputs[0].values, (std::vector<double>{9.25, 0}));
  EXPECT_EQ(result.outputs[1].values, (std::vector<double>{22.5, 0}));
  EXPECT_EQ(result.outputs[2].values, (std::vector<double>{3, 3}));
  EXPECT_GT(result.outputs[0].bounds[0], 0);
  EXPECT_LT(result.outputs[0].bounds[0], 1e-5);
}

/// No reduction has m, which the loop begins at: Z[m] = sum of x / 2 from m on.
TEST(Reference, LoopsWithBoundsOfTheirOwn) {
  ParsedKernel kernel(R"mlir(
attn.kernel @rows sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[N])
    outs(%Z: f32[M]) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %x = attn.read %X[%n] : tensor<?xf32>
  %y = attn.for %t of %n from %m to %N by 2 carry(%sum = %zero) : f32 {
    %part = arith.mulf %x, %half : f32
    %of_tile = attn.reduce sum %part over (%t) : f32
    %next = arith.addf %sum, %of_tile : f32
    attn.next %next : f32
  }
  attn.write %y to %Z[%m] : f32, tensor<?xf32>
})mlir");
  HostTensor x = HostTensor::allocate(ElementType::F32, {5});
  for (int i = 0; i < 5; ++i)
    x.writeDouble(i, i);
  auto result = evaluate(*kernel, {x}, {3, 5});
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->outputs[0].values, (std::vector<double>{5, 5, 4.5}));
}

/// Bounds may depend on an axis that is summed behind the loop.
TEST(Reference, LoopsWithBoundsUnderASum) {
  ParsedKernel kernel(R"mlir(
attn.kernel @rows sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M, N])
    outs(%Z: f32[N]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %y = attn.for %t of %n from %c0 to %m by 2 carry(%sum = %zero) : f32 {
    %of_tile = attn.reduce sum %x over (%t) : f32
    %next = arith.addf %sum, %of_tile : f32
    attn.next %next : f32
  }
  %weighted = arith.mulf %x, %y : f32
  %z = attn.reduce sum %weighted over (%m) : f32
  attn.write %z to %Z[%n] : f32, tensor<?xf32>
})mlir");
  HostTensor x = HostTensor::allocate(ElementType::F32, {4, 5});
  for (int64_t m = 0; m < 4; ++m)
    for (int64_t n = 0; n < 5; ++n)
      x.set({m, n}, m + 10 * n);
  // Row m adds up its first m elements: 0, 1, 2 + 12 and 3 + 13 + 23.
  ReferenceResult result = kernel.evaluate({x});
  for (int64_t n = 0; n < 5; ++n)
    EXPECT_EQ(result.outputs[0].values[n],
              (1 + 10 * n) + 14 * (2 + 10 * n) + 39 * (3 + 10 * n));
}

/// Against the definition, by the words that Random123 publishes for counter
/// and key 0, and for a counter and key of ones.
TEST(Reference, RandomBits) {
  using Words = std::array<uint32_t, 4>;
  constexpr uint32_t ones = ~0u;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Words{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}));
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (Words{0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}));
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N)
    ins(%X: f32[M, N], %seed: index) outs(%Y: i32[M, N]) {
  %number = attn.random %seed at [%m, %n] : index -> i32
  %y = arith.index_cast %number : i32 to index
  attn.write %y to %Y[%m, %n] : index, tensor<?x?xi32>
})mlir");
  int64_t seed = (int64_t(5) << 32) | 3;
  ReferenceResult result =
      kernel.evaluate({HostTensor::allocate(ElementType::F32, {40, 70}),
                       HostTensor::scalarInt(ElementType::I64, seed)});
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t j = 0; j < 70; ++j) {
      uint32_t word = philox({uint32_t(8 * (i / 16) + i % 8),
                              uint32_t(4 * (j / 32) + j % 8 / 2), 0, 0},
                             {3, 5})[j / 8 % 4];
      // Two bytes of the word, from this one on, each without its top bit.
      unsigned first = 2 * (j % 2) + i / 8 % 2;
      auto byte = [&](unsigned at) { return word >> 8 * (at % 4) & 127; };
      EXPECT_EQ(result.outputs[0].values[70 * i + j],
                256 * byte(first + 1) + byte(first));
      EXPECT_EQ(result.outputs[0].bounds[70 * i + j], 0);
    }
}

/// How many are dropped, and how much the four that share a word have to do
/// with each other: the share has a deviation of 0.0003 and each correlation
/// one of 0.002.
TEST(Reference, DroppedAtTheRate) {
  constexpr int64_t size = 1024;
  for (double rate : {0.1, 0.5, 0.9}) {
    uint32_t share = uint32_t(16384 * rate + 0.5);
    uint32_t least = share + share / 128 * 128;
    auto drops = [&](int64_t i, int64_t j) {
      return randomNumber(11, {2, i, j}) < least ? 1. : 0.;
    };
    double sum = 0, pairs[3] = {0, 0, 0};
    for (int64_t i = 0; i < size; i += 16)
      for (int64_t row = i; row < i + 8; ++row)
        for (int64_t j = 0; j < size; j += 2) {
          double four[] = {drops(row, j), drops(row, j + 1), drops(row + 8, j),
                           drops(row + 8, j + 1)};
          for (double one : four)
            sum += one;
          for (int other : {1, 2, 3})
            pairs[other - 1] += (four[0] - rate) * (four[other] - rate);
        }
    EXPECT_NEAR(sum / (size * size), rate, 0.002) << rate;
    for (double pair : pairs)
      EXPECT_NEAR(pair / (size * size / 4) / (rate * (1 - rate)), 0, 0.012)
          << rate;
  }
}
