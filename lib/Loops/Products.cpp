//===- Products.cpp - sums that are matrix products -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {

/// What enters the product: the 16-bit value before its extension, if that has
/// the product's type, else the f32 value.
static Value findFactor(Value value, Type product) {
  auto extension = value.getDefiningOp<arith::ExtFOp>();
  if (extension && extension.getIn().getType() == product)
    return extension.getIn();
  return value;
}

std::optional<Product> matchProduct(attn::ReduceOp reduction,
                                    attn::AxesAnalysis &axes,
                                    const attn::Axes &steps) {
  attn::Axes over = axes.setOf(reduction.getAxes());
  over.reset(steps);
  if (!reduction.getProduct() || over.count() != 1)
    return std::nullopt;
  auto multiply = reduction.getOperand().getDefiningOp<arith::MulFOp>();
  if (!multiply)
    return std::nullopt;
  attn::Axes lhs = axes.of(multiply.getLhs()), rhs = axes.of(multiply.getRhs());
  lhs.reset(steps);
  rhs.reset(steps);
  attn::Axes common = lhs;
  common &= rhs;
  if (lhs.count() != 2 || rhs.count() != 2 || common != over)
    return std::nullopt;
  Type type = *reduction.getProduct();
  return Product{findFactor(multiply.getLhs(), type),
                 findFactor(multiply.getRhs(), type)};
}

arith::MulFOp findMultiplyAdds(attn::ReduceOp reduction,
                               attn::AxesAnalysis &axes) {
  auto multiply = reduction.getOperand().getDefiningOp<arith::MulFOp>();
  if (reduction.getKind() != attn::ReduceKind::Sum || !multiply)
    return {};
  const attn::Axes summed = axes.setOf(reduction.getAxes());
  for (Value factor : multiply->getOperands())
    if (summed.test(axes.of(factor)))
      return {};
  return multiply;
}

std::optional<Product> matchMultiplyAdds(attn::ReduceOp reduction,
                                         attn::AxesAnalysis &axes,
                                         const attn::Axes &steps) {
  arith::MulFOp multiply = findMultiplyAdds(reduction, axes);
  if (!multiply || !axes.setOf(reduction.getAxes()).test(steps))
    return std::nullopt;
  Type type = reduction.getProduct().value_or(reduction.getType());
  return Product{findFactor(multiply.getLhs(), type),
                 findFactor(multiply.getRhs(), type)};
}

bool isForScores(Value value) {
  llvm::SetVector<Operation *> users(value.user_begin(), value.user_end());
  for (size_t i = 0; i < users.size(); ++i) {
    auto reduction = dyn_cast<attn::ReduceOp>(users[i]);
    if (reduction && reduction.getKind() == attn::ReduceKind::Ref)
      return true;
    users.insert(users[i]->user_begin(), users[i]->user_end());
  }
  return false;
}

} // namespace attentile
