//===- Random.h - Philox in arith -------------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a lowering takes attn.random apart. All values are i32, or vectors of it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_NATIVE_RANDOM_H
#define ATTENTILE_NATIVE_RANDOM_H

#include "mlir/IR/Builders.h"

namespace attentile::native {

/// The integer's low word.
mlir::Value lowWord(mlir::OpBuilder &b, mlir::Location loc, mlir::Value index);

/// The two words of a seed of type index, or of a vector of it.
std::array<mlir::Value, 2> keyWords(mlir::OpBuilder &b, mlir::Location loc,
                                    mlir::Value seed);

/// What stands for row i, the last index but one, in the counter:
/// 8 * (i / 16) + i % 8.
mlir::Value pairedRow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value i);

/// The word that row i takes its half of, as its number: turned right by 8 bits
/// where i / 8 is odd.
mlir::Value turnForRow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value word,
                       mlir::Value i);
/// The same for a row of which this is known.
mlir::Value turn(mlir::OpBuilder &b, mlir::Location loc, mlir::Value word);

/// The four words of one attn.philox, of each byte the lower seven bits.
/// `indices` are those of attn.random but
/// the last two, for which pairedRow and `call` stand: 4 * (j / 32) +
/// (j % 8) / 2.
llvm::SmallVector<mlir::Value, 4>
makeCall(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange indices,
         mlir::Value call, std::array<mlir::Value, 2> key);

/// The low (0) or the high (1) half of a word.
mlir::Value halfOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value word,
                   unsigned half);

/// attn.random of words by itself: a call for one element.
mlir::Value makeRandom(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::ValueRange indices,
                       std::array<mlir::Value, 2> key);

} // namespace attentile::native

#endif
