//===- LowerExchange.cpp - shuffles and votes -----------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;

namespace attentile::nvvm {

/// One register of 32 bits, i32 or f32.
static Value shuffle(const Emitter &e, Value value, int64_t mask) {
  return NVVM::ShflOp::create(e.b, e.loc, value.getType(), e.i32(-1), value,
                              e.i32(mask), e.i32(31), NVVM::ShflKind::bfly,
                              /*return_value_and_is_valid=*/UnitAttr());
}

void lowerExchange(KernelLowering &k, Operation *op) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Emitter e(b, loc);
  if (auto exchange = dyn_cast<warp::ShuffleXorOp>(op)) {
    Type type = exchange.getType();
    Value result;
    if (type.isF32()) {
      result = shuffle(e, exchange.getOperand(), exchange.getMask());
    } else {
      SmallVector<Value> words =
          toWords(b, loc, type, splitRegisters(b, loc, exchange.getOperand()));
      for (Value &word : words) {
        Type narrow = word.getType();
        if (narrow != b.getI32Type())
          word = arith::ExtUIOp::create(b, loc, b.getI32Type(), word);
        word = shuffle(e, word, exchange.getMask());
        if (narrow != b.getI32Type())
          word = arith::TruncIOp::create(b, loc, narrow, word);
      }
      result = joinRegisters(b, loc, type, fromWords(b, loc, type, words));
    }
    exchange.getResult().replaceAllUsesWith(result);
    op->erase();
    return;
  }
  auto kind = isa<warp::VoteAllOp>(op) ? NVVM::VoteSyncKind::all
                                       : NVVM::VoteSyncKind::any;
  Value result = NVVM::VoteSyncOp::create(b, loc, b.getI1Type(), e.i32(-1),
                                          op->getOperand(0), kind);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

} // namespace attentile::nvvm
