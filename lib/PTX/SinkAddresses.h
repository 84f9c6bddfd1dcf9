//===- SinkAddresses.h - addresses beside what uses them --------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_PTX_SINKADDRESSES_H
#define ATTENTILE_LIB_PTX_SINKADDRESSES_H

namespace llvm {
class Function;
}

namespace attentile {

/// Gives every block of a loop its own copy of the cheap end of shared-memory
/// addresses: `inttoptr (x ^ a) + b`, with constants a and b. The sum becomes
/// the instruction's immediate offset, and of many addresses that differ in
/// constants only x lives through the loop. LLVM's loop-invariant motion takes
/// them out one by one, a register each, and CodeGenPrepare brings back those
/// of plain loads only, not of ldmatrix and cp.async.
void sinkAddresses(llvm::Function &function);

} // namespace attentile

#endif
