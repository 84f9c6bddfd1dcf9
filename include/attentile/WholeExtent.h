//===- WholeExtent.h - axes that a tile may have whole ----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_WHOLEEXTENT_H
#define ATTENTILE_WHOLEEXTENT_H

#include <cstdint>

namespace attentile {

/// The largest extent that stands whole in a tile, as a head size does; a
/// larger axis is a loop, or is tiled.
inline constexpr int64_t maxWholeExtent = 512;

} // namespace attentile

#endif
