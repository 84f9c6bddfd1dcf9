//===- LaneInvariance.cpp - values that lanes have in common --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneInvariance.h"
#include "Warp/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile {

/// The mask if `op` combines a value with the same value of another lane, the
/// same way in both: x + shuffle_xor(x, mask).
static std::optional<int64_t> getExchange(Operation *op, Value &operand) {
  if (op->getNumOperands() != 2 || !op->hasTrait<OpTrait::IsCommutative>())
    return std::nullopt;
  for (unsigned i : {0, 1}) {
    auto other = op->getOperand(i).getDefiningOp<warp::ShuffleXorOp>();
    operand = op->getOperand(1 - i);
    if (other && other.getOperand() == operand)
      return other.getMask();
  }
  return std::nullopt;
}

bool LaneInvariance::holds(Value value) {
  // While it is looked for, it is taken to hold: that is how a loop's carried
  // value may follow from itself.
  auto [entry, isNew] = known.try_emplace(value, true);
  if (!isNew)
    return entry->second;
  bool result = find(value);
  if (!result)
    known.clear(); // some of it rested on the assumption
  known[value] = result;
  return result;
}

bool LaneInvariance::find(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop) // the kernel's coordinates, the program's arguments
      return true;
    if (argument == loop.getInductionVar())
      return holds(loop.getLowerBound()) && holds(loop.getStep());
    OpOperand *init = loop.getTiedLoopInit(argument);
    return holds(init->get()) &&
           holds(loop.getTiedLoopYieldedValue(argument)->get());
  }
  Operation *op = value.getDefiningOp();
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (isa<warp::LaneIdOp, warp::ThreadIdOp, warp::LdmatrixOp, warp::MmaOp>(op))
    return false;
  if (isa<warp::VoteAllOp, warp::VoteAnyOp, warp::BallotOp>(op))
    return true;
  // The high bits of a lane's number, as those of its row in a fragment.
  if (APInt divisor; isa<arith::DivUIOp>(op) &&
                     op->getOperand(0).getDefiningOp<warp::LaneIdOp>() &&
                     matchPattern(op->getOperand(1), m_ConstantInt(&divisor)))
    return divisor.isPowerOf2() && divisor.ugt(mask);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return holds(loop.getRegionIterArg(number));
  if (auto choice = dyn_cast<scf::IfOp>(op))
    return holds(choice.getCondition()) &&
           holds(choice.thenYield().getOperand(number)) &&
           holds(choice.elseYield().getOperand(number));
  if (op->getNumRegions() != 0)
    return false;
  Value operand;
  if (std::optional<int64_t> exchanged = getExchange(op, operand))
    return *exchanged == mask || holds(operand);
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return holds(operand); });
}

std::optional<LaneSum> matchLaneSum(Value value) {
  LaneSum sum{value, {}};
  while (auto add = sum.part.getDefiningOp<arith::AddFOp>()) {
    Value operand;
    std::optional<int64_t> mask = getExchange(add, operand);
    if (!mask)
      break;
    sum.masks.insert(sum.masks.begin(), *mask);
    sum.part = operand;
  }
  if (sum.masks.empty())
    return std::nullopt;
  return sum;
}

} // namespace attentile
