//===- ConvertToLLVM.cpp - the rest to the LLVM dialect, at once ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: converts arith, math, cf, ub and what is left of vector to the LLVM
//   dialect.
// Expects: functions of llvm, scf lowered to cf; of vector only elements taken
//   out of and put into vectors of one dimension.
// Leaves: llvm and nvvm, with casts between index and i64 that reconcile.
// Does not handle: anything else; MLIR has a pass for each dialect, but each of
//   them walks all of a kernel, and that for vectors tries much more.
//
//===----------------------------------------------------------------------===//

#include "attentile/NVVM/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace attentile {
#define GEN_PASS_DEF_NVVMCONVERTTOLLVM
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

Value constant(OpBuilder &b, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

struct ConvertExtract : ConvertOpToLLVMPattern<vector::ExtractOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(vector::ExtractOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getStaticPosition().size() != 1 || op.hasDynamicPosition())
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::ExtractElementOp>(
        op, adaptor.getSource(),
        constant(rewriter, op.getLoc(), op.getStaticPosition().front()));
    return success();
  }
};

struct ConvertFromElements : ConvertOpToLLVMPattern<vector::FromElementsOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(vector::FromElementsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getType().getRank() != 1)
      return failure();
    Location loc = op.getLoc();
    Value result = LLVM::PoisonOp::create(
        rewriter, loc, getTypeConverter()->convertType(op.getType()));
    for (auto [i, element] : llvm::enumerate(adaptor.getElements()))
      result = LLVM::InsertElementOp::create(rewriter, loc, result, element,
                                             constant(rewriter, loc, i));
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// The high half of a product has an instruction of its own. As the half of a
/// product of 64 bits, which is multiplied by what a loop does not change,
/// ptxas 13.0 multiplies the other way round: (n * z >> 32) * y becomes
/// n * (z * y >> 32).
struct ConvertHighProduct : ConvertOpToLLVMPattern<arith::MulUIExtendedOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(arith::MulUIExtendedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getLow().use_empty() || !op.getHigh().getType().isInteger(32))
      return failure();
    auto high = LLVM::CallIntrinsicOp::create(
        rewriter, op.getLoc(), op.getHigh().getType(),
        rewriter.getStringAttr("llvm.nvvm.mulhi.ui"), adaptor.getOperands());
    // Nobody takes the low half.
    rewriter.replaceOp(op, ValueRange{high.getResult(0), high.getResult(0)});
    return success();
  }
};

struct NVVMConvertToLLVM : impl::NVVMConvertToLLVMBase<NVVMConvertToLLVM> {
  void runOnOperation() override {
    MLIRContext &context = getContext();
    LLVMTypeConverter types(&context);
    RewritePatternSet patterns(&context);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    ub::populateUBToLLVMConversionPatterns(types, patterns);
    patterns.add<ConvertExtract, ConvertFromElements>(types);
    patterns.add<ConvertHighProduct>(types, /*benefit=*/2);
    LLVMConversionTarget target(context);
    target.addIllegalDialect<arith::ArithDialect, math::MathDialect,
                             cf::ControlFlowDialect, ub::UBDialect,
                             vector::VectorDialect>();
    // What fails to convert ends the compilation: nothing to roll back to.
    ConversionConfig config;
    config.allowPatternRollback = false;
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
} // namespace attentile
