//===- Codegen.cpp - LLVM IR and PTX of kernels ---------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HideNegations.h"
#include "SinkComparisons.h"
#include "SplitLatches.h"
#include "attentile/PTX.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

// The names of llvm/Support/TargetSelect.h, for one target of a shared library.
extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace attentile {

Expected<GpuTarget> GpuTarget::select(StringRef name) {
  // The oldest PTX version that has what each needs, so that older drivers
  // take the PTX too.
  static constexpr std::pair<const char *, const char *> targets[] = {
      {"sm_80", "+ptx80"},
      {"sm_86", "+ptx80"},
      {"sm_89", "+ptx80"},
      {"sm_90", "+ptx80"}};
  for (auto [target, features] : targets)
    if (name == target)
      return GpuTarget{target, features};
  return createStringError("expected a GPU sm_80, sm_86, sm_89 or sm_90, got "
                           "'%s'",
                           name.str().c_str());
}

/// Flags of LLVM's that have no interface but the command line. Looked up
/// before main(): tools take LLVM's flags off their command line.
static cl::Option *lookUp(StringRef name) {
  return cl::getRegisteredOptions().lookup(name);
}

/// 32-bit addresses of shared memory; read when a target machine is made.
static cl::Option *const shortPointers = lookUp("nvptx-short-ptr");

/// Whether straight-line strength reduction asks of every pair of terms if one
/// may be poison where the other is not: two fifths of a kernel's code
/// generation, and addresses of rows that it does not reduce. DropPoison lets
/// it do without.
static cl::Option *const reuseGuard = lookUp("enable-poison-reuse-guard");

static void setFlag(cl::Option *flag, StringRef value) {
  if (flag && flag->getNumOccurrences() == 0)
    flag->addOccurrence(1, flag->ArgStr, value);
}

static std::unique_ptr<TargetMachine> createMachine(const GpuTarget &target) {
  static bool initialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    setFlag(shortPointers, "true");
    setFlag(reuseGuard, "false");
    return true;
  }();
  (void)initialized;
  Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const Target *found = TargetRegistry::lookupTarget(triple, error);
  assert(found && "an LLVM without NVPTX is refused when we are built");
  // Aggressive adds two rounds of value numbering, which find nothing more.
  return std::unique_ptr<TargetMachine>(found->createTargetMachine(
      triple, target.name, target.features, TargetOptions(), Reloc::PIC_,
      std::nullopt, CodeGenOptLevel::Default));
}

/// What of LLVM's default pipeline changes a kernel; the rest takes ten times
/// as long and leaves the same code. Rows of equal branches become known
/// (ipsccp), terms are shared and folded, and what a loop repeats leaves it,
/// for which its test must stand at its end (loop-rotate): without these two
/// ptxas spills.
static constexpr char kPasses[] =
    "ipsccp,function(early-cse<memssa>,"
    "instcombine<no-verify-fixpoint;max-iterations=1>,"
    "loop-mssa(loop-rotate,licm),early-cse<memssa>,simplifycfg)";

/// Behind the passes that use them, the flags by which a result may be poison
/// (nsw, inbounds, ...). What is left, `or disjoint`, follows from bits that
/// are known, and becomes an address's offset.
struct DropPoison : PassInfoMixin<DropPoison> {
  PreservedAnalyses run(Function &function, FunctionAnalysisManager &) {
    for (Instruction &instruction : instructions(function))
      if (!isa<PossiblyDisjointInst>(instruction))
        instruction.dropPoisonGeneratingFlags();
    return PreservedAnalyses::all();
  }
};

static Error optimize(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  ModulePassManager passes;
  if (Error error = builder.parsePassPipeline(passes, kPasses))
    return error;
  passes.addPass(createModuleToFunctionPassAdaptor(SinkComparisons()));
  passes.addPass(createModuleToFunctionPassAdaptor(SplitLatches()));
  passes.addPass(createModuleToFunctionPassAdaptor(DropPoison()));
  passes.run(module, modules);
  return Error::success();
}

void registerForPTX(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
}

Expected<std::string> emitPTX(mlir::ModuleOp lowered, const GpuTarget &target,
                              GpuOutput output) {
  mlir::DialectRegistry registry;
  registerForPTX(registry);
  lowered.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<TargetMachine> machine = createMachine(target);
  LLVMContext context;
  // The module is verified already.
  std::unique_ptr<Module> module =
      mlir::translateModuleToLLVMIR(lowered, context, "attentile",
                                    /*disableVerification=*/true);
  if (!module)
    return createStringError("expected a module in the LLVM and NVVM "
                             "dialects, got another");
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple());
  if (Error error = optimize(*module, *machine))
    return std::move(error);

  SmallString<0> text;
  raw_svector_ostream stream(text);
  if (output == GpuOutput::LLVM) {
    module->print(stream, nullptr);
    return std::string(text);
  }
  legacy::PassManager manager;
  [[maybe_unused]] bool hasNone = machine->addPassesToEmitFile(
      manager, stream, nullptr, CodeGenFileType::AssemblyFile,
      /*DisableVerify=*/true);
  assert(!hasNone && "PTX is NVPTX's assembly");
  manager.run(*module);
  return hideNegations(text);
}

std::string joinPTX(ArrayRef<std::string> parts) {
  std::string head, kernels;
  StringSet<> seen;
  for (StringRef part : parts) {
    size_t start = part.find(".visible .entry");
    for (StringRef line : split(part.take_front(start), '\n')) {
      bool isLabel = line.trim().starts_with("// .globl");
      if (!isLabel && seen.insert(line).second)
        head += (line + "\n").str();
    }
    kernels += ("\n" + part.substr(start)).str();
  }
  return head + kernels;
}

} // namespace attentile
