//===- GpuRunner.cpp - kernels on the GPU of this machine -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "GpuRunner.h"
#include "Attn/Attn.h"
#include "attentile/DeviceTensor.h"
#include "attentile/EmitIR.h"
#include "mlir/IR/MLIRContext.h"

namespace attentile {

static llvm::Error runtimeError() {
  return llvm::createStringError(llvm::StringRef(attentile_error_message()));
}

llvm::Expected<std::string> gpuTarget() {
  int32_t architecture = 0;
  char name[96];
  if (attentile_device_count() == 0 ||
      attentile_device_info(0, &architecture, name, sizeof name))
    return runtimeError();
  const char *best = nullptr;
  int32_t targets[] = {80, 86, 89, 90};
  for (int32_t target : targets)
    if (target <= architecture)
      best = target == 80   ? "sm_80"
             : target == 86 ? "sm_86"
             : target == 89 ? "sm_89"
                            : "sm_90";
  if (!best)
    return llvm::createStringError(
        llvm::Twine("expected a GPU of sm_80 or later, got sm_") +
        llvm::Twine(architecture) + " (" + name + ")");
  return best;
}

llvm::Expected<std::unique_ptr<GpuKernel>>
GpuKernel::load(const CompiledKernel &image, std::vector<std::string> inNames) {
  attentile_kernel *kernel = nullptr;
  if (attentile_open_memory(image.manifest.data(), image.manifest.size(),
                            image.cubin.empty() ? nullptr : image.cubin.data(),
                            image.cubin.size(),
                            image.ptx.empty() ? nullptr : image.ptx.data(),
                            image.ptx.size(), &kernel))
    return runtimeError();
  std::unique_ptr<GpuKernel> result(new GpuKernel(kernel, std::move(inNames)));
  if (attentile_prepare(kernel, 0))
    return runtimeError();
  return result;
}

GpuKernel::~GpuKernel() { attentile_close(kernel); }

llvm::Error GpuKernel::run(llvm::ArrayRef<HostTensor> ins,
                           llvm::ArrayRef<HostTensor> outs) {
  return time(ins, outs, 0).takeError();
}

llvm::Expected<double> GpuKernel::time(llvm::ArrayRef<HostTensor> ins,
                                       llvm::ArrayRef<HostTensor> outs,
                                       unsigned launches) {
  std::vector<attentile_scalar> scalars;
  std::vector<DeviceTensor> tensors;
  auto isScalar = [&](llvm::StringRef name) {
    attentile_scalar_info info;
    for (size_t i = 0; attentile_get_scalar(kernel, i, &info); ++i)
      if (name == info.name)
        return true;
    return false;
  };
  for (auto [name, in] : llvm::zip_equal(inNames, ins)) {
    if (!isScalar(name)) {
      if (tensors.emplace_back(0, in).upload())
        return runtimeError();
      continue;
    }
    if (!in.data)
      continue; // its default
    attentile_scalar scalar{
        name.c_str(), static_cast<attentile_type>(in.type), {}};
    if (isFloat(in.type))
      scalar.value.real = in.readDouble(in.offset);
    else
      scalar.value.integer = in.readInt(in.offset);
    scalars.push_back(scalar);
  }
  for (const HostTensor &out : outs)
    if (tensors.emplace_back(0, out).upload())
      return runtimeError();
  std::vector<attentile_tensor> descriptors;
  for (const DeviceTensor &tensor : tensors)
    descriptors.push_back(tensor.descriptor());
  attentile_arguments arguments{descriptors.data(), descriptors.size(),
                                scalars.data(), scalars.size()};
  double seconds = 0;
  if (launches > 0) {
    size_t bytes = 0;
    void *workspace = nullptr;
    attentile_status status =
        attentile_workspace_bytes(kernel, &arguments, &bytes);
    if (!status)
      status = attentile_allocate(0, bytes, &workspace);
    if (!status)
      status = attentile_time(kernel, &arguments, workspace, bytes,
                              static_cast<int32_t>(launches), &seconds);
    if (status) {
      llvm::Error error = runtimeError();
      attentile_free(0, workspace);
      return error;
    }
    attentile_free(0, workspace);
  } else if (attentile_launch_allocating(kernel, &arguments, nullptr)) {
    return runtimeError();
  }
  if (attentile_synchronize(0))
    return runtimeError();
  for (size_t i = 0; i < outs.size(); ++i) {
    bool isUntouched = true;
    if (tensors[tensors.size() - outs.size() + i].download(isUntouched))
      return runtimeError();
  }
  return seconds;
}

llvm::Expected<std::unique_ptr<RunnableKernel>>
GpuRunner::compile(const CheckedKernel &kernel, llvm::StringRef) {
  llvm::Expected<CompiledKernel> image = compiler(kernel);
  if (!image)
    return image.takeError();
  // As the emitted kernel orders them: bound scalars are none of its inputs.
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = emit(context, kernel);
  attn::KernelOp op = *module->getOps<attn::KernelOp>().begin();
  std::vector<std::string> names;
  for (mlir::BlockArgument in : op.getInArgs())
    names.push_back(op.nameOf(in).str());
  return GpuKernel::load(*image, std::move(names));
}

} // namespace attentile
