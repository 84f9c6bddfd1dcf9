//===- FakeCudaState.h - what the fake CUDA driver keeps --------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_RUNTIME_FAKECUDASTATE_H
#define ATTENTILE_TEST_RUNTIME_FAKECUDASTATE_H

#include <cstddef>
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

} // namespace

#endif
