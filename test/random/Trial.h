//===- Trial.h - one program against the reference --------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_RANDOM_TRIAL_H
#define ATTENTILE_TEST_RANDOM_TRIAL_H

#include "Program.h"
#include "attentile/Check.h"
#include "attentile/Native/Target.h"

namespace attentile::random {

/// What the compiler did with a program, and its runs met.
enum Feature : unsigned {
  skippedBlocks,
  fused,
  twoGrids,
  gather,
  emptyRow,
  onWarps,
  numFeatures
};
extern const char *const featureNames[numFeatures];

/// What came of a program.
struct Outcome {
  enum Kind : uint8_t {
    Passed,
    Refused,     ///< by the front end
    NotCompiled, ///< a pass failed
    Wrong,       ///< a result outside its bound, or a run that failed
    Crashed,     ///< ended by a signal
    TooLong
  };
  Kind kind = Passed;
  std::string message;
  /// The configuration that was wrong, as `attentile check --only` takes it.
  std::string configuration;
  unsigned features = 0; // bits
  unsigned runs = 0;
  int64_t elements = 0, excluded = 0;
  double worstRatio = 0;
};
llvm::StringRef nameOf(Outcome::Kind kind);

/// What is bound when the program is compiled, as --bind takes it. Empty where
/// the front end refuses the program.
std::string bindingsOf(const Program &program);

/// What is not bound of its first run, as --only takes it; empty as above.
std::string configurationOf(const Program &program);

/// Compiles the program once and runs it at each of its sizes, or hands the
/// runs to `recorder`.
Outcome runTrial(const Program &program, RunRecorder *recorder = nullptr);

/// The flags of `attentile check` that set what the program's switches say.
std::string flagsOf(const Program &program);

/// Compiles for a GPU, down to warps, and interprets what each thread does.
std::unique_ptr<KernelRunner>
makeWarpRunner(const PipelineOptions &options,
               std::function<void(mlir::PassManager &)> configure);

} // namespace attentile::random

#endif
