//===- Signature.cpp - what a compiled kernel takes -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/NVVM/Signature.h"
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

} // namespace attentile
