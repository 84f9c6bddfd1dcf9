//===- Passes.h - passes from tile loops to native code ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NATIVE_PASSES_H
#define ATTENTILE_NATIVE_PASSES_H

#include "Attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace attentile {
#define GEN_PASS_DECL
#include "Native/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Native/Passes.h.inc"
} // namespace attentile

#endif
