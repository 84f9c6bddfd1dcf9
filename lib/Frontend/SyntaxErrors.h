//===- SyntaxErrors.h - what stands where another token should --*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_FRONTEND_SYNTAXERRORS_H
#define ATTENTILE_FRONTEND_SYNTAXERRORS_H

#include "ParseContext.h"

namespace attentile::frontend {

/// Reports `expected X, got Y` for the token at `range`. `expected` has the
/// grammar's names of the tokens that could stand there.
void reportSyntaxError(ParseContext &context, SourceRange range, bool atEnd,
                       llvm::ArrayRef<llvm::StringRef> expected);

/// True for the words that no name may be (LANGUAGE, section 1).
bool isReserved(llvm::StringRef word);

} // namespace attentile::frontend

#endif // ATTENTILE_FRONTEND_SYNTAXERRORS_H
