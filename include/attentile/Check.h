//===- Check.h - a kernel against the reference, over many runs -*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `attentile check` does (DESIGN section 3): runs a kernel over a covering
// set of configurations, every pair of (type, head sizes, M, N, group, strides,
// values) at least once, and compares each with the reference. It compiles
// nothing itself: a KernelRunner does.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_CHECK_H
#define ATTENTILE_CHECK_H

#include "attentile/Frontend.h"
#include "attentile/Tensor.h"
#include "llvm/Support/Error.h"
#include <map>

namespace attentile {

/// A kernel that can be called.
class RunnableKernel {
public:
  virtual ~RunnableKernel();

  /// Runs it on the inputs and outputs of the emitted kernel, in its order
  /// (bound scalars are none). All have data and the right sizes; constraints
  /// hold. Every element of `outs` must be defined.
  virtual llvm::Error run(llvm::ArrayRef<HostTensor> ins,
                          llvm::ArrayRef<HostTensor> outs) = 0;
};

/// Compiles kernels.
class KernelRunner {
public:
  virtual ~KernelRunner();

  /// The passes after which a program can be checked, in pipeline order.
  virtual std::vector<std::string> passes() const = 0;

  /// Compiles with optimising passes up to and with `pass`, the rest off; all
  /// of them if `pass` is empty. `kernel` is checked, with types and head sizes
  /// bound.
  virtual llvm::Expected<std::unique_ptr<RunnableKernel>>
  compile(const CheckedKernel &kernel, llvm::StringRef pass) = 0;

  /// PipelineOptions::addsAlike of what `compile` gives.
  virtual bool addsAlike(llvm::StringRef pass) const { return false; }
};

struct Recipe;
struct ReferenceResult;

/// A run of a check, for a machine that has no compiler to repeat.
struct RecordedRun {
  const CheckedKernel &kernel;
  std::string configuration;
  /// What it shares with runs of the same compilation.
  std::string compileKey;
  std::vector<std::string> inNames, outNames;
  llvm::ArrayRef<HostTensor> ins, outs;
  llvm::ArrayRef<Recipe> recipes; // of `ins`; scalars have none
  const ReferenceResult &reference;
  uint64_t seed;
};

/// Takes runs in place of a comparison: attentile check --prepare.
class RunRecorder {
public:
  virtual ~RunRecorder();
  virtual llvm::Error record(const RecordedRun &run) = 0;
};

/// Which runs a check makes: every pair of a type, head sizes, sizes, strides
/// and values at least once; every combination of types, head sizes and sizes,
/// strides and values changing from run to run; every combination of all.
enum class Coverage { Pairs, Sizes, All };

struct RunCheckOptions {
  /// The file as the user wrote it, for the command that repeats a failure.
  std::string file;
  /// The kernel and schedule to check; empty as in the front end's options.
  std::string kernel, schedule;
  /// Flags that decide how code is made, each after a space, for that command.
  std::string pipelineFlags;
  /// The sizes to try are those around the tiles of this target.
  std::string target = "cpu";
  /// Draws whatever is random.
  uint64_t seed = 1;
  /// Also after each pass.
  bool eachPass = false;
  Coverage coverage = Coverage::Pairs;
  /// Only these configurations, in the form that a failure prints.
  std::vector<std::string> only;
  /// Only after this pass; empty: with all passes on.
  std::string after;
  /// Is given the runs; nothing runs here then.
  RunRecorder *recorder = nullptr;
  /// Threads of the reference; 0: as many as the processor affinity has.
  unsigned threads = 0;
  /// Shows progress on standard error.
  bool progress = false;
  /// Stops the runs of a pass after so many failures.
  unsigned maxFailures = 3;
};

/// What came of the runs after one pass.
struct PassCheck {
  std::string pass; // empty: all passes
  int64_t runs = 0, failedRuns = 0;
  int64_t elements = 0, excluded = 0;
  double worstRatio = 0;
  /// ReferenceResult::emptyRows of all runs.
  int64_t emptyRows = 0;
  /// ||out - ref|| and ||ref|| of all runs on normal values, by output type.
  struct Norms {
    double error = 0, reference = 0;
  };
  std::map<ElementType, Norms> norms;
  /// Of each failure that is kept: the configuration and what was wrong.
  struct Failure {
    std::string configuration, message;
  };
  std::vector<Failure> failures;
  /// What the reference could tell of an output, over the runs.
  struct OutputCount {
    std::string name;
    int64_t elements = 0, excluded = 0;
    /// Compared and finite, in runs of which no size is 0: a NaN that stays one
    /// and a sum over nothing say nothing of the formula.
    int64_t telling = 0;
    int64_t nonzero = 0; // of those
    /// What was compared says little: a formula that gives 0 always would pass.
    bool isZero() const { return telling > 0 && nonzero == 0; }
    /// Nothing that says anything was left to compare: of a hundred elements
    /// less than one, and that 0, is nothing.
    bool isLost() const {
      return excluded > 0 &&
             (telling == 0 || (nonzero == 0 && telling < elements / 100));
    }
  };
  std::vector<OutputCount> outputs;
  /// The runs were picked by RunCheckOptions::only: it is no failure that
  /// nothing could be compared.
  bool isOfSome = false;

  /// No run failed, and something of each output was compared.
  bool passed() const;
};

/// Checks one kernel of `tree` under `bindings` (what is bound stays so) and
/// prints a report to `os`. An error is one of the call: the source, or a
/// configuration that the kernel does not permit.
llvm::Expected<std::vector<PassCheck>>
runCheck(const SyntaxTree &tree, const Bindings &bindings, KernelRunner &runner,
         const RunCheckOptions &options, Diagnostics &diagnostics,
         llvm::raw_ostream &os);

/// Whether every pass passed.
bool allPassed(llvm::ArrayRef<PassCheck> checks);

} // namespace attentile

#endif
