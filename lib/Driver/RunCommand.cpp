//===- RunCommand.cpp - attentile run -------------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundsCheck.h"
#include "CheckReport.h"
#include "GpuCompiler.h"
#include "GpuRunner.h"
#include "Inputs.h"
#include "Progress.h"
#include "Session.h"
#include "attentile/Native.h"
#include "attentile/Npy.h"
#include "attentile/Reference.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include <chrono>

using namespace mlir;

namespace attentile {

static int fail(ExitCode code, const llvm::Twine &message) {
  llvm::WithColor::error() << message << "\n";
  return code;
}

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// "0.19 s", "12.3 ms"
static std::string timeText(double seconds) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (seconds >= 1)
    os << llvm::format("%.2f s", seconds);
  else if (seconds >= 1e-3)
    os << llvm::format("%.1f ms", seconds * 1e3);
  else
    os << llvm::format("%.0f us", seconds * 1e6);
  return text;
}

/// "O: bf16[1, 8, 512, 64]"
static void printTensor(llvm::StringRef name, const HostTensor &tensor) {
  llvm::outs() << name << ": " << nameOf(tensor.type) << "[";
  llvm::interleaveComma(tensor.sizes, llvm::outs());
  llvm::outs() << "]";
}

namespace {

/// One run of a kernel, from its file to the printed comparison.
class Run {
public:
  explicit Run(const RunCommandOptions &options)
      : options(options), session(options) {}

  /// The exit code.
  int operator()();

private:
  int prepare();
  int compile();
  int compileForCpu();
  int compileOnGpu();
  int execute();
  int executeOnGpu();
  int writeFiles();
  int verify();

  attn::KernelOp kernel() { return *formula->getOps<attn::KernelOp>().begin(); }

  const RunCommandOptions &options;
  Session session;
  Inputs inputs;
  OwningOpRef<ModuleOp> formula; // the attn level, as the reference reads it
  std::vector<int64_t> sizes;
  std::unique_ptr<CheckedKernel> checked;
  std::unique_ptr<NativeProgram> program; // on the CPU,
  std::unique_ptr<GpuKernel> onGpu;       // or on the GPU
};

} // namespace

/// Everything that can be wrong with the call or the program, before code is
/// made.
int Run::prepare() {
  if (!session.open())
    return session.report();
  std::unique_ptr<CheckedKernel> head = session.check(CheckMode::Syntax);
  if (!head)
    return session.report();
  for (const NamedFile &output : options.outputs)
    if (llvm::none_of(head->outs, [&](const CheckedParam &param) {
          return param.name == output.name;
        })) {
      std::vector<llvm::StringRef> names;
      for (const CheckedParam &param : head->outs)
        names.push_back(param.name);
      return wrongCall("expected --out with an output of '" + head->name +
                           "', got '" + output.name + "'",
                       "its outputs are " + llvm::join(names, ", "));
    }
  if (!inputs.read(*head, options.inputs, session.bindings))
    return exitWrongCall;
  checked = session.check(CheckMode::Run);
  if (int code = session.report())
    return code;
  formula = session.emit(*checked);
  if (!formula)
    return exitWrongProgram;
  if (!inputs.complete(*checked, kernel(), options.seed))
    return exitWrongCall;
  llvm::Expected<std::vector<int64_t>> bound =
      bindSizes(kernel(), inputs.ins, inputs.outs);
  if (!bound)
    return fail(exitWrongCall, llvm::toString(bound.takeError()));
  sizes = std::move(*bound);
  if (llvm::Error error = applyDefaults(kernel(), inputs.ins, sizes))
    return wrongCall(llvm::toString(std::move(error)),
                     "--bind NAME=VALUE gives a scalar its value");
  if (std::optional<std::string> broken =
          findBrokenAssumption(kernel(), inputs.ins, sizes))
    return fail(exitWrongProgram,
                "expected '" + *broken + "' to hold, got values that break it");
  if (options.checkBounds) {
    llvm::SourceMgr sources;
    SourceMgrDiagnosticHandler handler(sources, &session.context);
    if (failed(checkBounds(kernel(), inputs.ins, sizes)))
      return exitWrongProgram;
  }
  return exitSuccess;
}

int Run::compileForCpu() {
  llvm::Expected<NativeTarget> target = NativeTarget::select(options.cpu);
  if (!target)
    return fail(exitWrongCall, llvm::toString(target.takeError()));
  OwningOpRef<ModuleOp> module = formula->clone();
  if (!session.lowerToTiles(*module))
    return exitWrongProgram;
  llvm::Expected<std::unique_ptr<NativeProgram>> compiled =
      NativeProgram::compile(*module, *target, {}, configurePassManager);
  if (!compiled)
    return fail(exitWrongProgram, llvm::toString(compiled.takeError()));
  program = std::move(*compiled);
  return exitSuccess;
}

int Run::compileOnGpu() {
  llvm::Expected<std::string> target = gpuTarget();
  if (!target)
    return fail(exitWrongCall, llvm::toString(target.takeError()));
  llvm::Expected<CompiledKernel> image =
      compileForGpu(*checked, *target, options.pipeline);
  if (!image)
    return fail(exitWrongProgram, llvm::toString(image.takeError()));
  std::vector<std::string> names;
  for (BlockArgument in : kernel().getInArgs())
    names.push_back(kernel().nameOf(in).str());
  llvm::Expected<std::unique_ptr<GpuKernel>> loaded =
      GpuKernel::load(*image, std::move(names));
  if (!loaded)
    return fail(exitWrongProgram, llvm::toString(loaded.takeError()));
  onGpu = std::move(*loaded);
  return exitSuccess;
}

