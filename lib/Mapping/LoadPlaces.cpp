//===- LoadPlaces.cpp - what loads go through shared memory ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadPlaces.h"
#include "attentile/Sources.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {

bool isWindow(tile::LoadOp load) {
  llvm::SmallDenseSet<StringAttr> seen;
  for (Value index : load.getIndices())
    if (tile::isTile(index.getType()) &&
        (!index.getDefiningOp<tile::IndexOp>() ||
         !seen.insert(tile::getAxes(index.getType()).front()).second))
      return false;
  return true;
}

bool isBytesOfFactor(tile::LoadOp load) {
  Type element = tile::getElementType(load.getType());
  if (!tile::isTile(load.getType()) || element.isIndex() ||
      element.isInteger(1) || element.getIntOrFloatBitWidth() != 8)
    return false;
  return llvm::all_of(load->getUsers(), [](Operation *user) {
    return isa<arith::SIToFPOp, arith::ExtFOp>(user) &&
           llvm::all_of(user->getUsers(), [&](Operation *next) {
             auto dot = dyn_cast<tile::DotOp>(next);
             return dot && dot.getAcc() != user->getResult(0);
           });
  });
}

bool isForScores(tile::LoadOp load, StringAttr rows) {
  if (!tile::isTile(load.getType()))
    return false;
  auto type = cast<RankedTensorType>(load.getType());
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  if (!loop || type.getRank() != 2 || !isWindow(load) ||
      type.getElementType().isIndex() || type.getElementType().isInteger(1))
    return false;
  ArrayRef<StringAttr> names = tile::getAxes(type);
  auto looped = loop->getAttrOfType<StringAttr>("tile.axis");
  Value last = load.getIndices().back();
  return names.front() == rows && names.back() == looped &&
         tile::isTile(last.getType()) &&
         tile::getAxes(last.getType()).front() == looped;
}

void moveUp(tile::LoadOp load) {
  Block *block = load->getBlock();
  Operation *last = nullptr;
  for (Value operand : load->getOperands())
    if (Operation *op = operand.getDefiningOp();
        op && op->getBlock() == block && (!last || last->isBeforeInBlock(op)))
      last = op;
  if (last)
    load->moveAfter(last);
  else
    load->moveBefore(&block->front());
}

bool isCheap(Value value) {
  auto isSimple = [](Value part) {
    return isa_and_nonnull<arith::ConstantOp, ub::PoisonOp, tile::IndexOp>(
        part.getDefiningOp());
  };
  auto isCostly = [&](Value part) {
    Operation *op = part.getDefiningOp();
    if (isSimple(part) || (part != value && !tile::isTile(part.getType())))
      return false;
    bool isElementwise = op && (isa<tile::LoadOp>(op) ||
                                OpTrait::hasElementwiseMappableTraits(op));
    return !isa_and_nonnull<tile::BroadcastOp>(op) &&
           (tile::getAxes(part.getType()).size() != 1 || !isElementwise);
  };
  return !anySource(value, isCostly, [&](Value part) {
    return !isSimple(part) && tile::isTile(part.getType());
  });
}

bool isOfGroup(Value value) {
  return anySource(value, [](Value part) {
    return isa_and_nonnull<tile::ReduceGroupOp, tile::VoteOp>(
        part.getDefiningOp());
  });
}

bool asksLoadedColumns(Value value, StringAttr rows) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 1 && type.getElementType().isInteger(1) &&
         !tile::getAxisPosition(type, rows) && isCheap(value) &&
         tile::isLoaded(value);
}

} // namespace attentile
