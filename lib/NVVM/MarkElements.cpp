//===- MarkElements.cpp - accesses that go element by element -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: marks with `by_element` what accesses several elements of a workspace
//   at a time whose shape does not make every stride a multiple; with `all`,
//   of every tensor, so that the kernel asks for nothing.
// Expects: warp.kernels.
// Leaves: the rest, which asks the launch for contiguity and alignment.
// Does not handle: tensors one at a time; a kernel asks for all or none.
//
//===----------------------------------------------------------------------===//

#include "attentile/NVVM/Passes.h"
#include "attentile/NVVM/Signature.h"
#include "mlir/IR/AffineExpr.h"

namespace attentile {
#define GEN_PASS_DEF_WARPMARKELEMENTS
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

struct WarpMarkElements : impl::WarpMarkElementsBase<WarpMarkElements> {
  using WarpMarkElementsBase::WarpMarkElementsBase;

  void runOnOperation() override {
    auto unit = UnitAttr::get(&getContext());
    getOperation()->walk([&](warp::KernelOp kernel) {
      walkPackets(kernel,
                  [&](Operation *op, Value tensor, int64_t dim, int64_t count) {
                    bool isWorkspace = !isa<BlockArgument>(tensor);
                    if (all || (isWorkspace && !isAligned(tensor, dim, count)))
                      op->setAttr("by_element", unit);
                  });
    });
  }
};

} // namespace
} // namespace attentile
