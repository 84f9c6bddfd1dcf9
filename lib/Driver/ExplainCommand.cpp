//===- ExplainCommand.cpp - attentile explain -----------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExplainReport.h"
#include "GpuCompiler.h"
#include "Session.h"
#include "attentile/LowerToWarps.h"
#include "attentile/NVVM/Passes.h"
#include "attentile/NVVM/RegisterPressure.h"
#include "attentile/WriteFile.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

namespace attentile {
namespace {

void printGrid(llvm::raw_ostream &os, const GridFigures &grid,
               const Explained &explained) {
  os << grid.name << '\n';
  for (const auto &[name, text] : describe(grid, explained))
    os << llvm::left_justify("  " + name, 22) << text << '\n';
}

void printText(llvm::raw_ostream &os, const Explained &explained) {
  for (const GridFigures &grid : explained.grids)
    printGrid(os, grid, explained);
  if (std::string line = compareUnfused(explained); !line.empty())
    os << line << '\n';
}

llvm::json::Object toJSON(const GridFigures &grid, const Explained &explained) {
  llvm::json::Object tiles;
  for (const auto &[axis, size] : grid.tiles)
    tiles[axis] = size;
  llvm::json::Object object{{"name", grid.name},
                            {"tiles", std::move(tiles)},
                            {"programs", grid.programs},
                            {"blocks", grid.blocks},
                            {"masked_blocks", grid.maskedBlocks},
                            {"total_blocks", grid.totalBlocks},
                            {"upper_bound", grid.isUpperBound},
                            {"flops", grid.flops},
                            {"exponentials", grid.exponentials},
                            {"read_bytes", grid.readBytes},
                            {"written_bytes", grid.writtenBytes},
                            {"least_bytes", grid.leastBytes}};

  if (const Machine *machine = explained.machine) {
    Bound bound = boundOf(grid, *machine);
    object["least_seconds"] = bound.seconds;
    object["limit"] = bound.limit;
    object["machine"] = machine->name;
  }
  if (grid.threads != 0) {
    Occupancy occupancy =
        occupancyOf(grid, *explained.machine, explained.multiprocessors);
    object["threads"] = grid.threads;
    object["registers"] = grid.registers;
    object["shared_bytes"] = grid.sharedBytes;
    object["blocks_per_multiprocessor"] = occupancy.blocks;
    object["blocks_limit"] = occupancy.limit;
    object["multiprocessors"] = explained.multiprocessors;
    object["waves"] = occupancy.waves;
  }
  return object;
}

void printJSON(llvm::raw_ostream &os, const Explained &explained) {
  auto list = [&](llvm::ArrayRef<GridFigures> grids) {
    llvm::json::Array array;
    for (const GridFigures &grid : grids)
      array.push_back(toJSON(grid, explained));
    return array;
  };
  os << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{
                                   {"grids", list(explained.grids)},
                                   {"unfused", list(explained.unfused)}}))
     << '\n';
}

/// M=4096,... as numbers by name; false after reporting a wrong one.
bool readSizes(llvm::ArrayRef<std::string> texts,
               llvm::StringMap<int64_t> &values) {
  for (const std::string &text : texts) {
    auto [name, number] = llvm::StringRef(text).split('=');
    int64_t value;
    if (name.empty() || number.getAsInteger(10, value) || value < 0) {
      wrongCall("expected --sizes NAME=NUMBER, got '" + text + "'");
      return false;
    }
    values[name] = value;
  }
  return true;
}

/// Warns of what --sizes names and the kernel has not. It is no error: one list
/// may serve several kernels, and what is missing is refused.
void warnUnknown(llvm::ArrayRef<std::string> texts,
                 const CheckedKernel &kernel) {
  std::vector<StringRef> names, unknown;
  for (const CheckedSize &size : kernel.sizes)
    names.push_back(size.name);
  for (const CheckedParam &in : kernel.ins)
    if (!in.isTensor && isInteger(in.type))
      names.push_back(in.name);
  for (const std::string &text : texts)
    if (StringRef name = StringRef(text).split('=').first;
        !llvm::is_contained(names, name))
      unknown.push_back(name);
  if (unknown.empty())
    return;
  llvm::WithColor::warning()
      << "expected --sizes with sizes and integer scalars of kernel '"
      << kernel.name << "', got " << llvm::join(unknown, ", ") << "\n";
  printNote("it has " + llvm::join(names, ", "));
}

