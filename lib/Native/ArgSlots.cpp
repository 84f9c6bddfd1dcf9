//===- ArgSlots.cpp - the arguments of native code ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Native/ArgSlots.h"

using namespace mlir;

namespace attentile {

ArgSlots::ArgSlots(tile::ProgramOp program) {
  auto head = cast<attn::SignatureOpInterface>(program.getOperation());
  Block &block = head.getHeadBlock();
  ofArgument.resize(block.getNumArguments());
  unsigned next = 0;
  auto isTensor = [](BlockArgument argument) {
    return isa<RankedTensorType>(argument.getType());
  };
  for (BlockArgument argument : block.getArguments())
    if (isTensor(argument)) {
      ofArgument[argument.getArgNumber()] = next;
      next += 1 + 2 * rankOf(argument);
    }
  // Inputs and outputs come before the sizes in the block.
  for (BlockArgument argument : block.getArguments())
    if (!isTensor(argument))
      ofArgument[argument.getArgNumber()] = next++;
  for (attn::WorkspaceOp workspace : block.getOps<attn::WorkspaceOp>())
    ofWorkspace[workspace] = next++;
  counters = next++;
  count = next;
}

} // namespace attentile
