//===- ReferenceGrantsTest.cpp - what the reference grants a right kernel -===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceTesting.h"

using namespace attentile;

/// A mask after the softmax: where a row that is NaN keeps nothing, its sum is

/// 0 or NaN, whether a tensor holds the NaN or the formula makes it. Finite

/// rows are 0.
TEST(Reference, NaNOfARowThatKeepsNothing) {
  for (bool isComputed : {false, true}) {
    ParsedKernel kernel(std::string(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N)
    ins(%X: f32[M, N], %keep: i1[M, N]) outs(%A: f32[M]) {
  %y = attn.read %X[%m, %n] : tensor<?x?xf32>
  %l = math.log %y : f32
  %kept = attn.read %keep[%m, %n] : tensor<?x?xi1>
  %p = attn.softmax %)mlir") +
                        (isComputed ? "l" : "y") +
                        R"mlir( over (%n) : f32
  %zero = arith.constant 0.0 : f32
  %w = arith.select %kept, %p, %zero : f32
  %a = attn.reduce sum %w over (%n) : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
    HostTensor x = HostTensor::allocate(ElementType::F32, {3, 4});
    HostTensor keep = HostTensor::allocate(ElementType::Bool, {3, 4});
    for (int64_t n = 0; n < 4; ++n) {
      for (int64_t m = 0; m < 3; ++m)
        x.set({m, n}, 1 + n);
      keep.set({0, n}, 0);
      keep.set({1, n}, n == 2);
      keep.set({2, n}, 0);
    }
    x.set({0, 1}, isComputed ? -1 : NAN);
    x.set({1, 1}, isComputed ? -1 : NAN);
    ReferenceResult result = kernel.evaluate({x, keep});
    const ReferenceOutput &a = result.outputs[0];
    EXPECT_TRUE(a.isExcluded(0));
    EXPECT_TRUE(std::isnan(a.values[1]));
    EXPECT_FALSE(a.isExcluded(1));
    EXPECT_EQ(a.values[2], 0);
    EXPECT_FALSE(a.isExcluded(2));
  }
}

/// Not where the statistic has the axis of the sum, as the distance of a pair.
TEST(Reference, NaNOfAPairThatIsNotKept) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N, %d < 2)
    ins(%X: f32[M, N, 2], %keep: i1[M, N]) outs(%A: f32[M, 2]) {
  %x = attn.read %X[%m, %n, %d] : tensor<?x?x2xf32>
  %square = arith.mulf %x, %x : f32
  %r = attn.reduce sum %square over (%d) : f32
  %y = arith.divf %x, %r : f32
  %kept = attn.read %keep[%m, %n] : tensor<?x?xi1>
  %zero = arith.constant 0.0 : f32
  %w = arith.select %kept, %y, %zero : f32
  %a = attn.reduce sum %w over (%n) : f32
  attn.write %a to %A[%m, %d] : f32, tensor<?x2xf32>
})mlir");
  HostTensor x = HostTensor::allocate(ElementType::F32, {1, 2, 2});
  HostTensor keep = HostTensor::allocate(ElementType::Bool, {1, 2});
  x.set({0, 0, 0}, 0);
  x.set({0, 0, 1}, 0);
  x.set({0, 1, 0}, 1);
  x.set({0, 1, 1}, 1);
  keep.set({0, 0}, 0);
  keep.set({0, 1}, 1);
  ReferenceResult result = kernel.evaluate({x, keep});
  const ReferenceOutput &a = result.outputs[0];
  EXPECT_FALSE(a.isExcluded(0));
  EXPECT_EQ(a.values[0], 0.5);
}

/// A product that underflows f32 may be 0: divided by 0 it is NaN or infinite.
TEST(Reference, UnderflowOverZero) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%A: f32[M]) {
  %x = attn.read %X[%m] : tensor<?xf32>
  %square = arith.mulf %x, %x : f32
  %zero = arith.constant 0.0 : f32
  %a = arith.divf %square, %zero : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
  HostTensor x = HostTensor::allocate(ElementType::F32, {3});
  x.set({0}, 1e-30);
  x.set({1}, 1);
  x.set({2}, 0);
  ReferenceResult result = kernel.evaluate({x});
  const ReferenceOutput &a = result.outputs[0];
  EXPECT_TRUE(a.isExcluded(0));
  EXPECT_FALSE(a.isExcluded(1));
  EXPECT_EQ(a.values[1], INFINITY);
  EXPECT_FALSE(a.isExcluded(2));
  EXPECT_TRUE(std::isnan(a.values[2]));
}

