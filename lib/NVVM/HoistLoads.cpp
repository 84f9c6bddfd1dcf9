//===- HoistLoads.cpp - a tile's loads before its products ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: moves what an iteration loads into registers, and what its addresses
//   take, to the start of a loop's body: waiting for copies and the first
//   product hide the time that a bias takes to come.
// Expects: registers, no fragments; equal loads merged.
// Leaves: loads where a body has more of them than there is room to hold.
// Does not handle: loads inside branches, or whose indices were loaded.
//
//===----------------------------------------------------------------------===//

#include "ArithmeticSlice.h"
#include "Warp/Warp.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attentile {
#define GEN_PASS_DEF_WARPHOISTLOADS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Registers that a body's loads may hold during its products.
constexpr int64_t kMostRegisters = 32;

int64_t registersOf(Type type) {
  int64_t bytes = warp::getElementBytes(warp::getElementType(type));
  return llvm::divideCeil(warp::getNumRegisters(type) * bytes, 4);
}

void hoist(Block &body) {
  bool hasProduct = false;
  int64_t registers = 0;
  llvm::SetVector<Operation *> slice;
  for (Operation &op : body) {
    hasProduct |= isa<warp::MmaOp>(op);
    llvm::SetVector<Operation *> more = slice;
    if (!isa<warp::LoadOp>(op) || !collectArithmetic(&op, more))
      continue;
    registers += registersOf(op.getResult(0).getType());
    slice = std::move(more);
  }
  if (!hasProduct || registers > kMostRegisters)
    return;
  moveToStart(body, slice);
}

struct WarpHoistLoads : impl::WarpHoistLoadsBase<WarpHoistLoads> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) { hoist(*loop.getBody()); });
  }
};

} // namespace
} // namespace attentile
