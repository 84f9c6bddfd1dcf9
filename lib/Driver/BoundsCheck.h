//===- BoundsCheck.h - reads outside their tensors --------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_BOUNDSCHECK_H
#define ATTENTILE_LIB_DRIVER_BOUNDSCHECK_H

#include "Attn/Attn.h"
#include "attentile/Tensor.h"

namespace attentile {

/// Evaluates the index expressions of every read for all values of the index
/// variables they depend on. Fails at the first read whose element lies outside
/// its tensor, with an error at its place in the source. A read counts where
/// its value is not used, too, as in where(inside, X[i], 0). `ins` are the
/// kernel's inputs, all with data.
mlir::LogicalResult checkBounds(attn::KernelOp kernel,
                                llvm::ArrayRef<HostTensor> ins,
                                llvm::ArrayRef<int64_t> sizes);

} // namespace attentile

#endif