/// What blocks of threads take, from the warp level and before ptxas; false
/// after an error.
bool addResources(ModuleOp module, const PipelineOptions &pipeline,
                  std::vector<GridFigures> &grids) {
  if (!runPasses(module, [&](OpPassManager &pm) {
        buildWarpPipeline(pm, pipeline);
        buildRegisterPipeline(pm);
      }))
    return false;
  auto program = *module.getOps<tile::ProgramOp>().begin();
  // Grids have one kernel each, and perhaps a second one for other strides.
  llvm::StringMap<warp::KernelOp> kernels;
  for (auto kernel : program.getOps<warp::KernelOp>())
    kernels[kernel.getName()] = kernel;
  for (GridFigures &grid : grids) {
    warp::KernelOp kernel = kernels.lookup(grid.name);
    grid.threads = 32 * kernel.getWarps();
    grid.registers = predictRegisters(kernel);
    grid.sharedBytes = kernel.getSharedBytes().value_or(0);
  }
  return true;
}

/// Lowers a copy of the kernel and counts, with what threads take if asked;
/// the exit code of an error.
int explain(Session &session, const CheckedKernel &kernel,
            const PipelineOptions &pipeline,
            const llvm::StringMap<int64_t> &values, bool withResources,
            std::vector<GridFigures> &grids) {
  OwningOpRef<ModuleOp> module = session.emit(kernel);
  if (!module || !session.lowerToTiles(*module, pipeline))
    return exitWrongCall;
  auto figures =
      explainProgram(*module->getOps<tile::ProgramOp>().begin(), values);
  if (!figures) {
    std::string message = llvm::toString(figures.takeError());
    // What follows from data cannot be given.
    bool isMissing = llvm::StringRef(message).starts_with("expected a value");
    return wrongCall(message,
                     isMissing ? "give sizes and integer scalars with --sizes, "
                                 "as in --sizes B=1,H=16,M=4096,N=4096"
                               : "");
  }
  grids = std::move(*figures);
  if (withResources && !addResources(*module, pipeline, grids))
    return exitWrongProgram;
  return exitSuccess;
}

} // namespace

int explainCommand(const ExplainCommandOptions &options) {
  llvm::StringMap<int64_t> values;
  if (!readSizes(options.sizes, values))
    return exitWrongCall;
  Session session(options);
  if (!session.open())
    return session.report();
  std::unique_ptr<CheckedKernel> kernel = session.check(CheckMode::Compile);
  if (int code = session.report())
    return code;
  warnUnknown(options.sizes, *kernel);
  PipelineOptions pipeline = options.pipeline;
  if (pipeline.forGpu) {
    OwningOpRef<ModuleOp> module = session.emit(*kernel);
    if (!module)
      return exitWrongProgram;
    pipeline = fitShared(*module, pipeline);
  }
  PipelineOptions plain = pipeline;
  for (const char *pass : {"tile-fuse-online-softmax", "tile-list-blocks",
                           "tile-skip-masked-blocks", "tile-guard-softmax"})
    plain.disabledPasses.push_back(pass);
  Explained explained;
  if (int code = explain(session, *kernel, pipeline, values, pipeline.forGpu,
                         explained.grids))
    return code;
  if (int code = explain(session, *kernel, plain, values,
                         /*withResources=*/false, explained.unfused))
    return code;
  explained.machine = findMachine(options.target);
  if (explained.machine)
    explained.multiprocessors = options.multiprocessors
                                    ? options.multiprocessors
                                    : explained.machine->multiprocessors;
  if (!options.html.empty()) {
    llvm::Error error = writeFile(options.html, [&](llvm::raw_ostream &os) {
      printHtml(os, kernel->name, session.sourceText(), explained);
    });
    if (error)
      return wrongCall(llvm::toString(std::move(error)));
  } else if (options.json)
    printJSON(llvm::outs(), explained);
  else
    printText(llvm::outs(), explained);
  return exitSuccess;
}

} // namespace attentile
