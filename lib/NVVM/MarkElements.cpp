//===- MarkElements.cpp - accesses that go element by element -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: marks with `by_element` what accesses several elements of a workspace
//   at a time along another dimension than its last; with `all`, and in kernels
//   that list blocks, of every tensor, so that the kernel asks for nothing.
// Expects: warp.kernels.
// Leaves: the rest, which asks the launch for contiguity and alignment.
// Does not handle: tensors one at a time; a kernel asks for all or none.
//
//===----------------------------------------------------------------------===//

#include "attentile/NVVM/Passes.h"
#include "attentile/NVVM/Signature.h"

namespace attentile {
#define GEN_PASS_DEF_WARPMARKELEMENTS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Calls `visit(op, tensor, contiguous dim)` for every access of more than one
/// element; `op` has the attribute `by_element`.
void walkPackets(warp::KernelOp kernel,
                 function_ref<void(Operation *, Value, int64_t)> visit) {
  auto packet = [&](Operation *op, Value tensor, Type value,
                    std::optional<int64_t> dim) {
    int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
    if (warp::getNumRegisters(value) > 1)
      visit(op, tensor, dim.value_or(rank - 1));
  };
  kernel.getBody().walk([&](Operation *op) {
    if (auto copy = dyn_cast<warp::CopyAsyncOp>(op))
      visit(op, copy.getTensor(), copy.getDims().back());
    else if (auto load = dyn_cast<warp::LoadOp>(op))
      packet(op, load.getTensor(), load.getType(), load.getDim());
    else if (auto store = dyn_cast<warp::StoreOp>(op))
      packet(op, store.getTensor(), store.getValue().getType(), store.getDim());
  });
}

/// Whether a workspace is contiguous along `dim`; its other strides are
/// multiples of 16 bytes, as its rows are padded.
bool isContiguous(Value workspace, int64_t dim) {
  return dim == cast<RankedTensorType>(workspace.getType()).getRank() - 1;
}

struct WarpMarkElements : impl::WarpMarkElementsBase<WarpMarkElements> {
  using WarpMarkElementsBase::WarpMarkElementsBase;

  void runOnOperation() override {
    auto unit = UnitAttr::get(&getContext());
    getOperation()->walk([&](warp::KernelOp kernel) {
      bool isList = kernel->hasAttr("tile.block_list");
      walkPackets(kernel, [&](Operation *op, Value tensor, int64_t dim) {
        bool isWorkspace = !isa<BlockArgument>(tensor);
        if (all || isList || (isWorkspace && !isContiguous(tensor, dim)))
          op->setAttr("by_element", unit);
      });
    });
  }
};

} // namespace
} // namespace attentile
