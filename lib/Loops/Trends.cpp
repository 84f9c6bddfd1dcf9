//===- Trends.cpp - values as a grid's coordinate grows -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trends.h"
#include "Attn/Attn.h"
#include "attentile/AssumedBounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attentile {

Trend Trends::of(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Trend trend = find(value.getDefiningOp());
  known[value] = trend;
  return trend;
}

Trend Trends::find(Operation *op) {
  if (!op) // an argument of the program, another coordinate
    return Trend::Constant;
  SmallVector<Trend> operands;
  for (Value operand : op->getOperands())
    operands.push_back(of(operand));
  if (llvm::all_of(operands, [](Trend t) { return t == Trend::Constant; }))
    return op->getNumRegions() == 0 ? Trend::Constant : Trend::Unknown;
  if (isa<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return join(operands[0], operands[1]);
  if (isa<arith::SubIOp>(op))
    return join(operands[0], negate(operands[1]));
  // One of two ends, of which both rise: the loop's, or its start if it is
  // empty. Or the same one for all programs.
  if (isa<arith::SelectOp>(op)) {
    if (operands[0] == Trend::Constant)
      return join(operands[1], operands[2]);
    return operands[1] == Trend::Rises && operands[2] == Trend::Rises
               ? Trend::Rises
               : Trend::Unknown;
  }
  // Times or by what is positive and the same for all programs.
  if (isa<arith::MulIOp, arith::DivUIOp, arith::DivSIOp, arith::CeilDivSIOp,
          attn::FloorDivOp>(op) &&
      operands[1] == Trend::Constant && isPositiveInteger(op->getOperand(1)))
    return operands[0];
  return Trend::Unknown;
}

} // namespace attentile
