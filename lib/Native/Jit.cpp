//===- Jit.cpp - machine code in memory -----------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NativeProgram.h"
#include "Symbols.h"
#include "Tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

using namespace llvm;

namespace attentile {

NativeProgram::NativeProgram(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
NativeProgram::~NativeProgram() = default;

const ProgramInfo &NativeProgram::info() const { return impl->info; }

Expected<void *> NativeProgram::Impl::find(const std::string &name) const {
  Expected<orc::ExecutorAddr> address = jit->lookup(native::symbolOf(name));
  if (!address)
    return address.takeError();
  return address->toPtr<void *>();
}

void *NativeProgram::lookup(StringRef name) const {
  Expected<void *> address = impl->find(name.str());
  if (address)
    return *address;
  consumeError(address.takeError());
  return nullptr;
}

Expected<std::unique_ptr<NativeProgram>>
NativeProgram::load(ProgramInfo info, std::unique_ptr<MemoryBuffer> object) {
  auto impl = std::make_unique<Impl>();
  impl->info = std::move(info);

  // An object needs no compiler, and functions that set up nothing at load
  // time need no platform.
  auto jit =
      orc::LLJITBuilder().setPlatformSetUp(orc::setUpInactivePlatform).create();
  if (!jit)
    return jit.takeError();
  impl->jit = std::move(*jit);
  if (Error error = impl->jit->addObjectFile(std::move(object)))
    return error;

  auto bind = [&](const std::string &name, auto *&to) -> Error {
    Expected<void *> address = impl->find(name);
    if (!address)
      return address.takeError();
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(*address);
    return Error::success();
  };
  const ProgramInfo &program = impl->info;
  if (Error error = bind(program.name + "_check", impl->check))
    return error;
  for (const KernelInfo &kernel : program.kernels) {
    if (Error error = bind(kernel.name, impl->kernels.emplace_back()))
      return error;
    if (Error error = bind(kernel.name + "_cells", impl->cells.emplace_back()))
      return error;
  }
  for (size_t k = 0; k < program.workspaces.size(); ++k)
    if (Error error = bind(program.name + "_workspace_" + std::to_string(k),
                           impl->workspaces.emplace_back()))
      return error;
  for (const ParameterInfo &parameter : program.parameters) {
    void *&function = impl->defaults.emplace_back();
    if (parameter.hasDefault)
      if (Error error =
              bind(program.name + "_default_" + parameter.name, function))
        return error;
  }
  return std::unique_ptr<NativeProgram>(new NativeProgram(std::move(impl)));
}

Expected<std::unique_ptr<NativeProgram>> NativeProgram::compile(
    mlir::ModuleOp module, const NativeTarget &target,
    const NativeOptions &options,
    const std::function<void(mlir::PassManager &)> &configure) {
  auto programs = module.getOps<tile::ProgramOp>();
  if (!llvm::hasSingleElement(programs))
    return createStringError("expected one tile.program in the module");
  ProgramInfo info = ProgramInfo::of(*programs.begin());
  mlir::PassManager manager(module.getContext());
  manager.enableVerifier(false);
  if (configure)
    configure(manager);
  buildNativeLowering(manager, target, options);
  if (mlir::failed(manager.run(module)))
    return createStringError("lowering '%s' to native code failed",
                             info.name.c_str());
  info.readScratch(module);
  auto object = emitNative(module, target, NativeOutput::Object);
  if (!object)
    return object.takeError();
  return load(std::move(info), std::move(*object));
}

} // namespace attentile
