//===- fuzz-check.cpp - lexer, parser, checker and diagnostics ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"
#include "llvm/Support/raw_ostream.h"

using namespace attentile;

/// Short stacks of allocations and a small quarantine: twice the speed.
extern "C" const char *__asan_default_options() {
  return "malloc_context_size=3:quarantine_size_mb=16:"
         "detect_stack_use_after_return=0";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  SourceFile file("fuzz.attn",
                  std::string(reinterpret_cast<const char *>(data), size));
  Diagnostics diagnostics;
  auto kernel = checkInput(file, diagnostics);
  // A program is either right or told why not.
  if (!kernel && !diagnostics.hasErrors())
    __builtin_trap();
  std::string text;
  llvm::raw_string_ostream os(text);
  diagnostics.print(os);
  return 0;
}
