//===- FloatsToBits.cpp - narrow floats as integers -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: makes values that are bf16, and f16 where the machine has no
// instructions for it, integers of as many bits. Expects: functions of the LLVM
// dialect in which such floats are moved and extended only, as
// native-expand-narrow-floats leaves them. Leaves: the same values. Does not
// handle: arguments and results of functions, of which none is narrow.
//
//===----------------------------------------------------------------------===//
//
// LLVM keeps a bf16 that another block needs as an f32 on x86, and calls a
// function to make it narrow again, which is nowhere to be found; integers that
// are cast to bf16 behind the branch it makes bf16 before it.
//

#include "attentile/Lanes.h"
#include "attentile/Native/Passes.h"
#include "attentile/Splat.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace attentile {
#define GEN_PASS_DEF_NATIVEFLOATSTOBITS
#include "Native/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

struct NativeFloatsToBits : impl::NativeFloatsToBitsBase<NativeFloatsToBits> {
  using NativeFloatsToBitsBase::NativeFloatsToBitsBase;

  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      for (Value result : op->getResults())
        result.setType(convert(result.getType()));
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Value argument : block.getArguments())
            argument.setType(convert(argument.getType()));
    });
    getOperation()->walk([&](Operation *op) { rewrite(op); });
  }

  bool isNarrow(Type type) {
    return type.isBF16() || (!hasF16 && type.isF16());
  }

  Type convert(Type type) {
    Type bits = IntegerType::get(type.getContext(), 16);
    if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
      return LLVM::LLVMArrayType::get(convert(array.getElementType()),
                                      array.getNumElements());
    if (auto vector = dyn_cast<VectorType>(type))
      return isNarrow(vector.getElementType()) ? vector.clone(bits) : type;
    return isNarrow(type) ? bits : type;
  }

  /// What depends on the type of its operand or result.
  void rewrite(Operation *op) {
    OpBuilder builder(op);
    if (auto constant = dyn_cast<LLVM::ConstantOp>(op)) {
      Attribute value = constant.getValue();
      auto number = dyn_cast<FloatAttr>(value);
      auto numbers = dyn_cast<DenseFPElementsAttr>(value);
      if (number && isNarrow(number.getType()))
        constant.setValueAttr(builder.getIntegerAttr(
            builder.getI16Type(), number.getValue().bitcastToAPInt()));
      else if (numbers && isNarrow(numbers.getElementType()))
        constant.setValueAttr(numbers.bitcast(builder.getI16Type()));
    } else if (auto cast = dyn_cast<LLVM::BitcastOp>(op)) {
      if (cast.getArg().getType() == cast.getType()) {
        cast.replaceAllUsesWith(cast.getArg());
        cast.erase();
      }
    } else if (auto extend = dyn_cast<LLVM::FPExtOp>(op)) {
      if (getElementTypeOrSelf(extend.getArg().getType()).isInteger(16))
        extendBits(builder, extend);
    }
  }

  /// A bf16 is the upper half of an f32.
  static void extendBits(OpBuilder &builder, LLVM::FPExtOp extend) {
    Location loc = extend.getLoc();
    native::Lanes lanes(builder, loc, extend.getType(), false);
    Type wide = lanes.withElement(builder.getI32Type());
    Value bits = LLVM::ZExtOp::create(builder, loc, wide, extend.getArg());
    Value by = LLVM::ConstantOp::create(
        builder, loc, wide, splat(wide, builder.getI32IntegerAttr(16)));
    Value high = LLVM::ShlOp::create(builder, loc, bits, by);
    Value result = LLVM::BitcastOp::create(
        builder, loc, lanes.withElement(builder.getF32Type()), high);
    if (result.getType() != extend.getType())
      result = LLVM::FPExtOp::create(builder, loc, extend.getType(), result);
    extend.replaceAllUsesWith(result);
    extend.erase();
  }
};

} // namespace
} // namespace attentile
