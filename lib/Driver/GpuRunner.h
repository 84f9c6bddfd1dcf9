//===- GpuRunner.h - kernels on the GPU of this machine ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_GPURUNNER_H
#define ATTENTILE_LIB_DRIVER_GPURUNNER_H

#include "CompiledKernel.h"
#include "attentile-c/runtime.h"
#include "attentile/Check.h"

namespace attentile {

/// The target whose code runs best on device 0: the greatest of sm_80, sm_86,
/// sm_89 and sm_90 that it is not older than. The error says why there is none.
llvm::Expected<std::string> gpuTarget();

/// A kernel on device 0 that takes host tensors: they are copied there and the
/// outputs back, strides and all.
class GpuKernel : public RunnableKernel {
public:
  /// `inNames`: of the inputs that run() is given, scalars included.
  static llvm::Expected<std::unique_ptr<GpuKernel>>
  load(const CompiledKernel &image, std::vector<std::string> inNames);
  ~GpuKernel() override;

  llvm::Error run(llvm::ArrayRef<HostTensor> ins,
                  llvm::ArrayRef<HostTensor> outs) override;

  /// The same, timed: the seconds of one of `launches` in a row.
  llvm::Expected<double> time(llvm::ArrayRef<HostTensor> ins,
                              llvm::ArrayRef<HostTensor> outs,
                              unsigned launches);

private:
  GpuKernel(attentile_kernel *kernel, std::vector<std::string> inNames)
      : kernel(kernel), inNames(std::move(inNames)) {}

  attentile_kernel *kernel;
  std::vector<std::string> inNames;
};

/// Compiles what `check --target=gpu` asks for.
class GpuRunner : public KernelRunner {
public:
  explicit GpuRunner(GpuCompiler compiler) : compiler(std::move(compiler)) {}

  /// None: after each pass a program runs on the CPU.
  std::vector<std::string> passes() const override { return {}; }

  llvm::Expected<std::unique_ptr<RunnableKernel>>
  compile(const CheckedKernel &kernel, llvm::StringRef pass) override;

private:
  GpuCompiler compiler;
};

} // namespace attentile

#endif
