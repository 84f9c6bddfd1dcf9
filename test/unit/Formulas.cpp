//===- Formulas.cpp - kernels that tile passes are tried on ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"
#include <random>

namespace attentile::test {

std::string kernelSource(const std::string &body,
                         const std::string &constraint) {
  return "kernel f(Q: f32[B, M, D], K: f32[B, N, D], Q2: f32[B, M, D],\n"
         "         K2: f32[B, N, D], V: f32[B, N, D], W: f32[B, N],\n"
         "         U: f32[B, M], scale: f32, t: f32, w: i32)\n"
         "    -> (O: f32[B, M, D], L: f32[B, M])\n"
         "    where " +
         constraint +
         "\n{\n"
         "  let s1 = scale * sum[r](Q[b, m, r] * K[b, n, r]);\n"
         "  let s2 = scale * sum[r](Q2[b, m, r] * K2[b, n, r]);\n"
         "  let visible = n <= m + (N - M);\n"
         "  let s = where(visible, s1, -inf);\n" +
         body + "\n}\n";
}

const std::vector<Formula> &formulas() {
  static const std::string o = "  O[b, m, d] = sum[n](";
  static const std::string v = " * V[b, n, d]);\n";
  static const std::string l = "  L[b, m] = ";
  static const std::string p = "  let p = softmax[n](s);\n";
  static const std::vector<Formula> list = {
      {"plain", o + "softmax[n](s1)" + v + l + "logsumexp[n](s1);", 1},
      {"causal", p + o + "p" + v + l + "logsumexp[n](s);", 1},
      {"window",
       "  let s = where(visible && n > m + (N - M) - w, s1, -inf);\n" + o +
           "softmax[n](s)" + v + l + "logsumexp[n](s);",
       1},
      {"alibi",
       "  let s = where(visible, s1 + t * (n - m), -inf);\n" + o +
           "softmax[n](s)" + v + l + "logsumexp[n](s);",
       1},
      {"soft cap",
       "  let s = where(visible, t * tanh(s1 / t), -inf);\n" + o +
           "softmax[n](s)" + v + l + "logsumexp[n](s);",
       1},
      {"two softmaxes",
       o + "(softmax[n](s) - t * softmax[n](s2))" + v + l + "0.0;", 1},
      {"two softmaxes, one masked after",
       o + "(softmax[n](s) - where(visible, softmax[n](s2), 0.0))" + v + l +
           "max[n](s2);",
       1},
      {"softmax of softmax", p + o + "softmax[n](t * p)" + v + l + "0.0;", 2},
      {"sums over one p",
       p + o + "p" + v + l + "sum[n](p * W[b, n]) + sum[n](p * p);", 1},
      {"power", p + o + "pow(p, 2.0)" + v + l + "sum[n](p * p * p);", 1},
      {"square root", p + o + "sqrt(p)" + v + l + "sum[n](sqrt(p));", 1},
      {"product of two",
       p + o + "p * softmax[n](s2)" + v + l + "sum[n](p * softmax[n](s2));", 1},
      {"scores weighted",
       p + o + "p * s" + v + l + "sum[n](where(visible, p * s, 0.0));", 1},
      {"entropy",
       "  let p = softmax[n](s1);\n" + o + "p" + v + l + "sum[n](p * log(p));",
       1, true},
      {"variance",
       p + "  let x = where(visible, s, 0.0);\n  let mu = sum[n](p * x);\n" +
           o + "p" + v + l + "sum[n](p * (x - mu) * (x - mu));",
       2},
      {"threshold", p + o + "where(p > 0.05, p, 0.0)" + v + l + "0.0;", 2},
      {"sigmoid of p", p + o + "sigmoid(p)" + v + l + "0.0;", 2},
      {"sigmoid of s", o + "sigmoid(s1)" + v + l + "sum[n](s1);", 1},
      {"linear", o + "s1" + v + l + "sum[n](s1 * s2);", 1},
      {"by hand",
       "  let x = exp(s - max[n](s));\n" + o + "x / sum[n](x)" + v + l +
           "max[n](s);",
       1},
      {"by hand, scaled inside",
       "  let x = exp(scale * (s2 - max[n](s2)));\n" + o + "x" + v + l +
           "sum[n](x);",
       1},
      {"exp of s - logsumexp",
       o + "exp(s - logsumexp[n](s))" + v + l + "logsumexp[n](s);", 1},
      // Rows that see nothing are NaN where they keep something, else 0.
      {"exp of s - logsumexp, masked after",
       "  let p = where(n < m - 3, exp(s - logsumexp[n](s)), 0.0);\n" + o +
           "p" + v + l + "sum[n](where(n < m - 2, p * W[b, n], 0.0));",
       1},
      {"by hand, masked after",
       "  let x = exp(s - max[n](s));\n" + o +
           "where(n < m - 3, x / sum[n](x), 0.0)" + v + l + "max[n](s);",
       1},
      {"masked after, by what is not",
       "  let far = where(n <= m + (N - M) - w, s2, -inf);\n" + o +
           "where(n < m - 3, exp(s - logsumexp[n](s)), 0.0)"
           " * where(n < m - 1, exp(far - logsumexp[n](far)), 0.0)" +
           v + l + "0.0;",
       1},
      {"without a maximum",
       o + "exp(s1) / sum[n](exp(s1))" + v + l + "sum[n](exp(s1));", 1, true},
      {"base 2",
       "  let x = exp2(s - max[n](s));\n" + o + "x" + v + l + "sum[n](x);", 1},
      {"mask after softmax",
       o + "where(visible, softmax[n](s1), 0.0)" + v + l +
           "sum[n](where(visible, softmax[n](s1), 0.0));",
       1},
      {"dropout",
       p + o + "dropout(p, 0.5, 7)" + v + l +
           "logsumexp[n](s) + sum[n](dropout(p, 0.5, 8) * W[b, n]);",
       1},
      {"two axes",
       "  let x = where(n + k < m + 4, s + W[b, k], -inf);\n"
       "  O[b, m, d] = sum[n, k](softmax[n, k](x) * V[b, k, d]);\n" +
           l + "logsumexp[n, k](x);",
       1},
      {"two axes, a band of both",
       "  let x = where(abs(k - m) < 3 && n <= m + k, s + W[b, k], -inf);\n"
       "  O[b, m, d] = sum[n, k](softmax[n, k](x) * V[b, k, d]);\n" +
           l + "sum[n, k](where(abs(k - m) < 2, W[b, k] * s, 0.0));",
       1},
      {"two axes by hand",
       "  let x = exp(s + W[b, k] - max[n, k](s + W[b, k]));\n"
       "  O[b, m, d] = sum[n, k](x * V[b, k, d]);\n" +
           l + "sum[n, k](x) + max[n, k](s + W[b, k]);",
       1},
      {"mask of a row",
       p + o + "where(m > 5, p, W[b, n])" + v + l +
           "sum[n](where(U[b, m] > 0.0, p, 0.5 * p));",
       1},
      {"else branch", p + o + "where(visible, p, W[b, n])" + v + l + "0.0;", 1},
      {"max beside", p + o + "p" + v + l + "max[n](s) + min[n](s1);", 1},
      {"any and all",
       p + o + "p" + v + l +
           "where(any[n](visible && n > 3), 1.0, 2.0) + "
           "where(all[n](visible), 4.0, 8.0);",
       1},
      {"integers",
       p + o + "p" + v + l +
           "max[n](where(visible, n, 0)) + sum[n](n) + sum[n](p);",
       1},
      {"one more than p", p + o + "(p + 1.0)" + v + l + "sum[n](p + U[b, m]);",
       1},
      {"ratio", p + o + "p / softmax[n](s2)" + v + l + "0.0;", 2},
      {"divided by a row",
       p + o + "p / U[b, m]" + v + l + "sum[n](p) / sum[n](p * p);", 1},
      {"row factor in the exponent",
       "  let c = sum[n](softmax[n](s2) * W[b, n]);\n" + o +
           "softmax[n](c * s1)" + v + l + "0.0;",
       2},
      {"gradient",
       p +
           "  let dp = sum[r](Q2[b, m, r] * V[b, n, r]);\n"
           "  let ds = p * (dp - sum[n](p * dp));\n" +
           o + "ds" + v + l + "0.0;",
       2},
      {"constant",
       p + o + "p" + v + l + "sum[n](where(n < w, 1.0, U[b, m])) + sum[n](p);",
       1},
  };
  return list;
}

namespace {

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  std::string formula() {
    std::string text = "  let p1 = softmax[n](s);\n"
                       "  let p2 = softmax[n](s2);\n"
                       "  let x = where(visible, s, 0.0);\n";
    text += "  let a = " + row() + ";\n";
    text += "  let c = sum[n](p2 * (" + element(2, false) + "));\n";
    text += "  O[b, m, d] = sum[n](" + product() + " * V[b, n, d]);\n";
    text += "  L[b, m] = sum[n](W[b, n] * " + element(3, true) + ") + a * " +
            row() + ";\n";
    return text;
  }

private:
  size_t pick(size_t count) { return random() % count; }

