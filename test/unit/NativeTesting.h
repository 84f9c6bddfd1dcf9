//===- NativeTesting.h - native code of hand-written kernels ----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_NATIVETESTING_H
#define ATTENTILE_TEST_NATIVETESTING_H

#include "attentile/Native.h"

namespace attentile::testing {

/// A tile.program whose kernels are functions that stand beside it in `source`
/// (their bodies in the program are empty), as machine code for `cpu`. Fails
/// the test and returns null if anything is wrong.
std::unique_ptr<NativeProgram> loadHandWritten(const std::string &source,
                                               const std::string &cpu);

/// A program `map` from X: FROM[N] to Y: TO[N], N a multiple of `lanes`, where
/// `body` makes %y from %x, vectors of that many lanes (scalars for 1).
std::string mapProgram(const std::string &body, const std::string &from,
                       const std::string &to, unsigned lanes);

} // namespace attentile::testing

#endif
