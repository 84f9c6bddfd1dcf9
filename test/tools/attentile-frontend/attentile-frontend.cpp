//===- attentile-frontend.cpp - the front end alone, for tests ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses and checks a file, prints diagnostics to stderr and, on request, the
// syntax tree, what the checker found out, or the emitted module to stdout.
//
//===----------------------------------------------------------------------===//

#include "attentile/EmitIR.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace attentile;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::Required,
                                  cl::desc("file.attn"));
static cl::opt<std::string> emitKind("emit", cl::init("none"),
                                     cl::desc("none, ast, head or attn"));
static cl::opt<std::string> mode("mode", cl::init("syntax"),
                                 cl::desc("syntax, compile or run"));
static cl::opt<std::string> kernelName("kernel", cl::desc("kernel to check"));
static cl::opt<std::string> scheduleName("schedule", cl::desc("its schedule"));
static cl::list<std::string> binds("bind", cl::desc("NAME=VALUE,..."));
static cl::opt<bool> json("json", cl::desc("diagnostics as JSON"));
static cl::opt<bool> locations("locations", cl::desc("print locations"));

/// What a driver asks a checked kernel.
static void printHead(const CheckedKernel &kernel) {
  llvm::raw_ostream &os = llvm::outs();
  os << "kernel " << kernel.name << '\n';
  for (const CheckedType &type : kernel.types)
    os << "type " << type.name << " = " << spelling(type.chosen) << '\n';
  for (const CheckedSize &size : kernel.sizes) {
    os << "size " << size.name << (size.isHead ? " head" : "");
    if (size.bound)
      os << " = " << *size.bound;
    os << '\n';
  }
  for (const auto *params : {&kernel.ins, &kernel.outs})
    for (const CheckedParam &param : *params) {
      os << (params == &kernel.ins ? "in " : "out ") << param.name << ": "
         << spelling(param.type);
      for (const SizeExpr *size : param.shape)
        os << " [" << kernel.text(*size) << ']';
      if (param.bound)
        os << " = " << param.bound->str();
      os << '\n';
    }
  for (const CheckedIndex &index : kernel.indices)
    os << "index " << index.name << " < " << kernel.text(*index.extent) << '\n';
  if (!kernel.schedule.empty())
    os << "schedule " << kernel.schedule << '\n';
  for (const CheckedTile &tile : kernel.tiles)
    os << "tile " << tile.axis << " = " << tile.size << '\n';
}

static int run(SourceFile &file, Diagnostics &diagnostics) {
  // The file is shown without its folder, so that tests can quote errors.
  SyntaxTree tree =
      parse(file, diagnostics, [&](llvm::StringRef path, llvm::StringRef from) {
        return findBesideOrInLibrary(path, from == file.name() ? input : from);
      });
  Bindings bindings;
  for (const std::string &bind : binds)
    bindings.add(bind, diagnostics);
  if (diagnostics.hasErrors())
    return 1;
  if (emitKind == "ast") {
    tree.print(llvm::outs());
    return 0;
  }
  CheckOptions options;
  options.kernel = kernelName;
  options.schedule = scheduleName;
  options.mode = mode == "compile" ? CheckMode::Compile
                 : mode == "run"   ? CheckMode::Run
                                   : CheckMode::Syntax;
  auto kernel = check(tree, bindings, options, diagnostics);
  if (!kernel)
    return 1;
  if (emitKind == "head")
    printHead(*kernel);
  if (emitKind != "attn")
    return 0;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = emit(context, *kernel);
  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(true, /*prettyForm=*/true);
  module->print(llvm::outs(), flags);
  llvm::outs() << '\n';
  return mlir::failed(mlir::verify(*module));
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "the attn language's front end\n");
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!buffer) {
    llvm::errs() << input << ": " << buffer.getError().message() << '\n';
    return 2;
  }
  // Only the file's name: tests quote it wherever they lie.
  std::string name = llvm::StringRef(input).rsplit('/').second.str();
  SourceFile file(name.empty() ? input : name, (*buffer)->getBuffer().str());
  Diagnostics diagnostics;
  int result = run(file, diagnostics);
  if (json)
    diagnostics.printJSON(llvm::errs());
  else
    diagnostics.print(llvm::errs());
  return result;
}
