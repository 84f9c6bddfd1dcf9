//===- DeviceTensor.cpp - a tensor of a run, on the GPU -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "attentile/DeviceTensor.h"
#include <algorithm>
#include <cstring>

namespace attentile {

/// Poisoned bytes before and behind what is copied; a multiple of every
/// alignment that matters.
static constexpr size_t kGuard = 4096;

DeviceTensor::DeviceTensor(DeviceTensor &&other)
    : device(other.device), host(std::move(other.host)),
      memory(std::exchange(other.memory, nullptr)) {}

DeviceTensor::~DeviceTensor() { attentile_free(device, memory); }

attentile_tensor DeviceTensor::descriptor() const {
  auto [first, bytes] = memoryOf(host);
  char *data =
      memory ? memory + kGuard + (static_cast<uint8_t *>(host.origin()) - first)
             : nullptr;
  return {data,
          static_cast<attentile_type>(host.type),
          static_cast<int32_t>(host.rank()),
          host.sizes.data(),
          host.strides.data(),
          device};
}

/// The whole; of a far tensor a block for each index of the dimension that
/// makes it so.
std::vector<DeviceTensor::Block> DeviceTensor::blocks() const {
  size_t span = memoryOf(host).second;
  if (!isFar(host))
    return {{0, span}};
  size_t widest = 0;
  auto reach = [&](size_t i) {
    return std::abs(host.strides[i]) * (host.sizes[i] - 1);
  };
  for (size_t i = 0; i < host.sizes.size(); ++i)
    if (reach(i) > reach(widest))
      widest = i;
  size_t step = std::abs(host.strides[widest]) * sizeOf(host.type);
  size_t bytes = span - reach(widest) * sizeOf(host.type);
  std::vector<Block> result;
  for (int64_t i = 0; i < host.sizes[widest]; ++i)
    result.push_back({i * step, bytes});
  return result;
}

attentile_status DeviceTensor::upload() {
  if (host.size() == 0)
    return ATTENTILE_SUCCESS;
  auto [first, span] = memoryOf(host);
  void *allocated = nullptr;
  if (attentile_status status =
          attentile_allocate(device, span + 2 * kGuard, &allocated))
    return status;
  memory = static_cast<char *>(allocated);
  for (Block block : blocks())
    if (attentile_status status = attentile_fill(
            device, memory + block.offset, kPoison, block.bytes + 2 * kGuard))
      return status;
  for (Block block : blocks())
    if (attentile_status status =
            attentile_to_device(device, memory + kGuard + block.offset,
                                first + block.offset, block.bytes))
      return status;
  return ATTENTILE_SUCCESS;
}

static bool isPoison(const std::vector<uint8_t> &bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](uint8_t byte) { return byte == kPoison; });
}

attentile_status DeviceTensor::download(bool &isUntouched) {
  isUntouched = true;
  if (host.size() == 0)
    return ATTENTILE_SUCCESS;
  auto [first, span] = memoryOf(host);
  std::vector<uint8_t> guard(kGuard);
  for (Block block : blocks()) {
    if (attentile_status status =
            attentile_to_host(device, first + block.offset,
                              memory + kGuard + block.offset, block.bytes))
      return status;
    for (size_t at : {block.offset, block.offset + kGuard + block.bytes}) {
      if (attentile_status status =
              attentile_to_host(device, guard.data(), memory + at, kGuard))
        return status;
      isUntouched &= isPoison(guard);
    }
  }
  if (!isFar(host) && isUntouched) {
    // gapsAreUntouched destroys the elements: of a copy.
    HostTensor copy = host;
    std::vector<uint8_t> bytes(first, first + span);
    copy.offset =
        (static_cast<uint8_t *>(host.origin()) - first) / sizeOf(host.type);
    copy.data = bytes.data();
    isUntouched = gapsAreUntouched(copy);
  }
  return ATTENTILE_SUCCESS;
}

} // namespace attentile