int Run::compile() {
  auto start = std::chrono::steady_clock::now();
  bool takesGpu = options.target == "gpu" ||
                  (options.target == "auto" && attentile_device_count() > 0);
  if (int code = takesGpu ? compileOnGpu() : compileForCpu())
    return code;
  llvm::outs() << "compiled in " << timeText(secondsSince(start)) << "\n";
  return exitSuccess;
}

int Run::executeOnGpu() {
  llvm::Expected<double> seconds =
      onGpu->time(inputs.ins, inputs.outs, options.repeat);
  if (!seconds)
    return fail(exitWrongProgram, llvm::toString(seconds.takeError()));
  char name[96] = "";
  attentile_device_info(0, nullptr, name, sizeof name);
  llvm::outs() << "ran in " << timeText(*seconds)
               << (options.repeat > 1
                       ? ", the mean of " + std::to_string(options.repeat) +
                             " launches,"
                       : "")
               << " on " << name << "\n";
  return exitSuccess;
}

int Run::execute() {
  if (onGpu)
    return executeOnGpu();
  RunArguments arguments;
  arguments.tensors = inputs.ins;
  arguments.tensors.insert(arguments.tensors.end(), inputs.outs.begin(),
                           inputs.outs.end());
  arguments.sizes = sizes;
  unsigned threads = options.threads ? options.threads : availableThreads();
  double best = 0;
  for (unsigned i = 0; i < options.repeat; ++i) {
    Progress progress("running");
    RunOptions run;
    run.threads = threads;
    run.progress = [&](double done) {
      progress.update((i + done) / options.repeat);
    };
    llvm::Expected<RunStats> stats = program->run(arguments, run);
    if (!stats)
      return fail(exitWrongProgram, llvm::toString(stats.takeError()));
    best = i == 0 ? stats->seconds : std::min(best, stats->seconds);
  }
  llvm::outs() << "ran in " << timeText(best)
               << (options.repeat > 1
                       ? ", the best of " + std::to_string(options.repeat) +
                             " runs,"
                       : "")
               << " on " << threads
               << (threads == 1 ? " thread\n" : " threads\n");
  return exitSuccess;
}

int Run::writeFiles() {
  if (!options.saveInputs.empty() && !inputs.drawn.empty()) {
    if (std::error_code code =
            llvm::sys::fs::create_directories(options.saveInputs))
      return wrongCall("cannot make the folder '" + options.saveInputs +
                       "': " + code.message());
    for (auto [arg, tensor] :
         llvm::zip_equal(kernel().getInArgs(), inputs.ins)) {
      std::string name = kernel().nameOf(arg).str();
      if (!llvm::is_contained(inputs.drawn, name))
        continue;
      llvm::SmallString<128> path(options.saveInputs);
      llvm::sys::path::append(path, name + ".npy");
      if (llvm::Error error = writeNpy(path, tensor))
        return wrongCall(llvm::toString(std::move(error)));
    }
  }
  for (auto [arg, tensor] :
       llvm::zip_equal(kernel().getOutArgs(), inputs.outs)) {
    llvm::StringRef name = kernel().nameOf(arg);
    printTensor(name, tensor);
    const auto *file =
        llvm::find_if(llvm::ArrayRef<NamedFile>(options.outputs),
                      [&](const NamedFile &file) { return file.name == name; });
    if (file != options.outputs.data() + options.outputs.size()) {
      if (llvm::Error error = writeNpy(file->path, tensor)) {
        llvm::outs() << "\n";
        return wrongCall(llvm::toString(std::move(error)));
      }
      llvm::outs() << " -> " << file->path;
    }
    llvm::outs() << "\n";
  }
  return exitSuccess;
}

int Run::verify() {
  auto start = std::chrono::steady_clock::now();
  ReferenceOptions referenceOptions;
  referenceOptions.threads = options.threads;
  referenceOptions.seed = options.seed;
  referenceOptions.reductionsAgree = !onGpu && options.pipeline.addsAlike();
  llvm::Expected<ReferenceResult> reference =
      evaluate(kernel(), inputs.ins, sizes, referenceOptions);
  if (!reference)
    return fail(exitWrongProgram, llvm::toString(reference.takeError()));
  bool passed = true, isCompared = true; // each output by itself
  std::string scarce;
  for (auto [expected, got] :
       llvm::zip_equal(reference->outputs, inputs.outs)) {
    Comparison comparison = compare(expected, got);
    passed &= comparison.passed();
    isCompared &=
        comparison.excluded < comparison.elements || comparison.elements == 0;
    checking::addIfScarce(scarce, comparison.name, comparison.elements,
                          comparison.excluded);
    llvm::outs() << "  ";
    print(llvm::outs(), comparison);
    llvm::outs() << "\n";
  }
  llvm::outs() << (!passed      ? "DISAGREES"
                   : isCompared ? "agrees"
                                : "COULD NOT BE COMPARED")
               << " with the float64 reference"
               << (passed && isCompared && !scarce.empty()
                       ? " in the " + scarce + " that could be compared"
                       : "")
               << (reference->sampled ? " in rows drawn from seed " +
                                            std::to_string(options.seed)
                                      : "")
               << " (" << timeText(secondsSince(start)) << ")\n";
  return passed && isCompared ? exitSuccess : exitWrongProgram;
}

int Run::operator()() {
  if (int code = prepare())
    return code;
  llvm::outs() << kernel().getSymName();
  if (!inputs.drawn.empty())
    llvm::outs() << ": " << llvm::join(inputs.drawn, ", ")
                 << " drawn from seed " << options.seed;
  llvm::outs() << "\n";
  if (int code = compile())
    return code;
  if (int code = execute())
    return code;
  if (int code = writeFiles())
    return code;
  return options.verify ? verify() : exitSuccess;
}

int runCommand(const RunCommandOptions &options) { return Run(options)(); }

} // namespace attentile
