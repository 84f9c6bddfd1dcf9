//===- ExpandMath.cpp - mathematics by arithmetic -------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: exp2, exp, log2, log, tanh, sin, cos, powf and, where the machine has
// no instruction, fma and floor, on f32 scalars and vectors, to arithmetic.
// Expects: any level below tiles. Leaves: no operation that becomes a call of
// a mathematics library, but for sin and cos beyond kTrigLimit, in functions
// of their own. Does not handle: other types of float, other functions.
//
//===----------------------------------------------------------------------===//

#include "attentile/ExpandMath.h"
#include "attentile/Native/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace attentile {
#define GEN_PASS_DEF_NATIVEEXPANDMATH
#include "Native/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

using native::Lanes;

bool isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }

/// An operation of one operand by a function of ExpandMath.h.
template <typename Op, Value (*expand)(const Lanes &, Value)>
struct ExpandUnary : OpRewritePattern<Op> {
  ExpandUnary(MLIRContext *context, bool fused)
      : OpRewritePattern<Op>(context), fused(fused) {}
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Lanes lanes(rewriter, op.getLoc(), op.getType(), fused);
    rewriter.replaceOp(op, expand(lanes, op.getOperand()));
    return success();
  }
  bool fused;
};

struct ExpandPowF : OpRewritePattern<math::PowFOp> {
  ExpandPowF(MLIRContext *context, bool fused)
      : OpRewritePattern(context), fused(fused) {}
  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Lanes lanes(rewriter, op.getLoc(), op.getType(), fused);
    rewriter.replaceOp(op, expandPow(lanes, op.getLhs(), op.getRhs()));
    return success();
  }
  bool fused;
};

/// Without an instruction for it LLVM calls fmaf for every lane.
template <typename Op> struct SplitFma : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Value product = arith::MulFOp::create(rewriter, op.getLoc(),
                                          op->getOperand(0), op->getOperand(1));
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, product, op->getOperand(2));
    return success();
  }
};

/// A function of the module, declared or made by `build`, once.
func::FuncOp
getOrCreateFunction(OpBuilder &builder, Operation *user, StringRef name,
                    FunctionType type,
                    function_ref<void(OpBuilder &, func::FuncOp)> build) {
  auto module = user->getParentOfType<ModuleOp>();
  if (auto found = module.lookupSymbol<func::FuncOp>(name))
    return found;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, user->getLoc(), name, type);
  function.setPrivate();
  if (build) {
    // Two objects of one program may each have this function.
    function->setAttr(
        "llvm.linkage",
        LLVM::LinkageAttr::get(builder.getContext(), LLVM::Linkage::Internal));
    builder.setInsertionPointToStart(function.addEntryBlock());
    build(builder, function);
  }
  return function;
}

/// The value of sinf or cosf in every lane of a scalar or 1-D vector, in a
/// function of its own: it is called only where a lane lies beyond kTrigLimit.
func::FuncOp getFarFunction(OpBuilder &builder, Operation *user, Type type,
                            StringRef library) {
  auto vector = dyn_cast<VectorType>(type);
  std::string name = "attentile_" + library.str() + "_far";
  if (vector)
    name += "_" + std::to_string(vector.getNumElements());
  Type scalar = builder.getF32Type();
  return getOrCreateFunction(
      builder, user, name, builder.getFunctionType(type, type),
      [&](OpBuilder &b, func::FuncOp function) {
        Location loc = user->getLoc();
        func::FuncOp callee = getOrCreateFunction(
            b, user, library, b.getFunctionType(scalar, scalar), nullptr);
        auto call = [&](Value x) {
          return func::CallOp::create(b, loc, callee, x).getResult(0);
        };
        Value result = function.getArgument(0);
        if (!vector) {
          func::ReturnOp::create(b, loc, call(result));
          return;
        }
        for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
          Value x = vector::ExtractOp::create(b, loc, result, lane);
          result = vector::InsertOp::create(b, loc, call(x), result, lane);
        }
        func::ReturnOp::create(b, loc, result);
      });
}

/// sin and cos: by arithmetic if every lane is near, else by the library.
template <typename Op, Value (*expand)(const Lanes &, Value)>
struct ExpandTrig : OpRewritePattern<Op> {
  ExpandTrig(MLIRContext *context, StringRef library, bool fused)
      : OpRewritePattern<Op>(context), library(library), fused(fused) {}
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!isF32(op.getType()) || (vector && vector.getRank() != 1))
      return failure();
    Location loc = op.getLoc();
    Value x = op.getOperand();
    Lanes lanes(rewriter, loc, op.getType(), fused);
    Value far = lanes.compare(arith::CmpFPredicate::OGT, lanes.abs(x),
                              lanes.f(native::kTrigLimit));
    if (vector)
      far = vector::ReductionOp::create(rewriter, loc,
                                        vector::CombiningKind::OR, far);
    func::FuncOp slow = getFarFunction(rewriter, op, op.getType(), library);
    auto choice = scf::IfOp::create(
        rewriter, loc, far,
        [&](OpBuilder &b, Location loc) {
          auto call = func::CallOp::create(b, loc, slow, x);
          scf::YieldOp::create(b, loc, call.getResults());
        },
        [&](OpBuilder &b, Location loc) {
          Lanes inner(b, loc, op.getType(), fused);
          scf::YieldOp::create(b, loc, expand(inner, x));
        });
    rewriter.replaceOp(op, choice.getResults());
    return success();
  }
  StringRef library;
  bool fused;
};

struct NativeExpandMath : impl::NativeExpandMathBase<NativeExpandMath> {
  using NativeExpandMathBase::NativeExpandMathBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<ExpandUnary<math::Exp2Op, native::expandExp2>,
                 ExpandUnary<math::ExpOp, native::expandExp>,
                 ExpandUnary<math::Log2Op, native::expandLog2>,
                 ExpandUnary<math::LogOp, native::expandLog>,
                 ExpandUnary<math::TanhOp, native::expandTanh>, ExpandPowF>(
        context, hasFma);
    patterns.add<ExpandTrig<math::SinOp, native::expandSin>>(context, "sinf",
                                                             hasFma);
    patterns.add<ExpandTrig<math::CosOp, native::expandCos>>(context, "cosf",
                                                             hasFma);
    if (!hasRounding)
      patterns.add<ExpandUnary<math::FloorOp, native::expandFloor>>(context,
                                                                    hasFma);
    if (!hasFma)
      patterns.add<SplitFma<math::FmaOp>, SplitFma<vector::FMAOp>>(context);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace attentile
