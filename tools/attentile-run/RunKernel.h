//===- RunKernel.h - one run, launched and compared -------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TOOLS_ATTENTILE_RUN_RUNKERNEL_H
#define ATTENTILE_TOOLS_ATTENTILE_RUN_RUNKERNEL_H

#include "PreparedSet.h"
#include <map>

namespace attentile {

/// What came of the runs so far.
struct Tally {
  int64_t elements = 0, excluded = 0;
  double worstRatio = 0;
  /// ||out - ref|| and ||ref|| of all runs with normal values, by type.
  struct Norms {
    double error = 0, reference = 0;
  };
  std::map<ElementType, Norms> norms;
};

/// How one run ended.
struct Outcome {
  enum { Passed, Failed, NoMemory, Lost } kind = Passed; ///< Lost: the GPU is
  std::string message;                                   // of a failure
  double seconds = 0;                                    // if timed
};

/// How kernels are run.
struct RunOptions {
  int32_t device = 0;
  int32_t launches = 0; ///< how often each is timed
  /// Lists of blocks are found by a launch of their own, which is given no
  /// output.
  bool listed = false;
};

/// Draws the inputs, launches and compares.
Outcome runKernel(const PreparedRun &run, attentile_kernel *kernel,
                  const RunOptions &options, Tally &tally);

} // namespace attentile

#endif
