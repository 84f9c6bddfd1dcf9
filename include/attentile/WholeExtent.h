//===- WholeExtent.h - how much a tile may have of an axis -----*- C++ -*-===//
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

/// The largest tile of an axis that may be asked for.
inline constexpr int64_t largestTile = 4096;

} // namespace attentile

#endif
