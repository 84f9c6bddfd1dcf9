//===- Session.h - a source file on its way down ----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_SESSION_H
#define ATTENTILE_LIB_DRIVER_SESSION_H

#include "Attn/Attn.h"
#include "Options.h"
#include "attentile/EmitIR.h"
#include "attentile/Frontend.h"
#include "mlir/IR/MLIRContext.h"

namespace attentile {

/// Prints `error: ...` and perhaps `note: ...`; the exit code of a wrong call.
int wrongCall(const llvm::Twine &message, const llvm::Twine &note = "");

/// Prints `note: ...`, for what a user should know and need not change.
void printNote(const llvm::Twine &message);

/// What every command does first: read the file, parse it, take the bindings;
/// then check and emit one kernel. Each step says whether to go on; report()
/// prints what was found and gives the exit code.
class Session {
public:
  explicit Session(const CommonOptions &options);

  /// Reads and parses the source and --bind.
  bool open();

  /// Checks the kernel under `bindings`; null after an error. Warnings of an
  /// earlier check are forgotten.
  std::unique_ptr<CheckedKernel> check(CheckMode mode);

  /// The attn level of a checked kernel; null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> emit(const CheckedKernel &kernel);

  /// Runs the passes down to tile loops; false after an error.
  bool lowerToTiles(mlir::ModuleOp module);
  bool lowerToTiles(mlir::ModuleOp module, const PipelineOptions &pipeline);

  /// Prints the diagnostics, as text or JSON. Success without errors; a wrong
  /// call if all errors are about the call (a bad or missing --bind), else a
  /// wrong program.
  int report();

  const CommonOptions &options;
  mlir::MLIRContext context;
  Bindings bindings;
  Diagnostics diagnostics;
  const SyntaxTree &tree() const { return *syntax; }
  /// The source, as it was read.
  llvm::StringRef sourceText() const { return file->text(); }

private:
  /// Whether --tile names axes of the kernel.
  void checkTiles(const CheckedKernel &kernel);

  std::string target; ///< whose schedules are taken
  std::unique_ptr<SourceFile> file;
  std::unique_ptr<SyntaxTree> syntax;
  bool couldNotRead = false, missesBinding = false;
};

} // namespace attentile

#endif
