//===- GatheredFactors.cpp - factors that are rows for pairs --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GatheredFactors.h"
#include "MadeOf.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace attentile {

AffineExpr getExtent(attn::KernelOp kernel, Value tensor, unsigned dim) {
  if (auto workspace = tensor.getDefiningOp<attn::WorkspaceOp>())
    return workspace.getShape().getResult(dim);
  return kernel.getShape(cast<BlockArgument>(tensor)).getResult(dim);
}

/// The multiplication that a sum adds up, of whatever axes, or null.
static Operation *getFactors(attn::ReduceOp sum) {
  return sum.getKind() == attn::ReduceKind::Sum
             ? sum.getOperand().getDefiningOp<arith::MulFOp>()
             : nullptr;
}

/// Whether sums of two factors of these axes are products of matrices.
static bool isProduct(const attn::Axes &lhs, const attn::Axes &rhs,
                      const attn::Axes &summed) {
  return lhs.test(rhs) && rhs.test(lhs) && !summed.test(lhs) &&
         !summed.test(rhs);
}

GatheredFactors::GatheredFactors(attn::KernelOp kernel)
    : kernel(kernel), axes(kernel) {
  kernel.walk([&](attn::ReduceOp sum) {
    Operation *product = getFactors(sum);
    if (!product)
      return;
    SmallVector<Value> terms(product->getOperands());
    while (!terms.empty()) {
      Value term = terms.pop_back_val();
      Operation *op = term.getDefiningOp();
      if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
        llvm::append_range(terms, op->getOperands());
      else
        summedTerms.push_back({axes.setOf(sum.getAxes()), axes.of(term)});
    }
  });
}

std::optional<GatheredFactor> GatheredFactors::find(attn::ReduceOp sum) {
  if (Operation *factors = getFactors(sum))
    for (unsigned side : {1, 0})
      if (auto found = gather(factors->getOperand(side),
                              factors->getOperand(1 - side), sum))
        return found;
  return std::nullopt;
}

std::optional<unsigned> GatheredFactors::findSum(attn::ReduceOp sum) {
  Operation *factors = getFactors(sum);
  for (unsigned side : {1, 0}) {
    llvm::SmallDenseMap<Value, bool> known;
    if (factors && hasGatheredTerm(factors->getOperand(side),
                                   factors->getOperand(1 - side), sum, known))
      return side;
  }
  return std::nullopt;
}

bool GatheredFactors::hasGatheredTerm(Value factor, Value other,
                                      attn::ReduceOp sum,
                                      llvm::SmallDenseMap<Value, bool> &known) {
  if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp>(factor.getDefiningOp()))
    return false;
  auto [entry, isNew] = known.try_emplace(factor, false);
  if (!isNew)
    return entry->second;
  bool isGathered = false;
  const attn::Axes ofOther = axes.of(other), summed = axes.setOf(sum.getAxes());
  for (Value term : factor.getDefiningOp()->getOperands()) {
    bool gathers =
        gather(term, other, sum) || hasGatheredTerm(term, other, sum, known);
    if (!gathers && !isProduct(axes.of(term), ofOther, summed))
      return false;
    isGathered |= gathers;
  }
  return known[factor] = isGathered;
}

/// Whether a sum over one of the axes has a factor with that and without
/// another: values of keys that rows share.
bool GatheredFactors::arePairsOfAll(const attn::Axes &pairs) const {
  return llvm::any_of(summedTerms, [&](const SummedTerm &term) {
    attn::Axes keys = term.summed;
    keys &= pairs;
    return keys.anyCommon(term.own) && pairs.test(term.own);
  });
}

