//===- Library.h - the masks and scores that ship -------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Source files of the attn language that are part of the compiler itself, so
// that `import "masks.attn";` needs no path and no installed file.
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_LIBRARY_H
#define ATTENTILE_LIBRARY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace attentile {

struct LibraryFile {
  llvm::StringRef name; ///< as imports write it: `masks.attn`
  llvm::StringRef text;
};

/// All files, by name.
llvm::ArrayRef<LibraryFile> libraryFiles();

/// The name of the file that declares a function; empty if none does.
llvm::StringRef libraryFileWith(llvm::StringRef function);

} // namespace attentile

#endif // ATTENTILE_LIBRARY_H
