//===- FirstError.h - what a pass reported, as an error ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_FIRSTERROR_H
#define ATTENTILE_LIB_DRIVER_FIRSTERROR_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"

namespace attentile {

/// While it lives, a context's errors are kept, not printed:
///   02-causal.attn:9:3: expected ..., got ... (note: the nearest that fit ...)
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext *context);

  /// The first error with its notes; where there was none, `otherwise`.
  llvm::Error take(llvm::Error otherwise) const;

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace attentile

#endif
