//===- RegisterPressure.h - registers that a kernel will take ---*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NVVM_REGISTERPRESSURE_H
#define ATTENTILE_NVVM_REGISTERPRESSURE_H

#include "Warp/Warp.h"

namespace attentile {

/// The 32-bit registers of a thread that ptxas will give a kernel: within 20 %
/// for 16-bit kernels of head sizes 64 to 256; small and f32 kernels can be
/// farther off (docs/roadmap.md). From the values that are alive at the same
/// time, for which the kernel has gone through buildRegisterPipeline(): values
/// that all threads share, conditions, constants and sums with these take none.
/// At most what the target lets a thread have in a block of that size.
int64_t predictRegisters(warp::KernelOp kernel);

} // namespace attentile

#endif
