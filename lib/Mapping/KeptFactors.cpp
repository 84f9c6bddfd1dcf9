//===- KeptFactors.cpp - left factors in registers ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeptFactors.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attentile {

/// Registers that a thread may have, and those of them that addresses, row
/// statistics and operands on their way take.
constexpr int64_t kRegisters = 255, kOtherRegisters = 64;

int64_t KeptFactors::countRegisters(Value value) const {
  if (!tile::isTile(value.getType()))
    return 0;
  tile::FragmentAttr layout =
      natural.get(cast<RankedTensorType>(value.getType()));
  Type element = tile::getElementType(value.getType());
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return llvm::divideCeil(layout.getLayout().registers() * bits, 32);
}

bool KeptFactors::keeps(tile::DotOp dot, Value factor) {
  scf::ForOp loop = dot->getParentOfType<scf::ForOp>();
  if (!loop || loop->isAncestor(factor.getDefiningOp()))
    return false;
  if (resources)
    return resources.getKeepLeft();
  if (kept.contains(factor))
    return true;
  // The loop's carried tiles, the products within it that are not carried, and
  // every left factor that is kept already.
  int64_t total = kOtherRegisters + countRegisters(factor), scores = 0;
  for (Value carried : loop.getRegionIterArgs())
    total += countRegisters(carried);
  loop.walk([&](tile::DotOp inner) {
    if (!inner.getAcc())
      scores = std::max(scores, countRegisters(inner.getResult()));
  });
  for (auto [other, count] : kept)
    total += count;
  if (total + scores > kRegisters)
    return false;
  kept[factor] = countRegisters(factor);
  return true;
}

} // namespace attentile
