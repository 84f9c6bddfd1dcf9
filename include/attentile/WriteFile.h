//===- WriteFile.h - files that appear whole or not at all ------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_WRITEFILE_H
#define ATTENTILE_WRITEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace attentile {

/// Writes a file through a temporary one beside it, which takes its place when
/// all is written and is removed on an error or an interrupt. "-" is standard
/// output. Errors begin with "cannot write" and the name.
llvm::Error writeFile(llvm::StringRef path,
                      llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace attentile

#endif
