//===- PipelineRunner.h - kernels for check ---------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_PIPELINERUNNER_H
#define ATTENTILE_PIPELINERUNNER_H

#include "attentile/Check.h"
#include "attentile/Native.h"
#include "attentile/Pipeline.h"

namespace attentile {

/// Compiles what runCheck asks for: through the tile pipeline, up to a pass,
/// and to machine code. After a pass that leaves the attn level the program is
/// evaluated there.
class PipelineRunner : public KernelRunner {
public:
  /// `threads`: of each run, 0 for all. `configure` is given every pass
  /// manager before it runs.
  PipelineRunner(PipelineOptions options, NativeTarget target, unsigned threads,
                 std::function<void(mlir::PassManager &)> configure)
      : options(std::move(options)), target(std::move(target)),
        threads(threads), configure(std::move(configure)) {}

  std::vector<std::string> passes() const override;

  llvm::Expected<std::unique_ptr<RunnableKernel>>
  compile(const CheckedKernel &kernel, llvm::StringRef pass) override;

private:
  PipelineOptions options;
  NativeTarget target;
  unsigned threads;
  std::function<void(mlir::PassManager &)> configure;
};

} // namespace attentile

#endif
