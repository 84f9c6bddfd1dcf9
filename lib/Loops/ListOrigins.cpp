//===- ListOrigins.cpp - what lists of blocks follow from -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListOrigins.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {
namespace {

/// Whether one index of a load comes from the last coordinate of the list, and
/// one from what is no coordinate of it: a number of blocks.
bool readsPair(tile::LoadOp load, ArrayAttr coordinates) {
  auto kernel = load->getParentOfType<tile::KernelOp>();
  bool hasRow = false, hasKey = false;
  llvm::SetVector<Value> values(load.getIndices().begin(),
                                load.getIndices().end());
  for (size_t i = 0; i < values.size(); ++i) {
    if (Operation *op = values[i].getDefiningOp()) {
      if (kernel->isAncestor(op))
        values.insert(op->operand_begin(), op->operand_end());
      continue;
    }
    auto argument = cast<BlockArgument>(values[i]);
    Operation *owner = argument.getOwner()->getParentOp();
    Attribute name = owner == kernel ? kernel.getIds()[argument.getArgNumber()]
                                     : Attribute();
    hasRow |= name && name == coordinates.getValue().back();
    hasKey |= kernel->isAncestor(owner) &&
              !(name && llvm::is_contained(coordinates, name));
  }
  return hasRow && hasKey;
}

} // namespace

ListOrigin findOrigin(Value list, ArrayAttr coordinates) {
  llvm::SetVector<Value> workspaces;
  workspaces.insert(list);
  ListOrigin result = ListOrigin::Indices;
  for (size_t i = 0; i < workspaces.size(); ++i)
    for (Operation *user : workspaces[i].getUsers()) {
      if (!isa<tile::StoreOp>(user))
        continue;
      user->getParentOfType<tile::KernelOp>().walk([&](tile::LoadOp load) {
        if (!isa<BlockArgument>(load.getTensor()))
          workspaces.insert(load.getTensor());
        else
          result = std::max(result, readsPair(load, coordinates)
                                        ? ListOrigin::Pairs
                                        : ListOrigin::Sides);
      });
    }
  return result;
}

} // namespace attentile
