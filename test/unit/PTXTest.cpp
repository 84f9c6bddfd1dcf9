//===- PTXTest.cpp - targets and modules that no PTX is made for ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/PTX.h"
#include "Warp/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
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
  auto text = emitPTX(*module, target);
  ASSERT_FALSE(text);
  EXPECT_EQ(llvm::toString(text.takeError()),
            "expected a module in the LLVM and NVVM dialects, got another");
}

/// Of rows that lie a stride apart one address is a product, the next are sums.
TEST(PTX, AddressesOfRows) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
llvm.func @rows(%p: !llvm.ptr<1>, %stride: i64, %x: f32)
    attributes {nvvm.kernel} {
  %i = nvvm.read.ptx.sreg.tid.x range <i32, 0, 1024> : i32
  %two = llvm.mlir.constant(2 : i32) : i32
  %first = llvm.shl %i, %two overflow<nsw, nuw> : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
  %second = llvm.add %first, %c1 overflow<nsw, nuw> : i32
  %third = llvm.add %first, %c2 overflow<nsw, nuw> : i32
  %fourth = llvm.add %first, %c3 overflow<nsw, nuw> : i32
  %i0 = llvm.zext nneg %first : i32 to i64
  %i1 = llvm.zext nneg %second : i32 to i64
  %i2 = llvm.zext nneg %third : i32 to i64
  %i3 = llvm.zext nneg %fourth : i32 to i64
  %o0 = llvm.mul %i0, %stride overflow<nsw> : i64
  %o1 = llvm.mul %i1, %stride overflow<nsw> : i64
  %o2 = llvm.mul %i2, %stride overflow<nsw> : i64
  %o3 = llvm.mul %i3, %stride overflow<nsw> : i64
  %a0 = llvm.getelementptr %p[%o0] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %a1 = llvm.getelementptr %p[%o1] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %a2 = llvm.getelementptr %p[%o2] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %a3 = llvm.getelementptr %p[%o3] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  llvm.inline_asm has_side_effects "st.global.f32 [$0], $1;", "l,f" %a0, %x : (!llvm.ptr<1>, f32) -> ()
  llvm.inline_asm has_side_effects "st.global.f32 [$0], $1;", "l,f" %a1, %x : (!llvm.ptr<1>, f32) -> ()
  llvm.inline_asm has_side_effects "st.global.f32 [$0], $1;", "l,f" %a2, %x : (!llvm.ptr<1>, f32) -> ()
  llvm.inline_asm has_side_effects "st.global.f32 [$0], $1;", "l,f" %a3, %x : (!llvm.ptr<1>, f32) -> ()
  llvm.return
})",
                                                        &context);
  ASSERT_TRUE(module);
  auto target = llvm::cantFail(GpuTarget::select("sm_90"));
  std::string text = llvm::cantFail(emitPTX(*module, target));
  EXPECT_EQ(llvm::StringRef(text).count("mul.lo.s64") +
                llvm::StringRef(text).count("mad.lo.s64"),
            1u)
      << text;
}

/// An exclusive or of conditions is "they differ", one of integers is no
/// expression of a manifest.
TEST(PTX, ExclusiveOrInAManifest) {
  mlir::MLIRContext context;
  context.loadDialect<attn::AttnDialect, tile::TileDialect, warp::WarpDialect,
                      mlir::arith::ArithDialect>();
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          message = diagnostic.str();
                                          return mlir::success();
                                        });
  auto describe = [&](const std::string &type, const std::string &condition) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        R"(tile.program @p sizes(%N) ins() outs(%Y: f32[N]) {
  %c1 = arith.constant 1 : index
  %odd = arith.cmpi eq, %N, %c1 : index
  %even = arith.cmpi sgt, %N, %c1 : index
  %x = arith.xori )" +
            type + "\n  " + condition + R"(
  attn.assume %holds, "holds"
})",
        &context);
    return describeProgram(*module->getOps<tile::ProgramOp>().begin());
  };
  auto bools = describe("%odd, %even : i1", "%holds = arith.ori %x, %x : i1");
  ASSERT_TRUE(succeeded(bools));
  std::string text;
  llvm::raw_string_ostream(text)
      << *bools->getArray("constraints")->front().getAsObject()->get("holds");
  EXPECT_EQ(text, R"(["or",["ne",["eq","N",1],["gt","N",1]],)"
                  R"(["ne",["eq","N",1],["gt","N",1]]])");
  EXPECT_TRUE(failed(
      describe("%N, %c1 : index", "%holds = arith.cmpi eq, %x, %c1 : index")));
  EXPECT_EQ(message, "expected what the runtime of a GPU can evaluate, got "
                     "'xori'");
}
