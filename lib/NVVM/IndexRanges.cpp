//===- IndexRanges.cpp - what is known of indices' ranges ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexRanges.h"
#include "Warp/Warp.h"
#include "attentile/AssumedBounds.h"
#include "attentile/NVVM/Signature.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

using namespace mlir;

namespace attentile {
namespace {

/// The runtime refuses sizes beyond kLargestSize, and what breaks an
/// assumption. Other arguments may be anything, which must be said: of values
/// that nothing is said of, nothing that is computed from them has a range.
struct ProgramRanges
    : InferIntRangeInterface::ExternalModel<ProgramRanges, tile::ProgramOp> {
  void inferResultRanges(Operation *op, ArrayRef<ConstantIntRanges>,
                         SetIntRangeFn setRange) const {
    auto head = cast<attn::SignatureOpInterface>(op);
    auto set = [&](BlockArgument argument, int64_t least, int64_t most) {
      unsigned width =
          ConstantIntRanges::getStorageBitwidth(argument.getType());
      AssumedBounds assumed = getAssumedBounds(argument);
      APInt from(width, std::max(least, assumed.least.value_or(least)), true);
      APInt to(width, std::min(most, assumed.most.value_or(most)), true);
      if (from.sle(to))
        setRange(argument, ConstantIntRanges::fromSigned(from, to));
    };
    for (BlockArgument size : head.getSizeArgs())
      set(size, 0, kLargestSize);
    for (BlockArgument in : head.getInArgs())
      if (in.getType().isIndex() || in.getType().isInteger(64))
        set(in, INT64_MIN, INT64_MAX);
      else if (in.getType().isInteger())
        setRange(in, ConstantIntRanges::maxRange(
                         in.getType().getIntOrFloatBitWidth()));
  }
  void inferResultRangesFromOptional(Operation *op, ArrayRef<IntegerValueRange>,
                                     SetIntLatticeFn setRange) const {
    inferResultRanges(op, {}, [&](Value value, const ConstantIntRanges &range) {
      setRange(value, IntegerValueRange(range));
    });
  }
};

/// Of an operation with one result, from its operands' ranges.
template <typename Model, typename Op>
struct ResultRange : InferIntRangeInterface::ExternalModel<Model, Op> {
  void inferResultRanges(Operation *op, ArrayRef<ConstantIntRanges> operands,
                         SetIntRangeFn setRange) const {
    setRange(op->getResult(0), Model::get(operands));
  }
  void inferResultRangesFromOptional(Operation *op,
                                     ArrayRef<IntegerValueRange> operands,
                                     SetIntLatticeFn setRange) const {
    SmallVector<ConstantIntRanges> known;
    for (const IntegerValueRange &operand : operands) {
      if (operand.isUninitialized())
        return;
      known.push_back(operand.getValue());
    }
    setRange(op->getResult(0), IntegerValueRange(Model::get(known)));
  }
};

ConstantIntRanges anything(const ConstantIntRanges &like) {
  return ConstantIntRanges::maxRange(like.smin().getBitWidth());
}

struct QuotientRange : ResultRange<QuotientRange, attn::FloorDivOp> {
  static ConstantIntRanges get(ArrayRef<ConstantIntRanges> operands) {
    const ConstantIntRanges &x = operands[0], &divisor = operands[1];
    if (divisor.smin().isNegative())
      return anything(x);
    if (x.smin().isNegative()) // towards 0, or -1; by 0 it is 0
      return ConstantIntRanges::fromSigned(
          x.smin(), llvm::APIntOps::smax(
                        x.smax(), APInt::getZero(x.smax().getBitWidth())));
    if (divisor.smin().isZero())
      return ConstantIntRanges::fromSigned(divisor.smin(), x.smax());
    return ConstantIntRanges::fromSigned(x.smin().sdiv(divisor.smax()),
                                         x.smax().sdiv(divisor.smin()));
  }
};

/// Another lane's value.
template <typename Op> struct ShuffleRange : ResultRange<ShuffleRange<Op>, Op> {
  static ConstantIntRanges get(ArrayRef<ConstantIntRanges> operands) {
    return operands[0];
  }
};

struct RemainderRange : ResultRange<RemainderRange, attn::FloorModOp> {
  static ConstantIntRanges get(ArrayRef<ConstantIntRanges> operands) {
    const ConstantIntRanges &x = operands[0], &divisor = operands[1];
    if (divisor.smin().isNegative() || divisor.smax().isZero())
      return anything(x);
    APInt most = divisor.smax() - 1;
    if (!x.smin().isNegative())
      most = llvm::APIntOps::smin(most, x.smax());
    return ConstantIntRanges::fromSigned(APInt::getZero(most.getBitWidth()),
                                         most);
  }
};

struct MagnitudeRange : ResultRange<MagnitudeRange, math::AbsIOp> {
  static ConstantIntRanges get(ArrayRef<ConstantIntRanges> operands) {
    const ConstantIntRanges &x = operands[0];
    if (x.smin().isMinSignedValue())
      return anything(x);
    return ConstantIntRanges::fromSigned(
        APInt::getZero(x.smin().getBitWidth()),
        llvm::APIntOps::smax(x.smin().abs(), x.smax().abs()));
  }
};

} // namespace

void registerIndexRanges(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    if (!tile::ProgramOp::hasTrait<InferIntRangeInterface::Trait>())
      tile::ProgramOp::attachInterface<ProgramRanges>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, attn::AttnDialect *) {
    attn::FloorDivOp::attachInterface<QuotientRange>(*context);
    attn::FloorModOp::attachInterface<RemainderRange>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, warp::WarpDialect *) {
    warp::ShuffleXorOp::attachInterface<ShuffleRange<warp::ShuffleXorOp>>(
        *context);
    warp::ShuffleFromOp::attachInterface<ShuffleRange<warp::ShuffleFromOp>>(
        *context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    math::AbsIOp::attachInterface<MagnitudeRange>(*context);
  });
}

} // namespace attentile
