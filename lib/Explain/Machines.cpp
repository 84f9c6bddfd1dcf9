//===- Machines.cpp - what the processors of each target can do -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Explain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace attentile {

// One machine for each target, from NVIDIA's architecture papers; what differs
// from them is measured. sm_90: mma.sync reaches 62 % of what wgmma does.
static constexpr Machine kMachines[] = {
    // target, name, SMs, GHz, product FLOP, exp, L2, memory; of an SM:
    // registers, shared memory, threads, blocks
    {"sm_80", "NVIDIA A100", 108, 1.41, 2048, 16, 5.1, 1.56, 65536, 167936,
     2048, 32},
    {"sm_86", "NVIDIA RTX 3090", 82, 1.70, 512, 16, 2.5, 0.94, 65536, 102400,
     1536, 16},
    {"sm_89", "NVIDIA RTX 4090", 128, 2.52, 512, 16, 5.0, 1.01, 65536, 102400,
     1536, 24},
    {"sm_90", "NVIDIA H200", 132, 1.75, 2540, 16, 5.7, 4.2, 65536, 233472, 2048,
     32},
};

const Machine *findMachine(llvm::StringRef target) {
  const Machine *found = llvm::find_if(kMachines, [&](const Machine &machine) {
    return target == machine.target;
  });
  return found == std::end(kMachines) ? nullptr : found;
}

Bound boundOf(const GridFigures &figures, const Machine &machine) {
  double clocks = machine.multiprocessors * machine.clock * 1e9;
  Bound bounds[] = {
      {figures.flops / (machine.productFlops * clocks), "matrix products"},
      {figures.exponentials / (machine.exponentials * clocks), "exponentials"},
      {(figures.readBytes + figures.writtenBytes) / (machine.l2Bytes * 1e12),
       "second-level cache"},
      {figures.leastBytes / (machine.memoryBytes * 1e12), "memory"}};
  return *llvm::max_element(bounds, [](const Bound &a, const Bound &b) {
    return a.seconds < b.seconds;
  });
}

Occupancy occupancyOf(const GridFigures &figures, const Machine &machine,
                      int64_t multiprocessors) {
  // Registers are given to warps, 256 at a time; the driver keeps 1 KB of a
  // block's shared memory.
  constexpr int64_t kLanes = 32, kUnit = 256, kReserve = 1024;
  int64_t warps = llvm::divideCeil(figures.threads, kLanes);
  int64_t ofWarp = llvm::alignTo(figures.registers * kLanes, kUnit);
  std::pair<int64_t, const char *> limits[] = {
      {machine.registers / (ofWarp * warps), "registers"},
      {machine.sharedBytes / (figures.sharedBytes + kReserve), "shared memory"},
      {machine.threads / figures.threads, "threads"},
      {machine.blocks, "blocks"}};
  auto [blocks, limit] = *llvm::min_element(limits, llvm::less_first());
  Occupancy result{blocks, limit, 0};
  if (blocks > 0 && multiprocessors > 0)
    result.waves = double(figures.programs) / double(blocks * multiprocessors);
  return result;
}

} // namespace attentile
