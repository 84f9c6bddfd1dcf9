//===- PrepareTest.cpp - runs for a machine without a compiler ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../lib/Driver/Prepare.h"
#include "../../tools/attentile-run/PreparedSet.h"
#include "attentile/Frontend.h"
#include "attentile/Reference.h"
#include "attentile/TestData.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace attentile;

namespace {
/// Keeps what it hands on.
struct Recorder : RunRecorder {
  struct Kept {
    std::string configuration;
    std::vector<HostTensor> ins;
    ReferenceResult reference;
  };
  explicit Recorder(PreparedSet &set) : set(set) {}
  llvm::Error record(const RecordedRun &run) override {
    kept.push_back({run.configuration, run.ins.vec(), run.reference});
    return set.record(run);
  }
  PreparedSet &set;
  std::vector<Kept> kept;
};

/// Never runs.
struct NoRunner : KernelRunner {
  std::vector<std::string> passes() const override { return {}; }
  llvm::Expected<std::unique_ptr<RunnableKernel>>
  compile(const CheckedKernel &, llvm::StringRef) override {
    return llvm::createStringError("expected no compilation");
  }
};

struct Prepared {
  SourceFile file;
  Diagnostics diagnostics;
  Bindings bindings;
  NoRunner runner;
  RunCheckOptions options;
  std::string text;

  explicit Prepared(const std::string &example)
      : file(example,
             llvm::MemoryBuffer::getFile(ATTENTILE_EXAMPLES "/" + example)
                 .get()
                 ->getBuffer()
                 .str()) {
    options.file = "examples/" + example;
  }
  std::vector<PassCheck> run(RunRecorder &recorder) {
    options.recorder = &recorder;
    SyntaxTree tree = parse(file, diagnostics, findBesideOrInLibrary);
    llvm::raw_string_ostream os(text);
    auto checks = runCheck(tree, bindings, runner, options, diagnostics, os);
    if (checks)
      return std::move(*checks);
    ADD_FAILURE() << llvm::toString(checks.takeError());
    return {};
  }
};

class Prepare : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("prepare", path));
    folder = path.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }
  std::string folder;
};
} // namespace

/// Elements as text: NaN equals NaN.
static std::string elementsOf(const HostTensor &tensor) {
  std::string text;
  llvm::raw_string_ostream os(text);
  std::vector<int64_t> index(tensor.rank());
  if (tensor.size() > 0)
    do
      os << tensor.readDouble(tensor.positionOf(index.data())) << ' ';
    while (nextIndex(index, tensor.sizes));
  return text;
}

/// What another machine reads is what was recorded: configurations, inputs
/// drawn again, values and what they may be off.
TEST_F(Prepare, ReadsBackWhatWasWritten) {
  int compilations = 0;
  PreparedSet set(folder, [&](const CheckedKernel &) {
    ++compilations;
    return CompiledKernel{"{\"kernel\":1}", "image", ""};
  });
  Recorder recorder(set);
  Prepared prepared("02-causal.attn");
  prepared.bindings.add("D=16,E=16,T=bf16", prepared.diagnostics);
  ASSERT_TRUE(allPassed(prepared.run(recorder))) << prepared.text;
  auto bytes = set.finish("causal", "sm_90", 1);
  ASSERT_TRUE(bool(bytes));
  EXPECT_EQ(compilations, 1);
  EXPECT_NE(prepared.text.find("runs  prepared"), std::string::npos);

  std::string error;
  ReadSet read;
  ASSERT_TRUE(readSet(folder, read, error)) << error;
  EXPECT_EQ(read.name, "causal");
  EXPECT_EQ(read.target, "sm_90");
  ASSERT_EQ(read.runs.size(), recorder.kept.size());
  EXPECT_GT(read.runs.size(), 40u);
  for (size_t i = 0; i < read.runs.size(); ++i) {
    const PreparedRun &run = read.runs[i];
    const Recorder::Kept &kept = recorder.kept[i];
    EXPECT_EQ(run.name, kept.configuration);
    ASSERT_EQ(run.inputs(), 3u);
    for (unsigned k = 0; k < run.inputs(); ++k) {
      HostTensor again = run.tensors[k].tensor;
      EXPECT_EQ(again.strides, kept.ins[k].strides);
      giveMemory(again, run.name.find("far") != std::string::npos);
      draw(again, run.tensors[k].recipe);
      EXPECT_EQ(elementsOf(again), elementsOf(kept.ins[k])) << run.name;
    }
    for (size_t k = 0; k < run.expectations.size(); ++k) {
      const Expectation &expected = run.expectations[k];
      const ReferenceOutput &output = kept.reference.outputs[k];
      EXPECT_EQ(expected.elements, int64_t(output.values.size()));
      EXPECT_LE(expected.values.size(), 4096u);
      for (size_t n = 0; n < expected.values.size(); ++n) {
        int64_t number = expected.numbers[n];
        double value = output.values[number];
        double allowed =
            2 * output.bounds[number] + halfUnit(output.type, value);
        EXPECT_TRUE(expected.values[n] == value ||
                    (std::isnan(value) && std::isnan(expected.values[n])));
        EXPECT_TRUE(expected.allowed[n] >= allowed || std::isnan(allowed));
        EXPECT_TRUE(!(allowed < INFINITY) ||
                    expected.allowed[n] <= allowed * 1.000001 + 1e-44);
      }
    }
  }
}

/// A kernel that cannot be compiled fails the check, once a compilation.
TEST_F(Prepare, SaysWhatDoesNotCompile) {
  int compilations = 0;
  PreparedSet set(
      folder, [&](const CheckedKernel &) -> llvm::Expected<CompiledKernel> {
        ++compilations;
        return llvm::createStringError("expected a schedule that fits");
      });
  Prepared prepared("01-attention.attn");
  prepared.bindings.add("D=16,E=16,T=f32", prepared.diagnostics);
  std::vector<PassCheck> checks = prepared.run(set);
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_FALSE(allPassed(checks));
  EXPECT_EQ(checks[0].failures[0].message, "expected a schedule that fits");
  EXPECT_EQ(compilations, 1);
}
