//===- Symbols.h - names in object files ------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NATIVE_SYMBOLS_H
#define ATTENTILE_LIB_NATIVE_SYMBOLS_H

#include <string>

namespace attentile::native {

/// The symbol of a function of a program. Kernels may be named as the user's
/// own functions are (or `main`), so their symbols have a prefix.
inline std::string symbolOf(const std::string &function) {
  return "attentile_" + function;
}

} // namespace attentile::native

#endif
