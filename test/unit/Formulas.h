//===- Formulas.h - kernels that tile passes are tried on -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_FORMULAS_H
#define ATTENTILE_TEST_UNIT_FORMULAS_H

#include <string>
#include <vector>

namespace attentile::test {

/// The body of a kernel over Q, Q2: [B, M, D], K, K2, V: [B, N, D], W: [B, N],
/// U: [B, M], scalars scale and t and an integer w, with outputs O: [B, M, D]
/// and L: [B, M]. Known in it: `s1`, `s2` (scaled scores), `visible` (causal),
/// `s` (s1 where visible, else -inf).
struct Formula {
  const char *name;
  std::string body;
  int loops;        ///< after fusion
  bool log = false; ///< takes the log of what may underflow
};

/// The variants of the language page and of the fusion algorithm's table.
const std::vector<Formula> &formulas();

/// The whole kernel. `constraint` is put in its where clause.
std::string kernelSource(const std::string &body,
                         const std::string &constraint = "N >= 0");

/// A random formula over softmaxes, scores and row statistics.
std::string randomFormula(unsigned seed);

} // namespace attentile::test

#endif
