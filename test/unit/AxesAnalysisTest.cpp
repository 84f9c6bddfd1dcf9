//===- AxesAnalysisTest.cpp - tests of attentile/AxesAnalysis.h -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/AxesAnalysis.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace attentile::attn;

static constexpr const char *kKernel = R"mlir(
attn.kernel @k sizes(%M, %N) indices(%m < M, %n < N, %d < 4)
    ins(%Q: f32[M, 4], %K: f32[N, 4], %c: f32) outs(%P: f32[M, N], %L: f32[M]) {
  %q = attn.read %Q[%m, %d] : tensor<?x4xf32>
  %k = attn.read %K[%n, %d] : tensor<?x4xf32>
  %qk = arith.mulf %q, %k : f32
  attn.grid step() tile(%m) loop(%n) whole(%d) {
    %s = attn.reduce sum %qk over (%d) : f32
    %p = attn.softmax %s over (%n) : f32
    %even = attn.softmax %c over (%n) : f32
    %l = attn.logsumexp %s over (%n) : f32
    %all = attn.reduce sum %s over (%m, %n) : f32
    %shift = arith.subi %N, %M : index
    attn.write %p to %P[%m, %n] : f32, tensor<?x?xf32>
    attn.write %l to %L[%m] : f32, tensor<?xf32>
  }
}
)mlir";

TEST(AxesAnalysis, EveryKindOfValue) {
  MLIRContext context;
  context.loadDialect<AttnDialect, arith::ArithDialect>();
  auto module = parseSourceString<ModuleOp>(kKernel, &context);
  ASSERT_TRUE(module);
  auto kernel = *module->getOps<KernelOp>().begin();
  AxesAnalysis analysis(kernel);
  std::string found;
  llvm::raw_string_ostream os(found);
  kernel.walk([&](Operation *op) {
    if (op->getNumResults() != 1)
      return;
    for (BlockArgument index :
         analysis.indicesOf(analysis.of(op->getResult(0))))
      os << kernel.nameOf(index);
    os << ' ';
  });
  //               q  k  qk  s  p  even l all shift
  EXPECT_EQ(found, "md nd mnd mn mn n m   ");
  EXPECT_TRUE(
      analysis.dependsOn(kernel.getIndexArgs()[1], kernel.getIndexArgs()[1]));
  EXPECT_TRUE(analysis.of(kernel.getInArgs()[0]).none());
  EXPECT_EQ(analysis.ofAny(kernel.getIndexArgs()).count(), 3u);
}
