//===- PTXTest.cpp - targets and modules that no PTX is made for ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/PTX.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace attentile;

TEST(PTX, TargetsByName) {
  for (const char *name : {"sm_80", "sm_86", "sm_89", "sm_90"})
    EXPECT_EQ(llvm::cantFail(GpuTarget::select(name)).name, name);
  auto unknown = GpuTarget::select("sm_70");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(llvm::toString(unknown.takeError()),
            "expected a GPU sm_80, sm_86, sm_89 or sm_90, got 'sm_70'");
}

TEST(PTX, ModulesThatAreNotLowered) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect>();
  mlir::ScopedDiagnosticHandler handler(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @f() { return }", &context);
  auto target = llvm::cantFail(GpuTarget::select("sm_80"));
  auto text = emitPTX(*module, target, {});
  ASSERT_FALSE(text);
  EXPECT_EQ(llvm::toString(text.takeError()),
            "expected a module in the LLVM and NVVM dialects, got another");
}
