//===- AssumedLeast.h - what kernels assume of scalars ----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_ASSUMEDLEAST_H
#define ATTENTILE_ASSUMEDLEAST_H

#include "mlir/IR/Value.h"

namespace attentile {

/// The least integer that attn.assume leaves of a scalar, an argument of a
/// formula or a program; nothing if none says so. The launch checks it.
std::optional<int64_t> getAssumedLeast(mlir::Value value);

} // namespace attentile

#endif
