//===- ComparedValues.cpp - values that must come out alike ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ComparedValues.h"
#include "PositiveFactors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {

static bool isComputed(Value value) {
  llvm::SetVector<Operation *> slice;
  auto add = [&](Value operand) {
    if (Operation *op = operand.getDefiningOp())
      slice.insert(op);
  };
  add(value);
  for (size_t i = 0; i < slice.size(); ++i) {
    Operation *op = slice[i];
    if (isa<math::ExpOp, arith::DivFOp, tile::DotOp>(op))
      return true;
    for (Value operand : op->getOperands())
      add(operand);
  }
  return false;
}

bool comparesComputed(tile::ProgramOp program) {
  return program
      ->walk([](arith::CmpFOp compare) {
        Value lhs = withoutBroadcast(compare.getLhs());
        Value rhs = withoutBroadcast(compare.getRhs());
        bool isAlike = lhs == rhs || floatConstant(lhs) || floatConstant(rhs);
        return !isAlike && (isComputed(lhs) || isComputed(rhs))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace attentile
