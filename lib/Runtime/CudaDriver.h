//===- CudaDriver.h - the functions of the CUDA driver that are used *- C++
//-*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declared here rather than taken from cuda.h, so that neither the build nor
// the machine that runs needs a CUDA toolkit. Names, numbers and layouts are
// the driver's stable ABI (CUDA Driver API reference, 12.x).
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_RUNTIME_CUDADRIVER_H
#define ATTENTILE_LIB_RUNTIME_CUDADRIVER_H

#include "attentile-c/runtime.h"

namespace attentile::runtime {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUevent = struct CUevent_st *;
using CUstream = attentile_stream;

inline constexpr CUresult kSuccess = 0, kOutOfMemory = 2, kInvalidPtx = 218,
                          kNoBinaryForGpu = 209, kUnsupportedPtx = 222;

/// CUlaunchAttribute, CUlaunchConfig of cuLaunchKernelEx.
struct CUlaunchAttribute {
  int id, unused;
  union {
    int number;
    char bytes[64];
  } value;
};
struct CUlaunchConfig {
  unsigned grid[3], block[3], shared;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned attributeCount;
};
/// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: the kernel may start
/// while the one before it in its stream ends.
inline constexpr int kProgrammaticSerialization = 6;

/// The functions, under their names in the library without "cu" and version.
struct CudaDriver {
  CUresult (*Init)(unsigned);
  CUresult (*GetErrorName)(CUresult, const char **);
  CUresult (*GetErrorString)(CUresult, const char **);
  CUresult (*DeviceGetCount)(int *);
  CUresult (*DeviceGet)(CUdevice *, int);
  CUresult (*DeviceGetName)(char *, int, CUdevice);
  CUresult (*DeviceGetAttribute)(int *, int, CUdevice);
  CUresult (*DevicePrimaryCtxRetain)(CUcontext *, CUdevice);
  CUresult (*CtxGetCurrent)(CUcontext *);
  CUresult (*CtxPushCurrent)(CUcontext);
  CUresult (*CtxPopCurrent)(CUcontext *);
  CUresult (*CtxSynchronize)();
  CUresult (*ModuleLoadDataEx)(CUmodule *, const void *, unsigned, int *,
                               void **);
  CUresult (*ModuleUnload)(CUmodule);
  CUresult (*ModuleGetFunction)(CUfunction *, CUmodule, const char *);
  CUresult (*FuncGetAttribute)(int *, int, CUfunction);
  CUresult (*FuncSetAttribute)(CUfunction, int, int);
  CUresult (*LaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned,
                           unsigned, unsigned, unsigned, CUstream, void **,
                           void **);
  CUresult (*PointerGetAttributes)(unsigned, int *, void **, CUdeviceptr);
  CUresult (*StreamIsCapturing)(CUstream, int *);
  CUresult (*MemAlloc)(CUdeviceptr *, size_t);
  CUresult (*MemFree)(CUdeviceptr);
  CUresult (*MemAllocAsync)(CUdeviceptr *, size_t, CUstream);
  CUresult (*MemFreeAsync)(CUdeviceptr, CUstream);
  CUresult (*MemcpyHtoD)(CUdeviceptr, const void *, size_t);
  CUresult (*MemcpyDtoH)(void *, CUdeviceptr, size_t);
  CUresult (*MemsetD8)(CUdeviceptr, unsigned char, size_t);
  CUresult (*EventCreate)(CUevent *, unsigned);
  CUresult (*EventDestroy)(CUevent);
  CUresult (*EventRecord)(CUevent, CUstream);
  CUresult (*EventSynchronize)(CUevent);
  CUresult (*EventElapsedTime)(float *, CUevent, CUevent);
  /// Of a driver of 12.4 or later, which captures programmatic dependents into
  /// graphs; null before.
  CUresult (*LaunchKernelEx)(const CUlaunchConfig *, CUfunction, void **,
                             void **);
  /// Since 12.4; null before.
  CUresult (*FuncGetParamInfo)(CUfunction, size_t, size_t *, size_t *);
};

/// The driver, opened by the first call; null, with a message, where there is
/// none or it does not start. ATTENTILE_CUDA_DRIVER names another library than
/// libcuda.so.1: the tests' fake one.
const CudaDriver *openDriver(attentile_status &status);

/// Keeps a message of the driver's words and gives its status: "cannot load the
/// kernel: out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
attentile_status failDriver(const CudaDriver &driver, CUresult result,
                            const char *what);

/// A device's primary context; retained once and for all.
struct Device {
  CUdevice handle;
  CUcontext context;
  int architecture; // 90: 9.0
  char name[96];
};

/// Null, with a message, if there is no such device.
const Device *getDevice(int32_t number, attentile_status &status);
inline constexpr int32_t kMaxDevices = 64;

/// Makes a device's context the current one of this thread, if it is not.
class CurrentContext {
public:
  CurrentContext(const CudaDriver &driver, CUcontext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;

  CUresult result; ///< of making it so

private:
  const CudaDriver &driver;
  bool isPushed = false;
};

} // namespace attentile::runtime

#endif
