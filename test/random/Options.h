//===- Options.h - flags of a test's own ------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_RANDOM_OPTIONS_H
#define ATTENTILE_TEST_RANDOM_OPTIONS_H

#include "llvm/Support/CommandLine.h"
#include <vector>

namespace attentile::random {

/// LLVM's libraries register hundreds of flags of their own: leaves --help.
inline void removeLibraryFlags() {
  std::vector<llvm::cl::Option *> others;
  for (auto [name, option] : llvm::cl::getRegisteredOptions())
    if (!name.starts_with("help"))
      others.push_back(option);
  for (llvm::cl::Option *option : others)
    option->removeArgument();
}

} // namespace attentile::random

#endif
