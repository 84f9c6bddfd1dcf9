//===- AlikeRows.cpp - rows that all have one value -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AlikeRows.h"
#include "AlikeColumns.h"
#include "CopySlice.h"
#include "GroupTruth.h"
#include "VisibilityFormula.h"

using namespace mlir;

namespace attentile {

AlikeRows::AlikeRows(scf::ForOp loop, Value compared)
    : loop(loop), compared(compared) {}

Value AlikeRows::getAlike(OpBuilder &inside) {
  auto axis = loop->getAttrOfType<StringAttr>("tile.axis");
  auto compare = stripBroadcast(compared).getDefiningOp<arith::CmpIOp>();
  if (!compare || !axis)
    return {};
  Value columns;
  for (Value side : compare->getOperands()) {
    Value own = stripBroadcast(side);
    auto type = dyn_cast<RankedTensorType>(own.getType());
    if (isLoadedColumns(own, loop))
      columns = own;
    else if (type && type.getRank() == 1 &&
             !tile::getAxisPosition(type, axis) && tile::isLoaded(own))
      rows = own;
  }
  OpBuilder before(loop);
  IRMapping copies;
  Value all;
  if (columns && rows && tile::getElementType(rows.getType()).isIndex())
    all = copyBeforeLoop(before, rows, copies, loop);
  if (!all)
    return {};
  Location loc = loop.getLoc();
  value = tile::ReduceGroupOp::create(before, loc, attn::ReduceKind::Min, all);
  Value most =
      tile::ReduceGroupOp::create(before, loc, attn::ReduceKind::Max, all);
  return arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::eq, value,
                               most);
}

Value AlikeRows::emitByColumns(OpBuilder &b) {
  return compareWithOne(b, compared, rows, value);
}

} // namespace attentile
