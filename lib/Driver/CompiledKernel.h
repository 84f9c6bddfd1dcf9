//===- CompiledKernel.h - a kernel compiled for a GPU ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_COMPILEDKERNEL_H
#define ATTENTILE_LIB_DRIVER_COMPILEDKERNEL_H

#include "attentile/Frontend.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <string>

namespace attentile {

/// Its sealed manifest, and its images; an image that there is not is empty.
struct CompiledKernel {
  std::string manifest, cubin, ptx;
};

/// Compiles a kernel with types and head sizes bound.
using GpuCompiler =
    std::function<llvm::Expected<CompiledKernel>(const CheckedKernel &kernel)>;

} // namespace attentile

#endif
