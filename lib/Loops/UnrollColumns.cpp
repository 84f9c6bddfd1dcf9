//===- UnrollColumns.cpp - outputs of several columns, one at a time ------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: makes the write of an output whose columns are several short axes of
// its values, as the points of sum[n](p[m, n] * V[n, p, x]), a write for each
// index of all but the longest of them; and a sum over some of such columns, as
// of a point's squares, its terms added one by one. Expects: attn.kernel
// without softmax, before attn-form-grids. Leaves: the same elements. Does not
// handle: axes whose size is not known; values that are made of reductions.
//
//===----------------------------------------------------------------------===//
//
// Such columns stand whole in a tile, each axis padded to a multiple of 16, and
// a sum that has two of them is no product of matrices. One by one they are
// products of the same weights, which a grid computes once.
//

#include "MadeOf.h"
#include "Unrolling.h"
#include "WholeAxes.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"

namespace attentile {
#define GEN_PASS_DEF_ATTNUNROLLCOLUMNS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "attn-unroll-columns"

using namespace mlir;

namespace attentile {
namespace {

/// Columns of all products that an output is made of, as tiles have them.
constexpr int64_t kMostColumns = 256;

class ColumnSearch {
public:
  explicit ColumnSearch(attn::KernelOp kernel) : kernel(kernel), axes(kernel) {}

  /// The axes of a write to be written one index at a time; none without a sum
  /// of weights, made of reductions, by values that alone have several of its
  /// axes.
  SmallVector<BlockArgument> find(attn::WriteOp write) {
    attn::Axes columns = findColumns(write.getValue());
    columns &= axes.setOf(write.getIndices());
    SmallVector<BlockArgument> result = axes.indicesOf(columns);
    if (result.size() < 2)
      return {};
    BlockArgument longest;
    int64_t elements = 1, most = 0;
    for (BlockArgument index : result) {
      std::optional<int64_t> extent = getConstantExtent(kernel, index);
      if (!extent || *extent == 0 || *extent > kMostColumns)
        return {};
      elements *= *extent;
      if (*extent >= most)
        longest = index, most = *extent;
    }
    int64_t products = elements / most;
    if (products > kMostProducts ||
        products * int64_t(llvm::alignTo(most, kBlock)) > kMostColumns)
      return {};
    llvm::erase(result, longest);
    return result;
  }

  /// The axes of a sum over some of the columns of its terms, which have
  /// others; none where it is another one.
  SmallVector<BlockArgument> find(attn::ReduceOp sum) {
    if (sum.getKind() != attn::ReduceKind::Sum ||
        !isa<FloatType>(sum.getType()) || isMatrixProduct(sum, axes))
      return {};
    const attn::Axes summed = axes.setOf(sum.getAxes());
    const attn::Axes columns = findColumns(sum.getOperand());
    if (summed.test(columns) || columns == summed)
      return {};
    SmallVector<BlockArgument> result = axes.indicesOf(summed);
    int64_t terms = 1;
    for (BlockArgument index : result) {
      terms *= getConstantExtent(kernel, index).value_or(0);
      if (terms == 0 || terms > kMostProducts)
        return {};
    }
    return result;
  }

  std::optional<SmallVector<Operation *>>
  findSlice(Value value, ArrayRef<BlockArgument> of) {
    return findSliceOf(value, of, axes);
  }

private:
  /// The columns of all sums that a value is made of.
  attn::Axes findColumns(Value value) {
    attn::Axes columns = axes.setOf({});
    for (Operation *op : sliceOf(value))
      if (auto sum = dyn_cast<attn::ReduceOp>(op))
        columns |= findColumns(sum);
    return columns;
  }

  /// The axes of a product's values that its weights lack.
  attn::Axes findColumns(attn::ReduceOp sum) {
    auto factors = sum.getProduct()
                       ? sum.getOperand().getDefiningOp<arith::MulFOp>()
                       : arith::MulFOp();
    if (!factors)
      return axes.setOf({});
    Value weights = factors.getLhs(), values = factors.getRhs();
    if (!isMadeOfReductions(weights))
      std::swap(weights, values);
    if (!isMadeOfReductions(weights) || isMadeOfReductions(values))
      return axes.setOf({});
    attn::Axes result = axes.of(values);
    return result.reset(axes.of(weights));
  }

  attn::KernelOp kernel;
  attn::AxesAnalysis axes;
};

void report(Location loc, const char *what) {
  remark::passed(loc, remark::RemarkOpts::name("Columns").category(DEBUG_TYPE))
      << remark::add(what);
}

void unroll(attn::KernelOp kernel, attn::WriteOp write,
            ArrayRef<BlockArgument> of, ArrayRef<Operation *> slice,
            bool /*multiplyAdds*/) {
  report(write.getLoc(), "an output of several column axes is a product for "
                         "each index of the shorter ones");
  OpBuilder builder(write);
  forEachIndex(kernel, builder, write.getLoc(), of, slice,
               [&](IRMapping &at) { builder.clone(*write, at); });
  write.erase();
}

void unroll(attn::KernelOp kernel, attn::ReduceOp sum,
            ArrayRef<BlockArgument> of, ArrayRef<Operation *> slice,
            bool multiplyAdds) {
  report(sum.getLoc(), "the terms of a sum over columns of products are added "
                       "one by one");
  addOneByOne(kernel, sum, of, slice, multiplyAdds);
}

/// Takes apart what is found, of the kernel as it is when it is its turn.
template <typename Op>
void unrollAll(attn::KernelOp kernel, bool multiplyAdds,
               function_ref<Value(Op)> valueOf) {
  std::optional<ColumnSearch> search(std::in_place, kernel);
  for (Op op : llvm::to_vector(kernel.getHeadBlock().getOps<Op>())) {
    SmallVector<BlockArgument> of = search->find(op);
    auto slice = of.empty() ? std::nullopt : search->findSlice(valueOf(op), of);
    if (!slice)
      continue;
    unroll(kernel, op, of, *slice, multiplyAdds);
    search.emplace(kernel);
  }
}

struct AttnUnrollColumns : impl::AttnUnrollColumnsBase<AttnUnrollColumns> {
  using AttnUnrollColumnsBase::AttnUnrollColumnsBase;

  void runOnOperation() override {
    getOperation()->walk([&](attn::KernelOp kernel) {
      unrollAll<attn::ReduceOp>(kernel, multiplyAdds, [](attn::ReduceOp sum) {
        return sum.getOperand();
      });
      unrollAll<attn::WriteOp>(kernel, multiplyAdds, [](attn::WriteOp write) {
        return write.getValue();
      });
    });
  }
};

} // namespace
} // namespace attentile
