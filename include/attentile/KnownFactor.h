//===- KnownFactor.h - powers of two that divide an index -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_KNOWNFACTOR_H
#define ATTENTILE_KNOWNFACTOR_H

#include "mlir/IR/Value.h"

namespace attentile {

/// The largest power of two, up to `limit` (one itself), that is known to
/// divide the integer: a loop's index is a multiple of what divides its start
/// and its step.
int64_t knownFactor(mlir::Value value, int64_t limit);

} // namespace attentile

#endif
