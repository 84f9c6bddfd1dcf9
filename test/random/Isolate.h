//===- Isolate.h - trials in processes of their own -------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program may end the compiler, or its own code the process, or neither ever
// ends: each is a result like another.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_RANDOM_ISOLATE_H
#define ATTENTILE_TEST_RANDOM_ISOLATE_H

#include "Trial.h"
#include <functional>

namespace attentile::random {

/// A program may take so long here, in seconds of a processor.
inline constexpr unsigned kTrialSeconds = 60;

/// One trial in a process of its own.
Outcome runIsolated(const Program &program);

/// Runs `trial` for numbers from 0 to count - 1 on `jobs` processes, at most
/// `seconds` of a processor each; `done` is called here for each, in no order.
/// Stops early where `goesOn` says false.
void runMany(size_t count, unsigned jobs, unsigned seconds,
             const std::function<Outcome(size_t)> &trial,
             const std::function<bool()> &goesOn,
             const std::function<void(size_t, const Outcome &)> &done);

} // namespace attentile::random

#endif
