//===- Products.h - sums that are matrix products ---------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_PRODUCTS_H
#define ATTENTILE_LIB_LOOPS_PRODUCTS_H

#include "attentile/AxesAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attentile {

/// The two factors of a sum that becomes tile.dot, as values of the attn level:
/// 16-bit where the product's type is that of an extended value, else f32.
struct Product {
  mlir::Value lhs, rhs;
};

/// Finds the factors of a sum marked `product` if their tiles fit a dot: two
/// axes each (`steps`, of one index at a time, not counted), one of them the
/// summed one, and nothing else in common. Other sums are multiplied element by
/// element and reduced.
std::optional<Product> matchProduct(attn::ReduceOp reduction,
                                    attn::AxesAnalysis &axes,
                                    const attn::Axes &steps);

/// The multiplication of a sum of x * y that both have what is summed; null of
/// another one. Added up by multiply-adds in order, whichever axes are steps,
/// it is one number wherever the formula stands.
mlir::arith::MulFOp findMultiplyAdds(attn::ReduceOp reduction,
                                     attn::AxesAnalysis &axes);

/// The factors of such a sum, if some of its axes are no steps.
std::optional<Product> matchMultiplyAdds(attn::ReduceOp reduction,
                                         attn::AxesAnalysis &axes,
                                         const attn::Axes &steps);

/// Whether a softmax's reference is computed from a value: it has been used
/// when the weights are made.
bool isForScores(mlir::Value value);

} // namespace attentile

#endif
