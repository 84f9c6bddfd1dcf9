//===- FakeCuda.h - a CUDA driver in host memory, for tests -----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libfake-cuda.so has the symbols of libcuda.so.1 that the runtime uses
// (ATTENTILE_CUDA_DRIVER names it). Memory is the host's, and there are as many
// GPUs as FAKE_CUDA_DEVICES lists architectures ("90,80", the default).
//
// An image is a real cubin or PTX, or a text that begins like one and then says
// what it holds:
//
//   \x7fELF fake
//   sm_90
//   copy_0 8 8 8           a function and the bytes of its parameters; behind
//                          them <512, where it runs with fewer threads than
//                          1024
//
// A function whose name begins with "copy" copies float32: from, to, count;
// "copy_wrong" adds 1 to the last, "copy_outside" also writes behind the end.
// Others do nothing. What must not be called while a stream is captured fails
// then, as in the real driver. FAKE_CUDA_FAIL lists calls that fail once, as
// fakeCudaFail does: "cuInit=999,cuMemAlloc=2".
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_RUNTIME_FAKECUDA_H
#define ATTENTILE_TEST_RUNTIME_FAKECUDA_H

#include <cstdint>

extern "C" {
/// A launch that was recorded.
struct FakeLaunch {
  char function[64];
  unsigned grid, threads, shared;
  const void *stream;
  bool isDependent; // launched while the kernel before may still run
  unsigned parameters;
  int64_t values[64]; // of the parameters, the bytes they have
};

/// Starts (with none) or stops recording.
void fakeCudaRecord(bool on);
/// How many were recorded; launches in all, recorded or not.
unsigned fakeCudaRecorded();
uint64_t fakeCudaLaunched();
const FakeLaunch *fakeCudaLaunch(unsigned number);
/// How many modules are loaded now, and were in all.
unsigned fakeCudaModules();
unsigned fakeCudaModulesEver();
/// Begins or ends the capture of a stream.
void fakeCudaCapture(const void *stream, bool on);
/// Lets the next call of a function fail: "cuLaunchKernel".
void fakeCudaFail(const char *function, int result);
}

#endif
