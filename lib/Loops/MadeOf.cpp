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

SetVector<Operation *> sliceOf(Value value,
                               std::function<bool(Operation *)> filter) {
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  options.filter = std::move(filter);
  SetVector<Operation *> slice;
  Operation *op = value.getDefiningOp();
  if (op && failed(getBackwardSlice(op, &slice, options)))
    slice.clear();
  return slice;
}

bool isMadeOf(Value value, llvm::function_ref<bool(Operation *)> isOfKind) {
  return llvm::any_of(sliceOf(value), isOfKind);
}

bool isHere(Operation *op) { return !isa<attn::MaterializeOp>(op); }

void materialize(Value value, StringRef name) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto mark = attn::MaterializeOp::create(builder, value.getLoc(),
                                          value.getType(), value, name);
  value.replaceAllUsesExcept(mark, mark);
}

bool isReduced(Value value) {
  SetVector<Operation *> users;
  users.insert_range(value.getUsers());
  for (size_t i = 0; i < users.size(); ++i) {
    if (isa<attn::ReduceOp>(users[i]))
      return true;
    if (isHere(users[i]))
      for (Value result : users[i]->getResults())
        users.insert_range(result.getUsers());
  }
  return false;
}

} // namespace attentile
