//===- Imports.cpp - where imported files are found -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Frontend.h"
#include "attentile/Library.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace attentile;
using llvm::StringRef;

/// What diagnostics write before the name of a file of the library.
static constexpr StringRef libraryPrefix = "<library>/";

static std::string namesOfLibrary() {
  std::string names;
  for (const LibraryFile &file : libraryFiles())
    names += (names.empty() ? "" : ", ") + file.name.str();
  return names;
}

llvm::Expected<ImportedFile> attentile::findInLibrary(StringRef path,
                                                      StringRef) {
  for (const LibraryFile &file : libraryFiles())
    if (file.name == path)
      return ImportedFile{(libraryPrefix + path).str(), file.text.str()};
  return llvm::createStringError("the library has " + namesOfLibrary());
}

llvm::Expected<ImportedFile> attentile::findBesideOrInLibrary(StringRef path,
                                                              StringRef from) {
  if (from.starts_with(libraryPrefix))
    return findInLibrary(path, from);
  if (path.empty())
    return llvm::createStringError("expected the name of a file");
  llvm::SmallString<128> beside(path);
  if (llvm::sys::path::is_relative(path)) {
    beside = llvm::sys::path::parent_path(from);
    llvm::sys::path::append(beside, path);
  }
  llvm::sys::path::remove_dots(beside, /*remove_dot_dot=*/true);
  auto buffer = llvm::MemoryBuffer::getFile(beside);
  llvm::Expected<ImportedFile> shipped = findInLibrary(path, from);
  // A file named as one of the library's means that, not itself.
  if (shipped && (!buffer || llvm::sys::fs::equivalent(beside, from)))
    return shipped;
  if (buffer) {
    llvm::consumeError(shipped.takeError());
    return ImportedFile{beside.str().str(), (*buffer)->getBuffer().str()};
  }
  return llvm::createStringError("'" + beside +
                                 "': " + buffer.getError().message() + "; " +
                                 llvm::toString(shipped.takeError()));
}
