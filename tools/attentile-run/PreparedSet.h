//===- PreparedSet.h - what attentile check --prepare wrote -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TOOLS_ATTENTILE_RUN_PREPAREDSET_H
#define ATTENTILE_TOOLS_ATTENTILE_RUN_PREPAREDSET_H

#include "attentile-c/runtime.h"
#include "attentile/TestData.h"
#include <string>

namespace attentile {

/// An input or output of a run, without memory yet.
struct PreparedTensor {
  std::string name;
  HostTensor tensor;
  Recipe recipe; // of an input
};

/// What an output is compared with (lib/Driver/Prepare.h has the format).
struct Expectation {
  int64_t elements = 0; ///< that the reference has; of them `numbers` are kept
  std::vector<int64_t> numbers; // row-major
  std::vector<double> values;
  std::vector<float> allowed;
  bool hasNorm = false;
  double roundedNorm = 0, arithmeticNorm = 0;
};

struct PreparedScalar {
  std::string name;
  attentile_scalar scalar; // without its name
};

struct PreparedRun {
  std::string name;
  unsigned kernel = 0;
  std::vector<PreparedTensor> tensors; // inputs, then outputs
  std::vector<PreparedScalar> scalars;
  std::vector<Expectation> expectations; // of the outputs
  unsigned inputs() const { return tensors.size() - expectations.size(); }
};

struct ReadSet {
  std::string folder, name, target;
  std::vector<PreparedRun> runs;
};

/// Reads DIR/set.json and DIR/expected.bin. False, with what is wrong in
/// `error`.
bool readSet(const std::string &folder, ReadSet &set, std::string &error);

/// Reads a file whole; false if that fails.
bool readFile(const std::string &path, std::string &bytes);

} // namespace attentile

#endif
