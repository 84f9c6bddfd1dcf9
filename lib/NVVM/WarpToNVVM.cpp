//===- WarpToNVVM.cpp - warp kernels become functions ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: makes of each warp.kernel a function with the parameters that
//   attentile/NVVM/Signature.h lists, of warp operations nvvm and llvm ones.
// Expects: fragments unrolled, every buffer with an offset.
// Leaves: llvm.funcs in the module with nvvm, arith, math and scf in them; no
//   tile.program.
// Does not handle: arith and math; MLIR's own conversions follow.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "attentile/NVVM/Passes.h"
#include "attentile/Sources.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attentile {
#define GEN_PASS_DEF_WARPTONVVM
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// The lowering of the family that `op` belongs to, or null.
void (*loweringOf(Operation *op))(nvvm::KernelLowering &, Operation *) {
  if (isa<warp::ThreadIdOp, warp::LaneIdOp, warp::WarpIdOp>(op))
    return nvvm::lowerIds;
  if (isa<warp::AllocOp, warp::StageOp, warp::LoadSharedOp,
          warp::StoreSharedOp>(op))
    return nvvm::lowerSharedMemory;
  if (isa<warp::CopyAsyncOp, warp::CommitGroupOp, warp::WaitGroupOp,
          warp::BarrierOp, warp::SyncOp>(op))
    return nvvm::lowerCopies;
  if (isa<warp::MbarriersOp, warp::ArriveCopiesOp, warp::ArriveOp,
          warp::WaitPhaseOp>(op))
    return nvvm::lowerMbarriers;
  if (isa<warp::LdmatrixOp, warp::MmaOp, warp::SplitTf32Op>(op))
    return nvvm::lowerMatrices;
  if (isa<warp::ShuffleXorOp, warp::ShuffleFromOp, warp::VoteAllOp,
          warp::VoteAnyOp, warp::BallotOp>(op))
    return nvvm::lowerExchange;
  if (isa<warp::LoadOp, warp::StoreOp>(op))
    return nvvm::lowerGlobalMemory;
  return nullptr;
}

