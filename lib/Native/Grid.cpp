//===- Grid.cpp - a grid spread over threads ------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "attentile/Native.h"
#include <algorithm>
#include <thread>
#include <vector>
#ifdef __linux__
#include <sched.h>
#endif

namespace attentile {

unsigned availableThreads() {
#ifdef __linux__
  // The processors present may be many more than those this process may use.
  // A set too small for the machine is refused, so it grows.
  for (int processors = 1024; processors <= 1 << 20; processors *= 2) {
    cpu_set_t *set = CPU_ALLOC(processors);
    size_t bytes = CPU_ALLOC_SIZE(processors);
    bool known = sched_getaffinity(0, bytes, set) == 0;
    int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known)
      return std::max(count, 1);
  }
#endif
  return std::max(std::thread::hardware_concurrency(), 1u);
}

namespace native {

bool runGrid(const Grid &grid) {
  // Cells of a masked kernel differ in cost, so ranges are short; taking one
  // costs little against the least of cells.
  int64_t step = std::clamp<int64_t>(grid.cells / (64 * grid.threads), 1, 64);
  std::atomic<int64_t> next = 0;
  auto work = [&](unsigned thread) {
    while (!grid.cancel || !grid.cancel->load(std::memory_order_relaxed)) {
      int64_t begin = next.fetch_add(step, std::memory_order_relaxed);
      if (begin >= grid.cells)
        return;
      grid.run(thread, begin, std::min(begin + step, grid.cells));
      if (thread == 0 && grid.progress)
        grid.progress(
            std::min(next.load(std::memory_order_relaxed), grid.cells));
    }
  };
  std::vector<std::thread> others;
  int64_t ranges = (grid.cells + step - 1) / step;
  for (unsigned thread = 1; thread < grid.threads && thread < ranges; ++thread)
    others.emplace_back(work, thread);
  work(0);
  for (std::thread &other : others)
    other.join();
  return next.load() >= grid.cells;
}

} // namespace native
} // namespace attentile
