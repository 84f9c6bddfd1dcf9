//===- ShareOffsets.cpp - indices as a base and a constant ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: writes the sums that scores convert to floats or clamp as a base and a
//   constant. The elements of a fragment share the base, those on a diagonal
//   the constant of n - m too, and a float index is the base's plus a constant.
// Expects: registers, no fragments.
// Leaves: equal sums as equal operations, for cse to merge.
// Does not handle: sums that are addresses or bounds only.
//
//===----------------------------------------------------------------------===//

#include "Warp/Warp.h"
#include "attentile/NVVM/Passes.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace attentile {
#define GEN_PASS_DEF_WARPSHAREOFFSETS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// An index as constant + sum of coefficient * value, by the values' place in
/// the program: what a loop does not change comes first. For two rows and two
/// columns of a fragment, with n = n0 + lane and m = m0 + row,
///
///   n - m + 0   n - m + 1          n0 and lane, m0 and row: one base,
///   n - m - 8   n - m - 7          computed once a tile
struct Sum {
  std::map<unsigned, std::pair<Value, int64_t>> terms;
  int64_t constant = 0;

  void add(unsigned place, Value value, int64_t factor) {
    auto &term = terms.try_emplace(place, value, 0).first->second;
    term.second += factor;
    if (term.second == 0)
      terms.erase(place);
  }
};

class Sharer {
public:
  explicit Sharer(warp::KernelOp kernel)
      : kernel(kernel), builder(kernel.getContext()) {
    number(kernel->getParentOfType<tile::ProgramOp>());
  }

  void run();

private:
  void number(Operation *op);
  void setInsertionPointAfter(Value value);
  bool collect(Value value, int64_t factor, Sum &sum, unsigned depth = 0);
  Value makeBase(const Sum &sum);
  void shareConversion(arith::SIToFPOp op);
  void shareClamp(Operation *op);

  warp::KernelOp kernel;
  OpBuilder builder;
  DenseMap<Value, unsigned> places;
  /// Bases by the terms that they are made of.
  std::map<SmallVector<std::pair<unsigned, int64_t>>, Value> bases;
  DenseMap<std::pair<Value, Type>, Value> converted;
};

/// Numbers values in the order in which they are defined.
void Sharer::number(Operation *op) {
  for (Value result : op->getResults())
    places[result] = places.size();
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        places[argument] = places.size();
      for (Operation &inner : block)
        number(&inner);
    }
}

/// Behind a value's definition; at the kernel's top if that is outside.
void Sharer::setInsertionPointAfter(Value value) {
  if (value.getParentRegion()->isProperAncestor(&kernel.getBody()))
    builder.setInsertionPointToStart(&kernel.getBody().front());
  else
    builder.setInsertionPointAfterValue(value);
}

/// Adds factor * value to `sum`; false where that is too long to be worth it.
bool Sharer::collect(Value value, int64_t factor, Sum &sum, unsigned depth) {
  if (depth > 16)
    return false;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    sum.constant += factor * constant.getSExtValue();
    return true;
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return collect(op->getOperand(0), factor, sum, depth + 1) &&
           collect(op->getOperand(1), isa<arith::SubIOp>(op) ? -factor : factor,
                   sum, depth + 1);
  if (auto product = value.getDefiningOp<arith::MulIOp>();
      product && matchPattern(product.getRhs(), m_ConstantInt(&constant)) &&
      constant.isSignedIntN(32))
    return collect(product.getLhs(), factor * constant.getSExtValue(), sum,
                   depth + 1);
  sum.add(places.lookup(value), value, factor);
  return true;
}

/// The sum without its constant; null for one of constants. Each part stands
/// behind the last value that it needs.
Value Sharer::makeBase(const Sum &sum) {
  SmallVector<std::pair<unsigned, int64_t>> key;
  Value base;
  for (auto &[place, term] : sum.terms) {
    auto [value, factor] = term;
    key.push_back({place, factor});
    Value &known = bases[key];
    if (!known) {
      setInsertionPointAfter(value);
      // What is there at a block's start: parts of it stand in their order.
      if (base && base.getParentBlock() == builder.getInsertionBlock() &&
          value.getParentBlock() != base.getParentBlock())
        builder.setInsertionPointAfterValue(base);
      else if (base && isa<BlockArgument>(value) &&
               base.getParentBlock() == value.getParentBlock())
        builder.setInsertionPointAfterValue(base);
      Location loc = value.getLoc();
      Value part = value;
      if (factor != 1 && factor != -1)
        part = arith::MulIOp::create(
            builder, loc, value,
            arith::ConstantIndexOp::create(builder, loc, std::abs(factor)));
      if (factor < 0)
        part = arith::SubIOp::create(
            builder, loc,
            base ? base : arith::ConstantIndexOp::create(builder, loc, 0),
            part);
      else if (base)
        part = arith::AddIOp::create(builder, loc, base, part);
      known = part;
    }
    base = known;
  }
  return base;
}

/// float(base + c) = float(base) + c. Exact where both are below 2^24; beyond
/// it the sum rounds once more, as a product does that is added to something
/// and so needs no rounding of its own: asked of all uses.
void Sharer::shareConversion(arith::SIToFPOp op) {
  auto cast = op.getIn().getDefiningOp<arith::IndexCastOp>();
  if (!cast || !cast.getIn().getType().isIndex() || !op.getType().isF32())
    return;
  for (Operation *user : op->getUsers())
    if (!isa<arith::MulFOp>(user) ||
        !llvm::all_of(user->getUsers(), [](Operation *next) {
          return isa<arith::AddFOp, arith::SubFOp>(next);
        }))
      return;
  Sum sum;
  if (!collect(cast.getIn(), 1, sum) || std::abs(sum.constant) >= 1 << 15)
    return;
  Value base = makeBase(sum);
  if (!base)
    return;
  Value &whole = converted[{base, cast.getType()}];
  Location loc = op.getLoc();
  if (!whole) {
    setInsertionPointAfter(base);
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

/// Sums that are the operands of a minimum or maximum.
void Sharer::shareClamp(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!value.getType().isIndex() ||
        !isa_and_nonnull<arith::AddIOp, arith::SubIOp>(value.getDefiningOp()))
      continue;
    Sum sum;
    if (!collect(value, 1, sum))
      continue;
    Value base = makeBase(sum);
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

void Sharer::run() {
  SmallVector<Operation *> work;
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
