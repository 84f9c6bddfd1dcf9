//===- CompileGpu.cpp - attentile compile for a GPU -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileGpu.h"
#include "GpuCompiler.h"
#include "Tile/Tile.h"
#include "attentile/Seal.h"
#include "attentile/WriteFile.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace attentile {

namespace json = llvm::json;

static int writeText(llvm::StringRef path, llvm::StringRef text) {
  if (llvm::Error error =
          writeFile(path, [&](llvm::raw_ostream &os) { os << text; }))
    return wrongCall(llvm::toString(std::move(error)));
  return exitSuccess;
}

static int wrongProgram(llvm::Error error) {
  wrongCall(llvm::toString(std::move(error)));
  return exitWrongProgram;
}

/// `path` with another ending.
static std::string withEnding(llvm::StringRef path, llvm::StringRef ending) {
  llvm::SmallString<128> result(path);
  llvm::sys::path::replace_extension(result, ending);
  return result.str().str();
}

/// {"D": 128, "T": "bf16"} from the texts of --bind.
static json::Object boundNames(const std::vector<std::string> &bind) {
  json::Object result;
  for (const std::string &text : bind)
    for (llvm::StringRef part : llvm::split(text, ',')) {
      auto [name, value] = part.split('=');
      int64_t number = 0;
      if (value.getAsInteger(10, number))
        result[name.trim()] = value.trim();
      else
        result[name.trim()] = number;
    }
  return result;
}

/// The manifest as text, sealed.
static std::string textOf(const json::Object &manifest) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("{0:2}", json::Value(json::Object(manifest)));
  return sealed(text);
}

/// Bytes that a thread writes and reads for want of registers: more is told.
static constexpr int64_t kMuchSpilled = 2048;

static void warnOfSpills(const json::Object &manifest, Location loc) {
  for (const json::Value &launch : *manifest.getArray("launches")) {
    const json::Object &object = *launch.getAsObject();
    int64_t bytes = object.getInteger("spill_bytes").value_or(0);
    if (bytes <= kMuchSpilled)
      continue;
    llvm::StringRef name = *object.getString("kernel");
    emitWarning(loc) << "'" << name
                     << "' needs more registers than there are: each thread "
                        "writes and reads "
                     << bytes
                     << " bytes of memory instead, which is slow; smaller "
                        "tiles, of a schedule or of a loop, or a schedule that "
                        "materializes lets, may need less";
  }
}

int emitGpuCode(const CompileCommandOptions &options, Session &session,
                ModuleOp module, llvm::StringRef name) {
  using Emit = CompileCommandOptions::Emit;
  llvm::Expected<GpuTarget> target = GpuTarget::select(options.target);
  if (!target)
    return wrongCall(llvm::toString(target.takeError()));
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, module.getContext());
  if (!lowerForms(module, options.pipeline))
    return exitWrongProgram;
  std::string output = options.output.empty() ? "-" : options.output;
  if (options.emit == Emit::Warp) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    return writeText(output, text);
  }
  auto program = *module.getOps<tile::ProgramOp>().begin();
  Location loc = program.getLoc();
  FailureOr<json::Object> manifest = describeProgram(program);
  if (failed(manifest))
    return exitWrongProgram;
  GpuOptions gpu;
  gpu.lineInfo = options.lineInfo;
  bool isLLVM = options.emit == Emit::LLVM;
  FailureOr<std::string> ptx = emitKernels(
      module, *target, gpu, isLLVM ? GpuOutput::LLVM : GpuOutput::PTX);
  if (failed(ptx))
    return exitWrongProgram;
  if (isLLVM || options.emit == Emit::PTX)
    return writeText(output, *ptx);

  (*manifest)["compiler"] = ATTENTILE_VERSION;
  (*manifest)["target"] = target->name;
  (*manifest)["bound"] = boundNames(options.bind);
  (*manifest)["source"] =
      json::Object{{"file", llvm::sys::path::filename(options.source).str()},
                   {"sha256", hashOf(session.sourceText())}};
  std::string file =
      options.output.empty() ? (name + ".cubin").str() : options.output;
  bool isHeader = options.emit == Emit::Header;
  llvm::Expected<std::string> cubin =
      addCubin(*manifest, *ptx, *target, gpu, loc,
               llvm::sys::path::filename(withEnding(file, "cubin")));
  if (!cubin)
    return wrongProgram(cubin.takeError());
  warnOfSpills(*manifest, loc);
  if (cubin->empty()) {
    printNote("no ptxas in PATH, CUDA_HOME or a Python package: PTX is written "
              "instead of a cubin, and the driver compiles it");
    (*manifest)["ptx"] = json::Object{
        {"file", llvm::sys::path::filename(withEnding(file, "ptx")).str()}};
  }
  std::string text = textOf(*manifest);
  if (isHeader)
    return writeText(output, emitGpuHeader(*manifest, text, *cubin, *ptx));
  if (int code = cubin->empty() ? writeText(withEnding(file, "ptx"), *ptx)
                                : writeText(file, *cubin))
    return code;
  return writeText(withEnding(file, "json"), text);
}

} // namespace attentile
