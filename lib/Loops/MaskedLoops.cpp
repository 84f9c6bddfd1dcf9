//===- MaskedLoops.cpp - what masks leave of a loop over blocks -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskedLoops.h"
#include "BlockTruth.h"
#include "attentile/Splat.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attentile {

//===----------------------------------------------------------------------===//
// Rows that count
//===----------------------------------------------------------------------===//

namespace {

/// An extent of a tensor as a value of the program; null for what is no size or
/// constant.
Value getSize(IndexBuilder &index, AffineExpr extent,
              attn::SignatureOpInterface program) {
  if (auto constant = dyn_cast<AffineConstantExpr>(extent))
    return index.constant(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(extent))
    return program.getSizeArgs()[symbol.getPosition()];
  return {};
}

/// The extent beyond which a store at the indices `row` writes nothing, or
/// nothing if it does not store at these indices.
std::optional<AffineExpr> getStoredExtent(tile::StoreOp store,
                                          tile::IndexOp row) {
  for (auto [at, extent] : llvm::zip_equal(
           store.getIndices(), getTensorShape(store.getTensor()).getResults()))
    if (stripBroadcast(at) == row.getResult())
      return extent;
  return std::nullopt;
}

} // namespace

SmallVector<RowAxis> getRowAxes(tile::KernelOp kernel) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  IndexBuilder index(builder, kernel.getLoc());
  attn::SignatureOpInterface program =
      kernel->getParentOfType<tile::ProgramOp>();
  SmallVector<RowAxis> rows;
  for (auto row : kernel.getBody().front().getOps<tile::IndexOp>()) {
    StringAttr axis = tile::getAxes(row.getType())[0];
    std::optional<AffineExpr> extent;
    WalkResult agree = kernel->walk([&](Operation *op) {
      ArrayAttr over;
      if (auto reduce = dyn_cast<tile::ReduceOp>(op))
        over = reduce.getOver();
      if (auto dot = dyn_cast<tile::DotOp>(op))
        over = dot.getOver();
      if (over && llvm::is_contained(over, axis))
        return WalkResult::interrupt();
      auto store = dyn_cast<tile::StoreOp>(op);
      if (!store || !tile::getAxisPosition(store.getValue().getType(), axis))
        return WalkResult::advance();
      auto stored = getStoredExtent(store, row);
      if (!stored || (extent && *extent != *stored))
        return WalkResult::interrupt();
      extent = stored;
      return WalkResult::advance();
    });
    Value size = extent && !agree.wasInterrupted()
                     ? getSize(index, *extent, program)
                     : Value();
    rows.push_back({row, size});
  }
  return rows;
}

