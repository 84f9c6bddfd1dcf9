//===- Draw.h - seeded random tensors ---------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_DRAW_H
#define ATTENTILE_LIB_DRIVER_DRAW_H

#include "Attn/Attn.h"
#include "attentile/Tensor.h"

namespace attentile {

/// Fills a tensor: floats from the standard normal distribution, integers
/// evenly from 0 to `limit` - 1, bools evenly. An element depends on the seed,
/// the tensor's name and the element's row-major number alone, so that a
/// machine without this compiler can draw the same.
void drawElements(HostTensor &tensor, uint64_t seed, llvm::StringRef name,
                  int64_t limit);

/// How many integers an input may hold so that they index mostly within what
/// they index: the smallest dimension that an index expression with a read of
/// `tensor` in it stands in; where there is none (it is compared, say), one
/// more than the largest extent of an index variable.
int64_t integerLimit(attn::KernelOp kernel, mlir::BlockArgument tensor,
                     llvm::ArrayRef<int64_t> sizes);

} // namespace attentile

#endif
