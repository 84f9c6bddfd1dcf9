//===- Unrolling.cpp - formulas at single indices -------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Unrolling.h"
#include "MadeOf.h"
#include "Products.h"
#include "WholeAxes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace attentile {

bool isMadeOfReductions(Value value) {
  return isMadeOf(value, llvm::IsaPred<attn::ReduceOp, attn::ForOp>);
}

bool isMatrixProduct(attn::ReduceOp sum, attn::AxesAnalysis &axes) {
  auto factors = sum.getOperand().getDefiningOp<arith::MulFOp>();
  if (!factors || !sum.getProduct())
    return false;
  attn::Axes lhs = axes.of(factors.getLhs()), rhs = axes.of(factors.getRhs());
  return lhs.test(rhs) && rhs.test(lhs);
}

std::optional<SmallVector<Operation *>>
findSliceOf(Value value, ArrayRef<BlockArgument> of, attn::AxesAnalysis &axes) {
  const attn::Axes own = axes.setOf(llvm::to_vector_of<Value>(of));
  SmallVector<Operation *> result;
  for (Operation *op : sliceOf(value)) {
    auto reduction = dyn_cast<attn::ReduceOp>(op);
    if (reduction && axes.setOf(reduction.getAxes()).anyCommon(own))
      return std::nullopt;
    if (!axes.ofAny(op->getResults()).anyCommon(own))
      continue;
    if (isa<attn::MaterializeOp>(op) || op->getNumRegions())
      return std::nullopt;
    result.push_back(op);
  }
  return result;
}

void forEachIndex(attn::KernelOp kernel, OpBuilder &builder, Location loc,
                  ArrayRef<BlockArgument> of, ArrayRef<Operation *> slice,
                  function_ref<void(IRMapping &)> use) {
  int64_t indices = 1;
  for (BlockArgument axis : of)
    indices *= *getConstantExtent(kernel, axis);
  for (int64_t number = 0; number < indices; ++number) {
    IRMapping copies;
    int64_t rest = number;
    for (BlockArgument axis : llvm::reverse(of)) {
      int64_t extent = *getConstantExtent(kernel, axis);
      Value index = arith::ConstantIndexOp::create(builder, loc, rest % extent);
      copies.map(axis, index);
      rest /= extent;
    }
    for (Operation *op : slice)
      builder.clone(*op, copies);
    use(copies);
  }
}

void addOneByOne(attn::KernelOp kernel, attn::ReduceOp sum,
                 ArrayRef<BlockArgument> of, ArrayRef<Operation *> slice,
                 bool multiplyAdds, BlockArgument kept) {
  OpBuilder builder(sum);
  Location loc = sum.getLoc();
  attn::AxesAnalysis axes(kernel);
  const bool isChain = multiplyAdds && findMultiplyAdds(sum, axes);
  // On a CPU a sum for each axis, the first outermost; else all in turn.
  SmallVector<int64_t> extents;
  for (BlockArgument axis : of)
    extents.push_back(*getConstantExtent(kernel, axis));
  if (!multiplyAdds)
    extents = {llvm::product_of(extents)};
  SmallVector<Value> sums(extents.size());
  auto add = [&](Value &to, Value term) {
    to = to ? Value(arith::AddFOp::create(builder, loc, to, term)) : term;
  };
  int64_t number = 0;
  forEachIndex(kernel, builder, loc, of, slice, [&](IRMapping &at) {
    Value term = at.lookupOrDefault(sum.getOperand());
    if (kept)
      term = attn::ReduceOp::create(builder, loc, sum.getKind(), term,
                                    ValueRange(kept), sum.getProductAttr());
    auto product = term.getDefiningOp<arith::MulFOp>();
    if (sums.back() && product && isChain)
      sums.back() = math::FmaOp::create(builder, loc, product.getLhs(),
                                        product.getRhs(), sums.back());
    else
      add(sums.back(), term);
    int64_t ended = ++number;
    for (size_t i = sums.size() - 1; i != 0 && ended % extents[i] == 0; --i) {
      add(sums[i - 1], sums[i]);
      sums[i] = {};
      ended /= extents[i];
    }
  });
  sum.replaceAllUsesWith(sums.front());
  sum.erase();
}

} // namespace attentile
