//===- Seal.h - a text that carries its own hash ------------------*- C++
//-*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A manifest says which kernel is called with what; a wrong byte in it may end
// in a write anywhere. So it ends in the SHA-256 of all that stands before, and
// a text that was cut or edited is refused:
//
//   {"format":"attentile-manifest", ...,
//   "seal":"5891b5b522d5df08..."}
//
// No LLVM here.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_SEAL_H
#define ATTENTILE_SEAL_H

#include <string>
#include <string_view>

namespace attentile {

/// The JSON object (not empty) with the member "seal" at its end.
std::string sealed(std::string_view object);

/// What is wrong with a sealed object's seal; null: nothing.
const char *findBrokenSeal(std::string_view text);

} // namespace attentile

#endif
