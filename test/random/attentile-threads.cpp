//===- attentile-threads.cpp - a kernel thread by thread ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `attentile check` does, with the kernel mapped for a GPU by all passes
// down to warps, and each thread's work interpreted: without a GPU, slowly.
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "Trial.h"
#include "attentile/Frontend.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace attentile;
namespace cl = llvm::cl;

int main(int argc, char **argv) {
  random::removeLibraryFlags();
  cl::opt<std::string> path{cl::Positional, cl::Required,
                            cl::desc("FILE.attn")};
  cl::opt<std::string> target{"target", cl::init("sm_90"), cl::desc("The GPU")};
  cl::opt<std::string> kernel{"kernel", cl::desc("Its name, of several")};
  cl::opt<std::string> bind{"bind", cl::desc("NAME=VALUE,...")};
  cl::opt<uint64_t> seed{"seed", cl::init(1), cl::desc("Of the values")};
  cl::list<std::string> only{"only", cl::desc("One configuration")};
  cl::list<std::string> disable{"disable-pass", cl::CommaSeparated,
                                cl::desc("Passes to leave out")};
  cl::ParseCommandLineOptions(argc, argv, "a kernel thread by thread\n");

  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    llvm::errs() << path << ": " << buffer.getError().message() << '\n';
    return 2;
  }
  SourceFile file(path, (*buffer)->getBuffer().str());
  Diagnostics diagnostics;
  SyntaxTree tree = parse(file, diagnostics, findBesideOrInLibrary);
  Bindings bindings;
  bindings.add(bind, diagnostics);
  PipelineOptions pipeline;
  pipeline.forGpu = true;
  pipeline.target = target;
  pipeline.disabledPasses.assign(disable.begin(), disable.end());
  auto runner = random::makeWarpRunner(pipeline, [](mlir::PassManager &) {});
  RunCheckOptions options;
  options.file = path;
  options.kernel = kernel;
  options.seed = seed;
  options.target = target;
  options.only.assign(only.begin(), only.end());
  auto checks =
      runCheck(tree, bindings, *runner, options, diagnostics, llvm::outs());
  diagnostics.print(llvm::errs());
  if (!checks) {
    llvm::errs() << llvm::toString(checks.takeError()) << '\n';
    return 2;
  }
  return allPassed(*checks) ? 0 : 1;
}
