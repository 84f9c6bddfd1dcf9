//===- CommandLine.cpp - from arguments to options ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first argument names a command; the rest is parsed by LLVM's command line
// library, to which only the flags of that command are known. The flags live on
// the stack of the command and end up in an options struct: nothing else reads
// them.
//
//===----------------------------------------------------------------------===//

#include "Flags.h"
#include "Session.h"
#include "attentile/Driver.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Mapping/Passes.h"
#include "attentile/NVVM/Passes.h"
#include "attentile/Native/Passes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/TargetParser/Host.h"

using namespace attentile;
using llvm::StringRef;

static constexpr StringRef kVersion = ATTENTILE_VERSION;

static constexpr StringRef kHelp =
    R"(Attentile compiles attention kernels that are written as formulas.

usage: attentile COMMAND [options] FILE.attn

  run       run a kernel on .npy files or random tensors, and time it
  compile   write an object file and its C header, or print any level on the way
  check     run a kernel over many sizes and values against the float64 reference
  explain   count a kernel's blocks, work and traffic, and its least time on a GPU

  attentile COMMAND --help     the options of a command, with examples
  attentile --version          versions, and the processor as LLVM names it

for example, causal attention, compared with the reference:
  attentile run examples/02-causal.attn --bind B=1,H=8,G=2,M=512,N=512,D=64,E=64 --verify

exit code: 0; 1 for a wrong program, a broken constraint or a failed check;
2 for a wrong call (flags, files)
)";

static void printVersion(llvm::raw_ostream &os) {
  os << "attentile " << kVersion << "\n  LLVM and MLIR " << LLVM_VERSION_STRING
     << "\n  this processor: " << llvm::sys::getHostCPUName() << "\n";
}

/// Parses `argv`, of which argv[1] is the command. None: the exit code.
static std::optional<int> parse(int argc, char **argv, const char *overview) {
  // --mlir-print-ir-after=PASS knows the passes that are registered.
  registerAttentileLoopsPasses();
  registerAttentileMappingPasses();
  registerAttentileNativePasses();
  registerAttentileNVVMPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerLoopInvariantCodeMotionPass();
  mlir::registerMLIRContextCLOptions();
  mlir::registerAsmPrinterCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  // A few of MLIR's flags are shown, the rest is in --help-hidden.
  static constexpr StringRef shown[] = {
      "mlir-print-ir-after-all", "mlir-print-ir-after", "mlir-print-ir-before",
      "mlir-print-ir-after-change", "mlir-timing"};
  for (auto [name, option] : cl::getRegisteredOptions()) {
    if (llvm::is_contained(shown, name))
      option->addCategory(levels);
    else if (name.starts_with("mlir-"))
      option->setHiddenFlag(cl::Hidden);
    // A message points at the source, not at the operation made from it.
    if (name == "mlir-print-op-on-diagnostic")
      static_cast<cl::opt<bool> *>(option)->setInitialValue(false);
    else if (name == "help-list" || name == "color")
      option->setHiddenFlag(cl::ReallyHidden);
  }
  std::string program = std::string("attentile ") + argv[1];
  std::vector<const char *> arguments = {program.c_str()};
  arguments.insert(arguments.end(), argv + 2, argv + argc);
  if (!cl::ParseCommandLineOptions(arguments.size(), arguments.data(), overview,
                                   &llvm::errs(), nullptr, nullptr,
                                   /*LongOptionsUseDoubleDash=*/true))
    return exitWrongCall;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

static constexpr char kRunOverview[] =
    R"(runs a kernel on .npy files or on random tensors

  Sizes come from the files, or from --bind. An input without a file is drawn
  from the seed: floats from the normal distribution, integers so that they index
  mostly within what they index. In files bf16 is V2, f8e4m3 V1 and f8e5m2 f1, as
  NumPy writes ml_dtypes' arrays: numpy.load(f).view(ml_dtypes.bfloat16).

  attentile run causal.attn --bind B=1,H=8,G=2,M=512,N=512,D=64,E=64 --verify
  attentile run causal.attn --in Q=q.npy --in K=k.npy --in V=v.npy --out O=o.npy
)";

static constexpr char kCompileOverview[] =
    R"(writes an object file and its C header, or prints a level

  For a GPU a cubin and its manifest, which the runtime loads; where there is
  no ptxas, PTX, which the driver compiles.

  attentile compile causal.attn --bind D=64,E=64,T=f32 -o causal.o
  attentile compile causal.attn --bind D=64,E=64,T=bf16 --target=sm_90 -o causal.cubin
  attentile compile causal.attn --bind D=64,E=64,T=f32 --emit=tile
  attentile compile causal.attn --bind D=64,E=64,T=f32 --emit=tile --mlir-print-ir-after-all
)";

static constexpr char kCheckOverview[] =
    R"(runs a kernel over many sizes and values against the reference

  Every pair of type, head sizes, lengths, group, strides and values is tried at
  least once. --each-pass finds the pass that changes a result.

  attentile check causal.attn
  attentile check causal.attn --bind T=bf16 --each-pass
  attentile check causal.attn --target=sm_90 --prepare DIR   # for attentile-run DIR
)";

static constexpr char kExplainOverview[] =
    R"(counts what a kernel will do, grid by grid, without running it

  Tiles, blocks computed of all, work, bytes asked of the cache and the least
  that memory must move, beside the same kernel without fusion and skipping;
  for a GPU target also what a block of threads takes, how many run at a time,
  the least time and what sets it. Where an input's elements decide which blocks
  are computed, figures are upper bounds.

  attentile explain causal.attn --bind D=128,E=128,T=bf16 \
    --sizes B=1,H=16,G=16,M=4096,N=4096 --html=causal.html
)";

