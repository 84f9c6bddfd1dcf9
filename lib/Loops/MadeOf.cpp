//===- MadeOf.cpp - what a value is computed from -------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MadeOf.h"
#include "Attn/Attn.h"
#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;

namespace attentile {

bool isMadeOf(Value value, llvm::function_ref<bool(Operation *)> isOfKind) {
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  SetVector<Operation *> slice;
  Operation *op = value.getDefiningOp();
  return op && succeeded(getBackwardSlice(op, &slice, options)) &&
         llvm::any_of(slice, isOfKind);
}

bool isReduced(Value value) {
  SetVector<Operation *> users;
  users.insert_range(value.getUsers());
  for (size_t i = 0; i < users.size(); ++i) {
    if (isa<attn::ReduceOp>(users[i]))
      return true;
    if (!isa<attn::MaterializeOp>(users[i]))
      for (Value result : users[i]->getResults())
        users.insert_range(result.getUsers());
  }
  return false;
}

} // namespace attentile
