//===- CheckTest.cpp - the engine of `attentile check` --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Check.h"
#include "../../lib/Driver/CheckConfig.h"
#include "attentile/EmitIR.h"
#include "attentile/Reference.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace attentile;
using namespace attentile::checking;

namespace {
/// A kernel that the reference itself runs, with a mistake if asked for.
struct ReferenceKernel : RunnableKernel {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  bool mistake = false;
  bool writesGaps = false;

  llvm::Error run(llvm::ArrayRef<HostTensor> ins,
                  llvm::ArrayRef<HostTensor> outs) override {
    attn::KernelOp kernel = *module->getOps<attn::KernelOp>().begin();
    auto sizes = bindSizes(kernel, ins, outs);
    if (!sizes)
      return sizes.takeError();
    auto result = evaluate(kernel, ins, *sizes);
    if (!result)
      return result.takeError();
    for (auto [output, out] : llvm::zip(result->outputs, outs)) {
      HostTensor target = out;
      for (size_t i = 0; i < output.values.size(); ++i) {
        std::vector<int64_t> index(target.rank());
        int64_t rest = i;
        for (size_t k = index.size(); k-- > 0; rest /= target.sizes[k])
          index[k] = rest % target.sizes[k];
        bool wrong = mistake && index.back() == target.sizes.back() - 1 &&
                     target.sizes[1] > 1;
        target.set(index, output.values[i] + (wrong ? 1 : 0));
      }
      if (writesGaps && target.size() > 0 && !target.isContiguous())
        target.writeDouble(
            target.positionOf(std::vector<int64_t>(target.rank()).data()) + 1,
            0);
    }
    return llvm::Error::success();
  }
};

struct ReferenceRunner : KernelRunner {
  std::string brokenFrom;
  bool writesGaps = false;
  int compilations = 0;

  std::vector<std::string> passes() const override {
    return {"attn-lower-softmax", "attn-form-grids", "tile-fuse-online-softmax",
            "tile-skip-masked-blocks"};
  }
  llvm::Expected<std::unique_ptr<RunnableKernel>>
  compile(const CheckedKernel &kernel, llvm::StringRef pass) override {
    ++compilations;
    auto compiled = std::make_unique<ReferenceKernel>();
    compiled->module = emit(compiled->context, kernel);
    // All passes include the broken one.
    std::vector<std::string> names = passes();
    auto place = [&](llvm::StringRef name) {
      return llvm::find(names, name) - names.begin();
    };
    compiled->mistake = !brokenFrom.empty() && place(pass) >= place(brokenFrom);
    compiled->writesGaps = writesGaps;
    return compiled;
  }
};

struct Check {
  SourceFile file;
  Diagnostics diagnostics;
  Bindings bindings;
  ReferenceRunner runner;
  RunCheckOptions options;
  std::string text;

  explicit Check(const std::string &example)
      : file(example,
             llvm::MemoryBuffer::getFile(ATTENTILE_EXAMPLES "/" + example)
                 .get()
                 ->getBuffer()
                 .str()) {
    options.file = "examples/" + example;
  }
  std::vector<PassCheck> run() {
    SyntaxTree tree = parse(file, diagnostics, findBesideOrInLibrary);
    llvm::raw_string_ostream os(text);
    auto checks = runCheck(tree, bindings, runner, options, diagnostics, os);
    if (!checks) {
      diagnostics.print(llvm::errs());
      ADD_FAILURE() << llvm::toString(checks.takeError());
      return {};
    }
    return std::move(*checks);
  }
};
} // namespace

TEST(Cover, EveryPairThatIsPermitted) {
  std::vector<unsigned> levels{3, 9, 6, 6, 3, 6, 7};
  std::vector<int> empty{-1, -1, 5, 5, -1, -1, -1};
  auto permitted = [](llvm::ArrayRef<unsigned> row) {
    return row[2] != 5 || row[3] != 5;
  };
  auto rows = coverPairs(levels, empty, 1, permitted);
  EXPECT_LE(rows.size(), 95u);
  for (size_t i = 0; i < levels.size(); ++i)
    for (size_t j = i + 1; j < levels.size(); ++j)
      for (unsigned a = 0; a < levels[i]; ++a)
        for (unsigned b = 0; b < levels[j]; ++b) {
          // A row that computes nothing counts for the empty level alone.
          bool found = llvm::any_of(rows, [&](auto &row) {
            bool computes = (row[2] != 5 || i == 2 || j == 2) &&
                            (row[3] != 5 || i == 3 || j == 3);
            return row[i] == a && row[j] == b && computes;
          });
          EXPECT_EQ(found, !(i == 2 && j == 3 && a == 5 && b == 5));
        }
}

