//===- OtherWords.h - what other languages call things ----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_FRONTEND_OTHERWORDS_H
#define ATTENTILE_FRONTEND_OTHERWORDS_H

#include "llvm/ADT/StringRef.h"

namespace attentile::frontend {

/// The element type that C, NumPy and PyTorch call `word`; empty for what is
/// none.
llvm::StringRef elementTypeCalled(llvm::StringRef word);

/// What to write for a function that they call `word`, of x or of x and y;
/// empty for what is none.
llvm::StringRef functionCalled(llvm::StringRef word);

/// What to write for a reduction over n that they call `word`; empty for what
/// is none.
llvm::StringRef reductionCalled(llvm::StringRef word);

} // namespace attentile::frontend

#endif // ATTENTILE_FRONTEND_OTHERWORDS_H
