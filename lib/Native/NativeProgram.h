//===- NativeProgram.h - a program as machine code --------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NATIVE_NATIVEPROGRAM_H
#define ATTENTILE_LIB_NATIVE_NATIVEPROGRAM_H

#include "attentile/Native.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

namespace attentile {

struct NativeProgram::Impl {
  using Kernel = void(const int64_t *args, int64_t begin, int64_t end,
                      void *scratch);
  using HostFunction = int64_t(const int64_t *args);

  ProgramInfo info;
  std::unique_ptr<llvm::orc::LLJIT> jit;

  // Looked up once.
  HostFunction *check = nullptr;
  std::vector<Kernel *> kernels;
  std::vector<HostFunction *> cells;      ///< of each kernel
  std::vector<HostFunction *> workspaces; ///< elements of each
  std::vector<void *> defaults;           ///< of each parameter, or null

  /// Address of a function that must be there.
  llvm::Expected<void *> find(const std::string &name) const;
};

} // namespace attentile

#endif
