//===- WriteFile.cpp - files that appear whole or not at all --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/WriteFile.h"

using llvm::Error;

namespace attentile {

Error writeFile(llvm::StringRef path,
                llvm::function_ref<void(llvm::raw_ostream &)> write) {
  Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &os) -> Error {
    write(os);
    os.flush();
    // Left unread, a full disk would end the program in the destructor.
    auto *file = dynamic_cast<llvm::raw_fd_ostream *>(&os);
    std::error_code code = file ? file->error() : std::error_code();
    if (!code)
      return Error::success();
    file->clear_error();
    return llvm::errorCodeToError(code);
  });
  if (!error)
    return Error::success();
  return llvm::createStringError("cannot write '" + path +
                                 "': " + llvm::toString(std::move(error)));
}

} // namespace attentile
