//===- MergeSums.cpp - sums of sums of products as one --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: makes a sum of sums of products, as a projection of all heads is often
// written, one over all of their axes; and, in a kernel that has one, those of
// x * y that are no product of matrices, which may be the same at one index.
// Expects: attn.kernel, before attn-form-grids. Leaves: the same formulas. Does
// not handle: sums within loops over tiles; axes that one factor lacks; a sum
// that something else uses; axes of unknown size that scores sum over.
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

/// Whether a size may be asked for if sums over an axis are innermost: it is
/// not known, and a score sums over it.
bool mayBeAsked(attn::KernelOp kernel, BlockArgument axis) {
  return !getConstantExtent(kernel, axis) &&
         llvm::any_of(kernel.getHeadBlock().getOps<attn::ReduceOp>(),
                      [&](attn::ReduceOp reduction) {
                        return llvm::is_contained(reduction.getAxes(), axis) &&
                               isReduced(reduction);
                      });
}

/// The sum of x * y that a sum is of, if both may be one: each factor has each
/// axis, and no size is asked for that was not.
attn::ReduceOp findInner(attn::KernelOp kernel, attn::ReduceOp outer,
                         attn::AxesAnalysis &axes) {
  auto inner = outer.getOperand().getDefiningOp<attn::ReduceOp>();
  if (!isSum(outer) || !isSum(inner) || !inner->hasOneUse())
    return {};
  auto factors = inner.getOperand().getDefiningOp<arith::MulFOp>();
  const attn::Axes summed = axes.setOf(outer.getAxes());
  if (!factors || summed.test(axes.of(factors.getLhs())) ||
      summed.test(axes.of(factors.getRhs())))
    return {};
  bool isAsked = llvm::any_of(outer.getAxes(), [&](Value axis) {
    return mayBeAsked(kernel, cast<BlockArgument>(axis));
  });
  return isAsked ? attn::ReduceOp() : inner;
}

/// Merges sums of products, or those that are none; whether there was one.
bool merge(attn::KernelOp kernel, bool products) {
  bool found = false;
  attn::AxesAnalysis axes(kernel);
  for (auto outer : kernel.getHeadBlock().getOps<attn::ReduceOp>())
    while (attn::ReduceOp inner = findInner(kernel, outer, axes)) {
      if (inner.getProduct().has_value() != products)
        break;
      outer.getAxesMutable().append(inner.getAxes());
      if (products)
        outer.setProductAttr(inner.getProductAttr());
      outer.getOperandMutable().assign(inner.getOperand());
      inner.erase();
      found = true;
    }
  return found;
}

struct AttnMergeSums : impl::AttnMergeSumsBase<AttnMergeSums> {
  void runOnOperation() override {
    getOperation()->walk([](attn::KernelOp kernel) {
      if (merge(kernel, /*products=*/true))
        merge(kernel, /*products=*/false);
    });
  }
};

} // namespace
} // namespace attentile
