//===- Flags.h - the flags of each command ----------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A struct for each command, which lives on the stack while the command line is
// parsed: LLVM's library knows the flags of those that exist.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_FLAGS_H
#define ATTENTILE_LIB_DRIVER_FLAGS_H

#include "Options.h"
#include "llvm/Support/CommandLine.h"

namespace attentile {

namespace cl = llvm::cl;

/// What --help shows: our flags, and those of MLIR that print each step.
extern cl::OptionCategory category, levels;

inline constexpr const char *kCpuOnly[] = {"cpu"};
inline constexpr const char *kAllTargets[] = {"cpu", "sm_80", "sm_86", "sm_89",
                                              "sm_90"};

inline constexpr const char *kCpuAndGpu[] = {"auto", "cpu", "gpu"};
inline constexpr const char *kCheckTargets[] = {"cpu",   "gpu",   "sm_80",
                                                "sm_86", "sm_89", "sm_90"};

/// The flags that every command takes.
struct CommonFlags {
  cl::opt<std::string> source{cl::Positional, cl::desc("FILE.attn"),
                              cl::cat(category)};
  cl::list<std::string> bind{
      "bind", cl::value_desc("NAME=VALUE,..."),
      cl::desc("Fix sizes, types and scalars: D=128,T=bf16,window=256"),
      cl::cat(category)};
  cl::opt<std::string> kernel{
      "kernel", cl::value_desc("NAME"),
      cl::desc("The kernel, where the file has several"), cl::cat(category)};
  cl::opt<std::string> schedule{"schedule", cl::value_desc("NAME"),
                                cl::desc("Take the schedule of this name"),
                                cl::cat(category)};
  cl::opt<std::string> target{
      "target", cl::value_desc("TARGET"), cl::init("cpu"),
      cl::desc(
          "What to make code for: cpu (default), sm_80, sm_86, sm_89 or sm_90"),
      cl::cat(category)};
  llvm::ArrayRef<const char *> targets = kCpuOnly; // that the command takes
  cl::opt<std::string> cpu{
      "cpu", cl::value_desc("NAME"), cl::init("native"),
      cl::desc("The processor, as clang's -march names it; default: native"),
      cl::cat(category)};
  cl::opt<std::string> diagnostics{
      "diagnostics", cl::value_desc("text|json"), cl::init("text"),
      cl::desc("How errors in a program are printed"), cl::cat(category)};
  cl::list<std::string> disablePass{
      "disable-pass", cl::value_desc("PASS,..."), cl::CommaSeparated,
      cl::desc("Do not run these optimising passes; 'all' for none of them"),
      cl::cat(category)};
  cl::list<std::string> addPass{
      "add-pass", cl::value_desc("PASS,..."), cl::CommaSeparated,
      cl::desc("Run passes that the target's defaults leave out"),
      cl::cat(category)};
  cl::opt<std::string> normalize{
      "normalize", cl::value_desc("late|each-step"), cl::init("late"),
      cl::desc("When sums are normalised: FlashAttention-2's way or -1's"),
      cl::cat(category)};
  cl::opt<std::string> programs{
      "programs", cl::value_desc("tile|head"), cl::init("tile"),
      cl::desc(
          "A program for each tile, or one that loops over a head's tiles"),
      cl::cat(category)};
  cl::opt<std::string> split{
      "split", cl::value_desc("q|k"), cl::init("q"),
      cl::desc("GPU: what warps share out, queries or, to compare, keys"),
      cl::cat(category)};
  cl::list<std::string> tile{
      "tile", cl::value_desc("AXIS=SIZE,..."), cl::CommaSeparated,
      cl::desc("Sizes of the tiles: m=64,n=32"), cl::cat(category)};

  cl::opt<bool> remarks{
      "remarks",
      cl::desc("Print what the passes decided, and what they could not do"),
      cl::cat(category)};