/// The covering set of the causal example: the reference agrees with itself,
/// and few elements are taken out.
TEST(Check, CoversTheCausalExample) {
  Check check("02-causal.attn");
  check.bindings.add("E=16", check.diagnostics);
  std::vector<PassCheck> checks = check.run();
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_TRUE(allPassed(checks)) << check.text;
  EXPECT_GE(checks[0].runs, 54);
  EXPECT_LE(checks[0].runs, 95);
  EXPECT_LE(check.runner.compilations, 27);
  EXPECT_GT(checks[0].elements, 10000);
  EXPECT_LT(checks[0].excluded, checks[0].elements / 10);
}

/// 6 row lengths, 6 key lengths, 3 batch sizes, for each of 3 types.
TEST(Check, EverySizeIsAProduct) {
  Check check("01-attention.attn");
  check.bindings.add("D=8,E=8", check.diagnostics);
  check.options.coverage = Coverage::Sizes;
  std::vector<PassCheck> checks = check.run();
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_TRUE(allPassed(checks)) << check.text;
  EXPECT_EQ(checks[0].runs, 6 * 6 * 3 * 3);
  EXPECT_EQ(check.runner.compilations, 3);
}

TEST(Check, NamesTheBrokenPass) {
  Check check("02-causal.attn");
  check.bindings.add("D=16,E=16", check.diagnostics);
  check.options.eachPass = true;
  check.runner.brokenFrom = "tile-fuse-online-softmax";
  std::vector<PassCheck> checks = check.run();
  ASSERT_EQ(checks.size(), 5u);
  EXPECT_FALSE(allPassed(checks));
  for (const PassCheck &pass : checks)
    EXPECT_EQ(pass.failedRuns > 0, pass.pass != "attn-lower-softmax" &&
                                       pass.pass != "attn-form-grids")
        << check.text;
  // What failed can be run again by itself.
  Check again("02-causal.attn");
  again.bindings.add("D=16,E=16", again.diagnostics);
  again.options.only = {checks[3].failures[0].configuration};
  again.options.after = checks[3].pass;
  again.runner.brokenFrom = check.runner.brokenFrom;
  std::vector<PassCheck> one = again.run();
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].runs, 1);
  ASSERT_EQ(one[0].failures.size(), 1u);
  EXPECT_EQ(one[0].failures[0].message, checks[3].failures[0].message);
  EXPECT_NE(again.text.find("again: attentile check examples/02-causal.attn "
                            "--bind D=16,E=16 --after tile-fuse-online-softmax "
                            "--only T="),
            std::string::npos)
      << again.text;
}

/// What is run alone, or fails with all passes, is run after each pass too.
TEST(Check, NamesThePassOfARun) {
  for (bool only : {true, false}) {
    Check check("02-causal.attn");
    check.bindings.add("D=16,E=16", check.diagnostics);
    check.options.eachPass = true;
    if (only)
      check.options.only = {"T=f32,B=2,H=2,G=1,M=7,N=5,strides=contiguous,"
                            "values=normal,seed=1"};
    check.runner.brokenFrom = "tile-skip-masked-blocks";
    std::vector<PassCheck> checks = check.run();
    ASSERT_EQ(checks.size(), 5u);
    for (const PassCheck &pass : checks) {
      if (only)
        EXPECT_EQ(pass.runs, 1) << check.text;
      if (!pass.pass.empty() && pass.pass != "tile-skip-masked-blocks") {
        EXPECT_EQ(pass.failedRuns, 0) << check.text;
        continue;
      }
      ASSERT_FALSE(pass.failures.empty()) << check.text;
      EXPECT_EQ(pass.failures[0].configuration,
                checks[0].failures[0].configuration);
    }
  }
}

