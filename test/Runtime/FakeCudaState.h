//===- FakeCudaState.h - what the fake CUDA driver keeps --------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_RUNTIME_FAKECUDASTATE_H
#define ATTENTILE_TEST_RUNTIME_FAKECUDASTATE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

struct Function {
  std::string name;
  std::vector<unsigned> parameters;
  unsigned shared = 48 << 10;
  int threads = 1024; // at most
};
struct Module {
  std::vector<Function *> functions;
  bool isReal = false;
  std::string image;
};
struct Block {
  size_t bytes;
  int device;
};
struct Context {
  int device;
};

/// CUlaunchConfig and CUlaunchAttribute, by the driver's interface.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    int number;
  } value;
};
struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, shared;
  void *stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// What functions do whose names begin with "copy" (FakeCuda.h).
inline void runCopy(const std::string &name, void **parameters) {
  auto *from = *static_cast<float **>(parameters[0]);
  auto *to = *static_cast<float **>(parameters[1]);
  auto count = *static_cast<int64_t *>(parameters[2]);
  for (int64_t i = 0; i < count; ++i)
    to[i] = from[i];
  if (name == "copy_wrong" && count > 0)
    to[count - 1] += 1;
  if (name == "copy_outside")
    to[count] = 0;
}

} // namespace

#endif