LogicalResult checkKernel(warp::KernelOp kernel) {
  WalkResult result = kernel.getBody().walk([&](Operation *op) {
    if (isa<warp::AllocOp, warp::MbarriersOp>(op) && !op->hasAttr("offset")) {
      op->emitOpError("expected an offset, got none");
      return WalkResult::interrupt();
    }
    assert((!isa<warp::WarpDialect>(op->getDialect()) || loweringOf(op)) &&
           "expected every operation to have a lowering");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Whether the value is a product less another one, as an exponent: an old
/// reference against a new one (tile-fold-exp2). Both are rounded alike, so
/// that where nothing moved sums are rescaled by 1; an fma would be off by a
/// rounding of the reference, in the same direction at each step.
bool isRescaling(Value value) {
  auto difference = value.getDefiningOp<arith::SubFOp>();
  return difference && difference.getLhs().getDefiningOp<arith::MulFOp>() &&
         llvm::any_of(value.getUsers(), llvm::IsaPred<math::Exp2Op>);
}

/// Whether an operation is to be rounded by itself for that.
bool mustCancel(Operation *op) {
  return isRescaling(op->getResult(0)) ||
         (isa<arith::MulFOp>(op) &&
          llvm::any_of(op->getUsers(), [&](Operation *user) {
            return user->getOperand(0) == op->getResult(0) &&
                   user->getNumResults() == 1 &&
                   isRescaling(user->getResult(0));
          }));
}

/// Pairs that are rounded on a side of a branch are rounded there for the
/// registers that saves; LLVM would move what both sides do behind it.
void keepRounding(arith::TruncFOp op) {
  auto type = dyn_cast<VectorType>(op.getType());
  if (!type ||
      !type.getElementType().isF16() == !type.getElementType().isBF16() ||
      !op->getParentOfType<scf::IfOp>())
    return;
  OpBuilder builder(op);
  nvvm::Emitter e(builder, op.getLoc());
  SmallVector<Value> halves;
  for (int64_t half : {1, 0}) // the high one first
    halves.push_back(
        vector::ExtractOp::create(builder, op.getLoc(), op.getIn(), half));
  Value word =
      e.ptx(type.getElementType().isF16() ? "cvt.rn.f16x2.f32 $0, $1, $2;"
                                          : "cvt.rn.bf16x2.f32 $0, $1, $2;",
            "=r,f,f", builder.getI32Type(), halves)
          .front();
  op.replaceAllUsesWith(
      Value(LLVM::BitcastOp::create(builder, op.getLoc(), type, word)));
  op.erase();
}

/// Whether the loop's iterations all compute the same.
bool isInvariant(Value value, scf::ForOp loop) {
  return isRepeatableFrom(value, [&](Value source) {
    return !loop.isDefinedOutsideOfLoop(source);
  });
}

/// Whether threads differ in a value, as far as its arithmetic tells.
bool isOfThread(Value value) {
  return anySource(
      value,
      [](Value source) {
        return isa_and_nonnull<warp::ThreadIdOp, warp::LaneIdOp>(
            source.getDefiningOp());
      },
      isRepeatable);
}

/// What a loop does not change of a random call's indices - first products -
/// would be computed before the loop, and take registers throughout; its words,
/// used behind a decision alone, would be computed there, one multiplication
/// waiting for another. Keys of all rounds are the same for all threads.
void keepCall(attn::PhiloxOp op) {
  auto loop = op->getParentOfType<scf::ForOp>();
  if (!loop)
    return;
  OpBuilder before(op);
  nvvm::Emitter e(before, op.getLoc());
  for (OpOperand *index : {&op.getC0Mutable(), &op.getC1Mutable(),
                           &op.getC2Mutable(), &op.getC3Mutable()})
    if (isInvariant(index->get(), loop) &&
        !index->get().getDefiningOp<arith::ConstantOp>())
      index->set(nvvm::hide(e, index->get()));
  if (!isa<scf::IfOp>(op->getParentOp()))
    return;
  OpBuilder after = OpBuilder::atBlockEnd(op->getBlock());
  after.setInsertionPointAfter(op);
  nvvm::Emitter f(after, op.getLoc());
  for (Value word : op.getResults())
    if (!word.use_empty()) {
      Value own = nvvm::hide(f, word);
      word.replaceAllUsesExcept(own, own.getDefiningOp());
    }
}

/// What a loop over pieces addresses by the thread's own positions would be
/// computed before it, an address for each element that it loads, and held
/// through the loop around it: from hidden positions it is computed there.
void keepAddressesInLoop(scf::ForOp loop) {
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  nvvm::Emitter e(builder, loop.getLoc());
  DenseMap<Value, Value> hidden;
  auto hide = [&](Value value) -> Value {
    auto [entry, isNew] = hidden.try_emplace(value);
    if (isNew)
      entry->second = nvvm::hide(e, value);
    return entry->second;
  };
  SmallVector<OpOperand *> open;
  loop.getBody()->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (Value value = operand.get(); loop.isDefinedOutsideOfLoop(value) &&
                                       value.getType().isIntOrIndex() &&
                                       isOfThread(value))
        open.push_back(&operand);
  });
  for (OpOperand *operand : open) {
    Operation *cast = operand->get().getDefiningOp();
    if (operand->get().getType().isInteger(32)) {
      operand->set(hide(operand->get()));
    } else if (isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp>(
                   cast) &&
               cast->getOperand(0).getType().isInteger(32)) {
      Value narrow = hide(cast->getOperand(0));
      Operation *again = builder.clone(*cast);
      again->setOperand(0, narrow);
      operand->set(again->getResult(0));
    }
  }
}

void lowerKernel(warp::KernelOp kernel, OpBuilder &builder) {
  kernel.getBody().walk([](scf::ForOp loop) {
    if (loop->hasAttr("warp.rolled"))
      keepAddressesInLoop(loop);
  });
  kernel.walk([](attn::PhiloxOp op) { keepCall(op); });
  nvvm::KernelLowering lowering(kernel);
  LLVM::LLVMFuncOp function = nvvm::createKernelFunction(lowering, builder);
  SmallVector<Operation *> work, buffers;
  function.walk([&](Operation *op) {
    if (!isa<warp::WarpDialect>(op->getDialect()))
      return;
    work.push_back(op);
    if (isa<warp::AllocOp, warp::StageOp, warp::MbarriersOp>(op))
      buffers.push_back(op);
  });
  for (Operation *op : work)
    loweringOf(op)(lowering, op);
  // Kept until here: accesses name them.
  for (Operation *op : llvm::reverse(buffers))
    op->erase();
  function.walk([](arith::TruncFOp op) { keepRounding(op); });
  // Loops over lists have registers to spare, which ptxas would take for four
  // iterations side by side, here and not there.
  function.walk([](scf::ForOp loop) {
    if (loop->removeDiscardableAttr("warp.rolled") ||
        loop->hasAttr("tile.to_list"))
      nvvm::keepRolled(loop);
  });
  // A product and a sum may be one instruction: what the source computes is
  // real arithmetic, and its bound has both roundings.
  auto contract = arith::FastMathFlagsAttr::get(builder.getContext(),
                                                arith::FastMathFlags::contract);
  function.walk([&](Operation *op) {
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) && !mustCancel(op))
      op->setAttr("fastmath", contract);
  });
  // Joined and split again: the registers themselves.
  SmallVector<UnrealizedConversionCastOp> casts;
  function.walk([&](UnrealizedConversionCastOp op) { casts.push_back(op); });
  for (UnrealizedConversionCastOp split : casts)
    if (split.getInputs().size() == 1)
      if (auto join =
              split.getInputs()[0].getDefiningOp<UnrealizedConversionCastOp>();
          join && join.getInputs().getTypes() == split.getResultTypes())
        split.replaceAllUsesWith(join.getInputs());
  for (UnrealizedConversionCastOp op : llvm::reverse(casts))
    if (op.use_empty())
      op.erase();
}

struct WarpToNVVM : impl::WarpToNVVMBase<WarpToNVVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(module.getBody());
    bool usesShared = false;
    for (auto program :
         llvm::make_early_inc_range(module.getOps<tile::ProgramOp>())) {
      for (auto kernel : program.getOps<warp::KernelOp>()) {
        if (failed(checkKernel(kernel)))
          return signalPassFailure();
        usesShared |= !kernel.getOps<warp::AllocOp>().empty();
        lowerKernel(kernel, builder);
      }
      program.erase();
    }
    if (!usesShared)
      return;
    // Its size is given at launch.
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/false,
                           LLVM::Linkage::External, nvvm::kSharedSymbol,
                           Attribute(), /*alignment=*/1024, /*addrSpace=*/3,
                           /*dsoLocal=*/true);
  }
};

} // namespace
} // namespace attentile
