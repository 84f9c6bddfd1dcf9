//===- Library.cpp - the masks and scores that ship -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Library.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using llvm::StringRef;

static constexpr attentile::LibraryFile files[] = {
#include "LibraryFiles.inc" // made by CMake from the .attn files beside this
};

llvm::ArrayRef<attentile::LibraryFile> attentile::libraryFiles() {
  return files;
}

StringRef attentile::libraryFileWith(StringRef function) {
  std::string head = ("\nfn " + function + "(").str();
  const LibraryFile *found = llvm::find_if(
      files, [&](const LibraryFile &file) { return file.text.contains(head); });
  return found == std::end(files) ? StringRef() : found->name;
}
