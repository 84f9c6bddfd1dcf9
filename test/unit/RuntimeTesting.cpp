//===- RuntimeTesting.cpp - what tests of the runtime share ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RuntimeTesting.h"
#include "../../lib/Runtime/Sha256.h"
#include "attentile/Seal.h"
#include <cstdlib>

using nlohmann::json;

namespace attentile::runtime {

/// Before anything calls the runtime.
static const bool usesFakeDriver = [] {
  setenv("ATTENTILE_CUDA_DRIVER", ATTENTILE_FAKE_CUDA, 1);
  setenv("FAKE_CUDA_DEVICES", "90,90,80", 1);
  return true;
}();

json exampleManifest() {
  return json::parse(R"({
    "format": "attentile-manifest", "version": 2, "compiler": "0.1.0",
    "target": "sm_90", "source": {"file": "example.attn", "sha256": ""},
    "image": {"cubin": "example.cubin", "bytes": 0, "sha256": ""},
    "kernel": "example", "bound": {"D": 64},
    "sizes": ["B", "H", "M", "G", "N"],
    "tensors": [
      {"name": "Q", "role": "input", "type": "bf16", "shape": ["B", "H", "M", 64]},
      {"name": "K", "role": "input", "type": "bf16", "shape": ["B", "G", "N", 64]},
      {"name": "O", "role": "output", "type": "bf16", "shape": ["B", "H", "M", 64]},
      {"name": "L", "role": "output", "type": "f32", "shape": ["B", "H", "M"]}],
    "scalars": [
      {"name": "scale", "type": "f32",
       "default": ["fdiv", 1, ["sqrt", ["convert", "f32", 64]]]},
      {"name": "window", "type": "i32", "default": ["mul", "N", 2]}],
    "constraints": [
      {"text": "H % G == 0", "holds": ["eq", ["floormod", "H", "G"], 0]},
      {"text": "scale > 0", "holds": ["gt", "scale", 0]}],
    "workspace": [
      {"name": "r", "type": "f32", "shape": ["B", ["add", "M", 1]]},
      {"name": "w", "type": "i32", "shape": [3]}],
    "launches": [
      {"kernel": "example_0", "cells": ["B", "H", ["ceildiv", "M", 32]],
       "threads": 128, "shared": 65536, "registers": 100,
       "arguments": [{"kind": "tensor", "name": "Q"}, {"kind": "tensor", "name": "K"},
                     {"kind": "workspace", "name": "r"}, {"kind": "workspace", "name": "w"},
                     {"kind": "size", "name": "M"},
                     {"kind": "stride", "tensor": "Q", "dim": 2},
                     {"kind": "scalar", "name": "scale"}],
       "requires": [{"tensor": "Q", "dims": [2, 3], "bytes": 16}],
       "otherwise": {
         "kernel": "example_by_element_0", "cells": ["B", "H", ["ceildiv", "M", 16]],
         "threads": 64, "shared": 8192,
         "arguments": [{"kind": "tensor", "name": "Q"}, {"kind": "tensor", "name": "K"},
                       {"kind": "stride", "tensor": "Q", "dim": 3},
                       {"kind": "size", "name": "M"}, {"kind": "workspace", "name": "r"}]}},
      {"kernel": "example_1", "cells": ["B", "H"], "threads": 32, "shared": 0,
       "arguments": [{"kind": "tensor", "name": "O"}, {"kind": "tensor", "name": "L"},
                     {"kind": "scalar", "name": "window"}]}]
  })");
}

std::string exampleCubin(const std::string &target) {
  return "\x7f"
         "ELF fake\n" +
         target +
         "\nexample_0 8 8 8 8 8 8 4\n"
         "example_by_element_0 8 8 8 8 8\nexample_1 8 8 4\n";
}

std::string finished(json manifest, const std::string &cubin) {
  manifest["image"]["bytes"] = cubin.size();
  manifest["image"]["sha256"] = sha256(cubin);
  return sealed(manifest.dump());
}

attentile_kernel *openExample(const std::function<void(json &)> &change,
                              const std::string &ptx) {
  json manifest = exampleManifest();
  std::string cubin = exampleCubin();
  if (change)
    change(manifest);
  if (!ptx.empty())
    manifest["ptx"]["file"] = "example.ptx";
  std::string text = finished(manifest, cubin);
  attentile_kernel *kernel = nullptr;
  attentile_open_memory(text.data(), text.size(), cubin.data(), cubin.size(),
                        ptx.empty() ? nullptr : ptx.data(), ptx.size(),
                        &kernel);
  return kernel;
}

std::string whyNotOpened(const std::function<void(json &)> &change) {
  attentile_kernel *kernel = openExample(change);
  if (!kernel)
    return attentile_error_message();
  attentile_close(kernel);
  return "";
}

ExampleArguments::ExampleArguments() {
  constexpr int64_t shapes[4][4] = {
      {2, 4, 33, 64}, {2, 2, 70, 64}, {2, 4, 33, 64}, {2, 4, 33, 0}};
  for (int t = 0; t < 4; ++t) {
    int rank = t == 3 ? 3 : 4;
    int64_t stride = 1;
    for (int dim = rank; dim-- > 0;) {
      sizes[t][dim] = shapes[t][dim];
      strides[t][dim] = stride;
      stride *= shapes[t][dim];
    }
    void *data = nullptr;
    attentile_allocate(0, stride * 4, &data);
    tensors[t] = {data,       t == 3 ? ATTENTILE_F32 : ATTENTILE_BF16,
                  rank,       sizes[t],
                  strides[t], 0};
  }
  workspaceBytes = 512 + 256;
  attentile_allocate(0, workspaceBytes, &workspace);
}

ExampleArguments::~ExampleArguments() {
  // Tests move pointers: the fake driver's memory ends with the process.
}

attentile_arguments ExampleArguments::arguments() const {
  return {tensors, 4, scalars.data(), scalars.size()};
}

std::string ExampleArguments::launch(attentile_kernel *kernel,
                                     attentile_stream stream) {
  attentile_arguments given = arguments();
  return attentile_launch(kernel, &given, stream, workspace, workspaceBytes)
             ? attentile_error_message()
             : "";
}

} // namespace attentile::runtime
