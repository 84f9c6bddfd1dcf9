//===- OtherSyntax.h - what other languages write there ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_FRONTEND_OTHERSYNTAX_H
#define ATTENTILE_FRONTEND_OTHERSYNTAX_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace attentile::frontend {

/// A token that the grammar does not have there, and what stands around it.
struct Unexpected {
  llvm::StringRef got, before, after;       ///< without blanks at their ends
  llvm::ArrayRef<llvm::StringRef> expected; ///< names of tokens
  llvm::StringRef wanted;                   ///< those as a phrase
};

/// What to write for what Python, C or NumPy have in its place; empty for
/// nothing that they have.
std::string noteOtherSyntax(const Unexpected &token);

/// The name at the end of `text`; empty if it ends otherwise.
llvm::StringRef lastName(llvm::StringRef text);

} // namespace attentile::frontend

#endif // ATTENTILE_FRONTEND_OTHERSYNTAX_H
