//===- ElementwiseInterpreter.cpp - one element of arith and math ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseInterpreter.h"
#include "Tile/Tile.h"
#include "attentile/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace attentile::test {
namespace {

double toDouble(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    double value = number.getValueAsDouble();
    for (double exact : {std::numbers::log2e, std::numbers::ln2})
      if (value == float(exact))
        return exact;
    return value;
  }
  auto integer = cast<IntegerAttr>(attribute);
  return integer.getType().isInteger(1) ? double(integer.getValue() != 0)
                                        : double(integer.getInt());
}

double constantElement(arith::ConstantOp op, size_t element) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense)
    return toDouble(op.getValue());
  if (dense.isSplat())
    return toDouble(dense.getSplatValue<Attribute>());
  return toDouble(*(dense.value_begin<Attribute>() + element));
}

/// IEEE maximum: NaN if either is.
double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b)
             ? std::numeric_limits<double>::quiet_NaN()
             : std::max(a, b);
}

bool compare(arith::CmpFPredicate predicate, double a, double b) {
  return arith::applyCmpPredicate(predicate, llvm::APFloat(a),
                                  llvm::APFloat(b));
}

bool compare(arith::CmpIPredicate predicate, double a, double b) {
  return arith::applyCmpPredicate(predicate, llvm::APInt(64, int64_t(a), true),
                                  llvm::APInt(64, int64_t(b), true));
}

using Unary = double (*)(double);
using Binary = double (*)(double, double);

double truncated(double a, double b) { return std::trunc(a / b); }

const llvm::StringMap<Unary> &unaries() {
  static const llvm::StringMap<Unary> table = {
      {"math.exp", std::exp},
      {"math.exp2", std::exp2},
      {"math.expm1", std::expm1},
      {"math.log", std::log},
      {"math.log2", std::log2},
      {"math.log1p", std::log1p},
      {"math.tanh", std::tanh},
      {"math.sqrt", std::sqrt},
      {"math.rsqrt", [](double a) { return 1 / std::sqrt(a); }},
      {"math.sin", std::sin},
      {"math.cos", std::cos},
      {"math.absf", std::fabs},
      {"math.absi", std::fabs},
      {"math.ctpop",
       [](double a) { return double(llvm::popcount(uint32_t(int64_t(a)))); }},
      {"math.floor", std::floor},
      {"math.ceil", std::ceil},
      {"math.trunc", std::trunc},
      {"arith.negf", [](double a) { return -a; }},
      {"tile.ref", [](double a) { return std::isinf(a) && a < 0 ? 0.0 : a; }},
      {"arith.extf", [](double a) { return a; }},
      {"arith.truncf", [](double a) { return a; }},
      {"arith.sitofp", [](double a) { return a; }},
      {"arith.uitofp", [](double a) { return a; }},
      {"arith.fptosi", std::trunc},
      {"arith.index_cast", [](double a) { return a; }},
      {"arith.index_castui", [](double a) { return a; }},
      {"arith.extsi", [](double a) { return a; }},
      {"arith.extui", [](double a) { return a; }},
      {"arith.trunci", [](double a) { return a; }}};
  return table;
}

