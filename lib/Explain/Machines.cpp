//===- Machines.cpp - what the processors of each target can do -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Explain.h"
#include "llvm/ADT/STLExtras.h"

namespace attentile {

// One machine for each target, from NVIDIA's architecture papers; what differs
// from them is measured. sm_90: mma.sync reaches 62 % of what wgmma does.
static constexpr Machine kMachines[] = {
    // target, name, SMs, GHz, product FLOP, exp, L2, memory, registers, shared
    {"sm_80", "NVIDIA A100", 108, 1.41, 2048, 16, 5.1, 1.56, 65536, 167936},
    {"sm_86", "NVIDIA RTX 3090", 82, 1.70, 512, 16, 2.5, 0.94, 65536, 102400},
    {"sm_89", "NVIDIA RTX 4090", 128, 2.52, 512, 16, 5.0, 1.01, 65536, 102400},
    {"sm_90", "NVIDIA H200", 132, 1.75, 2540, 16, 5.7, 4.2, 65536, 233472},
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

} // namespace attentile