/// An exponential too small for float64, of an argument that cancels: an f32

/// kernel's may be of any size.
TEST(Reference, ExponentialOfWhatCancels) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M) indices(%m < M) ins(%X: f32[M], %Y: f32[M]) outs(%A: f32[M]) {
  %x = attn.read %X[%m] : tensor<?xf32>
  %y = attn.read %Y[%m] : tensor<?xf32>
  %sum = arith.addf %x, %y : f32
  %difference = arith.subf %sum, %y : f32
  %a = math.exp %difference : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
  HostTensor x = HostTensor::allocate(ElementType::F32, {2});
  HostTensor y = HostTensor::allocate(ElementType::F32, {2});
  x.set({0}, -5000);
  x.set({1}, -5000);
  y.set({0}, 1e12);
  y.set({1}, 1);
  ReferenceResult result = kernel.evaluate({x, y});
  const ReferenceOutput &a = result.outputs[0];
  EXPECT_TRUE(a.isExcluded(0));
  EXPECT_FALSE(a.isExcluded(1));
  EXPECT_EQ(a.values[1], 0);
}

/// A tile's product may start at what it is added to: each of its terms is

/// rounded at that size. Other sums are added when they are done.
TEST(Reference, ProductThatStartsAtWhatIsCarried) {
  auto boundOf = [](const char *terms) {
    ParsedKernel kernel(std::string(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N)
    ins(%X: f32[M, N], %Y: f32[N], %S: f32[M]) outs(%A: f32[M]) {
  %c0 = arith.constant 0 : index
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %y = attn.read %Y[%n] : tensor<?xf32>
  %start = attn.read %S[%m] : tensor<?xf32>
  %product = arith.mulf %x, %y : f32
  %a = attn.for %t of %n from %c0 to %N by 64 carry(%sum = %start) : f32 {
    %of_tile = attn.reduce sum )mlir") +
                        terms + R"mlir( : f32
    %next = arith.addf %sum, %of_tile : f32
    attn.next %next : f32
  }
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
    HostTensor x = HostTensor::allocate(ElementType::F32, {1, 64});
    HostTensor y = HostTensor::allocate(ElementType::F32, {64});
    HostTensor start = HostTensor::allocate(ElementType::F32, {1});
    for (int64_t n = 0; n < 64; ++n) {
      x.set({0, n}, 1e-3);
      y.set({n}, 1e-3);
    }
    start.set({0}, 1);
    return kernel.evaluate({x, y, start}).outputs[0].bounds[0];
  };
  EXPECT_GT(boundOf("%product over (%t) product f32"), 60 * 0x1p-24);
  EXPECT_LT(boundOf("%product over (%t) product f32"), 70 * 0x1p-24);
  EXPECT_LT(boundOf("%y over (%t)"), 8 * 0x1p-24);
}

/// The other choice's own NaN is none of the row's: an entropy, whose masked

/// probabilities are 0, is compared, unless a score in its row is NaN.
TEST(Reference, NaNOfAChoiceThatIsNotTaken) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N)
    ins(%X: f32[M, N]) outs(%A: f32[M]) {
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %p = attn.softmax %x over (%n) : f32
  %zero = arith.constant 0.0 : f32
  %seen = arith.cmpf ogt, %p, %zero : f32
  %log = math.log %p : f32
  %product = arith.mulf %p, %log : f32
  %term = arith.select %seen, %product, %zero : f32
  %a = attn.reduce sum %term over (%n) : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
  HostTensor x = randomTensor(ElementType::F32, {2, 4}, 1);
  x.set({0, 1}, -INFINITY);
  x.set({1, 2}, NAN);
  ReferenceResult result = kernel.evaluate({x});
  const ReferenceOutput &a = result.outputs[0];
  EXPECT_FALSE(a.isExcluded(0));
  EXPECT_LT(a.values[0], 0);
  EXPECT_TRUE(a.isExcluded(1));
}

/// Which side of a threshold a value lies that is closer to it than its own

/// error, that of a factor rounded to bf16, is no rounding: a kernel that takes

