//===- ShareReciprocals.cpp - a loop's divisor inverted before it ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: divides by a number that a loop does not change by multiplying by its
//   reciprocal in 32 bits, which is found before the loop: ptxas finds it anew
//   for each division, twenty instructions that wait for each other.
// Expects: registers, no fragments; numbers of 32 bits from 0 to 2^31 - 1, as
//   warp-narrow-indices leaves them, and divisors that are not 0.
// Leaves: the same quotients and remainders.
// Does not handle: divisors that are constants, which LLVM multiplies by; 64
//   bits.
//
//===----------------------------------------------------------------------===//
//
// z = 2^32 / y, by a float that is no more than that, and one step of Newton's:
//
//   z0 = int((2^32 - 1024) * (1 / float(y)))     2^-22 below, for errors of
//                                                2^-23 and of 2^-24, twice
//   z  = z0 + mulhi(z0, -y * z0)                 2^32 / y - 1.001 - y / 2^32
//                                                or more
//   q  = mulhi(x, z),  r = x - q * y             x / y - 1.76 or more
//   if (r >= y) { q += 1, r -= y }
//

#include "IndexSums.h"
#include "attentile/NVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace attentile {
#define GEN_PASS_DEF_WARPSHARERECIPROCALS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

class Sharer {
public:
  explicit Sharer(warp::KernelOp kernel) : kernel(kernel) {}
  void run();

private:
  Value getReciprocal(Value divisor);
  Value multiplyHigh(OpBuilder &b, Value x, Value y) {
    return arith::MulUIExtendedOp::create(b, y.getLoc(), x, y).getHigh();
  }
  void divide(Operation *op);

  warp::KernelOp kernel;
  llvm::DenseMap<Value, Value> reciprocals;
};

/// Behind the divisor, once.
Value Sharer::getReciprocal(Value divisor) {
  Value &known = reciprocals[divisor];
  if (known)
    return known;
  OpBuilder b(divisor.getContext());
  setInsertionPointAfter(b, divisor, kernel);
  Location loc = divisor.getLoc();
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  };
  Value wide = arith::UIToFPOp::create(b, loc, b.getF32Type(), divisor);
  Value inverse = arith::DivFOp::create(b, loc, number(1), wide);
  Value scaled = arith::MulFOp::create(b, loc, inverse, number(0x1p32f - 1024));
  Value first = arith::FPToUIOp::create(b, loc, divisor.getType(), scaled);
  Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
  Value product = arith::MulIOp::create(b, loc, divisor, first);
  Value error = arith::SubIOp::create(b, loc, zero, product);
  return known = arith::AddIOp::create(b, loc, first,
                                       multiplyHigh(b, first, error));
}

void Sharer::divide(Operation *op) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  OpBuilder b(op);
  Location loc = op->getLoc();
  Value quotient = multiplyHigh(b, x, getReciprocal(y));
  Value product = arith::MulIOp::create(b, loc, quotient, y);
  Value rest = arith::SubIOp::create(b, loc, x, product);
  Value isMore =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, rest, y);
  Value next = arith::AddIOp::create(
      b, loc, quotient, arith::ConstantIntOp::create(b, loc, 1, 32));
  quotient = arith::SelectOp::create(b, loc, isMore, next, quotient);
  // The lesser without a sign: what is below y wraps.
  rest = arith::MinUIOp::create(b, loc, rest,
                                arith::SubIOp::create(b, loc, rest, y));
  op->getResult(0).replaceAllUsesWith(isa<arith::DivUIOp>(op) ? quotient
                                                              : rest);
  op->erase();
}

void Sharer::run() {
  SmallVector<Operation *> divisions;
  kernel->walk([&](Operation *op) {
    if (!isa<arith::DivUIOp, arith::RemUIOp>(op) ||
        !op->getResult(0).getType().isInteger(32) ||
        matchPattern(op->getOperand(1), m_Constant()))
      return;
    auto loop = op->getParentOfType<scf::ForOp>();
    if (loop && loop.isDefinedOutsideOfLoop(op->getOperand(1)))
      divisions.push_back(op);
  });
  for (Operation *op : divisions)
    divide(op);
}

struct WarpShareReciprocals
    : impl::WarpShareReciprocalsBase<WarpShareReciprocals> {
  void runOnOperation() override {
    getOperation()->walk([](warp::KernelOp kernel) { Sharer(kernel).run(); });
  }
};

} // namespace
} // namespace attentile
