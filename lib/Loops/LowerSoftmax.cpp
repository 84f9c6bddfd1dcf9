//===- LowerSoftmax.cpp - softmax and logsumexp to ref, exp and sum -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: writes attn.softmax and attn.logsumexp with a `ref` reduction, exp, a
// sum and a row part; those of one operand and axes share ref and sum.
// Expects: attn.kernel as the front end makes it. Leaves: neither of the two
// operations. Does not handle: sinks (the language has them, the operations
// not yet).
//
//===----------------------------------------------------------------------===//

#include "Attn/Attn.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace attentile {
#define GEN_PASS_DEF_ATTNLOWERSOFTMAX
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// What softmax and logsumexp of one operand over the same axes share.
struct Statistics {
  Value reference; // max s, 0 where that is -inf
  Value weight;    // exp(s - reference)
  Value sum;       // sum of the weights; 0 where nothing is seen
  Value inverse;   // 1 / sum, 0 where nothing is seen; null until asked for
};

class SoftmaxLowering {
public:
  void lower(attn::SoftmaxOp op) {
    OpBuilder builder(op);
    Statistics &row = statistics(builder, op, op.getOperand(), op.getAxes());
    if (!row.inverse)
      row.inverse = makeInverse(builder, op.getLoc(), row.sum);
    replace(op, arith::MulFOp::create(builder, op.getLoc(), row.weight,
                                      row.inverse));
  }

  /// Where nothing is seen this is 0 + log 0 = -inf, so no select is needed.
  void lower(attn::LogSumExpOp op) {
    OpBuilder builder(op);
    Statistics &row = statistics(builder, op, op.getOperand(), op.getAxes());
    Value log = math::LogOp::create(builder, op.getLoc(), row.sum);
    replace(op,
            arith::AddFOp::create(builder, op.getLoc(), row.reference, log));
  }

private:
  static void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  static Value makeInverse(OpBuilder &builder, Location loc, Value sum) {
    Type type = sum.getType();
    Value zero = arith::ConstantOp::create(builder, loc,
                                           builder.getFloatAttr(type, 0.0));
    Value one = arith::ConstantOp::create(builder, loc,
                                          builder.getFloatAttr(type, 1.0));
    Value unseen = arith::CmpFOp::create(builder, loc,
                                         arith::CmpFPredicate::OEQ, sum, zero);
    Value inverse = arith::DivFOp::create(builder, loc, one, sum);
    return arith::SelectOp::create(builder, loc, unseen, zero, inverse);
  }

  /// The shared part, made before its first user in the block, which
  /// dominates the others: they are lowered in order.
  Statistics &statistics(OpBuilder &builder, Operation *op, Value operand,
                         ValueRange axes) {
    SmallVector<Value> key(axes);
    // The order in which a user names the axes does not matter.
    llvm::sort(key, [](Value a, Value b) {
      return cast<BlockArgument>(a).getArgNumber() <
             cast<BlockArgument>(b).getArgNumber();
    });
    for (auto &[otherAxes, row] : known[{operand, op->getBlock()}])
      if (otherAxes == key)
        return row;
    Statistics row;
    Location loc = op->getLoc();
    row.reference = attn::ReduceOp::create(builder, loc, attn::ReduceKind::Ref,
                                           operand, key, /*product=*/nullptr);
    Value shifted = arith::SubFOp::create(builder, loc, operand, row.reference);
    row.weight = math::ExpOp::create(builder, loc, shifted);
    row.sum = attn::ReduceOp::create(builder, loc, attn::ReduceKind::Sum,
                                     row.weight, key, /*product=*/nullptr);
    auto &rows = known[{operand, op->getBlock()}];
    return rows.emplace_back(std::move(key), row).second;
  }

  using Rows = SmallVector<std::pair<SmallVector<Value>, Statistics>, 1>;
  llvm::DenseMap<std::pair<Value, Block *>, Rows> known;
};

struct AttnLowerSoftmax : impl::AttnLowerSoftmaxBase<AttnLowerSoftmax> {
  void runOnOperation() override {
    getOperation()->walk([](attn::KernelOp kernel) {
      SoftmaxLowering lowering;
      kernel.walk([&](Operation *op) {
        if (auto softmax = dyn_cast<attn::SoftmaxOp>(op))
          lowering.lower(softmax);
        else if (auto logsumexp = dyn_cast<attn::LogSumExpOp>(op))
          lowering.lower(logsumexp);
      });
    });
  }
};

} // namespace
} // namespace attentile