/// What multiplies a sum with a softmax in it may multiply its terms: of an

/// infinite gain (x - p) * gain is infinite or NaN. An infinite x is infinite.
TEST(Reference, InfinityTimesASumThatMayBeSplit) {
  for (bool isProduct : {false, true}) {
    ParsedKernel kernel(std::string(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N)
    ins(%X: f32[M, N], %G: f32[M, N], %V: f32[N]) outs(%A: f32[M]) {
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %gain = attn.read %G[%m, %n] : tensor<?x?xf32>
  %v = attn.read %V[%n] : tensor<?xf32>
  %zero = arith.constant 0.0 : f32
  %s = arith.mulf %zero, %v : f32
  %p = attn.softmax %s over (%n) : f32
  %d = arith.subf %x, %p : f32
  %w = arith.mulf %d, %gain : f32
  %term = )mlir") + (isProduct ? "arith.mulf %w, %v" : "arith.addf %w, %v") +
                        R"mlir( : f32
  %a = attn.reduce sum %term over (%n) : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
    HostTensor x = randomTensor(ElementType::F32, {3, 4}, 1);
    HostTensor gain = randomTensor(ElementType::F32, {3, 4}, 2);
    HostTensor v = randomTensor(ElementType::F32, {4}, 3);
    gain.set({0, 1}, INFINITY);
    x.set({1, 1}, INFINITY);
    ReferenceResult result = kernel.evaluate({x, gain, v});
    const ReferenceOutput &a = result.outputs[0];
    EXPECT_TRUE(a.isExcluded(0));
    EXPECT_TRUE(std::isinf(a.values[1]));
    EXPECT_FALSE(a.isExcluded(1));
    EXPECT_FALSE(a.isExcluded(2));
  }
}

/// A row's own value may multiply the sum of a softmax's terms: where it is

/// infinite and terms are 0 or of either sign, by the formula NaN, the sum is

/// infinite or NaN. Of terms that are all 0 it is NaN.
TEST(Reference, InfinityThatMayMultiplyTheSum) {
  for (bool isProduct : {false, true}) {
    ParsedKernel kernel(std::string(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N)
    ins(%X: f32[M, N], %G: f32[M], %V: f32[M, N]) outs(%A: f32[M]) {
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %gain = attn.read %G[%m] : tensor<?xf32>
  %v = attn.read %V[%m, %n] : tensor<?x?xf32>
  %one = arith.constant 1.0 : f32
  %p = attn.softmax %x over (%n) : f32
  %w = arith.mulf %p, %v : f32
  %c = arith.divf %one, %gain : f32
  %term = )mlir") + (isProduct ? "arith.mulf %w, %c" : "arith.divf %w, %gain") +
                        R"mlir( : f32
  %a = attn.reduce sum %term over (%n) : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
    HostTensor x = randomTensor(ElementType::F32, {4, 2}, 1);
    HostTensor gain = randomTensor(ElementType::F32, {4}, 2);
    HostTensor v = randomTensor(ElementType::F32, {4, 2}, 3);
    for (int64_t row : {0, 1, 2})
      gain.set({row}, 0);
    v.set({0, 1}, 0);
    v.set({1, 0}, 1);
    v.set({1, 1}, -1);
    v.set({2, 0}, 0);
    v.set({2, 1}, 0);
    ReferenceResult result = kernel.evaluate({x, gain, v});
    const ReferenceOutput &a = result.outputs[0];
    EXPECT_TRUE(a.isExcluded(0));
    EXPECT_TRUE(a.isExcluded(1));
    EXPECT_TRUE(std::isnan(a.values[2]));
    EXPECT_FALSE(a.isExcluded(2));
    EXPECT_FALSE(a.isExcluded(3));
  }
}

/// A loop over tiles that multiplies an infinite element, or what it carries of

/// one, by a small factor, which may be one of several that a kernel has as

/// one, 0 in f32: the result may be NaN then. A factor near 1 is no such one.
TEST(Reference, InfinityThatALoopRescales) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N)
    ins(%X: f32[M, N], %W: f32[M], %F: f32[M]) outs(%A: f32[M]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %w = attn.read %W[%m] : tensor<?xf32>
  %f = attn.read %F[%m] : tensor<?xf32>
  %y = arith.mulf %x, %w : f32
  %a = attn.for %t of %n from %c0 to %N by 2 carry(%sum = %zero) : f32 {
    %less = arith.mulf %sum, %f : f32
    %of_tile = attn.reduce sum %y over (%t) product f32 : f32
    %next = arith.addf %less, %of_tile : f32
    attn.next %next : f32
  }
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
  constexpr double weights[] = {1, 1, 1e-25, 1e-10, 1};
  constexpr double factors[] = {1e-20, 0.5, 0.5, 0.5, 1e-20};
  HostTensor x = HostTensor::allocate(ElementType::F32, {5, 4});
  HostTensor w = HostTensor::allocate(ElementType::F32, {5});
  HostTensor f = HostTensor::allocate(ElementType::F32, {5});
  for (int64_t m = 0; m < 5; ++m) {
    for (int64_t n = 0; n < 4; ++n)
      x.set({m, n}, n == 0 && m < 4 ? INFINITY : 1);
    w.set({m}, weights[m]);
    f.set({m}, factors[m]);
  }
  ReferenceResult result = kernel.evaluate({x, w, f});
  const ReferenceOutput &a = result.outputs[0];
  for (int64_t m : {0, 2})
    EXPECT_TRUE(a.isExcluded(m));
  for (int64_t m : {1, 3}) {
    EXPECT_FALSE(a.isExcluded(m));
    EXPECT_EQ(a.values[m], INFINITY);
  }
  EXPECT_FALSE(a.isExcluded(4));
  EXPECT_EQ(a.values[4], 2);
}

/// A computed factor beyond f16's range is infinite: what a row makes of it,

/// with a weight of 0 too, is taken out, and no other row.
TEST(Reference, ComputedFactorThatOverflows) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N, %e < 1)
    ins(%W: f32[M, N], %V: f16[N, 1], %F: f32[N]) outs(%A: f32[M, 1]) {
  %w = attn.read %W[%m, %n] : tensor<?x?xf32>
  %p = math.exp %w : f32
  %v = attn.read %V[%n, %e] : tensor<?x1xf16>
  %f = attn.read %F[%n] : tensor<?xf32>
  %wide = arith.extf %v : f16 to f32
  %y = arith.mulf %wide, %f : f32
  %product = arith.mulf %p, %y : f32
  %a = attn.reduce sum %product over (%n) product f16 : f32
  attn.write %a to %A[%m, %e] : f32, tensor<?x1xf32>
})mlir");
  for (double factor : {1.0, 3.0}) {
    HostTensor w = HostTensor::allocate(ElementType::F32, {2, 2});
    HostTensor v = HostTensor::allocate(ElementType::F16, {2, 1});
    HostTensor f = HostTensor::allocate(ElementType::F32, {2});
    w.set({0, 1}, -INFINITY);
    v.set({0, 0}, 1);
    v.set({1, 0}, 3e4);
    f.set({0}, 1);
    f.set({1}, factor);
    ReferenceResult result = kernel.evaluate({w, v, f});
    const ReferenceOutput &a = result.outputs[0];
    EXPECT_EQ(a.values[0], 1);
    for (int64_t m : {0, 1})
      EXPECT_EQ(a.isExcluded(m), factor == 3.0);
  }
}

