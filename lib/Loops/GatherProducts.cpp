//===- GatherProducts.cpp - products gathered, not rows -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: of a product with a row of a table for each pair of rows and keys, as
// of relative positions, makes one with all rows of the table, in workspace, of
// which each pair reads an element. Expects: attn.kernel, before
// attn-form-grids. Leaves: the same formulas, with index variables for the
// tables' rows. Does not handle: kernels with loops over tiles; pairs whose
// keys are not summed with values that rows share.
//
//===----------------------------------------------------------------------===//
//
// A pair's own row makes a score a sum of as many products as a key has
// elements, each read for itself, and no matrix product; those with all rows of
// the table are one.
//

#include "GatheredFactors.h"
#include "MaskedLoops.h"
#include "WholeAxes.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

namespace attentile {
#define GEN_PASS_DEF_ATTNGATHERPRODUCTS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "attn-gather-products"

using namespace mlir;

namespace attentile {
namespace {

/// An index variable of that extent.
BlockArgument addIndex(attn::KernelOp kernel, AffineExpr extent, Location loc) {
  std::string name = "row";
  for (unsigned i = 1; kernel.findArg(name); ++i)
    name = "row" + std::to_string(i);
  MLIRContext *context = kernel.getContext();
  auto append = [&](ArrayAttr to, Attribute last) {
    SmallVector<Attribute> all(to.getValue());
    all.push_back(last);
    return ArrayAttr::get(context, all);
  };
  auto map = AffineMap::get(0, kernel.getSizeNames().size(), extent);
  kernel.setIndexNamesAttr(
      append(kernel.getIndexNames(), StringAttr::get(context, name)));
  kernel.setExtentsAttr(append(kernel.getExtents(), AffineMapAttr::get(map)));
  return kernel.getHeadBlock().addArgument(IndexType::get(context), loc);
}

/// The type of elements that were read and widened, or that of the value.
Type getReadType(Value factor) {
  auto widened = factor.getDefiningOp<arith::ExtFOp>();
  return widened ? widened.getIn().getType() : factor.getType();
}

/// The sum with other factors, a product of matrices now. One that was none
/// rounded nothing, and nor does this.
Value createProduct(OpBuilder &builder, attn::ReduceOp like, Value factor,
                    Value other) {
  Type type = getReadType(factor);
  bool isExact =
      type == getReadType(other) && type.getIntOrFloatBitWidth() == 16;
  Type product =
      like.getProduct().value_or(isExact ? type : builder.getF32Type());
  Value terms = arith::MulFOp::create(builder, like.getLoc(), other, factor);
  return attn::ReduceOp::create(builder, like.getLoc(), like.getKind(), terms,
                                like.getAxes(), TypeAttr::get(product));
}

/// Sums of x * (y + z) to those of x * y and x * z.
void distribute(attn::ReduceOp sum, unsigned side) {
  OpBuilder builder(sum);
  Operation *factors = sum.getOperand().getDefiningOp();
  Operation *terms = factors->getOperand(side).getDefiningOp();
  IRMapping products;
  for (Value term : terms->getOperands())
    if (!products.contains(term))
      products.map(term, createProduct(builder, sum, term,
                                       factors->getOperand(1 - side)));
  sum.replaceAllUsesWith(builder.clone(*terms, products)->getResult(0));
  sum.erase();
}

/// The factor with an index variable where a table is read for pairs.
Value withAllRows(OpBuilder &builder, const GatheredFactor &gathered) {
  IRMapping copies;
  for (Operation *op : gathered.slice) {
    SmallVector<Value> operands =
        llvm::to_vector(llvm::map_range(op->getOperands(), [&](Value operand) {
          return copies.lookupOrDefault(operand);
        }));
    auto read = dyn_cast<attn::ReadOp>(op);
    for (unsigned i = 1; read && i < operands.size(); ++i) {
      auto kernel = read->getParentOfType<attn::KernelOp>();
      AffineExpr extent = getExtent(kernel, read.getTensor(), i - 1);
      auto row = gathered.rows.find({op->getOperand(i), extent});
      if (row != gathered.rows.end())
        operands[i] = row->second;
    }
    if (llvm::equal(operands, op->getOperands()))
      continue;
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    copies.map(op->getResults(), copy->getResults());
  }
  return copies.lookup(gathered.factor);
}

/// Puts the products with all rows into workspace, and reads one.
void gatherProducts(attn::KernelOp kernel, attn::ReduceOp sum,
                    GatheredFactor gathered) {
  Location loc = sum.getLoc();
  SmallVector<Value> pairs, rows;
  for (auto &[read, row] : gathered.rows) {
    row = addIndex(kernel, read.second, loc);
    pairs.push_back(read.first);
    rows.push_back(row);
  }
  OpBuilder builder(sum);
  Value all = createProduct(builder, sum, withAllRows(builder, gathered),
                            gathered.other);
  attn::AxesAnalysis axes(kernel);
  SmallVector<Value> indices;
  for (BlockArgument axis : axes.indicesOf(axes.of(all)))
    if (!llvm::is_contained(rows, axis))
      indices.push_back(axis);
  size_t shared = indices.size();
  llvm::append_range(indices, rows);
  Value tensor =
      createWorkspace(builder, loc, kernel, indices, all.getType(), "products");
  attn::WriteOp::create(builder, loc, all, tensor, indices);
  llvm::copy(pairs, indices.begin() + shared);
  sum.replaceAllUsesWith(
      attn::ReadOp::create(builder, loc, all.getType(), tensor, indices)
          .getResult());
  sum.erase();
  remark::passed(
      loc, remark::RemarkOpts::name("GatheredProduct").category(DEBUG_TYPE))
      << remark::add("products with all rows of '{0}' are computed once, in "
                     "workspace; each pair reads one",
                     gathered.table);
}

/// One product more that gathers or is a sum of some, if there is one.
bool rewriteOne(attn::KernelOp kernel) {
  GatheredFactors search(kernel);
  for (auto sum : kernel.getHeadBlock().getOps<attn::ReduceOp>()) {
    if (auto gathered = search.find(sum))
      return gatherProducts(kernel, sum, std::move(*gathered)), true;
    if (auto side = search.findSum(sum))
      return distribute(sum, *side), true;
  }
  return false;
}

struct AttnGatherProducts : impl::AttnGatherProductsBase<AttnGatherProducts> {
  void runOnOperation() override {
    getOperation()->walk([](attn::KernelOp kernel) {
      if (!kernel.getHeadBlock().getOps<attn::ForOp>().empty())
        return;
      while (rewriteOne(kernel))
        eraseDead(kernel.getHeadBlock());
    });
  }
};

} // namespace
} // namespace attentile
