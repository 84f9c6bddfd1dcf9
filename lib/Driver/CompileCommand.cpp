//===- CompileCommand.cpp - attentile compile -----------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileGpu.h"
#include "Session.h"
#include "Tile/Tile.h"
#include "attentile/LowerToWarps.h"
#include "attentile/Native.h"
#include "attentile/WriteFile.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace attentile {

/// Writes a file, or says why it cannot.
static int writeText(llvm::StringRef path,
                     llvm::function_ref<void(llvm::raw_ostream &)> print) {
  if (llvm::Error error = writeFile(path, print))
    return wrongCall(llvm::toString(std::move(error)));
  return exitSuccess;
}

/// `path` with the ending of a header.
static std::string headerPath(llvm::StringRef path) {
  llvm::SmallString<128> header(path);
  llvm::sys::path::replace_extension(header, "h");
  return header.str().str();
}

/// From tiles to machine code: LLVM IR, an object file, a header.
static int emitNativeCode(const CompileCommandOptions &options, ModuleOp module,
                          llvm::StringRef name) {
  using Emit = CompileCommandOptions::Emit;
  llvm::Expected<NativeTarget> target = NativeTarget::select(options.cpu);
  if (!target)
    return wrongCall(llvm::toString(target.takeError()));
  ProgramInfo info = ProgramInfo::of(*module.getOps<tile::ProgramOp>().begin());

  if (!runPasses(module,
                 [&](OpPassManager &pm) { buildNativeLowering(pm, *target); }))
    return exitWrongProgram;
  info.readScratch(module);

  std::string text = options.output.empty() ? "-" : options.output;
  std::string file =
      options.output.empty() ? (name + ".o").str() : options.output;
  if (options.emit == Emit::Header)
    return writeText(
        text, [&](llvm::raw_ostream &os) { os << emitHeader(info, *target); });
  bool isText = options.emit == Emit::LLVM;
  auto code = emitNative(module, *target,
                         isText ? NativeOutput::LLVM : NativeOutput::Object);
  if (!code) {
    wrongCall(llvm::toString(code.takeError()));
    return exitWrongProgram;
  }
  if (int failed = writeText(isText ? text : file, [&](llvm::raw_ostream &os) {
        os << (*code)->getBuffer();
      }))
    return failed;
  if (options.emit != Emit::ObjectAndHeader)
    return exitSuccess;
  return writeText(headerPath(file), [&](llvm::raw_ostream &os) {
    os << emitHeader(info, *target);
  });
}

int compileCommand(const CompileCommandOptions &options) {
  using Emit = CompileCommandOptions::Emit;
  std::string output = options.output.empty() ? "-" : options.output;
  if (options.emit == Emit::ObjectAndHeader && options.target == "cpu" &&
      headerPath(options.output) == options.output && !options.output.empty())
    return wrongCall("expected -o with the object file's name, got a header's, "
                     "'" +
                     options.output + "'");
  Session session(options);
  if (!session.open())
    return session.report();
  if (options.emit == Emit::AST) {
    if (int code = session.report())
      return code;
    return writeText(output,
                     [&](llvm::raw_ostream &os) { session.tree().print(os); });
  }
  std::unique_ptr<CheckedKernel> kernel = session.check(CheckMode::Compile);
  if (int code = session.report())
    return code;
  OwningOpRef<ModuleOp> module = session.emit(*kernel);
  if (!module)
    return exitWrongProgram;
  auto printModule = [&](llvm::raw_ostream &os) { module->print(os); };
  if (options.emit == Emit::Attn)
    return writeText(output, printModule);
  if (options.target != "cpu" && options.emit != Emit::Tile)
    return emitGpuCode(options, session, *module, kernel->name);
  // A GPU's tiles are those that its code has.
  PipelineOptions pipeline = options.pipeline;
  if (pipeline.forGpu)
    pipeline = fitShared(*module, pipeline);
  if (!session.lowerToTiles(*module, pipeline))
    return exitWrongProgram;
  if (options.emit == Emit::Tile)
    return writeText(output, printModule);
  return emitNativeCode(options, *module, kernel->name);
}

} // namespace attentile
