//===- MergeSums.cpp - sums of sums of products as one --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: makes a sum of sums of products, as a projection of all heads is often
// written, one over all of their axes. Expects: attn.kernel, before
// attn-form-grids. Leaves: the same formulas. Does not handle: sums within
// loops over tiles; axes that one factor lacks; a sum that something else uses;
// sums in a score over axes of unknown size.
//
//===----------------------------------------------------------------------===//

#include "Attn/Attn.h"
#include "MadeOf.h"
#include "WholeAxes.h"
#include "attentile/AxesAnalysis.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attentile {
#define GEN_PASS_DEF_ATTNMERGESUMS
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

bool isSum(attn::ReduceOp reduction) {
  return reduction && reduction.getKind() == attn::ReduceKind::Sum;
}

/// The sum of products that a sum is of, if both may be one: each factor has
/// each axis, and in a score, where they stand whole, all sizes are known.
attn::ReduceOp findInner(attn::KernelOp kernel, attn::ReduceOp outer,
                         attn::AxesAnalysis &axes) {
  auto inner = outer.getOperand().getDefiningOp<attn::ReduceOp>();
  if (!isSum(outer) || !isSum(inner) || !inner.getProduct() ||
      !inner->hasOneUse())
    return {};
  auto factors = inner.getOperand().getDefiningOp<arith::MulFOp>();
  const attn::Axes summed = axes.setOf(outer.getAxes());
  if (!factors || summed.test(axes.of(factors.getLhs())) ||
      summed.test(axes.of(factors.getRhs())))
    return {};
  bool isKnown = llvm::all_of(outer.getAxes(), [&](Value axis) {
    return getConstantExtent(kernel, cast<BlockArgument>(axis)).has_value();
  });
  return isKnown || !isReduced(outer) ? inner : attn::ReduceOp();
}

struct AttnMergeSums : impl::AttnMergeSumsBase<AttnMergeSums> {
  void runOnOperation() override {
    getOperation()->walk([](attn::KernelOp kernel) {
      attn::AxesAnalysis axes(kernel);
      for (auto outer : kernel.getHeadBlock().getOps<attn::ReduceOp>())
        while (attn::ReduceOp inner = findInner(kernel, outer, axes)) {
          outer.getAxesMutable().append(inner.getAxes());
          outer.setProductAttr(inner.getProductAttr());
          outer.getOperandMutable().assign(inner.getOperand());
          inner.erase();
        }
    });
  }
};

} // namespace
} // namespace attentile
