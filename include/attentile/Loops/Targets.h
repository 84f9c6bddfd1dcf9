//===- Targets.h - what a GPU has room for ----------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_TARGETS_H
#define ATTENTILE_LOOPS_TARGETS_H

#include "llvm/ADT/StringRef.h"

namespace attentile {

/// Bytes of shared memory that a block of threads may have on a target; for
/// other names the most of any.
int64_t mostSharedBytes(llvm::StringRef target);

} // namespace attentile

#endif
