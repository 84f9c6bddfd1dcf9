//===- DeviceTensor.h - a tensor of a run, on the GPU -----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_DEVICETENSOR_H
#define ATTENTILE_DEVICETENSOR_H

#include "attentile-c/runtime.h"
#include "attentile/TestData.h"

namespace attentile {

/// A host tensor's counterpart on the GPU, of the same strides. Before, behind
/// and between its elements stands poison (NaN): a read there shows in the
/// result, a write is found by isUntouched. A tensor that spans more than 1 GiB
/// has poison around each of its blocks alone.
class DeviceTensor {
public:
  DeviceTensor(int32_t device, const HostTensor &host)
      : device(device), host(host) {}
  ~DeviceTensor();
  DeviceTensor(DeviceTensor &&other);
  DeviceTensor &operator=(DeviceTensor &&) = delete;

  /// Allocates, and copies the host tensor's elements there.
  attentile_status upload();

  /// Copies the elements back; whether all around them is poison still is put
  /// in `isUntouched`.
  attentile_status download(bool &isUntouched);

  /// For the launch.
  attentile_tensor descriptor() const;

private:
  /// A run of bytes that is copied at once, from the first element on in
  /// memory.
  struct Block {
    size_t offset, bytes;
  };
  std::vector<Block> blocks() const;

  int32_t device;
  HostTensor host;
  char *memory = nullptr; // with a guard before and behind
};

} // namespace attentile

#endif
