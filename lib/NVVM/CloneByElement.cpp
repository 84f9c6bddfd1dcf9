//===- CloneByElement.cpp - a kernel for any strides ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: gives every warp.kernel that asks for alignment or contiguity a second
//   one, NAME_by_element, that asks for none, named by its attribute
//   `otherwise`; the runtime chooses at launch.
// Expects: a tile.program with warp.kernels.
// Leaves: workspace accessed by several elements at a time only where its
//   shape makes every stride a multiple.
// Does not handle: tensors one at a time; a kernel asks for all or none.
//
//===----------------------------------------------------------------------===//

#include "attentile/NVVM/Passes.h"
#include "attentile/NVVM/Signature.h"
#include "mlir/IR/AffineExpr.h"

namespace attentile {
#define GEN_PASS_DEF_WARPCLONEBYELEMENT
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Calls `visit(op, tensor, contiguous dim, elements at a time)` for every
/// access of more than one element; `op` has the attribute `by_element`.
void walkPackets(
    warp::KernelOp kernel,
    function_ref<void(Operation *, Value, int64_t, int64_t)> visit) {
  auto packet = [&](Operation *op, Value tensor, Type value,
                    std::optional<int64_t> dim) {
    int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
    if (int64_t count = warp::getNumRegisters(value); count > 1)
      visit(op, tensor, dim.value_or(rank - 1), count);
  };
  kernel.getBody().walk([&](Operation *op) {
    if (auto copy = dyn_cast<warp::CopyAsyncOp>(op))
      visit(op, copy.getTensor(), copy.getDims().back(),
            16 / warp::getElementBytes(
                     copy.getBuffer().getType().getElementType()));
    else if (auto load = dyn_cast<warp::LoadOp>(op))
      packet(op, load.getTensor(), load.getType(), load.getDim());
    else if (auto store = dyn_cast<warp::StoreOp>(op))
      packet(op, store.getTensor(), store.getValue().getType(), store.getDim());
  });
}

/// Whether a workspace is contiguous along `dim` and its other strides are
/// multiples of `count`: the last sizes' product is.
bool isAligned(Value workspace, int64_t dim, int64_t count) {
  ArrayRef<AffineExpr> shape = getShapeOf(workspace).getResults();
  if (dim != int64_t(shape.size()) - 1)
    return false;
  if (shape.size() == 1)
    return true;
  return shape.back().isMultipleOf(count);
}

struct WarpCloneByElement : impl::WarpCloneByElementBase<WarpCloneByElement> {
  void runOnOperation() override {
    SmallVector<warp::KernelOp> kernels;
    getOperation()->walk(
        [&](warp::KernelOp kernel) { kernels.push_back(kernel); });
    auto unit = UnitAttr::get(&getContext());
    for (warp::KernelOp kernel : kernels) {
      walkPackets(
          kernel, [&](Operation *op, Value tensor, int64_t dim, int64_t count) {
            if (!isa<BlockArgument>(tensor) && !isAligned(tensor, dim, count))
              op->setAttr("by_element", unit);
          });
      if (kernel.getOtherwise() || getKernelRequirements(kernel).empty())
        continue;
      OpBuilder builder(kernel);
      builder.setInsertionPointAfter(kernel);
      auto copy = cast<warp::KernelOp>(builder.clone(*kernel));
      copy.setName((kernel.getName() + "_by_element").str());
      kernel.setOtherwise(copy.getName());
      walkPackets(copy, [&](Operation *op, Value, int64_t, int64_t) {
        op->setAttr("by_element", unit);
      });
    }
  }
};

} // namespace
} // namespace attentile