  /// Fills the options; false after reporting what is wrong.
  bool finish(CommonOptions &options) const;
};

struct RunFlags : CommonFlags {
  RunFlags() {
    targets = kCpuAndGpu;
    target.setInitialValue("auto");
    target.setDescription(
        "Where to run: cpu or gpu; default: the GPU if there is one");
  }
  cl::list<std::string> in{
      "in", cl::value_desc("NAME=FILE.npy"),
      cl::desc("Read an input; those not named are drawn from the seed"),
      cl::cat(category)};
  cl::list<std::string> out{"out", cl::value_desc("NAME=FILE.npy"),
                            cl::desc("Write an output"), cl::cat(category)};
  cl::opt<std::string> saveInputs{
      "save-inputs", cl::value_desc("FOLDER"),
      cl::desc("Write the inputs that were drawn, as NAME.npy"),
      cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::value_desc("N"), cl::init(1),
                         cl::desc("Of the inputs that are drawn; default 1"),
                         cl::cat(category)};
  cl::opt<bool> verify{"verify", cl::desc("Compare with the reference"),
                       cl::cat(category)};
  cl::opt<bool> checkBounds{
      "check-bounds",
      cl::desc("Report the first read outside a tensor, and fail"),
      cl::cat(category)};
  cl::opt<unsigned> threads{
      "threads", cl::value_desc("N"), cl::init(0),
      cl::desc("Threads; default: as many as the processor affinity has"),
      cl::cat(category)};
  cl::opt<unsigned> repeat{"repeat", cl::value_desc("N"), cl::init(1),
                           cl::desc("Run N times and print the best time"),
                           cl::cat(category)};
};

struct ExplainFlags : CommonFlags {
  ExplainFlags() { targets = kAllTargets; }
  cl::list<std::string> sizes{
      "sizes", cl::value_desc("NAME=NUMBER,..."), cl::CommaSeparated,
      cl::desc("The sizes, and scalars of masks, to count for"),
      cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Print JSON"), cl::cat(category)};
  cl::opt<std::string> html{
      "html", cl::value_desc("FILE"),
      cl::desc("Write a page with the figures, the source and a picture of the "
               "blocks instead; - is standard output"),
      cl::cat(category)};
  cl::opt<unsigned> multiprocessors{
      "multiprocessors", cl::value_desc("N"), cl::init(0),
      cl::desc(
          "GPU: how many it has; default: those of the target's usual one"),
      cl::cat(category)};
};

struct CompileFlags : CommonFlags {
  cl::opt<std::string> emit{
      "emit", cl::value_desc("ast|attn|tile|warp|llvm|ptx|obj|cubin|header"),
      cl::desc(
          "Write this level alone; default: an object file and its header, for "
          "a GPU a cubin and its manifest"),
      cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::value_desc("FILE"),
      cl::desc("Where to; default: KERNEL.o and KERNEL.h, KERNEL.cubin and "
               "KERNEL.json; text to the terminal"),
      cl::cat(category)};
  cl::opt<bool> lineInfo{
      "lineinfo",
      cl::desc("GPU: keep the lines of the source in PTX and cubin"),
      cl::cat(category)};
};

struct CheckFlags : CommonFlags {
  CheckFlags() {
    targets = kCheckTargets;
    target.setDescription("Where to run: cpu (default) or gpu; with --prepare "
                          "sm_80, sm_86, sm_89 or sm_90");
  }
  cl::opt<bool> eachPass{
      "each-pass",
      cl::desc("Also run the program as it stands after every pass"),
      cl::cat(category)};
  cl::opt<bool> everySize{
      "every-size",
      cl::desc("Every combination of types, head sizes and sizes, not only "
               "every pair; strides and values change from run to run"),
      cl::cat(category)};
  cl::opt<bool> full{"full",
                     cl::desc("Every combination of all: a day for one kernel"),
                     cl::cat(category)};
  cl::opt<std::string> only{
      "only", cl::value_desc("CONFIGURATION"),
      cl::desc("One configuration, as a failure prints it"), cl::cat(category)};
  cl::opt<std::string> after{"after", cl::value_desc("PASS"),
                             cl::desc("The program after this pass alone"),
                             cl::cat(category)};
  cl::opt<std::string> prepare{
      "prepare", cl::value_desc("DIR"),
      cl::desc("Write kernels and runs for attentile-run on another machine"),
      cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::value_desc("N"), cl::init(1),
                         cl::desc("Of the values that are drawn; default 1"),
                         cl::cat(category)};
  cl::opt<unsigned> threads{
      "threads", cl::value_desc("N"), cl::init(0),
      cl::desc("Threads; default: as many as the processor affinity has"),
      cl::cat(category)};
};

/// NAME=FILE of each argument of a flag; false after reporting a wrong one.
bool splitFiles(llvm::StringRef flag, const std::vector<std::string> &texts,
                std::vector<NamedFile> &files);

} // namespace attentile

#endif
