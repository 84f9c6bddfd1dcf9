//===- GpuModelReads.cpp - what scores are computed from ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model's view of what a score reads and computes beside its products.
//

#include "GpuTileSizes.h"
#include "Products.h"
#include "attentile/AssumedBounds.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attentile {

int64_t bytesOf(Type element) {
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return llvm::divideCeil(bits, 8);
}

/// Whether what is read lies on diagonals: one index, of several axes, is their
/// sum or difference, perhaps clamped. Lanes then share loads
/// (warp-share-loads), and exchange an element when a score needs it.
bool GpuModel::isByDiagonals(attn::ReadOp read) {
  auto has = [&](Value value, unsigned count) {
    attn::Axes own = axes.of(value);
    own.reset(steps);
    return own.count() >= count;
  };
  auto isSum = [&](auto &self, Value value) -> bool {
    if (!has(value, 2))
      return true;
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MaxSIOp,
                         arith::MinSIOp>(op))
      return false;
    bool isClamp = isa<arith::MaxSIOp, arith::MinSIOp>(op);
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    return (!isClamp || !has(lhs, 1) || !has(rhs, 1)) && self(self, lhs) &&
           self(self, rhs);
  };
  unsigned diagonal = 0;
  for (Value index : read.getIndices()) {
    if (has(index, 2) && isSum(isSum, index))
      ++diagonal;
    else if (has(index, 1))
      return false;
  }
  return diagonal == 1;
}

/// A table's Boolean for quotients of positions. Tiles that these do not cross
/// have one, and a list of blocks (tile-list-blocks) leaves none to evaluate.
bool GpuModel::addTableRead(attn::ReadOp read) {
  if (!read.getType().isInteger(1))
    return false;
  TableRead table;
  for (Value index : read.getIndices()) {
    attn::Axes own = axes.of(index);
    own.reset(steps);
    if (own.none())
      continue;
    auto quotient = index.getDefiningOp<attn::FloorDivOp>();
    auto size =
        quotient ? getConstantIntValue(quotient.getRhs()) : std::nullopt;
    if (!size || *size <= 0 || !isa<BlockArgument>(quotient.getLhs()))
      return false;
    table.blocks.push_back({quotient.getLhs(), *size});
  }
  if (table.blocks.size() < 2)
    return false;
  attn::Axes own = axes.of(read.getResult());
  own.reset(steps);
  table.elements = {own, bytesOf(read.getType()), 1};
  tables.push_back(table);
  return true;
}

/// Whether what is read of scores lies side by side in memory, row by row:
/// copies bring it to shared memory (tile-assign-layouts), and threads take it
/// from there.
bool GpuModel::isWindowOfScores(attn::ReadOp read) const {
  attn::Axes own = axes.of(read.getResult());
  own.reset(steps);
  attn::Axes looped = own;
  looped &= loops;
  if (own.count() != 2 || looped.count() != 1 ||
      !own.test(axes.numberOf(rowAxis)) ||
      read.getResult().getType().isInteger(1))
    return false;
  attn::Axes seen = axes.setOf({}), last;
  for (Value index : read.getIndices()) {
    attn::Axes of = axes.of(index);
    of.reset(steps);
    last = of;
    if (of.none())
      continue;
    attn::Axes again = of;
    again &= seen;
    if (!isa<BlockArgument>(index) || again.any())
      return false;
    seen |= of;
  }
  return last == looped;
}

/// Whether an integer serves conditions alone: comparisons, by itself or in
/// sums, or as a Boolean.
static bool isOfConditions(Value value) {
  return value.getType().isIntOrIndex() &&
         llvm::all_of(value.getUses(), [](OpOperand &use) {
           Operation *user = use.getOwner();
           if (isa<arith::SelectOp>(user))
             return use.getOperandNumber() == 0;
           return isa<arith::CmpIOp>(user) ||
                  (isa<arith::AddIOp, arith::SubIOp, arith::IndexCastOp,
                       arith::ExtSIOp, arith::ExtUIOp, math::AbsIOp,
                       arith::AndIOp, arith::OrIOp, arith::XOrIOp>(user) &&
                   isOfConditions(user->getResult(0)));
         });
}