const llvm::StringMap<Binary> &binaries() {
  auto floorDivide = [](double a, double b) {
    return b == 0 ? 0 : std::floor(a / b);
  };
  static const llvm::StringMap<Binary> table = {
      {"arith.addf", [](double a, double b) { return a + b; }},
      {"arith.addi", [](double a, double b) { return a + b; }},
      {"arith.subf", [](double a, double b) { return a - b; }},
      {"arith.subi", [](double a, double b) { return a - b; }},
      {"arith.mulf", [](double a, double b) { return a * b; }},
      {"arith.muli", [](double a, double b) { return a * b; }},
      {"arith.divf", [](double a, double b) { return a / b; }},
      {"arith.remf", [](double a, double b) { return std::fmod(a, b); }},
      {"arith.divsi", truncated},
      {"arith.divui", truncated},
      {"arith.remsi", [](double a, double b) { return std::fmod(a, b); }},
      {"arith.remui", [](double a, double b) { return std::fmod(a, b); }},
      {"arith.floordivsi",
       [](double a, double b) { return std::floor(a / b); }},
      {"arith.ceildivsi", [](double a, double b) { return std::ceil(a / b); }},
      {"attn.floordiv", floorDivide},
      {"attn.floormod",
       [](double a, double b) {
         return b == 0 ? 0 : a - std::floor(a / b) * b;
       }},
      {"arith.maximumf", maximum},
      {"arith.minimumf", [](double a, double b) { return -maximum(-a, -b); }},
      {"arith.maxnumf", [](double a, double b) { return std::fmax(a, b); }},
      {"arith.minnumf", [](double a, double b) { return std::fmin(a, b); }},
      {"arith.maxsi", [](double a, double b) { return std::max(a, b); }},
      {"arith.minsi", [](double a, double b) { return std::min(a, b); }},
      {"arith.minui",
       [](double a, double b) { // a number below 0 is a large one
         return (a < 0) == (b < 0) ? std::min(a, b) : std::max(a, b);
       }},
      {"arith.andi",
       [](double a, double b) { return double(int64_t(a) & int64_t(b)); }},
      {"arith.ori",
       [](double a, double b) { return double(int64_t(a) | int64_t(b)); }},
      {"arith.shrui",
       [](double a, double b) {
         return double(uint64_t(int64_t(a)) >> int64_t(b));
       }},
      {"arith.xori",
       [](double a, double b) { return double(int64_t(a) ^ int64_t(b)); }},
      {"math.powf", [](double a, double b) { return std::pow(a, b); }},
      {"math.fpowi", [](double a, double b) { return std::pow(a, b); }}};
  return table;
}

} // namespace

ElementFunction elementFunction(Operation *op) {
  using Operands = ArrayRef<double>;
  StringRef name = op->getName().getStringRef();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return [constant](Operands, size_t element) {
      return constantElement(constant, element);
    };
  if (auto compareOp = dyn_cast<arith::CmpFOp>(op))
    return [predicate = compareOp.getPredicate()](Operands x, size_t) {
      return double(compare(predicate, x[0], x[1]));
    };
  if (auto compareOp = dyn_cast<arith::CmpIOp>(op))
    return [predicate = compareOp.getPredicate()](Operands x, size_t) {
      return double(compare(predicate, x[0], x[1]));
    };
  if (isa<arith::SelectOp>(op))
    return [](Operands x, size_t) { return x[0] != 0 ? x[1] : x[2]; };
  // Of an f32, as an i32, and back.
  if (isa<arith::BitcastOp>(op) && op->getResultTypes()[0].isInteger(32))
    return [](Operands x, size_t) {
      return double(llvm::bit_cast<int32_t>(float(x[0])));
    };
  if (isa<arith::BitcastOp>(op) && op->getResultTypes()[0].isF32())
    return [](Operands x, size_t) {
      return double(llvm::bit_cast<float>(int32_t(x[0])));
    };
  if (isa<arith::ShLIOp>(op) && op->getResultTypes()[0].isInteger(32))
    return [](Operands x, size_t) {
      return double(uint32_t(uint64_t(x[0]) << int64_t(x[1])));
    };
  if (isa<attn::RandomOp>(op))
    return [](Operands x, size_t) {
      SmallVector<int64_t, 4> at(x.drop_front());
      return double(randomNumber(int64_t(x[0]), at));
    };
  if (isa<math::FmaOp>(op))
    return [](Operands x, size_t) { return std::fma(x[0], x[1], x[2]); };
  if (op->getNumResults() != 1)
    return {};
  // Integers are doubles here, but their zero has no sign: -0 + 0 is 0, while
  // -0 changes no number that it is added to.
  bool isInteger = getElementTypeOrSelf(op->getResultTypes()[0]).isIntOrIndex();
  double positive = isInteger ? 0.0 : -0.0;
  if (auto unary = unaries().find(name); unary != unaries().end())
    return [=, f = unary->second](Operands x, size_t) {
      return f(x[0]) + positive;
    };
  if (auto binary = binaries().find(name); binary != binaries().end())
    return [=, f = binary->second](Operands x, size_t) {
      return f(x[0], x[1]) + positive;
    };
  return {};
}

} // namespace attentile::test
