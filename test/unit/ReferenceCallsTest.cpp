//===- ReferenceCallsTest.cpp - what the reference says of a call
//----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceTesting.h"

using namespace attentile;

TEST(Reference, ConstraintsAndSizes) {
  ParsedKernel kernel(causalKernel("f32"));
  HostTensor q = randomTensor(ElementType::F32, {4, 8}, 1);
  HostTensor k = randomTensor(ElementType::F32, {5, 7}, 2);
  HostTensor v = randomTensor(ElementType::F32, {5, 6}, 3);
  auto sizes = bindSizes(*kernel, {q, k, v, HostTensor()});
  ASSERT_FALSE(sizes);
  EXPECT_EQ(llvm::toString(sizes.takeError()),
            "expected size D of K to be 8 as in Q, got 7");
  std::vector<HostTensor> ins{q, k, v,
                              HostTensor::scalar(ElementType::F32, -1)};
  EXPECT_EQ(findBrokenAssumption(*kernel, ins, {4, 5, 8, 6}), "scale > 0");
  ins[3] = HostTensor::scalar(ElementType::F32, 1);
  EXPECT_FALSE(findBrokenAssumption(*kernel, ins, {4, 5, 8, 6}));
  ins[3] = HostTensor();
  ASSERT_FALSE(applyDefaults(*kernel, ins, {4, 5, 16, 6}));
  EXPECT_EQ(ins[3].at({}), 0.25);
}

TEST(Reference, SizesThatTensorsDoNotSay) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M)
    ins(%X: f32[M, 2 * N]) outs(%Y: f32[M]) {
  %zero = arith.constant 0.0 : f32
  attn.write %zero to %Y[%m] : f32, tensor<?xf32>
})mlir");
  auto sizes =
      bindSizes(*kernel, {HostTensor::allocate(ElementType::F32, {3, 4})});
  ASSERT_FALSE(sizes);
  EXPECT_EQ(llvm::toString(sizes.takeError()),
            "expected size N to be given: no tensor's shape has it alone");
  ParsedKernel doubled(R"mlir(
attn.kernel @k sizes(%M) indices(%m < M)
    ins(%X: f32[M], %Z: f32[4, 2 * M]) outs(%Y: f32[M]) {
  %zero = arith.constant 0.0 : f32
  attn.write %zero to %Y[%m] : f32, tensor<?xf32>
})mlir");
  sizes = bindSizes(*doubled, {HostTensor::allocate(ElementType::F32, {3}),
                               HostTensor::allocate(ElementType::F32, {4, 7})});
  ASSERT_FALSE(sizes);
  EXPECT_EQ(llvm::toString(sizes.takeError()),
            "expected dimension 1 of Z to be 6, got 7");
}

/// Why a kernel of %c and N is not evaluated.
static std::string whyNot(const std::string &body, int64_t size) {
  ParsedKernel kernel("attn.kernel @k sizes(%N) indices(%n < N) "
                      "ins(%c: index) outs(%Y: f32[N]) {\n" +
                      body + "}");
  auto result =
      evaluate(*kernel, {HostTensor::scalarInt(ElementType::I64, 1)}, {size});
  return result ? "" : llvm::toString(result.takeError());
}

TEST(Reference, KernelsThatAreNotEvaluated) {
  EXPECT_EQ(whyNot(R"mlir(
  %n64 = arith.index_cast %n : index to i64
  %f = arith.sitofp %n64 : i64 to f32
  attn.write %f to %Y[%n] : f32, tensor<?xf32>
)mlir",
                   int64_t(1) << 27),
            "a value of 134217728 elements does not fit in the reference's "
            "memory");
  EXPECT_EQ(whyNot(R"mlir(
  %half = arith.constant 0.5 : f32
  %f = math.erf %half : f32
  attn.write %f to %Y[%n] : f32, tensor<?xf32>
)mlir",
                   4),
            "expected an operation of the attn level, got math.erf");
  std::string grid = R"mlir(
  attn.grid step() tile(%n) loop() whole() {
    %half = arith.constant 0.5 : f32
    attn.write %half to %Y[%n] : f32, tensor<?xf32>
  }
)mlir";
  EXPECT_EQ(whyNot(grid, 4), "expected a kernel without grids, got one after "
                             "attn-form-grids");
  // An assumption is not looked at either.
  EXPECT_EQ(whyNot("  %true = arith.constant true\n"
                   "  attn.assume %true, \"true\"\n" +
                       grid,
                   4),
            "expected a kernel without grids, got one after attn-form-grids");
}

/// What has no row, as a key that is a sum of its own, makes no array of all
/// rows: 160 million elements here.
TEST(Reference, LargeArraysAreSplit) {
  ParsedKernel kernel(R"mlir(
attn.kernel @k sizes(%M, %N, %F) indices(%m < M, %n < N, %f < F)
    ins(%Q: f32[M], %K: f32[N, F]) outs(%A: f32[M]) {
  %q = attn.read %Q[%m] : tensor<?xf32>
  %raw = attn.read %K[%n, %f] : tensor<?x?xf32>
  %k = attn.reduce sum %raw over (%f) : f32
  %less = arith.minimumf %q, %k : f32
  %a = attn.reduce sum %less over (%n) : f32
  attn.write %a to %A[%m] : f32, tensor<?xf32>
})mlir");
  std::vector<HostTensor> ins{randomTensor(ElementType::F32, {20000}, 1),
                              randomTensor(ElementType::F32, {8000, 3}, 2)};
  ReferenceOptions options;
  options.sampleAbove = 1000000;
  ReferenceResult result = kernel.evaluate(ins, options);
  ASSERT_TRUE(result.sampled);
  const ReferenceOutput &a = result.outputs[0];
  ASSERT_GE(a.values.size(), 8u);
  std::vector<double> expected;
  for (int64_t m : a.positions) {
    double &sum = expected.emplace_back(0);
    for (int64_t n = 0; n < 8000; ++n)
      sum += std::min(ins[0].at({m}), ins[1].at({n, 0}) + ins[1].at({n, 1}) +
                                          ins[1].at({n, 2}));
  }
  for (size_t i = 0; i < a.values.size(); ++i)
    EXPECT_NEAR(a.values[i], expected[i], 1e-9 * std::fabs(expected[i]));
}

/// Above the limit, rows are drawn; they are the same as in the whole.
TEST(Reference, SamplesRows) {
  ParsedKernel kernel(causalKernel("bf16"));
  std::vector<HostTensor> ins{randomTensor(ElementType::BF16, {60, 16}, 1),
                              randomTensor(ElementType::BF16, {40, 16}, 2),
                              randomTensor(ElementType::BF16, {40, 8}, 3),
                              HostTensor()};
  ReferenceOptions options;
  options.sampleAbove = 10000;
  options.seed = 7;
  ReferenceResult whole = kernel.evaluate(ins);
  ReferenceResult some = kernel.evaluate(ins, options);
  ASSERT_TRUE(some.sampled);
  const ReferenceOutput &o = some.outputs[0];
  ASSERT_EQ(o.values.size(), o.positions.size());
  ASSERT_GE(o.values.size(), 16u);
  ASSERT_LT(o.values.size(), 480u);
  for (size_t i = 0; i < o.values.size(); ++i)
    EXPECT_EQ(o.values[i], whole.outputs[0].values[o.positions[i]]);
}
