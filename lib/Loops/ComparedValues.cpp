//===- ComparedValues.cpp - values that must come out alike ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ComparedValues.h"
#include "MadeOf.h"
#include "PositiveFactors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attentile {

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

bool findsMaximaForOthers(tile::KernelOp kernel) {
  SmallVector<Value> maxima;
  kernel->walk([&](tile::StoreOp store) {
    if (isMadeOf(store.getValue(), llvm::IsaPred<tile::RefOp>))
      maxima.push_back(store.getTensor());
  });
  auto isScore = [](Operation *op) { return isa<tile::DotOp>(op); };
  auto readsMaxima = [&](Operation *op) {
    auto load = dyn_cast<tile::LoadOp>(op);
    return load && llvm::is_contained(maxima, load.getTensor());
  };
  return kernel->getParentOp()
      ->walk([&](math::Exp2Op exponential) {
        Value exponent = exponential.getOperand();
        return isMadeOf(exponent, isScore) && isMadeOf(exponent, readsMaxima)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace attentile
