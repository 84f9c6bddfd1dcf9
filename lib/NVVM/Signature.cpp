//===- Signature.cpp - what a compiled kernel takes -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/NVVM/Signature.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {

static attn::SignatureOpInterface headOf(Operation *op) {
  return cast<attn::SignatureOpInterface>(
      op->getParentOfType<tile::ProgramOp>().getOperation());
}

StringRef getNameOf(Value value) {
  if (auto workspace = value.getDefiningOp<attn::WorkspaceOp>())
    return workspace.getName();
  auto argument = cast<BlockArgument>(value);
  return cast<attn::SignatureOpInterface>(argument.getOwner()->getParentOp())
      .nameOf(argument);
}

AffineMap getShapeOf(Value tensor) {
  if (auto workspace = tensor.getDefiningOp<attn::WorkspaceOp>())
    return workspace.getShape();
  auto argument = cast<BlockArgument>(tensor);
  return cast<attn::SignatureOpInterface>(argument.getOwner()->getParentOp())
      .getShape(argument);
}

AffineMap getMemoryShapeOf(Value workspace) {
  AffineMap shape = getShapeOf(workspace);
  Type element = cast<RankedTensorType>(workspace.getType()).getElementType();
  int64_t packet = 16 / warp::getElementBytes(element);
  if (shape.getNumResults() < 2 ||
      shape.getResults().back().isMultipleOf(packet))
    return shape;
  SmallVector<AffineExpr> extents(shape.getResults());
  extents.back() = extents.back().ceilDiv(packet) * packet;
  return AffineMap::get(shape.getNumDims(), shape.getNumSymbols(), extents,
                        shape.getContext());
}

SmallVector<KernelArgument> getKernelArguments(warp::KernelOp kernel) {
  llvm::SmallSetVector<Value, 8> used;
  kernel.getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        used.insert(operand);
  });
  attn::SignatureOpInterface head = headOf(kernel);
  SmallVector<KernelArgument> result;
  SmallVector<BlockArgument> tensors, scalars;
  for (BlockArgument argument : head.getHeadBlock().getArguments())
    if (isa<RankedTensorType>(argument.getType())) {
      if (used.contains(argument))
        tensors.push_back(argument);
    } else if (!llvm::is_contained(head.getSizeArgs(), argument)) {
      scalars.push_back(argument);
    }
  for (BlockArgument tensor : tensors)
    result.push_back({KernelArgument::Tensor, tensor});
  for (auto workspace : head.getHeadBlock().getOps<attn::WorkspaceOp>())
    if (used.contains(workspace.getResult()))
      result.push_back({KernelArgument::Workspace, workspace.getResult()});
  for (BlockArgument size : head.getSizeArgs())
    result.push_back({KernelArgument::Size, size});
  for (BlockArgument tensor : tensors)
    for (int64_t dim = 0;
         dim < cast<RankedTensorType>(tensor.getType()).getRank(); ++dim)
      result.push_back({KernelArgument::Stride, tensor, unsigned(dim)});
  for (BlockArgument scalar : scalars)
    result.push_back({KernelArgument::Scalar, scalar});
  return result;
}

bool isAllOrNothing(RankedTensorType tensor, int64_t dim, int64_t count,
                    std::optional<ArrayRef<bool>> inBounds) {
  if (count == 1 || (inBounds && (*inBounds)[dim]))
    return true;
  int64_t size = tensor.getDimSize(dim);
  return !ShapedType::isDynamic(size) && size % count == 0;
}

SmallVector<KernelRequirement> getKernelRequirements(warp::KernelOp kernel) {
  SmallVector<KernelRequirement> result;
  auto add = [&](Value tensor, ArrayRef<int64_t> dims, int64_t bytes) {
    // A workspace is contiguous, and warp-mark-elements has seen to its
    // alignment.
    if (!isa<BlockArgument>(tensor))
      return;
    for (KernelRequirement &old : result)
      if (old.tensor == tensor && old.dims.back() == dims.back()) {
        old.bytes = std::max(old.bytes, bytes);
        if (dims.size() > old.dims.size())
          old.dims.assign(dims.begin(), dims.end());
        return;
      }
    result.push_back({tensor, llvm::to_vector(dims), bytes});
  };
  auto addPacket = [&](auto op, Type value) {
    int64_t count = warp::getNumRegisters(value);
    auto type = cast<RankedTensorType>(op.getTensor().getType());
    int64_t dim = op.getDim().value_or(type.getRank() - 1);
    if (count == 1 || op.getByElement())
      return;
    // What is asked for element by element lies side by side all the same.
    int64_t atOnce =
        isAllOrNothing(type, dim, count, op.getInBounds()) ? count : 1;
    add(op.getTensor(), dim,
        atOnce * warp::getElementBytes(warp::getElementType(value)));
  };
  kernel.getBody().walk([&](Operation *op) {
    if (auto copy = dyn_cast<warp::CopyAsyncOp>(op)) {
      if (!copy.getByElement())
        add(copy.getTensor(), copy.getDims(), 16);
    } else if (auto load = dyn_cast<warp::LoadOp>(op)) {
      addPacket(load, load.getType());
    } else if (auto store = dyn_cast<warp::StoreOp>(op)) {
      addPacket(store, store.getValue().getType());
    }
  });
  return result;
}

bool isDependent(warp::KernelOp kernel) {
  return !kernel.getBody().getOps<NVVM::GriddepcontrolOp>().empty();
}

} // namespace attentile