/// What multiplies a softmax's weight is rounded with a weight of up to 1,

/// where the sum is normalised: it must fit the type as that.
TEST(Reference, WeightedFactorThatOverflows) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N, %e < 1)
    ins(%S: f32[M, N], %Y: f32[M, N], %V: f16[N, 1]) outs(%A: f32[M, 1]) {
  %s = attn.read %S[%m, %n] : tensor<?x?xf32>
  %p = attn.softmax %s over (%n) : f32
  %y = attn.read %Y[%m, %n] : tensor<?x?xf32>
  %w = arith.mulf %p, %y : f32
  %v = attn.read %V[%n, %e] : tensor<?x1xf16>
  %wide = arith.extf %v : f16 to f32
  %product = arith.mulf %w, %wide : f32
  %a = attn.reduce sum %product over (%n) product f16 : f32
  attn.write %a to %A[%m, %e] : f32, tensor<?x1xf32>
})mlir");
  HostTensor s = HostTensor::allocate(ElementType::F32, {2, 4});
  HostTensor y = HostTensor::allocate(ElementType::F32, {2, 4});
  HostTensor v = HostTensor::allocate(ElementType::F16, {4, 1});
  for (int64_t n = 0; n < 4; ++n) {
    y.set({0, n}, 1e4); // weights of 1/4
    y.set({1, n}, 1e5);
    v.set({n, 0}, 1);
  }
  ReferenceResult result = kernel.evaluate({s, y, v});
  const ReferenceOutput &a = result.outputs[0];
  EXPECT_EQ(a.values[1], 1e5);
  EXPECT_FALSE(a.isExcluded(0));
  EXPECT_TRUE(a.isExcluded(1));
}

