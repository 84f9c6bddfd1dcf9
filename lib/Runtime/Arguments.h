//===- Arguments.h - the checked arguments of a launch ----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_RUNTIME_ARGUMENTS_H
#define ATTENTILE_LIB_RUNTIME_ARGUMENTS_H

#include "Manifest.h"

namespace attentile::runtime {

/// The arguments of one call, as far as they have been checked. It lives on the
/// stack of the launch.
struct Arguments {
  const Manifest *manifest;
  const attentile_tensor *tensors;
  /// Sizes, then scalars: the slots of the manifest's expressions.
  Value slots[kMaxSizes + kMaxScalars];
  /// A scalar as the kernel takes it: its bytes first.
  int64_t scalarBits[kMaxScalars];
  int64_t strides[kMaxTensors][kMaxRank];
  /// Where each workspace begins in the caller's block.
  size_t workspaceOffsets[kMaxWorkspaces];
  size_t workspaceBytes;
};

/// Types, ranks, sizes, scalars, constraints and workspace: all but addresses.
attentile_status bindArguments(const Manifest &manifest,
                               const attentile_arguments &given,
                               Arguments &arguments);

/// Addresses: null, alignment, device as the tensors say, overlaps; of tensors
/// that are not `used` (a bit each) only the device. `workspace` is looked at
/// where the kernel needs one.
attentile_status checkAddresses(const Arguments &arguments, uint64_t used,
                                const void *workspace, size_t workspaceBytes);

} // namespace attentile::runtime

#endif
