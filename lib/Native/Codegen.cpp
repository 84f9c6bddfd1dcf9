//===- Codegen.cpp - from the LLVM dialect to machine code ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's optimiser does not run: what it does to kernels that are vectorised
// and blocked already costs more time than code generation itself and gains
// nothing (measured).
//
//===----------------------------------------------------------------------===//

#include "Symbols.h"
#include "attentile/Native.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace attentile {

/// LLVM IR made for the target: its layout, and its features on each function,
/// without which code generation would use the least the architecture has.
static std::unique_ptr<Module> translate(mlir::ModuleOp lowered,
                                         LLVMContext &context,
                                         const NativeTarget &target,
                                         const TargetMachine &machine) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  lowered.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<Module> module =
      mlir::translateModuleToLLVMIR(lowered, context, "attentile");
  if (!module)
    return nullptr;
  module->setDataLayout(machine.createDataLayout());
  module->setTargetTriple(machine.getTargetTriple());
  std::string width = std::to_string(target.vectorBits);
  for (Function &function : *module) {
    if (function.isDeclaration())
      continue;
    if (!function.hasLocalLinkage())
      function.setName(native::symbolOf(function.getName().str()));
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr(Attribute::NoUnwind);
  }
  return module;
}

/// Stops LLVM 22 from making masked stores of stores of choices (masked scores
/// written over scores): without AVX-512 they take 18 to 42 microoperations on
/// Zen, LLVM issue 213195. What is fenced is a value of its own until selected.
static void fenceStoredChoices(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *store = dyn_cast<StoreInst>(&instruction);
      auto *choice =
          store ? dyn_cast<SelectInst>(store->getValueOperand()) : nullptr;
      if (!choice || !choice->getType()->isVectorTy() ||
          !choice->getType()->getScalarType()->isFloatTy())
        continue;
      IRBuilder<> builder(store);
      store->setOperand(
          0, builder.CreateArithmeticFence(choice, choice->getType()));
    }
}

Expected<std::unique_ptr<MemoryBuffer>> emitNative(mlir::ModuleOp lowered,
                                                   const NativeTarget &target,
                                                   NativeOutput output) {
  std::unique_ptr<TargetMachine> machine = target.createMachine();
  if (!machine)
    return createStringError(
        "expected the triple of this machine's processor, got '%s'",
        target.triple.c_str());
  LLVMContext context;
  std::unique_ptr<Module> module =
      translate(lowered, context, target, *machine);
  if (!module)
    return createStringError("expected a module in the LLVM dialect, got "
                             "another");
  if (target.vectorBits < 512)
    fenceStoredChoices(*module);

  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  if (output == NativeOutput::LLVM) {
    module->print(stream, nullptr);
  } else {
    legacy::PassManager manager;
    CodeGenFileType type = output == NativeOutput::Object
                               ? CodeGenFileType::ObjectFile
                               : CodeGenFileType::AssemblyFile;
    [[maybe_unused]] bool hasNone = machine->addPassesToEmitFile(
        manager, stream, nullptr, type, /*DisableVerify=*/true);
    assert(!hasNone && "every processor has assembly and objects");
    manager.run(*module);
  }
  return std::make_unique<SmallVectorMemoryBuffer>(
      std::move(bytes), "attentile", /*RequiresNullTerminator=*/false);
}

} // namespace attentile
