//===- Passes.h - passes from the formula to tile loops ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_PASSES_H
#define ATTENTILE_LOOPS_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/CommandLine.h"

namespace attentile {

/// When tile-fuse-online-softmax divides by a softmax's row sum.
enum class Normalize { Late, EachStep };

#define GEN_PASS_DECL
#include "Loops/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Loops/Passes.h.inc"
} // namespace attentile

#endif
