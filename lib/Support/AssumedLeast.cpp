//===- AssumedLeast.cpp - what kernels assume of scalars ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/AssumedLeast.h"
#include "Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attentile {

std::optional<int64_t> getAssumedLeast(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return std::nullopt;
  for (auto assume : argument.getOwner()->getOps<attn::AssumeOp>()) {
    auto compare = assume.getCondition().getDefiningOp<arith::CmpIOp>();
    APInt least;
    if (compare && compare.getLhs() == value &&
        compare.getPredicate() == arith::CmpIPredicate::sge &&
        matchPattern(compare.getRhs(), m_ConstantInt(&least)))
      return least.getSExtValue();
  }
  return std::nullopt;
}

} // namespace attentile
