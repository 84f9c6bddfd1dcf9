//===- ShareOffsets.cpp - indices as a base and a constant ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: writes the sums that scores convert to floats or clamp, or distances
//   that masks compare, as a base and a constant. The elements of a fragment
//   share the base, those on a diagonal the constant of n - m too, and a float
//   index is the base's plus a constant.
// Expects: registers, no fragments.
// Leaves: equal sums as equal operations, for cse to merge.
// Does not handle: sums that are addresses or bounds only.
//
//===----------------------------------------------------------------------===//

#include "IndexSums.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/MapVector.h"

namespace attentile {
#define GEN_PASS_DEF_WARPSHAREOFFSETS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

class Sharer {
public:
  explicit Sharer(warp::KernelOp kernel)
      : kernel(kernel), sums(kernel), builder(kernel.getContext()) {}

  void run();

private:
  void shareConversion(arith::SIToFPOp op);
  void shareClamp(Operation *op);
  SmallVector<Operation *> findDistances();

  warp::KernelOp kernel;
  IndexSums sums;
  OpBuilder builder;
  DenseMap<std::pair<Value, Type>, Value> converted;
};

/// float(base + c) = float(base) + c. Exact where both are below 2^24; beyond
/// it the sum rounds once more, as a product does that is added to something,
/// perhaps times another factor, and so needs no rounding of its own: asked of
/// all uses.
void Sharer::shareConversion(arith::SIToFPOp op) {
  auto cast = op.getIn().getDefiningOp<arith::IndexCastOp>();
  if (!cast || !cast.getIn().getType().isIndex() || !op.getType().isF32())
    return;
  for (Operation *user : op->getUsers())
    if (!isa<arith::MulFOp>(user) ||
        !llvm::all_of(user->getUsers(), [](Operation *next) {
          return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(next);
        }))
      return;
  IndexSum sum;
  if (!sums.collect(cast.getIn(), sum) || std::abs(sum.constant) >= 1 << 15)
    return;
  Value base = sums.makeBase(sum);
  if (!base)
    return;
  Value &whole = converted[{base, cast.getType()}];
  Location loc = op.getLoc();
  if (!whole) {
    sums.setInsertionPointAfter(builder, base);
    whole = arith::SIToFPOp::create(
        builder, loc, op.getType(),
        arith::IndexCastOp::create(builder, loc, cast.getType(), base));
  }
  builder.setInsertionPoint(op);
  Value constant = arith::ConstantOp::create(
      builder, loc, builder.getF32FloatAttr(float(sum.constant)));
  Value shared =
      sum.constant == 0
          ? whole
          : arith::AddFOp::create(builder, loc, whole, constant).getResult();
  op.replaceAllUsesWith(shared);
  op->erase();
}

/// Sums that are the operands of a minimum, a maximum or an absolute value.
void Sharer::shareClamp(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!value.getType().isIndex() ||
        !isa_and_nonnull<arith::AddIOp, arith::SubIOp>(value.getDefiningOp()))
      continue;
    IndexSum sum;
    if (!sums.collect(value, sum))
      continue;
    Value base = sums.makeBase(sum);
    if (!base)
      continue;
    builder.setInsertionPoint(op);
    if (sum.constant != 0)
      base = arith::AddIOp::create(
          builder, op->getLoc(), base,
          arith::ConstantIndexOp::create(builder, op->getLoc(), sum.constant));
    operand.set(base);
  }
}

/// Absolute values of sums that differ by constants. Others would only stand
/// further from their use.
SmallVector<Operation *> Sharer::findDistances() {
  using Key = IndexSum::Key;
  llvm::MapVector<Key, SmallVector<Operation *>, std::map<Key, unsigned>>
      groups;
  kernel->walk([&](math::AbsIOp op) {
    IndexSum sum;
    if (!op.getType().isIndex() || !sums.collect(op.getOperand(), sum))
      return;
    groups[sum.getKey()].push_back(op);
  });
  SmallVector<Operation *> result;
  for (auto &[key, group] : groups)
    if (group.size() > 1)
      llvm::append_range(result, group);
  return result;
}

void Sharer::run() {
  SmallVector<Operation *> work = findDistances();
  kernel->walk([&](Operation *op) {
    if (isa<arith::SIToFPOp, arith::MinSIOp, arith::MaxSIOp>(op))
      work.push_back(op);
  });
  for (Operation *op : work)
    if (auto conversion = dyn_cast<arith::SIToFPOp>(op))
      shareConversion(conversion);
    else
      shareClamp(op);
}

struct WarpShareOffsets : impl::WarpShareOffsetsBase<WarpShareOffsets> {
  void runOnOperation() override {
    getOperation()->walk([](warp::KernelOp kernel) { Sharer(kernel).run(); });
  }
};

} // namespace
} // namespace attentile
