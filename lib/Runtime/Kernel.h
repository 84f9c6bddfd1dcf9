//===- Kernel.h - an open kernel and what is loaded of it -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_RUNTIME_KERNEL_H
#define ATTENTILE_LIB_RUNTIME_KERNEL_H

#include "CudaDriver.h"
#include "Manifest.h"
#include <atomic>
#include <mutex>

namespace attentile::runtime {

/// A kernel on one device. Written once, then only read.
struct LoadedModule {
  CUmodule module = nullptr;
  const Device *device = nullptr;
  /// For each launch of the manifest; `otherwise` null where it names none.
  struct Functions {
    CUfunction first = nullptr, otherwise = nullptr;
  };
  std::vector<Functions> functions;
};

} // namespace attentile::runtime

/// What `attentile_kernel` stands for. All but `uses` and `loaded` never
/// changes, so threads share it without a lock.
struct attentile_kernel {
  attentile::runtime::Manifest manifest;
  std::string text;  // the manifest's
  std::string cubin; // empty: none
  std::string ptx;   // empty: none
  std::string key;   // in the cache of open kernels
  unsigned uses = 1; // guarded by that cache

  std::mutex loading;
  std::atomic<const attentile::runtime::LoadedModule *>
      loaded[attentile::runtime::kMaxDevices] = {};
};

namespace attentile::runtime {

/// The kernel on a device, loaded by the first call; null after an error. A
/// stream that is being captured permits no loading.
const LoadedModule *load(attentile_kernel &kernel, int32_t device,
                         attentile_status &status,
                         const CUstream *stream = nullptr);

/// Gives back what is loaded on every device.
void unload(attentile_kernel &kernel);

} // namespace attentile::runtime

#endif
