//===- FirstError.cpp - what a pass reported, as an error -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FirstError.h"
#include "Remarks.h"

using namespace mlir;

namespace attentile {

FirstError::FirstError(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) -> LogicalResult {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return failure(); // for the handler before
        if (!text.empty())
          return success();
        text = placeOf(diagnostic.getLocation()) + diagnostic.str();
        for (Diagnostic &note : diagnostic.getNotes())
          text += " (note: " + note.str() + ")";
        return success();
      }) {}

llvm::Error FirstError::take(llvm::Error otherwise) const {
  if (text.empty())
    return otherwise;
  llvm::consumeError(std::move(otherwise));
  return llvm::createStringError(text);
}

} // namespace attentile
