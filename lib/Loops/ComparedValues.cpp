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
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {

/// Whether an operation that `value` is made of is of a kind.
static bool isMadeOf(Value value, function_ref<bool(Operation *)> isOfKind) {
  llvm::SetVector<Operation *> slice;
  auto add = [&](Value operand) {
    if (Operation *op = operand.getDefiningOp())
      slice.insert(op);
  };
  add(value);
  for (size_t i = 0; i < slice.size(); ++i) {
    if (isOfKind(slice[i]))
      return true;
    for (Value operand : slice[i]->getOperands())
      add(operand);
  }
  return false;
}

static bool isComputed(Value value) {
  return isMadeOf(value, [](Operation *op) {
    return isa<math::ExpOp, arith::DivFOp, tile::DotOp>(op);
  });
}

/// What a loop, or a kernel before, has found of many values.
static bool isFound(Value value) {
  return isMadeOf(value, [](Operation *op) {
    auto load = dyn_cast<tile::LoadOp>(op);
    return isa<scf::ForOp, tile::ReduceOp>(op) ||
           (load && load.getTensor().getDefiningOp<attn::WorkspaceOp>());
  });
}

bool comparesComputed(tile::ProgramOp program) {
  return program
      ->walk([](arith::CmpFOp compare) {
        Value lhs = withoutBroadcast(compare.getLhs());
        Value rhs = withoutBroadcast(compare.getRhs());
        return lhs != rhs && ((isComputed(lhs) && isFound(rhs)) ||
                              (isComputed(rhs) && isFound(lhs)))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace attentile
