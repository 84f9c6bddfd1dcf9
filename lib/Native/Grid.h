//===- Grid.h - a grid spread over threads ----------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NATIVE_GRID_H
#define ATTENTILE_LIB_NATIVE_GRID_H

#include <atomic>
#include <cstdint>
#include <functional>

namespace attentile::native {

struct Grid {
  int64_t cells = 0;
  unsigned threads = 1;
  /// Runs the cells [begin, end) on the given thread, 0 being the caller's.
  std::function<void(unsigned thread, int64_t begin, int64_t end)> run;
  /// Told the cells begun so far, on the caller's thread only; may be empty.
  std::function<void(int64_t)> progress;
  const std::atomic<bool> *cancel = nullptr;
};

/// Runs every cell once, in ranges that threads take from one counter. Returns
/// false if it was cancelled before all were begun.
bool runGrid(const Grid &grid);

} // namespace attentile::native

#endif
