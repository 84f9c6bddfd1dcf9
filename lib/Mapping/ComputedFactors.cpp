//===- ComputedFactors.cpp - factors that are made of tiles ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ComputedFactors.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace attentile {

bool collectElementwise(Value value, function_ref<bool(Value)> isOutside,
                        llvm::SetVector<Operation *> &slice) {
  if (!tile::isTile(value.getType()) || isOutside(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (op && slice.contains(op))
    return true;
  bool isKnown =
      isa_and_nonnull<tile::IndexOp, tile::BroadcastOp, arith::ConstantOp,
                      ub::PoisonOp>(op) ||
      (isa_and_nonnull<tile::LoadOp>(op) && !tile::getShared(value.getType())) ||
      (op && OpTrait::hasElementwiseMappableTraits(op));
  if (!isKnown || op->getNumRegions() != 0)
    return false;
  for (Value operand : op->getOperands())
    if (!collectElementwise(operand, isOutside, slice))
      return false;
  slice.insert(op);
  return true;
}

/// The loads of two axes that a factor is computed from, element by element
/// and for products alone; none where it is not.
static SmallVector<tile::LoadOp> loadsOf(Value factor) {
  auto isOutside = [](Value value) {
    return tile::getAxes(value.getType()).size() < 2;
  };
  llvm::SetVector<Operation *> slice;
  if (factor.getDefiningOp<tile::LoadOp>() ||
      tile::getAxes(factor.getType()).size() != 2 ||
      !collectElementwise(factor, isOutside, slice))
    return {};
  SmallVector<tile::LoadOp> loads;
  for (Operation *op : slice) {
    for (Operation *user : op->getUsers()) {
      auto dot = dyn_cast<tile::DotOp>(user);
      bool isFactor = dot && op->getResult(0) == factor &&
                      dot.getAcc() != op->getResult(0);
      // What has no operands is made again where it is needed.
      if (!isFactor && !slice.contains(user) && op->getNumOperands() != 0)
        return {};
    }
    auto load = dyn_cast<tile::LoadOp>(op);
    if (!load)
      continue;
    ArrayRef<StringAttr> last =
        tile::getAxes(load.getIndices().back().getType());
    if (last.size() != 1 || last.front() != tile::getAxes(load.getType()).back())
      return {};
    loads.push_back(load);
  }
  return loads;
}

bool isLeft(tile::DotOp dot, Value factor, const NaturalLayouts &natural) {
  return tile::getAxisPosition(factor.getType(),
                               natural.rowsOf(dot.getTileType()))
      .has_value();
}

bool isMadeBefore(tile::DotOp dot, Value factor) {
  scf::ForOp loop = dot->getParentOfType<scf::ForOp>();
  return loop && loop.isDefinedOutsideOfLoop(factor);
}

ComputedFactors::ComputedFactors(tile::KernelOp kernel,
                                 const NaturalLayouts &natural) {
  kernel.walk([&](tile::DotOp dot) {
    for (Value factor : {dot.getLhs(), dot.getRhs()}) {
      bool isOfRows = isLeft(dot, factor, natural);
      if (isOfRows && !isMadeBefore(dot, factor))
        continue;
      SmallVector<tile::LoadOp> found = loadsOf(factor);
      loads.insert_range(found);
      if (isOfRows && !found.empty())
        lefts.insert(factor);
    }
  });
}

} // namespace attentile