  /// A row's statistic.
  std::string row() {
    static const char *const rows[] = {"max[n](s2)",
                                       "logsumexp[n](s2)",
                                       "sum[n](p1 * x)",
                                       "sum[n](p2 * W[b, n])",
                                       "sum[n](p1 * p2)",
                                       "max[n](x)",
                                       "sum[n](where(visible, p2, 0.0))",
                                       "U[b, m]",
                                       "sum[n](exp(s2 - max[n](s2)))"};
    return rows[pick(std::size(rows))];
  }

  std::string leaf(bool withRows) {
    static const char *const leaves[] = {
        "p1",
        "p2",
        "x",
        "W[b, n]",
        "0.5",
        "exp(s2 - max[n](s2))",
        "exp(2.0 * (s - logsumexp[n](s2)) - 40.0)",
        "U[b, m]",
        "a",
        "c"};
    return leaves[pick(std::size(leaves) - (withRows ? 0 : 2))];
  }

  /// A function of n; `withRows`: may use the statistics a and c.
  std::string element(int depth, bool withRows) {
    if (depth == 0)
      return leaf(withRows);
    std::string x = element(depth - 1, withRows);
    switch (pick(8)) {
    case 0:
    case 1:
      return "(" + x + " + " + element(depth - 1, withRows) + ")";
    case 2:
      return "(" + x + " - " + element(depth - 1, withRows) + ")";
    case 3:
    case 4:
      return x + " * " + leaf(withRows);
    case 5:
      return "where(" + condition() + ", " + x + ", " +
             (pick(2) ? "0.0" : leaf(withRows)) + ")";
    case 6:
      return "(" + x + " / (1.5 + abs(" + (pick(2) ? "U[b, m]" : "W[b, n]") +
             ")))";
    default:
      return "-(" + x + ")";
    }
  }

  /// A summand of a product with V: of the language's products.
  std::string product() { return "(" + element(2, true) + ")"; }

  std::string condition() {
    static const char *const conditions[] = {"visible", "n % 3 == 0", "m > 7",
                                             "U[b, m] > 0.0", "W[b, n] < 0.3"};
    return conditions[pick(std::size(conditions))];
  }

  std::mt19937 random;
};

} // namespace

std::string randomFormula(unsigned seed) { return Generator(seed).formula(); }

} // namespace attentile::test
