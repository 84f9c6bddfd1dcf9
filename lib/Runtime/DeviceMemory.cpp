//===- DeviceMemory.cpp - devices and their memory, for small programs ----===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaDriver.h"
#include "Error.h"
#include <cstdio>

using namespace attentile::runtime;

int32_t attentile_device_count(void) {
  attentile_status status;
  const CudaDriver *driver = openDriver(status);
  int count = 0;
  if (!driver)
    return 0;
  if (CUresult result = driver->DeviceGetCount(&count)) {
    failDriver(*driver, result, "cannot count the GPUs");
    return 0;
  }
  if (count == 0)
    fail(ATTENTILE_NO_DEVICE, "expected a GPU, got none");
  return count;
}

attentile_status attentile_device_info(int32_t number, int32_t *architecture,
                                       char *name, size_t name_bytes) {
  attentile_status status = ATTENTILE_SUCCESS;
  const Device *device = getDevice(number, status);
  if (!device)
    return status;
  if (architecture)
    *architecture = device->architecture;
  if (name)
    std::snprintf(name, name_bytes, "%s", device->name);
  return ATTENTILE_SUCCESS;
}

/// Calls `body(driver)` with the device's context current; its result becomes a
/// status.
template <class Body>
static attentile_status on(int32_t number, const char *what, Body body) {
  attentile_status status = ATTENTILE_SUCCESS;
  const Device *device = getDevice(number, status);
  if (!device)
    return status;
  const CudaDriver &driver = *openDriver(status);
  CurrentContext current(driver, device->context);
  CUresult result = current.result;
  if (!result)
    result = body(driver);
  return result ? failDriver(driver, result, what) : ATTENTILE_SUCCESS;
}

static CUdeviceptr addressOf(const void *memory) {
  return reinterpret_cast<uintptr_t>(memory);
}

attentile_status attentile_allocate(int32_t device, size_t bytes,
                                    void **memory) {
  return on(device, "cannot allocate memory", [&](const CudaDriver &driver) {
    CUdeviceptr address = 0;
    CUresult result = bytes ? driver.MemAlloc(&address, bytes) : 0;
    *memory = reinterpret_cast<void *>(address);
    return result;
  });
}

attentile_status attentile_free(int32_t device, void *memory) {
  return on(device, "cannot free memory", [&](const CudaDriver &driver) {
    return memory ? driver.MemFree(addressOf(memory)) : 0;
  });
}

attentile_status attentile_to_device(int32_t device, void *to, const void *from,
                                     size_t bytes) {
  return on(device, "cannot copy to the GPU", [&](const CudaDriver &driver) {
    return bytes ? driver.MemcpyHtoD(addressOf(to), from, bytes) : 0;
  });
}

attentile_status attentile_to_host(int32_t device, void *to, const void *from,
                                   size_t bytes) {
  return on(device, "cannot copy from the GPU", [&](const CudaDriver &driver) {
    return bytes ? driver.MemcpyDtoH(to, addressOf(from), bytes) : 0;
  });
}

attentile_status attentile_fill(int32_t device, void *to, uint8_t value,
                                size_t bytes) {
  return on(device, "cannot fill memory", [&](const CudaDriver &driver) {
    CUresult result = bytes ? driver.MemsetD8(addressOf(to), value, bytes) : 0;
    return result ? result : driver.CtxSynchronize();
  });
}

attentile_status attentile_synchronize(int32_t device) {
  return on(device, "the kernel failed",
            [](const CudaDriver &driver) { return driver.CtxSynchronize(); });
}

attentile_status attentile_time(attentile_kernel *kernel,
                                const attentile_arguments *arguments,
                                void *workspace, size_t workspace_bytes,
                                int32_t count, double *seconds) {
  if (attentile_status status = attentile_launch(kernel, arguments, nullptr,
                                                 workspace, workspace_bytes))
    return status;
  attentile_status launched = ATTENTILE_SUCCESS;
  int32_t device = arguments->tensor_count ? arguments->tensors[0].device : 0;
  attentile_status status =
      on(device, "cannot time the kernel", [&](const CudaDriver &driver) {
        CUevent begin = nullptr, end = nullptr;
        float milliseconds = 0;
        CUresult result = driver.EventCreate(&begin, 0);
        if (!result)
          result = driver.EventCreate(&end, 0);
        if (!result)
          result = driver.EventRecord(begin, nullptr);
        for (int32_t i = 0; i < count && !result && !launched; ++i)
          launched = attentile_launch(kernel, arguments, nullptr, workspace,
                                      workspace_bytes);
        if (!result)
          result = driver.EventRecord(end, nullptr);
        if (!result)
          result = driver.EventSynchronize(end);
        if (!result)
          result = driver.EventElapsedTime(&milliseconds, begin, end);
        *seconds = milliseconds * 1e-3 / (count > 0 ? count : 1);
        if (begin)
          driver.EventDestroy(begin);
        if (end)
          driver.EventDestroy(end);
        return result;
      });
  return launched ? launched : status;
}