TEST(Check, FindsWritesOutside) {
  Check check("01-attention.attn");
  check.bindings.add("D=16,E=16,T=f32", check.diagnostics);
  check.runner.writesGaps = true;
  std::vector<PassCheck> checks = check.run();
  EXPECT_NE(check.text.find("wrote outside its elements"), std::string::npos);
}

/// Every example can be varied, and keeps its own constraints.
TEST(Check, EveryExampleRuns) {
  for (const char *example :
       {"01-attention.attn", "03-sliding-window.attn", "04-alibi.attn",
        "05-soft-cap.attn", "06-learned-bias.attn", "07-column-sums.attn",
        "08-two-softmaxes.attn", "09-prefix-lm.attn",
        "10-packed-documents.attn", "11-pair-bias.attn",
        "12-neighbourhood.attn", "13-block-sparse.attn", "14-sigmoid.attn",
        "15-differential.attn", "16-latent.attn", "17-rotary.attn",
        "18-attention-sink.attn", "19-dropout.attn",
        "20-quantized-cache.attn"}) {
    Check check(example);
    check.bindings.add("T=f32,D=16,E=32", check.diagnostics);
    std::vector<PassCheck> checks = check.run();
    EXPECT_TRUE(allPassed(checks)) << check.text;
  }
}

TEST(Check, RefusesWhatTheKernelDoesNotHave) {
  Check check("02-causal.attn");
  SyntaxTree tree = parse(check.file, check.diagnostics, findBesideOrInLibrary);
  auto message = [&](const char *only) {
    check.diagnostics.clear();
    check.options.only = {only};
    auto checks = runCheck(tree, check.bindings, check.runner, check.options,
                           check.diagnostics, llvm::nulls());
    return checks ? "" : llvm::toString(checks.takeError());
  };
  EXPECT_EQ(message("T=f32,X=3"),
            "expected a type or size of the kernel, got 'X'");
  EXPECT_EQ(message("T=f32,D=16,E=16,B=1"),
            "expected every size of the kernel in 'T=f32,D=16,E=16,B=1'");
  EXPECT_EQ(message("T=f32,D=16,E=16,B=1,H=3,G=2,M=1,N=1"),
            "expected types and sizes that keep the kernel's constraints, got "
            "'T=f32,D=16,E=16,B=1,H=3,G=2,M=1,N=1'");
  EXPECT_EQ(message("strides=odd"), "expected a kind of strides, got 'odd'");
  check.options.after = "attn-unroll";
  EXPECT_EQ(message("T=f32"),
            "expected a pass of the pipeline, got 'attn-unroll'; there are "
            "attn-lower-softmax, attn-form-grids, tile-fuse-online-softmax, "
            "tile-skip-masked-blocks");
}

/// The diagnostics say why.
TEST(Check, RefusesKernelsThatAreWrong) {
  SourceFile file("wrong.attn", "kernel k(X: f32[M]) -> (Y: f32[M]) "
                                "where M == M + 1 { Y[m] = Z[m]; }");
  Check check("02-causal.attn");
  SyntaxTree tree = parse(file, check.diagnostics, findBesideOrInLibrary);
  auto checks = runCheck(tree, check.bindings, check.runner, check.options,
                         check.diagnostics, llvm::nulls());
  ASSERT_FALSE(checks);
  EXPECT_EQ(llvm::toString(checks.takeError()),
            "expected a kernel that can be checked");
  EXPECT_TRUE(check.diagnostics.hasErrors());
}

/// What the few elements that are left say is nothing, if all of them are 0.
TEST(Check, ZerosAmongFew) {
  PassCheck::OutputCount few{"O", 1000, 995, 5, 0};
  EXPECT_TRUE(few.isLost());
  few.nonzero = 1;
  EXPECT_FALSE(few.isLost());
  PassCheck::OutputCount zeros{"O", 1000, 900, 100, 0};
  EXPECT_FALSE(zeros.isLost());
  EXPECT_TRUE(zeros.isZero());
}
