//===- CheckCommand.cpp - attentile check ---------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuCompiler.h"
#include "GpuRunner.h"
#include "Prepare.h"
#include "Session.h"
#include "attentile/PipelineRunner.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"

using namespace mlir;

namespace attentile {

/// What compiles and runs: the CPU, or the GPU of this machine; nothing of a
/// set that is only prepared. Null after reporting.
static std::unique_ptr<KernelRunner>
makeRunner(const CheckCommandOptions &options, const GpuCompiler &compiler) {
  if (options.target != "cpu")
    return std::make_unique<GpuRunner>(compiler);
  llvm::Expected<NativeTarget> target = NativeTarget::select(options.cpu);
  if (!target) {
    wrongCall(llvm::toString(target.takeError()));
    return nullptr;
  }
  return std::make_unique<PipelineRunner>(options.pipeline, std::move(*target),
                                          options.threads,
                                          configurePassManager);
}

/// The architecture to compile for: that of this machine's GPU for "gpu".
static llvm::Expected<std::string>
resolveTarget(const CheckCommandOptions &options) {
  if (options.target == "gpu")
    return gpuTarget();
  return options.target;
}

/// What is wrong with a combination of flags; empty if nothing.
static std::string findConflict(const CheckCommandOptions &options) {
  bool isGpu = options.target == "gpu";
  if (options.target != "cpu" && (options.eachPass || !options.after.empty()))
    return "expected --each-pass and --after with --target=cpu";
  if (!options.prepare.empty() && (options.target == "cpu" || isGpu))
    return "expected --prepare with the --target of a GPU: sm_80, sm_86, sm_89 "
           "or sm_90";
  if (options.prepare.empty() && options.target != "cpu" && !isGpu)
    return "expected --prepare DIR with --target=" + options.target +
           "; --target=gpu checks on this machine";
  return "";
}

int checkCommand(const CheckCommandOptions &options) {
  if (std::string conflict = findConflict(options); !conflict.empty())
    return wrongCall(conflict);
  Session session(options);
  if (!session.open())
    return session.report();
  std::unique_ptr<CheckedKernel> head = session.check(CheckMode::Syntax);
  if (!head)
    return session.report();
  llvm::Expected<std::string> target = resolveTarget(options);
  if (!target)
    return wrongCall(llvm::toString(target.takeError()));
  GpuCompiler compiler = [&](const CheckedKernel &kernel) {
    return compileForGpu(kernel, *target, options.pipeline);
  };
  std::unique_ptr<KernelRunner> runner = makeRunner(options, compiler);
  if (!runner)
    return exitWrongCall;
  if (!options.after.empty() &&
      !llvm::is_contained(runner->passes(), options.after))
    return wrongCall(
        "expected --after with a pass that runs, got '" + options.after + "'",
        "these can be checked: " + llvm::join(runner->passes(), ", "));
  RunCheckOptions check;
  check.file = options.source;
  check.kernel = options.kernel;
  check.schedule = options.schedule;
  check.target = *target;
  check.pipelineFlags = options.pipelineFlags;
  check.seed = options.seed;
  check.eachPass = options.eachPass;
  check.coverage = options.coverage;
  if (!options.only.empty())
    check.only = {options.only};
  check.after = options.after;
  check.threads = options.threads;
  check.progress = llvm::sys::Process::StandardErrIsDisplayed();
  std::optional<PreparedSet> set;
  if (!options.prepare.empty())
    check.recorder = &set.emplace(options.prepare, compiler);
  session.diagnostics.clear(); // warnings, which come again
  llvm::Expected<std::vector<PassCheck>> result =
      runCheck(session.tree(), session.bindings, *runner, check,
               session.diagnostics, llvm::outs());
  if (int code = session.report()) {
    llvm::consumeError(result.takeError());
    return code;
  }
  if (!result)
    return wrongCall(llvm::toString(result.takeError()));
  if (set && allPassed(*result)) {
    llvm::Expected<uint64_t> bytes =
        set->finish(head->name, *target, options.seed);
    if (!bytes)
      return wrongCall(llvm::toString(bytes.takeError()));
    llvm::outs() << "  " << options.prepare << ": "
                 << llvm::format("%.1f MiB", double(*bytes) / (1 << 20))
                 << "\n";
  }
  return allPassed(*result) ? exitSuccess : exitWrongProgram;
}

} // namespace attentile
