//===- CheckCommand.cpp - attentile check ---------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "attentile/PipelineRunner.h"
#include "llvm/Support/Process.h"

using namespace mlir;

namespace attentile {

int checkCommand(const CheckCommandOptions &options) {
  Session session(options);
  if (!session.open() || !session.check(CheckMode::Syntax))
    return session.report();
  llvm::Expected<NativeTarget> target = NativeTarget::select(options.cpu);
  if (!target)
    return wrongCall(llvm::toString(target.takeError()));
  PipelineRunner runner(options.pipeline, std::move(*target), options.threads,
                        configurePassManager);
  if (!options.after.empty() &&
      !llvm::is_contained(runner.passes(), options.after))
    return wrongCall(
        "expected --after with a pass that runs, got '" + options.after + "'",
        "these can be checked: " + llvm::join(runner.passes(), ", "));
  RunCheckOptions check;
  check.file = options.source;
  check.kernel = options.kernel;
  check.schedule = options.schedule;
  check.seed = options.seed;
  check.eachPass = options.eachPass;
  check.full = options.full;
  check.only = options.only;
  check.after = options.after;
  check.progress = llvm::sys::Process::StandardErrIsDisplayed();
  llvm::Expected<std::vector<PassCheck>> result =
      runCheck(session.tree(), session.bindings, runner, check,
               session.diagnostics, llvm::outs());
  if (int code = session.report()) {
    llvm::consumeError(result.takeError());
    return code;
  }
  if (!result)
    return wrongCall(llvm::toString(result.takeError()));
  return allPassed(*result) ? exitSuccess : exitWrongProgram;
}

} // namespace attentile
