//===- Prepare.h - runs for a machine without a compiler --------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_PREPARE_H
#define ATTENTILE_LIB_DRIVER_PREPARE_H

#include "CompiledKernel.h"
#include "attentile/Check.h"
#include <map>

namespace llvm::json {
class Array;
} // namespace llvm::json

namespace attentile {

/// Writes the runs of a check into a folder, for `attentile-run`:
///
///   set.json        every run: kernel, sizes, strides, seeds, scalars; sealed
///   expected.bin    of each output up to 4096 elements: values (f64), what
///   they
///                   may be off (f32, infinite: not compared) and, where the
///                   reference is of drawn rows, row-major numbers (i64)
///   kernel-N.json, kernel-N.cubin   one pair for each compilation
class PreparedSet : public RunRecorder {
public:
  PreparedSet(std::string folder, GpuCompiler compile);
  ~PreparedSet() override;

  llvm::Error record(const RecordedRun &run) override;

  /// Writes what all runs share. The result is the bytes of the folder.
  llvm::Expected<uint64_t> finish(llvm::StringRef name, llvm::StringRef target,
                                  uint64_t seed);

private:
  llvm::Expected<unsigned> kernelOf(const RecordedRun &run);

  std::string folder;
  GpuCompiler compile;
  std::map<std::string, unsigned> kernels; // by compileKey
  std::map<std::string, std::string> failures;
  std::unique_ptr<llvm::json::Array> runs;
  std::string expected;
  uint64_t bytes = 0;
};

} // namespace attentile

#endif
