//===- Passes.h - passes from tile loops to native code ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_NATIVE_PASSES_H
#define ATTENTILE_NATIVE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace attentile {
#define GEN_PASS_DECL
#include "Native/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Native/Passes.h.inc"
} // namespace attentile

#endif
