//===- CudaDriver.cpp - opening the CUDA driver ---------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaDriver.h"
#include "Error.h"
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

namespace attentile::runtime {

namespace {
struct Opened {
  CudaDriver driver = {};
  attentile_status status = ATTENTILE_SUCCESS;
  char message[512] = "";
};
} // namespace

static attentile_status load(CudaDriver &driver) {
  const char *name = std::getenv("ATTENTILE_CUDA_DRIVER");
  if (!name || !*name)
    name = "libcuda.so.1";
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return fail(ATTENTILE_NO_DRIVER, "expected a CUDA driver, got none: %s",
                dlerror());
  const char *missing = nullptr;
  auto find = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, symbol));
    if (!function)
      missing = symbol;
  };
  find(driver.Init, "cuInit");
  find(driver.GetErrorName, "cuGetErrorName");
  find(driver.GetErrorString, "cuGetErrorString");
  find(driver.DeviceGetCount, "cuDeviceGetCount");
  find(driver.DeviceGet, "cuDeviceGet");
  find(driver.DeviceGetName, "cuDeviceGetName");
  find(driver.DeviceGetAttribute, "cuDeviceGetAttribute");
  find(driver.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  find(driver.CtxGetCurrent, "cuCtxGetCurrent");
  find(driver.CtxPushCurrent, "cuCtxPushCurrent_v2");
  find(driver.CtxPopCurrent, "cuCtxPopCurrent_v2");
  find(driver.CtxSynchronize, "cuCtxSynchronize");
  find(driver.ModuleLoadDataEx, "cuModuleLoadDataEx");
  find(driver.ModuleUnload, "cuModuleUnload");
  find(driver.ModuleGetFunction, "cuModuleGetFunction");
  find(driver.FuncGetAttribute, "cuFuncGetAttribute");
  find(driver.FuncSetAttribute, "cuFuncSetAttribute");
  find(driver.LaunchKernel, "cuLaunchKernel");
  find(driver.PointerGetAttributes, "cuPointerGetAttributes");
  find(driver.StreamIsCapturing, "cuStreamIsCapturing");
  find(driver.MemAlloc, "cuMemAlloc_v2");
  find(driver.MemFree, "cuMemFree_v2");
  find(driver.MemAllocAsync, "cuMemAllocAsync");
  find(driver.MemFreeAsync, "cuMemFreeAsync");
  find(driver.MemcpyHtoD, "cuMemcpyHtoD_v2");
  find(driver.MemcpyDtoH, "cuMemcpyDtoH_v2");
  find(driver.MemsetD8, "cuMemsetD8_v2");
  find(driver.EventCreate, "cuEventCreate");
  find(driver.EventDestroy, "cuEventDestroy_v2");
  find(driver.EventRecord, "cuEventRecord");
  find(driver.EventSynchronize, "cuEventSynchronize");
  find(driver.EventElapsedTime, "cuEventElapsedTime");
  if (missing)
    return fail(ATTENTILE_NO_DRIVER,
                "expected a CUDA driver of 11.2 or later, got one without %s",
                missing);
  find(driver.FuncGetParamInfo, "cuFuncGetParamInfo");
  if (driver.FuncGetParamInfo)
    find(driver.LaunchKernelEx, "cuLaunchKernelEx");
  if (CUresult result = driver.Init(0)) {
    failDriver(driver, result, "cannot start the CUDA driver");
    return ATTENTILE_NO_DRIVER;
  }
  return ATTENTILE_SUCCESS;
}

const CudaDriver *openDriver(attentile_status &status) {
  // Never destroyed: kernels may be launched by destructors of other objects.
  static Opened *opened = [] {
    auto *opened = new Opened;
    opened->status = load(opened->driver);
    if (opened->status != ATTENTILE_SUCCESS)
      __builtin_snprintf(opened->message, sizeof opened->message, "%s",
                         message());
    return opened;
  }();
  status = opened->status;
  if (status == ATTENTILE_SUCCESS)
    return &opened->driver;
  fail(status, "%s", opened->message);
  return nullptr;
}

attentile_status failDriver(const CudaDriver &driver, CUresult result,
                            const char *what) {
  const char *name = nullptr, *words = nullptr;
  driver.GetErrorName(result, &name);
  driver.GetErrorString(result, &words);
  attentile_status status =
      result == kOutOfMemory ? ATTENTILE_OUT_OF_MEMORY : ATTENTILE_DRIVER_ERROR;
  return fail(status, "%s: %s (%s)", what, words ? words : "unknown error",
              name ? name : "no name");
}

const Device *getDevice(int32_t number, attentile_status &status) {
  const CudaDriver *driver = openDriver(status);
  if (!driver)
    return nullptr;
  static std::mutex *mutex = new std::mutex;
  static std::atomic<const Device *> devices[kMaxDevices];
  if (number >= 0 && number < kMaxDevices)
    if (const Device *known = devices[number].load(std::memory_order_acquire))
      return known;
  int count = 0;
  CUresult result = driver->DeviceGetCount(&count);
  if (result || number < 0 || number >= count || number >= kMaxDevices) {
    status = fail(ATTENTILE_NO_DEVICE,
                  "expected a device from 0 to %d, got device %d", count - 1,
                  number);
    if (result || count == 0)
      status = fail(ATTENTILE_NO_DEVICE, "expected a GPU, got none");
    return nullptr;
  }
  std::lock_guard lock(*mutex);
  if (const Device *known = devices[number].load(std::memory_order_acquire))
    return known;
  auto *device = new Device;
  int major = 0, minor = 0;
  result = driver->DeviceGet(&device->handle, number);
  if (!result)
    result = driver->DeviceGetName(device->name, sizeof device->name,
                                   device->handle);
  if (!result) // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
    result = driver->DeviceGetAttribute(&major, 75, device->handle);
  if (!result)
    result = driver->DeviceGetAttribute(&minor, 76, device->handle);
  if (!result)
    result = driver->DevicePrimaryCtxRetain(&device->context, device->handle);
  if (result) {
    delete device;
    status = failDriver(*driver, result, "cannot use the GPU");
    return nullptr;
  }
  device->architecture = major * 10 + minor;
  devices[number].store(device, std::memory_order_release);
  return device;
}

CurrentContext::CurrentContext(const CudaDriver &driver, CUcontext context)
    : driver(driver) {
  CUcontext current = nullptr;
  result = driver.CtxGetCurrent(&current);
  if (result || current == context)
    return;
  result = driver.CtxPushCurrent(context);
  isPushed = !result;
}

CurrentContext::~CurrentContext() {
  CUcontext popped;
  if (isPushed)
    driver.CtxPopCurrent(&popped);
}

} // namespace attentile::runtime
