//===- Session.cpp - one source file on its way through the compiler ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "GpuRunner.h"
#include "Remarks.h"
#include "attentile-c/runtime.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

namespace attentile {

int wrongCall(const llvm::Twine &message, const llvm::Twine &note) {
  llvm::WithColor::error() << message << "\n";
  if (!note.isTriviallyEmpty())
    llvm::WithColor::note() << note << "\n";
  return exitWrongCall;
}

void printNote(const llvm::Twine &message) {
  llvm::WithColor::note() << message << "\n";
}

/// What code will be made for: of "gpu" and "auto" the machine decides. Where
/// it has no GPU that is found when one is asked for.
static std::string resolveTarget(const std::string &target) {
  if (target != "gpu" && (target != "auto" || attentile_device_count() <= 0))
    return target == "auto" ? "cpu" : target;
  llvm::Expected<std::string> found = gpuTarget();
  if (found)
    return *found;
  llvm::consumeError(found.takeError());
  return "cpu";
}

// Passes are few and kernels small: threads would only cost their start.
Session::Session(const CommonOptions &options)
    : options(options), context(MLIRContext::Threading::DISABLED),
      target(resolveTarget(options.target)) {
  if (options.remarks)
    printRemarks(context, llvm::errs());
}

bool Session::open() {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(options.source);
  if (!buffer) {
    couldNotRead = true;
    wrongCall("cannot read '" + options.source +
              "': " + buffer.getError().message());
    return false;
  }
  std::string name = options.source == "-" ? "<stdin>" : options.source;
  file = std::make_unique<SourceFile>(name, (*buffer)->getBuffer().str());
  syntax = std::make_unique<SyntaxTree>(
      parse(*file, diagnostics, findBesideOrInLibrary));
  for (const std::string &bind : options.bind)
    bindings.add(bind, diagnostics);
  return !diagnostics.hasErrors();
}

void Session::checkTiles(const CheckedKernel &kernel) {
  std::vector<llvm::StringRef> axes;
  for (const CheckedIndex &index : kernel.indices)
    axes.push_back(index.name);
  for (const std::string &text : options.pipeline.tileSizes) {
    llvm::StringRef axis = llvm::StringRef(text).split('=').first;
    if (!llvm::is_contained(axes, axis))
      diagnostics
          .error("expected --tile with an index variable of kernel '" +
                 kernel.name + "', got '" + axis + "'")
          .note("it has " + llvm::join(axes, ", "));
  }
}

std::unique_ptr<CheckedKernel> Session::check(CheckMode mode) {
  // What is wrong in no mode but this one is something the call did not bind.
  if (mode != CheckMode::Syntax && !check(CheckMode::Syntax))
    return nullptr;
  missesBinding = mode != CheckMode::Syntax;
  diagnostics.clear();
  CheckOptions checkOptions;
  checkOptions.kernel = options.kernel;
  checkOptions.schedule = options.schedule;
  checkOptions.target = target;
  checkOptions.mode = mode;
  std::unique_ptr<CheckedKernel> kernel =
      attentile::check(*syntax, bindings, checkOptions, diagnostics);
  if (kernel)
    checkTiles(*kernel);
  return diagnostics.hasErrors() ? nullptr : std::move(kernel);
}

OwningOpRef<ModuleOp> Session::emit(const CheckedKernel &kernel) {
  OwningOpRef<ModuleOp> module = attentile::emit(context, kernel);
  if (module && succeeded(verify(*module)))
    return module;
  return nullptr;
}

bool Session::lowerToTiles(ModuleOp module) {
  return lowerToTiles(module, options.pipeline);
}

bool Session::lowerToTiles(ModuleOp module, const PipelineOptions &pipeline) {
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  return runPasses(module,
                   [&](OpPassManager &pm) { buildTilePipeline(pm, pipeline); });
}

int Session::report() {
  if (couldNotRead)
    return exitWrongCall;
  if (options.jsonDiagnostics)
    diagnostics.printJSON(llvm::errs());
  else
    diagnostics.print(llvm::errs());
  if (!diagnostics.hasErrors())
    return exitSuccess;
  bool aboutTheCall =
      missesBinding ||
      llvm::all_of(diagnostics.all(), [&](const Diagnostic &diagnostic) {
        return diagnostic.severity != Severity::Error || !diagnostic.file ||
               diagnostic.file->name() == "--bind";
      });
  return aboutTheCall ? exitWrongCall : exitWrongProgram;
}

} // namespace attentile