SmallVector<RowAxis> getRowsBefore(ArrayRef<RowAxis> rows, scf::ForOp loop) {
  auto kernel = loop->getParentOfType<tile::KernelOp>();
  Operation *place =
      kernel.getBody().front().findAncestorOpInBlock(*loop.getOperation());
  SmallVector<RowAxis> result;
  llvm::copy_if(rows, std::back_inserter(result),
                [&](RowAxis row) { return row.index->isBeforeInBlock(place); });
  return result;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<scf::ForOp> getLoops(tile::KernelOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel->walk([&](scf::ForOp loop) {
    if (loop->hasAttr("tile.axis") && !tile::isAround(loop))
      loops.push_back(loop);
  });
  return loops;
}

/// Whether a condition compares what an earlier loop leaves, as a row's sum
/// with 0. That hides a row's all or nothing, and would have to be asked of
/// each row.
static bool isOfStatistic(Value atom) {
  auto compare = atom.getDefiningOp<arith::CmpFOp>();
  return compare && llvm::any_of(compare->getOperands(), [](Value operand) {
           return stripBroadcast(operand).getDefiningOp<scf::ForOp>();
         });
}

/// Whether tiles are longer than the loop's steps.
static bool hasPaddedTiles(scf::ForOp loop, int64_t step) {
  return llvm::any_of(loop.getBody()->getOps<tile::IndexOp>(),
                      [&](tile::IndexOp index) {
                        return index.getOperand() == loop.getInductionVar() &&
                               index.getType().getNumElements() != step;
                      });
}

MaskedLoop::MaskedLoop(scf::ForOp loop) : loop(loop) {
  auto first = getIntegerConstant(loop.getLowerBound());
  auto step = getIntegerConstant(loop.getStep());
  if (!first || !first->isZero() || !step || loop->hasAttr("tile.blocks") ||
      loop->hasAttr("tile.to_list"))
    return;
  // Loops around a store, for outputs that no reduction makes, have no result.
  if (loop.getNumResults() == 0 || !isMemoryEffectFree(loop))
    return;
  size = step->getSExtValue();
  padded = hasPaddedTiles(loop, size);
  open = !padded;
  if (!open)
    return;
  VisibilityAnalysis inside(formulas, /*tail=*/true);
  Formula hidden = inside.getHidden(loop);
  if (!hidden)
    return;
  needed = formulas.getWithout(formulas.getNot(hidden), isOfStatistic,
                               /*always=*/false);
  masks = inside.getMaskConditions(loop);
  for (MaskCondition mask : masks) {
    Formula condition = inside.getCondition(mask.value);
    if (!mask.visible)
      condition = formulas.getNot(condition);
    conditions.push_back(condition);
    full = full ? formulas.getAnd(full, condition) : condition;
  }
}

void MaskedLoop::keepAskable() {
  auto isUnknown = [&](Value atom) { return !canAskElements(atom, loop); };
  needed = formulas.getWithout(needed, isUnknown, /*always=*/false);
  if (full)
    full = formulas.getWithout(full, isUnknown, /*always=*/true);
  if (full && full->isFalse())
    full = nullptr;
}

bool MaskedLoop::hasMask() const {
  return full || Formulas::anyAtom(needed, [](Value atom) {
           return !atom.getDefiningOp<arith::CmpFOp>();
         });
}

bool MaskedLoop::isSafeBeyond() {
  if (size == 1)
    return true;
  auto extent = getIntegerConstant(loop.getUpperBound());
  if (extent && extent->getSExtValue() % size == 0)
    return true;
  Formula hidden = VisibilityAnalysis(formulas, /*tail=*/false).getHidden(loop);
  return hidden && hidden->isTrue();
}

IRMapping MaskedLoop::getVisible(OpBuilder &builder) {
  return getVisible(builder, [](Formula) { return true; });
}

IRMapping MaskedLoop::getVisibleIfNeeded(OpBuilder &builder,
                                         function_ref<bool(Value)> isUniform) {
  return getVisible(builder, [&](Formula condition) {
    return condition->kind == FormulaNode::Atom &&
           formulas.getWhere(needed, condition->atom, condition->negated)
               ->isFalse() &&
           isUniform(condition->atom);
  });
}

IRMapping MaskedLoop::getVisible(OpBuilder &builder,
                                 function_ref<bool(Formula)> isVisible) {
  IRMapping visible;
  for (auto [mask, condition] : llvm::zip_equal(masks, conditions)) {
    if (!isVisible(condition))
      continue;
    Type type = mask.value.getType();
    TypedAttr value = splat(type, builder.getBoolAttr(mask.visible));
    visible.map(mask.value,
                arith::ConstantOp::create(builder, loop.getLoc(), value));
  }
  return visible;
}

void copyBody(scf::ForOp loop, scf::ForOp copy, IRMapping mapping) {
  OpBuilder builder = OpBuilder::atBlockEnd(copy.getBody());
  for (Operation &op : *loop.getBody()) {
    // A known condition stays what it is known to be.
    if (op.getNumResults() == 1 && mapping.contains(op.getResult(0)))
      continue;
    Operation *clone = builder.clone(op, mapping);
    SmallVector<Value> folded;
    if (clone->getNumResults() == 1 &&
        succeeded(builder.tryFold(clone, folded)) && !folded.empty()) {
      mapping.map(op.getResults(), folded);
      clone->erase();
    }
  }
  eraseDead(*copy.getBody());
}

void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

} // namespace attentile
