//===- CopySlice.cpp - a value computed again elsewhere -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopySlice.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attentile {

Value copySlice(OpBuilder &builder, Value value, IRMapping &copies,
                function_ref<bool(Value)> isThere) {
  if (isThere(value))
    return value;
  if (Value known = copies.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0 || !isPure(op))
    return {};
  for (Value operand : op->getOperands()) {
    Value copy = copySlice(builder, operand, copies, isThere);
    if (!copy)
      return {};
    copies.map(operand, copy);
  }
  builder.clone(*op, copies);
  return copies.lookup(value);
}

Value copyIntoLoop(OpBuilder &builder, Value value, IRMapping &copies,
                   scf::ForOp loop) {
  Block *body = loop.getBody(), *block = builder.getInsertionBlock();
  Operation *place = block == body
                         ? &*builder.getInsertionPoint()
                         : body->findAncestorOpInBlock(*block->getParentOp());
  return copySlice(builder, value, copies, [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || loop.isDefinedOutsideOfLoop(value) ||
           (op->getBlock() == body && op->isBeforeInBlock(place));
  });
}

Value copyBeforeLoop(OpBuilder &builder, Value value, IRMapping &copies,
                     scf::ForOp loop) {
  return copySlice(builder, value, copies, [&](Value value) {
    return loop.isDefinedOutsideOfLoop(value);
  });
}

} // namespace attentile
