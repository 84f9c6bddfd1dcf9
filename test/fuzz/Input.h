//===- Input.h - what a fuzzer's bytes mean ---------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A source file. A first line that begins with "//bind " holds bindings, so
// that fuzzers reach what depends on them and a corpus stays readable.
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_TEST_FUZZ_INPUT_H
#define ATTENTILE_TEST_FUZZ_INPUT_H

#include "attentile/Frontend.h"

namespace attentile {

inline std::unique_ptr<CheckedKernel> checkInput(SourceFile &file,
                                                 Diagnostics &diagnostics) {
  SyntaxTree tree = parse(file, diagnostics);
  if (diagnostics.hasErrors())
    return nullptr;
  Bindings bindings;
  llvm::StringRef first = file.text().split('\n').first;
  CheckOptions options;
  options.mode = CheckMode::Syntax;
  if (first.consume_front("//bind ")) {
    bindings.add(first, diagnostics);
    options.mode = CheckMode::Run;
  }
  auto names = tree.kernelNames();
  if (!names.empty())
    options.kernel = names.front();
  return check(tree, bindings, options, diagnostics);
}

} // namespace attentile

#endif // ATTENTILE_TEST_FUZZ_INPUT_H