/// What scores are computed from: values of rows or columns alone that are more
/// than a position.
void GpuModel::addOperand(Operation &op) {
  if (op.getNumResults() != 1)
    return;
  attn::Axes own = axes.of(op.getResult(0));
  own.reset(steps);
  attn::Axes row = axes.setOf(rowAxis), ofRow = own;
  ofRow &= row;
  if (isa<math::TanhOp>(op) && own.count() == 2)
    ++tanhs;
  // Of a score minus what a row has it is a softmax's.
  if (isa<math::ExpOp>(op) && own.count() == 2) {
    auto difference = op.getOperand(0).getDefiningOp<arith::SubFOp>();
    attn::Axes subtracted = difference ? axes.of(difference.getRhs()) : own;
    subtracted.reset(steps);
    exponentials += subtracted.count() == 2;
  }
  // A bias that is linear in the position: what the columns add.
  if (isa<arith::SIToFPOp>(op) && own.count() == 2 && ofRow.any()) {
    own.reset(row);
    (isForScores(op.getResult(0)) ? scoreValues : columnValues)
        .push_back({own, 4, 1});
    return;
  }
  bool isQuotient = isa<attn::FloorDivOp, attn::FloorModOp>(op) &&
                    !getConstantIntValue(op.getOperand(1));
  if (own.count() != 1 || !(isa<attn::ReadOp>(op) || isQuotient))
    return;
  // A remainder is made of the quotient where it is needed.
  if (isQuotient && isa<attn::FloorModOp>(op) &&
      llvm::any_of(op.getOperand(0).getUsers(), [&](Operation *user) {
        return isa<attn::FloorDivOp>(user) &&
               user->getOperands() == op.getOperands();
      }))
    return;
  int64_t registers = llvm::divideCeil(bytesOf(op.getResult(0).getType()), 4);
  // By what is known to be positive, in 32 bits (warp-narrow-indices).
  bool isNarrow = isQuotient && isPositiveInteger(op.getOperand(1));
  if (isNarrow)
    registers = 1;
  quotients += isQuotient && !isNarrow;
  narrowQuotients += isNarrow;
  attn::Axes ofLoop = own;
  ofLoop &= loops;
  // Read where masks are evaluated, behind the branch around full blocks.
  bool isOfMasks = isQuotient || isOfConditions(op.getResult(0));
  columnLoads += ofLoop.any() && !isOfMasks;
  if (ofRow.any())
    rowValues += registers;
  else if (ofLoop.any())
    (!isForScores(op.getResult(0)) ? columnValues
     : isOfMasks                   ? maskValues
                                   : scoreValues)
        .push_back({own, 4, registers});
}

/// Terms of a reduction along a whole axis that are made element by element, of
/// what lacks one of their axes: threads take them one after the other, in
/// slices where there are many (tile-slice-reductions), in registers that the
/// sum takes. What is costly (a division, a tanh) is interleaved and held.
void GpuModel::addSum(attn::ReduceOp reduction) {
  attn::Axes over = axes.setOf(reduction.getAxes());
  Value operand = reduction.getOperand();
  auto countOwn = [&](Value value) {
    attn::Axes own = axes.of(value);
    own.reset(steps);
    return own.count();
  };
  if (over.anyCommon(loops) || countOwn(operand) < 3 ||
      !isa<FloatType>(reduction.getType()))
    return;
  llvm::SetVector<Value> terms;
  terms.insert(operand);
  for (size_t i = 0; i < terms.size(); ++i) {
    Operation *op = terms[i].getDefiningOp();
    if (!axes.of(terms[i]).anyCommon(over))
      continue;
    if (auto read = dyn_cast_or_null<attn::ReadOp>(op)) {
      if (countOwn(read) == countOwn(operand))
        return;
      continue;
    }
    bool isMath = op && isa<math::MathDialect>(op->getDialect()) &&
                  !isa<math::AbsFOp, math::FmaOp>(op);
    if (!op || isMath || isa<arith::DivFOp>(op) ||
        !OpTrait::hasElementwiseMappableTraits(op))
      return;
    terms.insert_range(op->getOperands());
  }
  ++sums;
  for (Value value : terms)
    if (axes.of(value).anyCommon(over))
      known.insert(value);
}

} // namespace attentile
