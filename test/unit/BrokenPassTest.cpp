//===- BrokenPassTest.cpp - check names the pass that is wrong ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Damages the program behind one pass, as a bug in that pass would, and expects
// `check --each-pass` to find every pass before it right and that one wrong.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "attentile/Check.h"
#include "attentile/PipelineRunner.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace attentile;
using namespace mlir;

namespace {

using Damage = std::function<bool(Operation *)>;

/// Applies `damage` after every run of the pass `flag`.
struct Sabotage : PassInstrumentation {
  Sabotage(std::string flag, Damage damage, bool &done)
      : flag(std::move(flag)), damage(std::move(damage)), done(done) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    if (pass->getArgument() == flag)
      done |= damage(op);
  }

  std::string flag;
  Damage damage;
  bool &done;
};

/// Full blocks end one element late, so the last may evaluate no mask where it
/// should: a bound off by one.
bool moveBound(Operation *root) {
  bool changed = false;
  root->walk([&](scf::ForOp loop) {
    auto blocks = loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks");
    if (!blocks || blocks.getValue() != tile::BlockClass::Full)
      return;
    OpBuilder builder(loop);
    Value one = arith::ConstantIndexOp::create(builder, loop.getLoc(), 1);
    loop.getUpperBoundMutable().assign(arith::AddIOp::create(
        builder, loop.getLoc(), loop.getUpperBound(), one));
    changed = true;
  });
  return changed;
}

/// An accumulator is carried on as it is when the running maximum moves: a
/// forgotten rescale.
bool forgetRescale(Operation *root) {
  bool changed = false;
  root->walk([&](tile::DotOp dot) {
    auto scaled =
        dot.getAcc() ? dot.getAcc().getDefiningOp<arith::MulFOp>() : nullptr;
    auto loop = dot->getParentOfType<scf::ForOp>();
    if (!scaled || !loop)
      return;
    for (Value factor : scaled->getOperands())
      if (llvm::is_contained(loop.getRegionIterArgs(), factor)) {
        dot.getAccMutable().assign(factor);
        changed = true;
        return;
      }
  });
  return changed;
}

void expectNamed(const std::string &flag, const Damage &damage) {
  SCOPED_TRACE(flag);
  std::string path = ATTENTILE_EXAMPLES "/02-causal.attn";
  auto buffer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(buffer)) << path;
  SourceFile file(path, (*buffer)->getBuffer().str());
  Diagnostics diagnostics;
  SyntaxTree tree = parse(file, diagnostics, findBesideOrInLibrary);
  llvm::Expected<NativeTarget> target = NativeTarget::select("native");
  ASSERT_TRUE(bool(target));
  bool done = false;
  PipelineRunner runner(
      PipelineOptions(), *target, /*threads=*/0, [&](PassManager &pm) {
        pm.addInstrumentation(std::make_unique<Sabotage>(flag, damage, done));
      });
  Bindings bindings;
  bindings.add("T=f32", diagnostics);
  RunCheckOptions options;
  options.file = path;
  options.eachPass = true;
  std::string report;
  llvm::raw_string_ostream os(report);
  auto checks = runCheck(tree, bindings, runner, options, diagnostics, os);
  ASSERT_TRUE(bool(checks)) << llvm::toString(checks.takeError());
  EXPECT_TRUE(done) << "nothing to damage";
  EXPECT_FALSE(allPassed(*checks)) << report;
  bool before = true;
  for (const PassCheck &check : *checks) {
    if (check.pass.empty())
      continue;
    before &= check.pass != flag;
    if (before)
      EXPECT_EQ(check.failedRuns, 0) << check.pass << "\n" << report;
    if (check.pass == flag)
      EXPECT_GT(check.failedRuns, 0) << report;
  }
  EXPECT_FALSE(before) << "the pass was not checked";
  EXPECT_NE(report.find(flag), std::string::npos);
}

TEST(BrokenPass, BoundOffByOne) {
  expectNamed("tile-skip-masked-blocks", moveBound);
}

TEST(BrokenPass, ForgottenRescale) {
  expectNamed("tile-fuse-online-softmax", forgetRescale);
}

} // namespace
