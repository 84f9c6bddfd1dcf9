//===- Load.cpp - a kernel on a device ------------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Error.h"
#include "Kernel.h"
#include <cstring>
#include <memory>

namespace attentile::runtime {

/// Whether code for `manifest`'s target runs on a device: a cubin within the
/// major version, PTX on any later one, both with an `a` on that one alone.
static bool fits(const Manifest &manifest, int architecture, bool asPtx) {
  if (manifest.isExact)
    return architecture == manifest.architecture;
  return architecture >= manifest.architecture &&
         (asPtx || architecture / 10 == manifest.architecture / 10);
}

/// Why the driver refuses an image, with what its compiler said of PTX.
static attentile_status loadImage(const CudaDriver &driver,
                                  const std::string &image, bool isPtx,
                                  CUmodule *module) {
  char log[512] = "";
  // CU_JIT_ERROR_LOG_BUFFER and its size
  int options[] = {5, 6};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUresult result = driver.ModuleLoadDataEx(module, image.c_str(),
                                            isPtx ? 2 : 0, options, values);
  if (!result)
    return ATTENTILE_SUCCESS;
  if (isPtx && *log)
    return fail(ATTENTILE_INVALID_IMAGE,
                "the driver cannot compile the PTX: %s", log);
  attentile_status status = failDriver(
      driver, result, isPtx ? "cannot load the PTX" : "cannot load the cubin");
  return status == ATTENTILE_DRIVER_ERROR ? fail(ATTENTILE_INVALID_IMAGE, "%s",
                                                 std::string(message()).c_str())
                                          : status;
}

/// A function of the image, checked against the manifest as far as the driver
/// tells.
static attentile_status findFunction(const CudaDriver &driver,
                                     const LoadedModule &loaded,
                                     const Function &wanted,
                                     CUfunction *function) {
  const std::string &name = wanted.kernel;
  if (driver.ModuleGetFunction(function, loaded.module, name.c_str()))
    return fail(ATTENTILE_INVALID_IMAGE,
                "expected a function '%s' in the image, got none",
                name.c_str());
  int threads = 0; // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
  if (!driver.FuncGetAttribute(&threads, 0, *function) &&
      unsigned(threads) < wanted.threads)
    return fail(ATTENTILE_INVALID_IMAGE,
                "expected '%s' to run with %u threads on %s, got at most %d",
                name.c_str(), wanted.threads, loaded.device->name, threads);
  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  if (wanted.shared > 0)
    if (driver.FuncSetAttribute(*function, 8, int(wanted.shared))) {
      int most = 0; // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
      driver.DeviceGetAttribute(&most, 97, loaded.device->handle);
      return fail(ATTENTILE_WRONG_ARCHITECTURE,
                  "expected %u bytes of shared memory for '%s', got %d on %s",
                  wanted.shared, name.c_str(), most, loaded.device->name);
    }
  if (!driver.FuncGetParamInfo)
    return ATTENTILE_SUCCESS;
  // No more than the manifest has are asked for: a profiler reports the
  // question for one that is not there as an error. That a cubin has no others
  // follows from its hash.
  size_t offset, bytes, count = wanted.parameters.size();
  for (size_t i = 0; i < count; ++i)
    if (driver.FuncGetParamInfo(*function, i, &offset, &bytes) ||
        bytes != wanted.parameters[i].bytes)
      return fail(ATTENTILE_INVALID_IMAGE,
                  "expected '%s' to take the manifest's %zu parameters, got "
                  "another number %zu",
                  name.c_str(), count, i);
  return ATTENTILE_SUCCESS;
}

static attentile_status loadOn(const CudaDriver &driver,
                               const attentile_kernel &kernel,
                               LoadedModule &loaded) {
  const Device &device = *loaded.device;
  bool isPtx = kernel.cubin.empty() ||
               !fits(kernel.manifest, device.architecture, false);
  if (isPtx &&
      (kernel.ptx.empty() || !fits(kernel.manifest, device.architecture, true)))
    return fail(ATTENTILE_WRONG_ARCHITECTURE,
                "expected a kernel for sm_%d (%s), got one for %s%s",
                device.architecture, device.name,
                kernel.manifest.target.c_str(),
                kernel.ptx.empty() ? " without PTX" : "");
  if (attentile_status status = loadImage(
          driver, isPtx ? kernel.ptx : kernel.cubin, isPtx, &loaded.module))
    return status;
  for (const Launch &launch : kernel.manifest.launches) {
    LoadedModule::Functions functions;
    attentile_status status =
        findFunction(driver, loaded, launch, &functions.first);
    if (!status && launch.otherwise)
      status =
          findFunction(driver, loaded, *launch.otherwise, &functions.otherwise);
    if (status) {
      driver.ModuleUnload(loaded.module);
      return status;
    }
    loaded.functions.push_back(functions);
  }
  return ATTENTILE_SUCCESS;
}

const LoadedModule *load(attentile_kernel &kernel, int32_t number,
                         attentile_status &status, const CUstream *stream) {
  if (number >= 0 && number < kMaxDevices)
    if (const LoadedModule *known =
            kernel.loaded[number].load(std::memory_order_acquire))
      return known;
  const Device *device = getDevice(number, status);
  if (!device)
    return nullptr;
  const CudaDriver &driver = *openDriver(status);
  CurrentContext current(driver, device->context);
  if (current.result) {
    status = failDriver(driver, current.result, "cannot use the GPU");
    return nullptr;
  }
  int capturing = 0; // 1: CU_STREAM_CAPTURE_STATUS_ACTIVE
  if (stream && !driver.StreamIsCapturing(*stream, &capturing) && capturing) {
    status = fail(ATTENTILE_INVALID_ARGUMENT,
                  "expected '%s' to be loaded before its launch is captured "
                  "(attentile_prepare)",
                  kernel.manifest.kernel.c_str());
    return nullptr;
  }
  std::lock_guard lock(kernel.loading);
  if (const LoadedModule *known =
          kernel.loaded[number].load(std::memory_order_acquire))
    return known;
  auto loaded = std::make_unique<LoadedModule>();
  loaded->device = device;
  status = loadOn(driver, kernel, *loaded);
  if (status)
    return nullptr;
  kernel.loaded[number].store(loaded.get(), std::memory_order_release);
  return loaded.release();
}

void unload(attentile_kernel &kernel) {
  for (auto &entry : kernel.loaded) {
    const LoadedModule *loaded = entry.exchange(nullptr);
    if (!loaded)
      continue;
    attentile_status status;
    const CudaDriver &driver = *openDriver(status);
    CurrentContext current(driver, loaded->device->context);
    driver.ModuleUnload(loaded->module);
    delete loaded;
  }
}

} // namespace attentile::runtime
