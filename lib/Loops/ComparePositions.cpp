//===- ComparePositions.cpp - positions compared, not their difference ----===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: compares x with y + c where x - y is compared with c, and x - y has
// another use, as a distance that decays. Expects: attn.kernel. Leaves: the
// same truths, conditions as classification sees them. Does not handle: what is
// loaded, whose sums may overflow, and distances |x - y|.
//
//===----------------------------------------------------------------------===//
//
// A tile of differences takes two registers for each element through the branch
// around the mask that compares them; rows and columns take few.
//

#include "MadeOf.h"
#include "attentile/AssumedBounds.h"
#include "attentile/AxesAnalysis.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

namespace attentile {
#define GEN_PASS_DEF_ATTNCOMPAREPOSITIONS
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Whether an integer is of 32 bits, whatever a caller passes.
bool isNarrow(Value value) {
  IntegerAttr::ValueType constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isSignedIntN(32);
  AssumedBounds bounds = getAssumedBounds(value);
  return bounds.least && bounds.most && llvm::isInt<32>(*bounds.least) &&
         llvm::isInt<32>(*bounds.most);
}

bool isLoaded(Value value) {
  return isMadeOf(value,
                  llvm::IsaPred<attn::ReadOp, attn::ReduceOp, attn::ForOp>);
}

bool isComparison(Operation *op) { return isa<arith::CmpIOp>(op); }

/// Whether a difference is of positions of two axes, and used as a number.
bool isDistance(arith::SubIOp difference, attn::AxesAnalysis &axes) {
  Value x = difference.getLhs(), y = difference.getRhs();
  const attn::Axes own = axes.of(difference);
  return difference.getType().isIndex() && axes.of(x) != own &&
         axes.of(y) != own && !isLoaded(x) && !isLoaded(y) &&
         !llvm::all_of(difference->getUsers(), isComparison);
}

void comparePositions(arith::CmpIOp compare, attn::AxesAnalysis &axes) {
  auto difference = compare.getLhs().getDefiningOp<arith::SubIOp>();
  Value limit = compare.getRhs();
  if (!difference || !isNarrow(limit) || !isDistance(difference, axes))
    return;
  OpBuilder builder(compare);
  Value y = difference.getRhs();
  if (!matchPattern(limit, m_Zero()))
    y = arith::AddIOp::create(builder, compare.getLoc(), y, limit);
  compare.getLhsMutable().assign(difference.getLhs());
  compare.getRhsMutable().assign(y);
}

struct AttnComparePositions
    : impl::AttnComparePositionsBase<AttnComparePositions> {
  void runOnOperation() override {
    getOperation()->walk([](attn::KernelOp kernel) {
      attn::AxesAnalysis axes(kernel); // which no comparison changes
      kernel.walk(
          [&](arith::CmpIOp compare) { comparePositions(compare, axes); });
    });
  }
};

} // namespace
} // namespace attentile
