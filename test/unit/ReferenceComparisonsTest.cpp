//===- ReferenceComparisonsTest.cpp - comparisons that are not certain ----===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceTesting.h"

using namespace attentile;

/// Of a comparison that a right kernel may decide otherwise nothing is told.
TEST(Reference, UncertainTruth) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M) indices(%m < M) ins(%X: f32[M]) outs(%A: i1[M]) {
  %x = attn.read %X[%m] : tensor<?xf32>
  %e = math.exp %x : f32
  %one = arith.constant 1.0 : f32
  %a = arith.cmpf ogt, %e, %one : f32
  attn.write %a to %A[%m] : i1, tensor<?xi1>
})mlir");
  HostTensor x = HostTensor::allocate(ElementType::F32, {3});
  x.set({0}, 0);
  x.set({1}, 1);
  x.set({2}, -1);
  ReferenceResult result = kernel.evaluate({x});
  const ReferenceOutput &a = result.outputs[0];
  EXPECT_TRUE(a.isExcluded(0));
  EXPECT_FALSE(a.isExcluded(1));
  EXPECT_EQ(a.values[1], 1);
  EXPECT_FALSE(a.isExcluded(2));
  EXPECT_EQ(a.values[2], 0);
}

/// the other counts with that in the norm, where its element's bound has it.
TEST(Reference, NormOfUndecidedComparisons) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N, %d < 1)
    ins(%X: f32[M, 1], %K: bf16[N, 1], %C: f32[M, N]) outs(%A: bf16[M, N]) {
  %x = attn.read %X[%m, %d] : tensor<?x1xf32>
  %k = attn.read %K[%n, %d] : tensor<?x1xbf16>
  %c = attn.read %C[%m, %n] : tensor<?x?xf32>
  %e = math.exp %x : f32
  %wide = arith.extf %k : bf16 to f32
  %product = arith.mulf %e, %wide : f32
  %s = attn.reduce sum %product over (%d) product bf16 : f32
  %above = arith.cmpf ogt, %s, %c : f32
  %zero = arith.constant 0.0 : f32
  %kept = arith.select %above, %s, %zero : f32
  attn.write %kept to %A[%m, %n] : f32, tensor<?x?xbf16>
})mlir");
  for (bool isClose : {false, true}) {
    HostTensor x = HostTensor::allocate(ElementType::F32, {64, 1});
    HostTensor k = HostTensor::allocate(ElementType::BF16, {64, 1});
    HostTensor c = HostTensor::allocate(ElementType::F32, {64, 64});
    for (int64_t m = 0; m < 64; ++m) {
      x.set({m, 0}, 1 + m / 64.0);
      k.set({m, 0}, 1);
      for (int64_t n = 0; n < 64; ++n)
        c.set({m, n}, isClose && n % 2 == 0
                          ? std::exp(1 + m / 64.0) * (1 - 0x1p-12)
                          : 1);
    }
    ReferenceResult result = kernel.evaluate({x, k, c});
    const ReferenceOutput &a = result.outputs[0];
    EXPECT_EQ(a.arithmeticNorm > 10, isClose) << a.arithmeticNorm;
    HostTensor got = HostTensor::allocate(ElementType::BF16, {64, 64});
    for (int64_t i = 0; i < got.size(); ++i)
      got.writeDouble(i, isClose && i % 8 == 0 ? 0 : a.values[i]);
    Comparison comparison = compare(a, got);
    EXPECT_TRUE(comparison.normApplies);
    EXPECT_TRUE(comparison.passed())
        << comparison.failed << " wrong, norm " << comparison.errorNorm
        << " beside " << comparison.roundedNorm << ", "
        << comparison.arithmeticNorm;
  }
}

/// norm whose squares f32 loses.
TEST(Reference, ExtremeThatMayBeNaN) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M) indices(%m < M, %n < 1)
    ins(%X: f32[M, 1]) outs(%A: i1[M]) {
  %x = attn.read %X[%m, %n] : tensor<?x1xf32>
  %square = arith.mulf %x, %x : f32
  %norm = math.rsqrt %square : f32
  %s = arith.mulf %x, %norm : f32
  %most = attn.reduce max %s over (%n) : f32
  %is = arith.cmpf oeq, %s, %most : f32
  %a = attn.reduce any %is over (%n) : i1
  attn.write %a to %A[%m] : i1, tensor<?xi1>
})mlir");
  HostTensor x = HostTensor::allocate(ElementType::F32, {2, 1});
  x.set({0, 0}, 2);
  x.set({1, 0}, 1e-40);
  ReferenceResult result = kernel.evaluate({x});
  const ReferenceOutput &a = result.outputs[0];
  EXPECT_FALSE(a.isExcluded(0));
  EXPECT_EQ(a.values[0], 1);
  EXPECT_TRUE(a.isExcluded(1));
}
