//===- fuzz-emit.cpp - emission and verification
//---------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"
#include "attentile/EmitIR.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

using namespace attentile;

/// Short stacks of allocations and a small quarantine: twice the speed.
extern "C" const char *__asan_default_options() {
  return "malloc_context_size=3:quarantine_size_mb=16:"
         "detect_stack_use_after_return=0";
}

/// A context keeps every attribute and type it has seen, so it is renewed.
static mlir::MLIRContext &context() {
  static std::unique_ptr<mlir::MLIRContext> current;
  static unsigned runs = 0;
  if (!current || ++runs % 4096 == 0)
    current = std::make_unique<mlir::MLIRContext>(
        mlir::MLIRContext::Threading::DISABLED);
  return *current;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  SourceFile file("fuzz.attn",
                  std::string(reinterpret_cast<const char *>(data), size));
  Diagnostics diagnostics;
  auto kernel = checkInput(file, diagnostics);
  if (!kernel)
    return 0;
  // What passes the checker verifies.
  if (mlir::failed(mlir::verify(*emit(context(), *kernel))))
    __builtin_trap();
  return 0;
}