/// 8-bit integers are what they are in bf16: a product of them has the error of
/// its sum alone. Those of 32 bits are rounded.
TEST(Reference, IntegersThatAProductHolds) {
  for (bool isWide : {false, true}) {
    std::string type = isWide ? "i32" : "i8";
    ParsedKernel kernel("attn.kernel @k sizes(%M) indices(%m < M, %d < 4) "
                        "ins(%X: " +
                        type + "[M, 4]) outs(%A: f32[M]) {" +
                        "%x = attn.read %X[%m, %d] : tensor<?x4x" + type +
                        ">\n %f = arith.sitofp %x : " + type + R"mlir( to f32
  %y = arith.mulf %f, %f : f32
  %a = attn.reduce sum %y over (%d) product bf16 : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
    HostTensor x = HostTensor::allocate(
        isWide ? ElementType::I32 : ElementType::I8, {1, 4});
    for (int64_t d = 0; d < 4; ++d)
      x.set({0, d}, isWide ? 1001 : 101);
    ReferenceResult result = kernel.evaluate({x});
    const ReferenceOutput &a = result.outputs[0];
    EXPECT_EQ(a.values[0], isWide ? 4008004 : 40804);
    EXPECT_EQ(a.bounds[0] > 1, isWide);
  }
}

/// What is below f32's normal numbers may count as 0, on a step's other side.
TEST(Reference, StepOfASubnormal) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%A: f32[M]) {
  %x = attn.read %X[%m] : tensor<?xf32>
  %a = math.floor %x : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
  HostTensor x = HostTensor::allocate(ElementType::F32, {3});
  x.set({0}, -1e-40);
  x.set({1}, 1e-40);
  x.set({2}, -1e-30);
  ReferenceResult result = kernel.evaluate({x});
  const ReferenceOutput &a = result.outputs[0];
  EXPECT_EQ(a.values[0], -1);
  EXPECT_EQ(a.bounds[0], 1);
  EXPECT_EQ(a.bounds[1], 0);
  EXPECT_EQ(a.values[2], -1);
  EXPECT_EQ(a.bounds[2], 0);
}

/// What a condition hides may be left out of a sum: 0 times a factor that
/// overflows, or 0 / 0. NaN of what it does not choose is NaN in every kernel.
TEST(Reference, HiddenTermsMayBeLeftOut) {
  for (bool isChosen : {false, true}) {
    std::string weight = isChosen ? "arith.select %c, %x, %zero : f32"
                                  : "arith.mulf %x, %zero : f32";
    ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M) indices(%m < M, %n < 2) ins(%X: f32[M, 2])
    outs(%A: f32[M], %B: f32[M]) {
  %x = attn.read %X[%m, %n] : tensor<?x2xf32>
  %zero = arith.constant 0.0 : f32
  %c = arith.cmpf olt, %x, %zero : f32
  %w = )mlir" + weight + R"mlir(
  %exp = math.exp %x : f32
  %inf = arith.mulf %exp, %exp : f32
  %scaled = arith.mulf %w, %inf : f32
  %sum = arith.addf %scaled, %x : f32
  %a = attn.reduce sum %sum over (%n) : f32
  %quotient = arith.divf %w, %zero : f32
  %b = attn.reduce sum %quotient over (%n) : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
  attn.write %b to %B[%m] : f32, tensor<?xf32>
})mlir");
    HostTensor x = HostTensor::allocate(ElementType::F32, {1, 2});
    x.set({0, 0}, -1);
    x.set({0, 1}, 1000);
    ReferenceResult result = kernel.evaluate({x});
    for (const ReferenceOutput &output : result.outputs) {
      EXPECT_TRUE(std::isnan(output.values[0]));
      EXPECT_EQ(output.isExcluded(0), isChosen);
    }
  }
}
