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

#include "llvm/Support/CommandLine.h"
#include "Session.h"
#include "attentile/Driver.h"
#include "attentile/Loops/Passes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/TargetParser/Host.h"

using namespace attentile;
namespace cl = llvm::cl;
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

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

namespace {

cl::OptionCategory category("Options");
cl::OptionCategory
    levels("See every step (MLIR's own; --help-hidden has more)");

constexpr const char *kCpuOnly[] = {"cpu"};
constexpr const char *kAllTargets[] = {"cpu", "sm_80", "sm_86", "sm_89",
                                       "sm_90"};

constexpr const char *kCpuAndGpu[] = {"auto", "cpu", "gpu"};
constexpr const char *kCheckTargets[] = {"cpu",   "gpu",   "sm_80",
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
  cl::opt<bool> full{"full", cl::desc("Every combination, not only every pair"),
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

} // namespace

bool CommonFlags::finish(CommonOptions &options) const {
  options.source = source;
  options.bind.assign(bind.begin(), bind.end());
  options.kernel = kernel;
  options.schedule = schedule;
  options.cpu = cpu;
  options.remarks = remarks;
  if (source.empty()) {
    wrongCall("expected a file, FILE.attn, got none");
    return false;
  }
  options.target = target;
  // Of "gpu" and "auto" the machine decides, when it is known.
  if (StringRef(target).starts_with("sm_")) {
    options.pipeline.target = target;
    options.pipeline.forGpu = true;
  }
  if (!llvm::is_contained(targets, StringRef(target))) {
    wrongCall("expected --target=" + llvm::join(targets, ", ") + ", got '" +
              target + "'");
    return false;
  }
  if (diagnostics != "text" && diagnostics != "json") {
    wrongCall("expected --diagnostics=text or json, got '" + diagnostics + "'");
    return false;
  }
  options.jsonDiagnostics = diagnostics == "json";
  if (normalize != "late" && normalize != "each-step") {
    wrongCall("expected --normalize=late or each-step, got '" + normalize +
              "'");
    return false;
  }
  if (programs != "tile" && programs != "head") {
    wrongCall("expected --programs=tile or head, got '" + programs + "'");
    return false;
  }
  if (split != "q" && split != "k") {
    wrongCall("expected --split=q or k, got '" + split + "'");
    return false;
  }
  if (split == "k" && target == "cpu") {
    wrongCall("expected --split=k with the --target of a GPU, got cpu");
    return false;
  }
  options.pipeline.splitReduced = split == "k";
  options.pipeline.programPerHead = programs == "head";
  options.pipeline.normalizeEachStep = normalize == "each-step";
  for (const std::string &text : tile) {
    auto [axis, size] = StringRef(text).split('=');
    unsigned number = 0;
    if (axis.empty() || size.getAsInteger(10, number) || number == 0) {
      wrongCall("expected --tile AXIS=SIZE, got '" + text + "'");
      return false;
    }
    options.pipeline.tileSizes.push_back(text);
  }
  for (const std::string &flag : addPass) {
    if (!llvm::is_contained(optimizingPasses(), flag)) {
      wrongCall("expected --add-pass with an optimising pass, got '" + flag +
                    "'",
                "there are: " + llvm::join(optimizingPasses(), ", "));
      return false;
    }
    options.pipeline.enabledPasses.push_back(flag);
  }
  for (const std::string &flag : disablePass) {
    if (flag == "all")
      options.pipeline.disabledPasses.assign(optimizingPasses().begin(),
                                             optimizingPasses().end());
    else if (llvm::is_contained(optimizingPasses(), flag))
      options.pipeline.disabledPasses.push_back(flag);
    else {
      wrongCall(
          "expected --disable-pass with an optimising pass, got '" + flag + "'",
          "these can be switched off: " + llvm::join(optimizingPasses(), ", ") +
              "; or all");
      return false;
    }
  }
  return true;
}

/// NAME=FILE of each argument of a flag; false after reporting a wrong one.
static bool splitFiles(StringRef flag, const std::vector<std::string> &texts,
                       std::vector<NamedFile> &files) {
  for (const std::string &text : texts) {
    auto [name, path] = StringRef(text).split('=');
    if (name.empty() || path.empty()) {
      wrongCall("expected --" + flag + " NAME=FILE.npy, got '" + text + "'");
      return false;
    }
    for (const NamedFile &other : files)
      if (other.name == name) {
        wrongCall("expected one --" + flag + " for '" + name + "', got two");
        return false;
      }
    files.push_back({name.str(), path.str()});
  }
  return true;
}

/// Parses `argv`, of which argv[1] is the command. None: the exit code.
static std::optional<int> parse(int argc, char **argv, const char *overview) {
  // --mlir-print-ir-after=PASS knows the passes that are registered.
  registerAttentileLoopsPasses();
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
  mostly within what they index.

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
  for a GPU target also the least time and what sets it.

  attentile explain causal.attn --bind D=128,E=128,T=bf16 \
    --sizes B=1,H=16,G=16,M=4096,N=4096
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
  options.full = flags.full;
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
