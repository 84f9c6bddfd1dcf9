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
#include <map>

namespace attentile {

/// Compiles what runCheck asks for: through the tile pipeline, up to a pass,
/// and to machine code. After a pass that leaves the attn level the program is
/// evaluated there. A program that a pass leaves as it was is not compiled
/// again.
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

  bool addsAlike(llvm::StringRef pass) const override;

private:
  /// Programs by the text of the tile program that they were made of.
  using Programs = std::map<std::string, std::shared_ptr<NativeProgram>>;

  llvm::Expected<std::shared_ptr<NativeProgram>>
  compileTiles(mlir::ModuleOp module, llvm::StringRef pass);

  PipelineOptions options;
  NativeTarget target;
  unsigned threads;
  std::function<void(mlir::PassManager &)> configure;
  /// What was compiled last, after which pass, and after the one before.
  std::string lastPass;
  Programs ofLastPass, ofPassBefore;
};

} // namespace attentile

#endif
