//===- WarpRegisters.cpp - registers and lanes of running warps -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseInterpreter.h"
#include "WarpMachine.h"
#include "attentile/Philox.h"
#include <cmath>
#include <cstring>

using namespace mlir;

namespace attentile::test {

/// Rounded to nearest with 10 bits after the point; or cut there.
static double toTf32(double value, bool round) {
  float single = float(value);
  if (!std::isfinite(single))
    return single;
  uint32_t bits;
  std::memcpy(&bits, &single, 4);
  if (round)
    bits += 0xFFF + ((bits >> 13) & 1);
  bits &= ~uint32_t(0x1FFF);
  std::memcpy(&single, &bits, 4);
  return single;
}

/// The one operation of several results.
bool Interpreter::runPhilox(attn::PhiloxOp op) {
  std::array<Registers, 4> results;
  for (Registers &result : results)
    result = Registers(1, threads);
  for (int t = 0; t < threads; ++t) {
    auto word = [&](Value value) { // negative ones wrap
      return uint32_t(int64_t(get(value).at(t, 0)));
    };
    std::array<uint32_t, 4> words =
        philox({word(op.getC0()), word(op.getC1()), word(op.getC2()),
                word(op.getC3())},
               {word(op.getK0()), word(op.getK1())});
    for (int i = 0; i < 4; ++i)
      results[i].at(t, 0) = words[i];
  }
  for (int i = 0; i < 4; ++i)
    if (!set(op->getResult(i), std::move(results[i])))
      return false;
  return true;
}

bool Interpreter::runElementwise(Operation *op) {
  if (auto random = dyn_cast<attn::PhiloxOp>(op))
    return runPhilox(random);
  ElementFunction function = elementFunction(op);
  if (op->getNumResults() != 1 || !function)
    return fail(op, "expected an operation that the interpreter knows, got " +
                        op->getName().getStringRef().str());
  SmallVector<Registers *> operands;
  bool isUniform = true;
  for (Value operand : op->getOperands()) {
    operands.push_back(&get(operand));
    isUniform &= operands.back()->uniform;
  }
  int width = widthOf(op->getResult(0).getType());
  Registers result(width, isUniform ? 1 : threads);
  result.uniform = isUniform;
  SmallVector<double> arguments(operands.size());
  for (int t = 0; t < (isUniform ? 1 : threads); ++t)
    for (int e = 0; e < width; ++e) {
      for (auto [argument, operand] : llvm::zip(arguments, operands))
        argument = operand->at(t, operand->width == 1 ? 0 : e);
      result.at(t, e) = function(arguments, e);
    }
  return set(op->getResult(0), std::move(result));
}

bool Interpreter::permute(Value result, Value operand, ArrayRef<int64_t> from) {
  Registers &source = get(operand);
  Registers made(int(from.size()), source.uniform ? 1 : threads);
  made.uniform = source.uniform;
  for (int t = 0; t < (source.uniform ? 1 : threads); ++t)
    for (auto [e, position] : llvm::enumerate(from))
      made.at(t, int(e)) = source.at(t, int(position));
  return set(result, std::move(made));
}

bool Interpreter::runOp(vector::BroadcastOp op) {
  return permute(op.getResult(), op.getSource(),
                 SmallVector<int64_t>(widthOf(op.getType()), 0));
}

bool Interpreter::runOp(vector::ShuffleOp op) {
  int64_t width = widthOf(op.getV1().getType());
  for (int64_t &from : shuffled = SmallVector<int64_t>(op.getMask()))
    if (op.getV1() == op.getV2())
      from %= width;
    else if (from >= width)
      return fail(op, "expected one vector shuffled");
  return permute(op.getResult(), op.getV1(), shuffled);
}

bool Interpreter::runOp(vector::ExtractStridedSliceOp op) {
  int64_t first = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
  return permute(
      op.getResult(), op.getSource(),
      llvm::to_vector(llvm::seq(first, first + widthOf(op.getType()))));
}

bool Interpreter::runOp(vector::InsertStridedSliceOp op) {
  int64_t first = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
  Registers &part = get(op.getValueToStore());
  Registers &whole = get(op.getDest());
  Registers made(whole.width, threads);
  for (int t = 0; t < threads; ++t)
    for (int e = 0; e < whole.width; ++e)
      made.at(t, e) = e >= first && e < first + part.width
                          ? part.at(t, int(e - first))
                          : whole.at(t, e);
  return set(op.getResult(), std::move(made));
}

bool Interpreter::runOp(vector::FromElementsOp op) {
  Registers made(widthOf(op.getType()), threads);
  for (auto [e, element] : llvm::enumerate(op.getElements())) {
    Registers &from = get(element);
    for (int t = 0; t < threads; ++t)
      made.at(t, int(e)) = from.at(t);
  }
  return set(op.getResult(), std::move(made));
}

bool Interpreter::runOp(vector::ToElementsOp op) {
  for (auto [e, element] : llvm::enumerate(op.getElements()))
    permute(element, op.getSource(), {int64_t(e)});
  return true;
}

bool Interpreter::runOp(vector::ExtractOp op) {
  if (op.hasDynamicPosition() || op.getStaticPosition().size() != 1)
    return fail(op, "expected one position that is known");
  return permute(op.getResult(), op.getSource(), op.getStaticPosition());
}

bool Interpreter::runOp(UnrealizedConversionCastOp op) {
  Registers whole(0, threads);
  for (Value operand : op.getOperands())
    whole.width += get(operand).width;
  whole.data.resize(size_t(whole.width) * threads);
  int first = 0;
  for (Value operand : op.getOperands()) {
    Registers &part = get(operand);
    for (int t = 0; t < threads; ++t)
      for (int e = 0; e < part.width; ++e)
        whole.at(t, first + e) = part.at(t, e);
    first += part.width;
  }
  first = 0;
  for (Value result : op.getResults()) {
    Registers part(widthOf(result.getType()), threads);
    for (int t = 0; t < threads; ++t)
      for (int e = 0; e < part.width; ++e)
        part.at(t, e) = whole.at(t, first + e);
    first += part.width;
    if (!set(result, std::move(part)))
      return false;
  }
  return true;
}

bool Interpreter::runOp(warp::ShuffleXorOp op) {
  if (!warpsAreWhole(op))
    return false;
  Registers &from = get(op.getOperand());
  Registers made(from.width, threads);
  for (int t = 0; t < threads; ++t)
    for (int e = 0; e < from.width; ++e)
      made.at(t, e) = from.at(t ^ int(op.getMask()), e);
  return set(op.getResult(), std::move(made));
}

bool Interpreter::runOp(warp::ShuffleFromOp op) {
  if (!warpsAreWhole(op))
    return false;
  Registers &from = get(op.getOperand()), &lane = get(op.getLane());
  Registers made(1, threads);
  for (int t = 0; t < threads; ++t) {
    int other = int(lane.at(t));
    if (other < 0 || other >= kLanes)
      return fail(op,
                  "expected a lane from 0 to 31, got " + std::to_string(other));
    made.at(t) = from.at(t / kLanes * kLanes + other);
  }
  return set(op.getResult(), std::move(made));
}

bool Interpreter::runOp(warp::SplitTf32Op op) {
  Registers &from = get(op.getOperand());
  Registers high(from.width, threads), low(from.width, threads);
  for (int t = 0; t < threads; ++t)
    for (int e = 0; e < from.width; ++e) {
      double x = from.at(t, e);
      high.at(t, e) = toTf32(x, /*round=*/true);
      // Of an infinity the rest is 0.
      low.at(t, e) =
          x == high.at(t, e) ? 0 : toTf32(x - high.at(t, e), /*round=*/true);
    }
  set(op.getHigh(), std::move(high));
  return set(op.getLow(), std::move(low));
}

bool Interpreter::runOp(warp::MmaOp op) {
  if (!warpsAreWhole(op))
    return false;
  Registers &a = get(op.getA()), &b = get(op.getB()), &c = get(op.getC());
  bool wide = a.width == 8; // 16 bits
  int depth = wide ? 16 : 8;
  auto enters = [&](double x) { return wide ? x : toTf32(x, false); };
  Registers made(4, threads);
  for (int first = 0; first < threads; first += kLanes) {
    double left[16][16], right[16][8];
    for (int lane = 0; lane < kLanes; ++lane) {
      int g = lane / 4, t = lane % 4, thread = first + lane;
      for (int e = 0; e < a.width; ++e) {
        int row = wide ? g + 8 * (e / 2 % 2) : g + 8 * (e % 2);
        int k = wide ? 2 * t + e % 2 + 8 * (e / 4) : t + 4 * (e / 2);
        left[row][k] = enters(a.at(thread, e));
      }
      for (int e = 0; e < b.width; ++e)
        right[wide ? 2 * t + e % 2 + 8 * (e / 2) : t + 4 * e][g] =
            enters(b.at(thread, e));
    }
    for (int lane = 0; lane < kLanes; ++lane)
      for (int e = 0; e < 4; ++e) {
        int row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
        double total = c.at(first + lane, e);
        for (int k = 0; k < depth; ++k)
          total += left[row][k] * right[k][column];
        made.at(first + lane, e) = total;
      }
  }
  return set(op.getResult(), std::move(made));
}

} // namespace attentile::test