/// Whether a factor is 0 where it reads a row outside its table, as what is
/// gathered is: 1 - R[..] is not, nor is the sum of rows of two tables.
static bool isZeroOutside(attn::KernelOp kernel,
                          const GatheredFactor &gathered) {
  const unsigned rows = gathered.rows.size();
  // Of each value, the rows any of which makes it 0.
  llvm::DenseMap<Value, llvm::SmallBitVector> zeroBy;
  auto of = [&](Value value) {
    auto known = zeroBy.find(value);
    return known != zeroBy.end()
               ? known->second
               : llvm::SmallBitVector(rows,
                                      matchPattern(value, m_AnyZeroFloat()));
  };
  for (Operation *op : gathered.slice) {
    llvm::SmallBitVector own(rows);
    if (auto read = dyn_cast<attn::ReadOp>(op)) {
      for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
        auto row = gathered.rows.find(
            {index, getExtent(kernel, read.getTensor(), dim)});
        if (row != gathered.rows.end())
          own.set(row - gathered.rows.begin());
      }
    } else if (isa<arith::MulFOp>(op)) {
      own = of(op->getOperand(0)) |= of(op->getOperand(1));
    } else if (isa<arith::AddFOp, arith::SubFOp>(op)) {
      own = of(op->getOperand(0)) &= of(op->getOperand(1));
    } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
      own = of(select.getTrueValue()) &= of(select.getFalseValue());
    } else if (isa<arith::ExtFOp, arith::TruncFOp, arith::NegFOp, arith::DivFOp,
                   arith::SIToFPOp, attn::MaterializeOp>(op)) {
      own = of(op->getOperand(0));
    } else if (auto sum = dyn_cast<attn::ReduceOp>(op);
               sum && sum.getKind() == attn::ReduceKind::Sum) {
      own = of(sum.getOperand());
    } else {
      own = of(op->getResult(0)); // a constant, or nothing is known
    }
    zeroBy[op->getResult(0)] = own;
  }
  return of(gathered.factor).all();
}

std::optional<GatheredFactor> GatheredFactors::gather(Value factor, Value other,
                                                      attn::ReduceOp sum) {
  SetVector<Operation *> all = sliceOf(factor);
  if (all.empty())
    return std::nullopt;
  const attn::Axes ofFactor = axes.of(factor), ofOther = axes.of(other);
  const attn::Axes summed = axes.setOf(sum.getAxes());
  auto isOfPairs = [&](OpOperand &operand) {
    if (!isa<attn::ReadOp>(operand.getOwner()))
      return false;
    const attn::Axes &own = axes.of(operand.get());
    return own.anyCommon(ofOther) && own.test(ofOther) &&
           !own.test(ofFactor); // nothing that is reduced below
  };
  // Users before what they are made of.
  GatheredFactor result{factor, other, {}, {}, {}};
  attn::Axes pairs = axes.setOf({});
  llvm::DenseSet<Operation *> needed{factor.getDefiningOp()};
  for (Operation *op : llvm::reverse(all)) {
    if (!needed.contains(op))
      continue;
    // What is reduced is made once: as a whole, or not at all.
    bool isReduced = isa<attn::ReduceOp>(op) &&
                     !isa<attn::MaterializeOp>(factor.getDefiningOp());
    if (isReduced || op->getNumResults() != 1 || op->getNumRegions())
      return std::nullopt;
    result.slice.push_back(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isOfPairs(operand)) {
        needed.insert(operand.get().getDefiningOp());
        continue;
      }
      Value tensor = cast<attn::ReadOp>(op).getTensor();
      AffineExpr extent =
          getExtent(kernel, tensor, operand.getOperandNumber() - 1);
      result.rows.insert({{operand.get(), extent}, {}});
      pairs |= axes.of(operand.get());
      if (auto input = dyn_cast<BlockArgument>(tensor))
        result.table = kernel.nameOf(input);
    }
  }
  std::reverse(result.slice.begin(), result.slice.end());
  // The axes that it has but by what it gathers.
  llvm::DenseMap<Value, attn::Axes> rest;
  for (Operation *op : result.slice) {
    attn::Axes own = axes.setOf({});
    for (OpOperand &operand : op->getOpOperands()) {
      auto known = rest.find(operand.get());
      if (!isOfPairs(operand))
        own |= known == rest.end() ? axes.of(operand.get()) : known->second;
    }
    if (auto reduction = dyn_cast<attn::ReduceOp>(op))
      own.reset(axes.setOf(reduction.getAxes()));
    rest[op->getResult(0)] = own;
  }
  const attn::Axes &left = rest[factor];
  attn::Axes beyond = pairs;
  beyond.reset(ofOther);
  if (result.rows.empty() || pairs.anyCommon(summed) ||
      left.anyCommon(beyond) || summed.test(left) || !ofOther.test(left) ||
      !arePairsOfAll(pairs) || !isZeroOutside(kernel, result))
    return std::nullopt;
  return result;
}

} // namespace attentile
