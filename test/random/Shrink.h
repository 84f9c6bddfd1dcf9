//===- Shrink.h - a small program that fails alike --------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_RANDOM_SHRINK_H
#define ATTENTILE_TEST_RANDOM_SHRINK_H

#include "Trial.h"

namespace attentile::random {

/// Drops statements, terms, conditions, switches and sizes of a program that
/// ended in `outcome` while it still ends so; `outcome` is then the last one.
/// Gives up after so many trials or seconds.
Program shrink(Program program, Outcome &outcome, unsigned trials = 600,
               unsigned seconds = 240);

} // namespace attentile::random

#endif
