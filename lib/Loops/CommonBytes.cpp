//===- CommonBytes.cpp - what programs side by side read ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommonBytes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile {
namespace {

/// Bytes that a loop loads for each position of its axis.
int64_t getBytesPerPosition(scf::ForOp loop) {
  Value start = tile::getBlockStart(loop);
  int64_t bytes = 0;
  for (auto load : loop.getBody()->getOps<tile::LoadOp>()) {
    auto type = dyn_cast<RankedTensorType>(load.getType());
    if (!type || !type.getElementType().isIntOrFloat())
      continue;
    for (Value operand : load.getIndices()) {
      auto index = operand.getDefiningOp<tile::IndexOp>();
      if (!index || index.getBase() != start)
        continue;
      bytes += type.getNumElements() / index.getType().getNumElements() *
               llvm::divideCeil(type.getElementTypeBitWidth(), 8);
      break;
    }
  }
  return bytes;
}

} // namespace

int64_t getRowsOfProgram(tile::KernelOp kernel) {
  int64_t rows = 1;
  for (Operation *user : kernel.getBody().getArguments().back().getUsers()) {
    APInt factor;
    if (isa<arith::MulIOp>(user) &&
        matchPattern(user->getOperand(1), m_ConstantInt(&factor)))
      rows = std::max(rows, factor.getSExtValue());
  }
  return rows;
}

int64_t getCommonBytes(tile::KernelOp kernel) {
  int64_t bytes = 0;
  for (auto loop : kernel.getBody().getOps<scf::ForOp>())
    bytes = std::max(bytes, getBytesPerPosition(loop));
  return getRowsOfProgram(kernel) * bytes;
}

void setCommonBytes(tile::KernelOp kernel, int64_t bytes) {
  if (bytes > 0)
    kernel->setAttr("tile.common_bytes",
                    OpBuilder(kernel).getI64IntegerAttr(bytes));
}

} // namespace attentile
