//===- StepQuotients.cpp - the next quotient from the one before ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: of positions that differ by constants, as those of the columns that a
//   lane has, divides one by what all are divided by; quotients and remainders
//   of the others follow by additions.
// Expects: indices in 32 bits (warp-narrow-indices).
// Leaves: one division a base and block.
// Does not handle: constant divisors, which LLVM multiplies by; those that a
//   loop computes anew.
//
//===----------------------------------------------------------------------===//
//
// With s = 8 div w and t = 8 mod w, computed once,
//
//   x = q w + r   =>   x + 8 = (q + s) w + (r + t),   r + t < 2 w,
//
// so the remainder is r + t, less w if it is not below w: the lesser of both
// without a sign. A column's step is from the one two before it, as lanes have
// pairs of columns: 0 1 8 9 16 17 ..., half as many steps one after the other.
//

#include "IndexSums.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace attentile {
#define GEN_PASS_DEF_WARPSTEPQUOTIENTS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// The divisions of dividends with one base in a block, by the constants that
/// they add to it.
struct Group {
  Operation *first = nullptr;
  std::map<int64_t, SmallVector<Operation *>> members;
};

class Stepper {
public:
  explicit Stepper(warp::KernelOp kernel) : kernel(kernel) {}
  void run(Block &block);

private:
  using Pair = std::pair<Value, Value>; // quotient, remainder
  bool isWorthIt(const Group &group, Value divisor);
  void step(const Group &group, Value base, Value divisor);
  Pair getStep(Value divisor, int64_t distance);

  warp::KernelOp kernel;
  DenseMap<std::pair<Value, int64_t>, Pair> steps;
};

bool isDivision(Operation &op) {
  return isa<arith::DivUIOp, arith::RemUIOp>(op) &&
         op.getResult(0).getType().isInteger(32) &&
         !matchPattern(op.getOperand(1), m_Constant());
}

/// Distances from each member to the one that it follows.
SmallVector<int64_t> distancesOf(const Group &group) {
  SmallVector<int64_t> constants, result;
  for (const auto &member : group.members)
    constants.push_back(member.first);
  for (size_t i = 1; i < constants.size(); ++i)
    result.push_back(constants[i] - constants[i < 2 ? 0 : i - 2]);
  return result;
}

/// Each distance takes a division itself, before the loop.
bool Stepper::isWorthIt(const Group &group, Value divisor) {
  if (auto loop = group.first->getParentOfType<scf::ForOp>();
      loop && !loop.isDefinedOutsideOfLoop(divisor))
    return false;
  SmallVector<int64_t> distances = distancesOf(group);
  llvm::DenseSet<int64_t> kinds(distances.begin(), distances.end());
  return distances.size() > 2 * kinds.size() &&
         llvm::all_of(distances, [](int64_t d) { return d < 1 << 15; });
}

Stepper::Pair Stepper::getStep(Value divisor, int64_t distance) {
  Pair &known = steps[{divisor, distance}];
  if (known.first)
    return known;
  OpBuilder b(divisor.getContext());
  setInsertionPointAfter(b, divisor, kernel);
  Location loc = divisor.getLoc();
  Value number = arith::ConstantIntOp::create(b, loc, distance, 32);
  known.first = arith::DivUIOp::create(b, loc, number, divisor);
  known.second = arith::RemUIOp::create(b, loc, number, divisor);
  return known;
}

void Stepper::step(const Group &group, Value base, Value divisor) {
  OpBuilder b(group.first);
  Location loc = group.first->getLoc();
  bool needsQuotients = llvm::any_of(group.members, [](const auto &member) {
    return llvm::any_of(member.second, llvm::IsaPred<arith::DivUIOp>);
  });
  Value start = arith::AddIOp::create(
      b, loc, base,
      arith::ConstantIntOp::create(b, loc, group.members.begin()->first, 32));
  SmallVector<Pair> done = {
      {needsQuotients ? arith::DivUIOp::create(b, loc, start, divisor)
                      : Value(),
       arith::RemUIOp::create(b, loc, start, divisor)}};
  for (auto [i, distance] : llvm::enumerate(distancesOf(group))) {
    auto [quotient, remainder] = done[i == 0 ? 0 : i - 1];
    auto [more, rest] = getStep(divisor, distance);
    Value whole = arith::AddIOp::create(b, loc, remainder, rest);
    Value less = arith::SubIOp::create(b, loc, whole, divisor);
    Pair next{Value(), arith::MinUIOp::create(b, loc, whole, less)};
    if (needsQuotients) {
      Value carry = arith::ExtUIOp::create(
          b, loc, b.getI32Type(),
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, whole,
                                divisor));
      next.first = arith::AddIOp::create(
          b, loc, arith::AddIOp::create(b, loc, quotient, more), carry);
    }
    done.push_back(next);
  }
  for (auto [member, pair] : llvm::zip_equal(group.members, done))
    for (Operation *op : member.second) {
      op->getResult(0).replaceAllUsesWith(
          isa<arith::DivUIOp>(op) ? pair.first : pair.second);
      op->erase();
    }
}

void Stepper::run(Block &block) {
  llvm::MapVector<std::pair<Value, Value>, Group> groups; // base, divisor
  for (Operation &op : block) {
    if (!isDivision(op))
      continue;
    Value base = op.getOperand(0);
    APInt constant;
    int64_t distance = 0;
    if (auto sum = base.getDefiningOp<arith::AddIOp>();
        sum && matchPattern(sum.getRhs(), m_ConstantInt(&constant))) {
      base = sum.getLhs();
      distance = constant.getSExtValue();
    }
    Group &group = groups[{base, op.getOperand(1)}];
    if (!group.first)
      group.first = &op;
    group.members[distance].push_back(&op);
  }
  for (auto &[key, group] : groups)
    if (isWorthIt(group, key.second))
      step(group, key.first, key.second);
}

struct WarpStepQuotients : impl::WarpStepQuotientsBase<WarpStepQuotients> {
  void runOnOperation() override {
    getOperation()->walk([](warp::KernelOp kernel) {
      Stepper stepper(kernel);
      SmallVector<Block *> blocks;
      kernel->walk([&](Block *block) { blocks.push_back(block); });
      for (Block *block : blocks)
        stepper.run(*block);
    });
  }
};

} // namespace
} // namespace attentile
