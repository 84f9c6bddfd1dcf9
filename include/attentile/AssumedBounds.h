//===- AssumedBounds.h - what kernels assume of scalars ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_ASSUMEDBOUNDS_H
#define ATTENTILE_ASSUMEDBOUNDS_H

#include "mlir/IR/Value.h"

namespace attentile {

/// No position along an axis is above this one: the launch refuses sizes that
/// come near (lib/Runtime/Arguments.cpp), so that positions some tiles behind
/// the last one fit 32 bits.
constexpr int64_t kLargestPosition = INT32_MAX - (1 << 15);

/// The least and the largest integer that attn.assume leaves of a scalar or
/// size, an argument of a formula or a program; nothing where none says so. The
/// launch checks it.
struct AssumedBounds {
  std::optional<int64_t> least, most;
};
AssumedBounds getAssumedBounds(mlir::Value value);

/// Whether an integer is known to be above 0: a constant, an argument of which
/// attn.assume says it, or the least or largest of such.
bool isPositiveInteger(mlir::Value value);

} // namespace attentile

#endif
