//===- Addresses.cpp - where tensors may lie ------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "Error.h"
#include "Overlap.h"

namespace attentile::runtime {

static attentile_status checkDevice(const Arguments &arguments,
                                    unsigned number) {
  int32_t device = arguments.tensors[number].device;
  if (device == arguments.tensors[0].device)
    return ATTENTILE_SUCCESS;
  return fail(ATTENTILE_INVALID_ARGUMENT,
              "'%s': expected a tensor on device %d, as '%s' is, got one on "
              "device %d",
              arguments.manifest->tensors[number].name.c_str(),
              arguments.tensors[0].device,
              arguments.manifest->tensors[0].name.c_str(), device);
}

static attentile_status checkAddress(const Arguments &arguments,
                                     unsigned number, Extent &extent) {
  const TensorParameter &parameter = arguments.manifest->tensors[number];
  const attentile_tensor &tensor = arguments.tensors[number];
  const char *name = parameter.name.c_str();
  auto address = reinterpret_cast<uintptr_t>(tensor.data);
  unsigned bytes = sizeOf(parameter.type);
  bool isEmpty = false;
  for (int32_t dim = 0; dim < tensor.rank; ++dim)
    isEmpty |= tensor.sizes[dim] == 0;
  if (!address && !isEmpty)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "'%s': expected an address, got null", name);
  if (address % bytes != 0)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "'%s': expected an address that is a multiple of %u, got %p",
                name, bytes, tensor.data);
  if (attentile_status status = checkDevice(arguments, number))
    return status;
  if (!makeExtent(address, bytes, tensor.rank, tensor.sizes,
                  arguments.strides[number], extent))
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "'%s': expected elements within 64-bit addresses, got strides "
                "that leave them",
                name);
  if (!parameter.isOutput || extent.low == extent.high)
    return ATTENTILE_SUCCESS;
  for (int32_t dim = 0; dim < tensor.rank; ++dim)
    if (tensor.sizes[dim] > 1 && arguments.strides[number][dim] == 0)
      return fail(ATTENTILE_INVALID_ARGUMENT,
                  "'%s': expected a stride other than 0 in dimension %d of an "
                  "output",
                  name, dim);
  if (overlapsItself(extent))
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "'%s': expected strides that keep the elements of an output "
                "apart",
                name);
  return ATTENTILE_SUCCESS;
}

attentile_status checkAddresses(const Arguments &arguments, uint64_t used,
                                const void *workspace, size_t workspaceBytes) {
  const Manifest &manifest = *arguments.manifest;
  Extent extents[kMaxTensors];
  size_t count = manifest.tensors.size();
  for (size_t i = 0; i < count; ++i) {
    bool isUsed = used >> i & 1;
    if (!isUsed)
      extents[i] = {}; // no bytes
    if (attentile_status status = isUsed
                                      ? checkAddress(arguments, i, extents[i])
                                      : checkDevice(arguments, i))
      return status;
  }
  for (size_t out = 0; out < count; ++out) {
    if (!manifest.tensors[out].isOutput)
      continue;
    for (size_t other = 0; other < count; ++other)
      if (other != out && !(manifest.tensors[other].isOutput && other > out) &&
          overlap(extents[out], extents[other]))
        return fail(ATTENTILE_INVALID_ARGUMENT,
                    "'%s': expected an output apart from '%s', got memory that "
                    "they share",
                    manifest.tensors[out].name.c_str(),
                    manifest.tensors[other].name.c_str());
  }
  if (arguments.workspaceBytes == 0)
    return ATTENTILE_SUCCESS;
  auto begin = reinterpret_cast<uintptr_t>(workspace);
  if (workspaceBytes < arguments.workspaceBytes)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "workspace: expected %zu bytes, got %zu",
                arguments.workspaceBytes, workspaceBytes);
  if (!begin)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "workspace: expected an address, got null");
  if (begin % 256 != 0)
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "workspace: expected an address that is a multiple of 256, got "
                "%p",
                workspace);
  for (size_t i = 0; i < count; ++i) {
    Extent block{begin, begin, begin + arguments.workspaceBytes, 1, 1, {}, {}};
    block.sizes[0] = static_cast<int64_t>(arguments.workspaceBytes);
    block.strides[0] = 1;
    if (overlap(extents[i], block))
      return fail(ATTENTILE_INVALID_ARGUMENT,
                  "workspace: expected memory apart from '%s', got memory that "
                  "they share",
                  manifest.tensors[i].name.c_str());
  }
  return ATTENTILE_SUCCESS;
}

} // namespace attentile::runtime
