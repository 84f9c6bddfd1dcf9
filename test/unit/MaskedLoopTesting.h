//===- MaskedLoopTesting.h - bounds against brute force ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop with a mask goes through the pass; the bounds that it emits are
// evaluated for every program and compared with the mask itself, element by
// element: no needed block is left out, none is visited twice, no mask is
// needed in a full one.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_MASKEDLOOPTESTING_H
#define ATTENTILE_TEST_UNIT_MASKEDLOOPTESTING_H

#include "MaskExpression.h"

namespace attentile::test {

struct Sizes {
  int64_t rows, keys, tileM, tileN;
};

/// Blocks of all programs.
struct Counts {
  int64_t total = 0, needed = 0, computed = 0, unmasked = 0, full = 0;
};

/// Runs the passes and judges every program; adds failures to the running test.
Counts check(const Expr &mask, const Sizes &sizes, MaskInputs inputs,
             int64_t batches = 1,
             const char *passes = "tile-list-blocks,tile-skip-masked-blocks");

/// The same, where the blocks computed and those without masks must be the
/// least and the most possible.
void expectLeast(const Expr &mask, const Sizes &sizes, MaskInputs inputs,
                 int64_t batches = 1);

/// Sizes that no tile divides, fewer keys than rows, one row, none.
inline const std::vector<Sizes> kOddSizes = {
    {33, 50, 16, 16}, {50, 33, 16, 16}, {16, 16, 16, 16}, {1, 70, 16, 16},
    {1, 1, 16, 16},   {40, 0, 16, 16},  {0, 40, 16, 16},  {33, 50, 32, 8},
    {50, 33, 8, 32},  {64, 64, 16, 16}};

inline constexpr Sizes kLarge = {2048, 2048, 128, 64};

inline Expr causal() { return le(n(), m()); }
inline Expr window(Expr width) { return all(causal(), gt(n(), m() - width)); }

} // namespace attentile::test

#endif
