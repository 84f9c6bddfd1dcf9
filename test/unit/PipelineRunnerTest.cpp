//===- PipelineRunnerTest.cpp - what check compiles -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/PipelineRunner.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace attentile;

namespace {

TEST(PipelineRunner, CompilesOnceWhatAPassLeavesAsItWas) {
  std::string path = ATTENTILE_EXAMPLES "/02-causal.attn";
  auto buffer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(buffer)) << path;
  SourceFile file(path, (*buffer)->getBuffer().str());
  Diagnostics diagnostics;
  SyntaxTree tree = parse(file, diagnostics, findBesideOrInLibrary);
  Bindings bindings;
  for (const char *binding : {"T=f32", "D=16", "E=16"})
    bindings.add(binding, diagnostics);
  std::unique_ptr<CheckedKernel> kernel =
      check(tree, bindings, CheckOptions(), diagnostics);
  ASSERT_TRUE(kernel);
  llvm::Expected<NativeTarget> target = NativeTarget::select("native");
  ASSERT_TRUE(bool(target));
  // One pass manager to tiles, and one from there where that is done.
  int managers = 0;
  PipelineRunner runner(PipelineOptions(), *target, /*threads=*/1,
                        [&](mlir::PassManager &) { ++managers; });
  auto managersOf = [&](llvm::StringRef pass) {
    managers = 0;
    auto compiled = runner.compile(*kernel, pass);
    EXPECT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    return managers;
  };
  EXPECT_EQ(managersOf("canonicalize"), 2);
  EXPECT_EQ(managersOf("cse"), 1); // finds no common term
  EXPECT_EQ(managersOf("tile-fuse-online-softmax"), 2);
  EXPECT_EQ(managersOf("tile-list-blocks"), 1); // no mask that takes a list
  EXPECT_EQ(managersOf("tile-skip-masked-blocks"), 2);
  // Two passes back: no longer kept.
  EXPECT_EQ(managersOf("cse"), 2);
}

} // namespace
