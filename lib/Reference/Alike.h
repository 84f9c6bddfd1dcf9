//===- Alike.h - one formula at two elements --------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_REFERENCE_ALIKE_H
#define ATTENTILE_LIB_REFERENCE_ALIKE_H

#include "attentile/AxesAnalysis.h"

namespace attentile::reference {

/// Whether two values are one formula but for the names of index variables, as
/// sum[d](Q[m, d] * K[n, d]) and sum[d](Q[m, d] * K[j, d]): where these are the
/// same number, so are the values, bit for bit.
bool areAlike(attn::KernelOp kernel, attn::AxesAnalysis &axes, mlir::Value a,
              mlir::Value b);

} // namespace attentile::reference

#endif
