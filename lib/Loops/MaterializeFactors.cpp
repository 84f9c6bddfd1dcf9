//===- MaterializeFactors.cpp - costly factors computed once --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: marks factors of products with attn.materialize that take a function
// such as a cosine for each element: in-kernel rotary embedding; and those that
// are an attention's output, as where that is projected. Expects: attn.kernel
// without softmax, before attn-form-grids. Leaves: the same formulas. Does not
// handle: costly factors with a reduction in them, in a loop over tiles, or
// larger than any tensor, as one of two long axes that none has.
//
//===----------------------------------------------------------------------===//
//
// Each program would compute the keys that it sees again, for each of its rows'
// tiles; a grid of its own computes them once, and what reads them copies them
// as it copies plain keys.
//
// An output that is summed over is written to memory in any case. Not marked,
// its sum is in the way of what its own scores sum over, where both are one d:
// then d would not stand whole, and all scores go through memory as well.
//

#include "Attn/Attn.h"
#include "MadeOf.h"
#include "WholeAxes.h"
#include "attentile/AxesAnalysis.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {
#define GEN_PASS_DEF_ATTNMATERIALIZEFACTORS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "attn-materialize-factors"

using namespace mlir;

namespace attentile {
namespace {

/// Some twenty instructions or more, where an exponential is a few.
bool isCostly(Operation *op) {
  return isa<math::SinOp, math::CosOp, math::TanOp, math::PowFOp, math::ErfOp>(
      op);
}

/// Why a factor is written to memory.
enum class Reason { Costly, AttentionOutput };

void remarkOn(Value factor, Reason reason) {
  const bool isOutput = reason == Reason::AttentionOutput;
  remark::passed(
      factor.getLoc(),
      remark::RemarkOpts::name(isOutput ? "AttentionOutput" : "CostlyFactor")
          .category(DEBUG_TYPE))
      << remark::add(isOutput ? "an attention's output goes through workspace "
                                "to the product that sums over it"
                              : "a factor that is costly for each element is "
                                "computed once, in workspace");
}

class FactorSearch {
public:
  explicit FactorSearch(attn::KernelOp kernel) : kernel(kernel), axes(kernel) {}

  /// The factors to mark, in order, each with why.
  llvm::MapVector<Value, Reason> run() {
    llvm::MapVector<Value, Reason> result;
    for (auto sum : kernel.getHeadBlock().getOps<attn::ReduceOp>()) {
      auto multiply = sum.getOperand().getDefiningOp<arith::MulFOp>();
      if (!sum.getProduct() || !multiply)
        continue;
      const attn::Axes summed = axes.setOf(sum.getAxes());
      for (unsigned i : {0, 1}) {
        Value factor = multiply.getOperand(i),
              other = multiply.getOperand(1 - i);
        if (isAttentionOutput(factor, summed))
          result.insert({factor, Reason::AttentionOutput});
        else if (isWorthMemory(factor, other, summed))
          result.insert({factor, Reason::Costly});
      }
    }
    return result;
  }

private:
  /// Whether it is made of a sum of products with a softmax in it, which has
  /// axes that are summed, and none of that goes through memory.
  bool isAttentionOutput(Value factor, const attn::Axes &summed) {
    auto isReference = [](Operation *op) {
      auto reduction = dyn_cast<attn::ReduceOp>(op);
      return reduction && reduction.getKind() == attn::ReduceKind::Ref;
    };
    SetVector<Operation *> made = sliceOf(factor, isHere);
    if (llvm::none_of(made, isReference))
      return false;
    // What its scores sum over stands whole then, and must be known.
    for (BlockArgument axis : axes.indicesOf(summed))
      if (!getConstantExtent(kernel, axis) &&
          llvm::any_of(made, [&](Operation *op) {
            auto sum = dyn_cast<attn::ReduceOp>(op);
            return sum && llvm::is_contained(sum.getAxes(), axis);
          }))
        return false;
    return llvm::any_of(made, [&](Operation *op) {
      auto sum = dyn_cast<attn::ReduceOp>(op);
      return sum && sum.getProduct() &&
             axes.of(sum.getResult()).anyCommon(summed) &&
             llvm::any_of(sliceOf(sum.getOperand(), isHere), isReference);
    });
  }

  /// Whether it is read again for many indices of the other factor's, and is
  /// costly for each of its own and of those that the product sums.
  bool isWorthMemory(Value factor, Value other, const attn::Axes &summed) {
    attn::Axes all = axes.of(factor), own = all, ofOther = axes.of(other);
    own.reset(ofOther);
    ofOther.reset(all);
    if (countLong(ofOther) == 0) // it is not read again
      return false;
    // What is kept is as large as a tensor, or as rows of known length.
    bool costs = false, isSmall = countLong(all) <= 1;
    llvm::SetVector<Value> slice;
    slice.insert(factor);
    for (size_t i = 0; i < slice.size(); ++i) {
      Operation *op = slice[i].getDefiningOp();
      if (!op || axes.of(slice[i]).none())
        continue;
      if (auto read = dyn_cast<attn::ReadOp>(op)) {
        isSmall |= axes.of(slice[i]) == all && readsPlainly(read, axes);
        continue;
      }
      bool isKnown =
          isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
          isa<attn::FloorDivOp, attn::FloorModOp>(op);
      if (!isKnown)
        return false;
      attn::Axes here = axes.of(slice[i]);
      costs |= isCostly(op) && here.anyCommon(own) && here.anyCommon(summed);
      slice.insert_range(op->getOperands());
    }
    return costs && isSmall;
  }

  /// How many of the axes may be longer than a tile has them whole.
  unsigned countLong(const attn::Axes &of) {
    return llvm::count_if(axes.indicesOf(of), [&](BlockArgument index) {
      std::optional<int64_t> extent = getConstantExtent(kernel, index);
      return !extent || *extent > maxWholeExtent;
    });
  }

  attn::KernelOp kernel;
  attn::AxesAnalysis axes;
};

struct AttnMaterializeFactors
    : impl::AttnMaterializeFactorsBase<AttnMaterializeFactors> {
  void runOnOperation() override {
    getOperation()->walk([](attn::KernelOp kernel) {
      for (auto [factor, reason] : FactorSearch(kernel).run()) {
        materialize(factor, "factor");
        remarkOn(factor, reason);
      }
    });
  }
};

} // namespace
} // namespace attentile
