//===- Passes.h - passes from tiles to warps --------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_MAPPING_PASSES_H
#define ATTENTILE_MAPPING_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/CommandLine.h"

namespace attentile {

/// What tile-partition-warps spreads over the warps of a block.
enum class WarpSplit { Rows, Reduced };

#define GEN_PASS_DECL
#include "Mapping/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Mapping/Passes.h.inc"
} // namespace attentile

#endif
