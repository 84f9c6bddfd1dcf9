//===- Remarks.h - what the passes decided, for the user --------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_REMARKS_H
#define ATTENTILE_LIB_DRIVER_REMARKS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

namespace attentile {

/// "FILE:LINE:COLUMN: " of the first place in a file that a location names;
/// empty if it names none.
std::string placeOf(mlir::Location location);

/// From now on every remark of a pass is a line on `os`:
///   02-causal.attn:14:17: remark: tile-skip-masked-blocks: loop over blocks
///   split (Loops 2, FullLoops 1)
/// What could not be done begins with "not done:".
void printRemarks(mlir::MLIRContext &context, llvm::raw_ostream &os);

/// While it lives, this thread's remarks are not printed.
class RemarksOff {
public:
  RemarksOff();
  ~RemarksOff();

private:
  bool before;
};

} // namespace attentile

#endif
