//===- NativeTesting.cpp - native code of hand-written kernels ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NativeTesting.h"
#include "Tile/Tile.h"
#include "attentile/Native/Passes.h"
#include "attentile/Native/Pipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace attentile::testing {

static std::unique_ptr<NativeProgram> failed(const std::string &why) {
  ADD_FAILURE() << why;
  return nullptr;
}

std::unique_ptr<NativeProgram> loadHandWritten(const std::string &source,
                                               const std::string &cpu) {
  MLIRContext context;
  context.loadDialect<tile::TileDialect, func::FuncDialect, scf::SCFDialect,
                      vector::VectorDialect, LLVM::LLVMDialect>();
  auto module = parseSourceString<ModuleOp>(source, &context);
  if (!module)
    return failed("parse error in\n" + source);
  auto programs = module->getOps<tile::ProgramOp>();
  tile::ProgramOp program = *programs.begin();
  ProgramInfo info = ProgramInfo::of(program);
  PassManager host(&context);
  host.addPass(createTileToHost());
  if (mlir::failed(host.run(*module)))
    return failed("tile-to-host failed");
  program.erase();

  auto target = NativeTarget::select(cpu);
  if (!target)
    return failed(llvm::toString(target.takeError()));
  PassManager lowering(&context);
  buildNativePipeline(lowering, NativePipelineOptions(*target));
  if (mlir::failed(lowering.run(*module)))
    return failed("native-lower-to-llvm failed");
  info.readScratch(*module);
  auto object = emitNative(*module, *target, NativeOutput::Object);
  if (!object)
    return failed(llvm::toString(object.takeError()));
  auto result = NativeProgram::load(std::move(info), std::move(*object));
  if (!result)
    return failed(llvm::toString(result.takeError()));
  return std::move(*result);
}

std::string mapProgram(const std::string &body, const std::string &from,
                       const std::string &to, unsigned lanes) {
  auto lanesOf = [&](const std::string &element) {
    return lanes == 1 ? element
                      : "vector<" + std::to_string(lanes) + "x" + element + ">";
  };
  std::string count = std::to_string(lanes);
  return R"mlir(
tile.program @map sizes(%N) ins(%X: )mlir" +
         from + R"mlir([N]) outs(%Y: )mlir" + to + R"mlir([N]) {
  %lanes = arith.constant )mlir" +
         count + R"mlir( : index
  %cells = arith.ceildivsi %N, %lanes : index
  tile.kernel @map_0 grid(%i < %cells) {}
}
func.func @map_0(%args: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr) {
  %X = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %slot = llvm.getelementptr %args[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %Y = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  %one = arith.constant 1 : i64
  %lanes = arith.constant )mlir" +
         count + R"mlir( : i64
  scf.for %i = %begin to %end step %one : i64 {
    %at = arith.muli %i, %lanes : i64
    %px = llvm.getelementptr %X[%at] : (!llvm.ptr, i64) -> !llvm.ptr, )mlir" +
         from + R"mlir(
    %py = llvm.getelementptr %Y[%at] : (!llvm.ptr, i64) -> !llvm.ptr, )mlir" +
         to + R"mlir(
    %x = llvm.load %px {alignment = 4 : i64} : !llvm.ptr -> )mlir" +
         lanesOf(from) + "\n" + body + R"mlir(
    llvm.store %y, %py {alignment = 4 : i64} : )mlir" +
         lanesOf(to) + R"mlir(, !llvm.ptr
  }
  return
}
)mlir";
}

} // namespace attentile::testing
