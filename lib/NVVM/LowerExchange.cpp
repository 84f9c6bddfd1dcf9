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
static Value shuffle(const Emitter &e, Value value, NVVM::ShflKind kind,
                     Value lane) {
  return NVVM::ShflOp::create(e.b, e.loc, value.getType(), e.i32(-1), value,
                              lane, e.i32(31), kind,
                              /*return_value_and_is_valid=*/UnitAttr());
}

/// The registers of an operand, or of its words if they have 16 bits.
static Value shuffleAll(const Emitter &e, Value operand, NVVM::ShflKind kind,
                        Value lane) {
  Type type = operand.getType();
  if (type.isF32())
    return shuffle(e, operand, kind, lane);
  SmallVector<Value> words =
      toWords(e.b, e.loc, type, splitRegisters(e.b, e.loc, operand));
  for (Value &word : words) {
    Type narrow = word.getType();
    if (narrow != e.b.getI32Type())
      word = arith::ExtUIOp::create(e.b, e.loc, e.b.getI32Type(), word);
    word = shuffle(e, word, kind, lane);
    if (narrow != e.b.getI32Type())
      word = arith::TruncIOp::create(e.b, e.loc, narrow, word);
  }
  return joinRegisters(e.b, e.loc, type, fromWords(e.b, e.loc, type, words));
}

void lowerExchange(KernelLowering &k, Operation *op) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Emitter e(b, loc);
  if (auto exchange = dyn_cast<warp::ShuffleXorOp>(op)) {
    Value result = shuffleAll(e, exchange.getOperand(), NVVM::ShflKind::bfly,
                              e.i32(exchange.getMask()));
    exchange.getResult().replaceAllUsesWith(result);
    op->erase();
    return;
  }
  if (auto exchange = dyn_cast<warp::ShuffleFromOp>(op)) {
    Value result = shuffleAll(e, exchange.getOperand(), NVVM::ShflKind::idx,
                              e.to32(exchange.getLane()));
    exchange.getResult().replaceAllUsesWith(result);
    op->erase();
    return;
  }
  auto kind = isa<warp::BallotOp>(op)    ? NVVM::VoteSyncKind::ballot
              : isa<warp::VoteAllOp>(op) ? NVVM::VoteSyncKind::all
                                         : NVVM::VoteSyncKind::any;
  Value result = NVVM::VoteSyncOp::create(b, loc, op->getResult(0).getType(),
                                          e.i32(-1), op->getOperand(0), kind);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

} // namespace attentile::nvvm