static int runMain(int argc, char **argv) {
  RunFlags flags;
  if (std::optional<int> code = parse(argc, argv, kRunOverview))
    return *code;
  RunCommandOptions options;
  if (!flags.finish(options) || !splitFiles("in", flags.in, options.inputs) ||
      !splitFiles("out", flags.out, options.outputs))
    return exitWrongCall;
  options.saveInputs = flags.saveInputs;
  options.seed = flags.seed;
  options.threads = flags.threads;
  options.repeat = flags.repeat;
  options.verify = flags.verify;
  options.checkBounds = flags.checkBounds;
  if (options.repeat == 0)
    return wrongCall("expected --repeat of at least 1, got 0");
  return runCommand(options);
}

static int compileMain(int argc, char **argv) {
  CompileFlags flags;
  flags.targets = kAllTargets;
  if (std::optional<int> code = parse(argc, argv, kCompileOverview))
    return *code;
  CompileCommandOptions options;
  if (!flags.finish(options))
    return exitWrongCall;
  static constexpr std::pair<const char *, CompileCommandOptions::Emit>
      levels[] = {{"", CompileCommandOptions::ObjectAndHeader},
                  {"ast", CompileCommandOptions::AST},
                  {"attn", CompileCommandOptions::Attn},
                  {"tile", CompileCommandOptions::Tile},
                  {"warp", CompileCommandOptions::Warp},
                  {"llvm", CompileCommandOptions::LLVM},
                  {"ptx", CompileCommandOptions::PTX},
                  {"obj", CompileCommandOptions::Object},
                  {"cubin", CompileCommandOptions::Cubin},
                  {"header", CompileCommandOptions::Header}};
  const auto *level = llvm::find_if(
      levels, [&](const auto &entry) { return flags.emit == entry.first; });
  if (level == std::end(levels))
    return wrongCall("expected --emit=ast, attn, tile, warp, llvm, ptx, obj, "
                     "cubin or header, got '" +
                     flags.emit + "'");
  options.emit = level->second;
  using Emit = CompileCommandOptions::Emit;
  bool isGpu = options.target != "cpu";
  if (isGpu ? options.emit == Emit::Object
            : llvm::is_contained({Emit::Warp, Emit::PTX, Emit::Cubin},
                                 options.emit))
    return wrongCall("expected a level of --target=" + options.target +
                     ", got --emit=" + flags.emit);
  options.lineInfo = flags.lineInfo;
  options.output = flags.output;
  return compileCommand(options);
}

static int explainMain(int argc, char **argv) {
  ExplainFlags flags;
  if (std::optional<int> code = parse(argc, argv, kExplainOverview))
    return *code;
  ExplainCommandOptions options;
  if (!flags.finish(options))
    return exitWrongCall;
  options.sizes.assign(flags.sizes.begin(), flags.sizes.end());
  options.json = flags.json;
  options.html = flags.html;
  if (options.json && !options.html.empty())
    return wrongCall("expected one of --json and --html, got both");
  options.multiprocessors = flags.multiprocessors;
  return explainCommand(options);
}

static int checkMain(int argc, char **argv) {
  CheckFlags flags;
  if (std::optional<int> code = parse(argc, argv, kCheckOverview))
    return *code;
  CheckCommandOptions options;
  if (!flags.finish(options))
    return exitWrongCall;
  options.eachPass = flags.eachPass;
  options.coverage = flags.full        ? Coverage::All
                     : flags.everySize ? Coverage::Sizes
                                       : Coverage::Pairs;
  options.only = flags.only;
  options.after = flags.after;
  options.prepare = flags.prepare;
  options.seed = flags.seed;
  options.threads = flags.threads;
  return checkCommand(options);
}

/// LLVM's libraries register hundreds of flags of their own, some with the name
/// of one of ours: none of them is a flag of this tool.
static void forgetLibraryFlags() {
  std::vector<cl::Option *> flags;
  for (auto [name, option] : cl::getRegisteredOptions())
    if (!name.starts_with("help") && name != "version" && name != "color")
      flags.push_back(option);
  for (cl::Option *option : flags)
    option->removeArgument();
}

int attentile::driverMain(int argc, char **argv) {
  forgetLibraryFlags();
  cl::SetVersionPrinter(printVersion);
  StringRef command = argc > 1 ? argv[1] : "";
  // attentile help run: what run --help says.
  const char *asked[] = {argv[0], argc > 2 ? argv[2] : "", "--help"};
  if (command == "help" && argc > 2) {
    argc = std::size(asked);
    argv = const_cast<char **>(asked);
    command = argv[1];
  }
  if (command == "run")
    return runMain(argc, argv);
  if (command == "compile")
    return compileMain(argc, argv);
  if (command == "check")
    return checkMain(argc, argv);
  if (command == "explain")
    return explainMain(argc, argv);
  if (command == "--version") {
    printVersion(llvm::outs());
    return exitSuccess;
  }
  if (command == "--help" || command == "-h" || command == "help") {
    llvm::outs() << kHelp;
    return exitSuccess;
  }
  if (command.empty())
    return wrongCall(
        "expected a command, run, compile, check or explain, got none",
        "attentile --help says more");
  return wrongCall("expected a command, run, compile, check or explain, got '" +
                       command + "'",
                   "attentile --help says more");
}
