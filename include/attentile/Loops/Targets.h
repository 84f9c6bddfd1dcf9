//===- Targets.h - what a GPU has room for ----------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_TARGETS_H
#define ATTENTILE_LOOPS_TARGETS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace attentile {

/// Bytes of shared memory that a block of threads may have on a target; for
/// other names the most of any.
int64_t mostSharedBytes(llvm::StringRef target);

/// What an mbarrier takes of shared memory.
inline constexpr int64_t kMbarrierBytes = 8;

/// Whether a target's threads can wait at mbarriers; before sm_90 they are
/// polled. False for other names.
bool waitsAtMbarriers(llvm::StringRef target);

/// Whether a kernel may start while the one before it in its stream ends, as a
/// programmatic dependent launch: from sm_90 on. False for other names.
bool launchesDependents(llvm::StringRef target);

} // namespace attentile

#endif
