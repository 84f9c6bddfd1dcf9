//===- LoopsAround.cpp - loops over single indices around others ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopsAround.h"
#include "BlockRanges.h"
#include "LoopReductions.h"
#include "VisibilityFormula.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attentile {

/// Whether `combiner` adds parts of a reduction that leaves the other operand
/// as it is where this one is `init`.
static bool isNeutral(Value init, Operation *combiner) {
  using Kind = attn::ReduceKind;
  TypedAttr value;
  return matchPattern(init, m_Constant(&value)) &&
         llvm::any_of(ArrayRef<Kind>{Kind::Sum, Kind::Max, Kind::Ref, Kind::Min,
                                     Kind::Any, Kind::All},
                      [&](Kind kind) {
                        return fusion::combines(combiner, kind) &&
                               value ==
                                   fusion::neutralElement(kind, init.getType());
                      });
}

/// Whether `around` carries on what `inner` reduces, or takes it in as a part,
/// and does nothing else.
static bool takesIn(scf::ForOp around, scf::ForOp inner) {
  if (around.getNumResults() == 0 ||
      around.getNumResults() != inner.getNumResults() ||
      !isMemoryEffectFree(around) ||
      !llvm::hasSingleElement(around.getBody()->getOps<scf::ForOp>()))
    return false;
  for (auto [carried, next, init, part] :
       llvm::zip_equal(around.getRegionIterArgs(), around.getYieldedValues(),
                       inner.getInitArgs(), inner.getResults())) {
    if (next == part && init == carried)
      continue;
    Operation *combiner = next.getDefiningOp();
    bool takesPart = combiner && combiner->getNumOperands() == 2 &&
                     llvm::is_contained(combiner->getOperands(), carried) &&
                     llvm::is_contained(combiner->getOperands(), part) &&
                     isNeutral(init, combiner);
    if (!takesPart)
      return false;
  }
  return true;
}

SmallVector<scf::ForOp> getLoopsAround(scf::ForOp inner) {
  SmallVector<scf::ForOp> loops;
  while (auto around = dyn_cast<scf::ForOp>(inner->getParentOp())) {
    if (!around->hasAttr("tile.axis") || !tile::isIndexByIndex(around) ||
        getConstantIntValue(around.getLowerBound()) != 0 ||
        !takesIn(around, inner))
      break;
    loops.insert(loops.begin(), around);
    inner = around;
  }
  return loops;
}

bool narrow(scf::ForOp around, Formula needed, ArrayRef<RowAxis> rows) {
  OpBuilder builder(around);
  IndexBuilder index(builder, around.getLoc());
  IntervalSets sets(index, around, rows);
  IntervalSet possible = sets.get(needed, Side::Possible);
  Value from, to;
  for (const BlockRange &range :
       getBlockRanges(index, around.getUpperBound(), /*size=*/1, possible,
                      /*certain=*/{})) {
    from = from ? index.minimum(from, range.from) : range.from;
    to = to ? index.maximum(to, range.to) : range.to;
  }
  if (!from || (from == around.getLowerBound() && to == around.getUpperBound()))
    return false;
  around.setLowerBound(from);
  around.setUpperBound(to);
  return true;
}

} // namespace attentile
