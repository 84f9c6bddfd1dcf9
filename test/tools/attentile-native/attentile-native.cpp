//===- attentile-native.cpp - the CPU target alone, for tests -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a module with one program at any level, runs the passes given before
// it, and makes native code of it. --time prints where the time goes; --run
// runs it on random tensors and prints how long that takes.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Native.h"
#include "attentile/Native/Passes.h"
#include "attentile/Native/Pipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"
#include <algorithm>
#include <chrono>
#include <random>

using namespace attentile;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::init("-"),
                                  cl::desc("file.mlir"));
static cl::opt<std::string> output("o", cl::init("-"), cl::desc("output file"));
static cl::opt<std::string> cpu("cpu", cl::init("native"),
                                cl::desc("processor, as LLVM names it"));
static cl::opt<std::string> passes(
    "passes",
    cl::init("canonicalize,cse,attn-lower-softmax,attn-form-grids,attn-to-tile,"
             "canonicalize,cse,tile-fuse-online-softmax,canonicalize,cse,"
             "loop-invariant-code-motion,cse"),
    cl::desc("what to run before"));
static cl::opt<std::string> emitKind("emit", cl::init("obj"),
                                     cl::desc("llvm, asm, obj or header"));
static cl::opt<bool> timing("time", cl::desc("print what each step took"));
static cl::opt<bool> timePasses("pass-times", cl::desc("and each pass"));
static cl::list<int64_t> runSizes("run", cl::CommaSeparated,
                                  cl::desc("run, with these sizes"));
static cl::opt<unsigned> threads("run-threads", cl::desc("to run on"));
static cl::opt<unsigned> repeats("run-repeat", cl::init(5), cl::desc("runs"));

static int fail(const llvm::Twine &message) {
  llvm::errs() << "attentile-native: " << message << '\n';
  return 1;
}

/// The milliseconds since the last call.
static double lap() {
  static auto last = std::chrono::steady_clock::now();
  auto now = std::chrono::steady_clock::now();
  std::chrono::duration<double, std::milli> elapsed = now - last;
  last = now;
  return elapsed.count();
}

static void report(const char *step) {
  if (timing)
    llvm::errs() << llvm::format("%8.1f ms  %s\n", lap(), step);
}

/// Runs the program on tensors of normally distributed numbers.
static int run(const NativeProgram &program) {
  std::vector<int64_t> sizes(runSizes.begin(), runSizes.end());
  const ProgramInfo &info = program.info();
  if (sizes.size() != info.sizes.size())
    return fail("expected a number for each size of the program");
  RunArguments arguments;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const ParameterInfo &parameter : info.parameters) {
    std::vector<int64_t> shape;
    for (const ExtentExpr &extent : parameter.shape)
      shape.push_back(extent.evaluate(sizes));
    if (!parameter.isTensor && parameter.hasDefault) {
      arguments.tensors.emplace_back();
      continue;
    }
    HostTensor tensor = HostTensor::allocate(parameter.type, shape);
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.writeDouble(i, normal(random));
    arguments.tensors.push_back(tensor);
  }
  RunOptions options;
  options.threads = threads;
  std::vector<double> seconds;
  for (unsigned k = 0; k < repeats; ++k) {
    llvm::Expected<RunStats> stats = program.run(arguments, options);
    if (!stats)
      return fail(llvm::toString(stats.takeError()));
    seconds.push_back(stats->seconds);
  }
  llvm::sort(seconds);
  llvm::outs() << llvm::format("best %.3f ms, median %.3f ms\n",
                               seconds.front() * 1e3,
                               seconds[seconds.size() / 2] * 1e3);
  return 0;
}

int main(int argc, char **argv) {
  lap();
  registerAttentileLoopsPasses();
  registerAttentileNativePasses();
  mlir::registerTransformsPasses();
  cl::ParseCommandLineOptions(argc, argv, "the CPU target alone\n");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect, mlir::func::FuncDialect,
                      mlir::scf::SCFDialect, mlir::vector::VectorDialect,
                      mlir::LLVM::LLVMDialect>();
  auto target = NativeTarget::select(cpu);
  if (!target)
    return fail(llvm::toString(target.takeError()));
  report("start");
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(input, &context);
  if (!module)
    return 1;
  report("parse");
  mlir::PassManager before(&context);
  before.enableVerifier(false);
  if (timePasses)
    before.enableTiming();
  if (mlir::failed(mlir::parsePassPipeline(passes, before)) ||
      mlir::failed(before.run(*module)))
    return 1;
  report("passes before");
  auto programs = module->getOps<tile::ProgramOp>();
  if (programs.empty())
    return fail("expected a tile.program");
  ProgramInfo info = ProgramInfo::of(*programs.begin());

  mlir::PassManager lowering(&context);
  lowering.enableVerifier(false);
  if (timePasses)
    lowering.enableTiming();
  buildNativeLowering(lowering, *target);
  if (mlir::failed(lowering.run(*module)))
    return 1;
  info.readScratch(*module);
  report("lowering");

  NativeOutput kind = emitKind == "llvm"  ? NativeOutput::LLVM
                      : emitKind == "asm" ? NativeOutput::Assembly
                                          : NativeOutput::Object;
  auto code = emitNative(*module, *target, kind);
  if (!code)
    return fail(llvm::toString(code.takeError()));
  report("code generation");
  if (!runSizes.empty()) {
    auto program = NativeProgram::load(info, std::move(*code));
    if (!program)
      return fail(llvm::toString(program.takeError()));
    report("loading");
    return run(**program);
  }

  std::error_code error;
  llvm::ToolOutputFile file(output, error, llvm::sys::fs::OF_None);
  if (error)
    return fail(output + ": " + error.message());
  if (emitKind == "header")
    file.os() << emitHeader(info, *target);
  else
    file.os() << (*code)->getBuffer();
  file.keep();
  return 0;
}
