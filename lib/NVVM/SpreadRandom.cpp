//===- SpreadRandom.cpp - random words beside a tile's products -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: moves the calls of the random generator in a loop's body up between
//   the second half of the matrix instructions before them, evenly: they need
//   indices alone, and their integer multiplications run while the scores are
//   still multiplied. Further up their words would take registers for longer.
// Expects: registers, no fragments; one call for the elements that share it
//   (warp-share-random).
// Leaves: calls whose counters were loaded or exchanged between lanes.
// Does not handle: calls inside branches.
//
//===----------------------------------------------------------------------===//

#include "ArithmeticSlice.h"
#include "Attn/Attn.h"
#include "Warp/Warp.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attentile {
#define GEN_PASS_DEF_WARPSPREADRANDOM
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

void spread(Block &body) {
  SmallVector<Operation *> products, calls;
  for (Operation &op : body)
    if (isa<attn::PhiloxOp>(op))
      calls.push_back(&op);
    else if (isa<warp::MmaOp>(op) && calls.empty())
      products.push_back(&op);
  if (products.empty())
    return;
  for (auto [number, call] : llvm::enumerate(calls)) {
    size_t half = products.size() / 2;
    Operation *place =
        products[half + number * (products.size() - half) / calls.size()];
    llvm::SetVector<Operation *> slice;
    if (!collectArithmetic(call, slice))
      continue;
    for (Operation *op : slice)
      if (place->isBeforeInBlock(op))
        op->moveBefore(place);
  }
}

struct WarpSpreadRandom : impl::WarpSpreadRandomBase<WarpSpreadRandom> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) { spread(*loop.getBody()); });
  }
};

} // namespace
} // namespace attentile
