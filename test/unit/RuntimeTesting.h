//===- RuntimeTesting.h - what tests of the runtime share -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_RUNTIMETESTING_H
#define ATTENTILE_TEST_UNIT_RUNTIMETESTING_H

#include "../Runtime/FakeCuda.h"
#include "attentile-c/runtime.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attentile::runtime {

/// A manifest like that of causal attention with grouped heads: Q[B, H, M, 64],
/// K[B, G, N, 64] -> O[B, H, M, 64], L[B, H, M], scale, workspace r[B, M + 1]
/// and two grids of which the first wants 16-byte copies.
nlohmann::json exampleManifest();

/// A cubin that the fake driver takes, with the example's functions.
std::string exampleCubin(const std::string &target = "sm_90");

/// `manifest` with the image's hash and its own seal, as text.
std::string finished(nlohmann::json manifest, const std::string &cubin);

/// Opens the example, with the manifest as `change` leaves it; null with a
/// message where that fails.
attentile_kernel *
openExample(const std::function<void(nlohmann::json &)> &change = {},
            const std::string &ptx = "");

/// The message of opening it.
std::string whyNotOpened(const std::function<void(nlohmann::json &)> &change);

/// The arguments of the example at B=2, H=4, G=2, M=33, N=70 on device 0.
class ExampleArguments {
public:
  ExampleArguments();
  ~ExampleArguments();

  /// Launches on `stream`: the message, empty after success.
  std::string launch(attentile_kernel *kernel,
                     attentile_stream stream = nullptr);

  attentile_tensor tensors[4]; // Q, K, O, L
  int64_t sizes[4][4], strides[4][4];
  std::vector<attentile_scalar> scalars;
  void *workspace = nullptr;
  size_t workspaceBytes = 0;
  attentile_arguments arguments() const;
};

} // namespace attentile::runtime

#endif
