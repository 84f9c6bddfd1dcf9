//===- MaskExpression.h - masks as trees, printed and evaluated -*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One description of a mask gives both the tile IR that the compiler sees and
// the truth that it is judged by:  le(n(), m() + scalar("shift"))
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_UNIT_MASKEXPRESSION_H
#define ATTENTILE_TEST_UNIT_MASKEXPRESSION_H

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace attentile::test {

/// Loaded anywhere: i32, or i1 for a condition.
struct MaskTable {
  std::vector<int64_t> shape, data;
  bool isCondition = false;
};

/// Integer inputs of a mask: scalars, vectors over the rows and over batches,
/// and tables.
struct MaskInputs {
  std::map<std::string, int64_t> scalars;
  std::map<std::string, std::vector<int64_t>> rows, batches;
  std::map<std::string, MaskTable> tables = {};
};

/// An integer (index) or Boolean expression of m, n and b.
class Expr {
public:
  enum Kind {
    // Integers.
    Constant,
    M,
    N,
    Scalar,
    Row,
    Batch, // Row: loaded at [m]; Batch: at [b]
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Min,
    Max,
    Abs,
    Choose,
    Load, // from a table at the operands, 0 outside
    // Booleans.
    Le,
    Lt,
    Ge,
    Gt,
    Eq,
    Ne,
    And,
    Or,
    Not,
    Select,
    Ask // from a table of conditions
  };

  Expr(int64_t value) : node(new Node{Constant, value, {}, {}}) {}
  Expr(Kind kind, std::vector<Expr> operands)
      : node(new Node{kind, 0, {}, std::move(operands)}) {}
  Expr(Kind kind, std::string name, std::vector<Expr> operands = {})
      : node(new Node{kind, 0, name, std::move(operands)}) {}

  int64_t evaluate(const MaskInputs &inputs, int64_t b, int64_t m,
                   int64_t n) const;
  /// The expression as the user would write it.
  std::string toString() const;
  /// Emits operations into `out`; returns the value's name and its axes, a
  /// subset of "mn".
  std::pair<std::string, std::string> emit(std::string &out, int64_t tileM,
                                           int64_t tileN, int &next) const;
  /// Adds the names of the inputs that the expression reads.
  void collect(MaskInputs &inputs) const;

private:
  struct Node {
    Kind kind;
    int64_t value;
    std::string name;
    std::vector<Expr> operands;
  };
  std::shared_ptr<const Node> node;
};

inline Expr m() { return {Expr::M, std::vector<Expr>()}; }
inline Expr n() { return {Expr::N, std::vector<Expr>()}; }
inline Expr scalar(std::string name) { return {Expr::Scalar, name}; }
inline Expr perRow(std::string name) { return {Expr::Row, name}; }
inline Expr perBatch(std::string name) { return {Expr::Batch, name}; }
inline Expr load(std::string name, std::vector<Expr> at) {
  return {Expr::Load, name, std::move(at)};
}
inline Expr ask(std::string name, std::vector<Expr> at) {
  return {Expr::Ask, name, std::move(at)};
}
inline Expr operator+(Expr a, Expr b) { return {Expr::Add, {a, b}}; }
inline Expr operator-(Expr a, Expr b) { return {Expr::Sub, {a, b}}; }
inline Expr operator*(Expr a, Expr b) { return {Expr::Mul, {a, b}}; }
inline Expr operator/(Expr a, Expr b) { return {Expr::Div, {a, b}}; }
inline Expr operator%(Expr a, Expr b) { return {Expr::Mod, {a, b}}; }
inline Expr min(Expr a, Expr b) { return {Expr::Min, {a, b}}; }
inline Expr max(Expr a, Expr b) { return {Expr::Max, {a, b}}; }
inline Expr abs(Expr a) { return {Expr::Abs, std::vector<Expr>{a}}; }
inline Expr choose(Expr k, Expr a, Expr b) { return {Expr::Choose, {k, a, b}}; }
inline Expr le(Expr a, Expr b) { return {Expr::Le, {a, b}}; }
inline Expr lt(Expr a, Expr b) { return {Expr::Lt, {a, b}}; }
inline Expr ge(Expr a, Expr b) { return {Expr::Ge, {a, b}}; }
inline Expr gt(Expr a, Expr b) { return {Expr::Gt, {a, b}}; }
inline Expr eq(Expr a, Expr b) { return {Expr::Eq, {a, b}}; }
inline Expr ne(Expr a, Expr b) { return {Expr::Ne, {a, b}}; }
inline Expr all(Expr a, Expr b) { return {Expr::And, {a, b}}; }
inline Expr any(Expr a, Expr b) { return {Expr::Or, {a, b}}; }
inline Expr no(Expr a) { return {Expr::Not, std::vector<Expr>{a}}; }
inline Expr select(Expr k, Expr a, Expr b) { return {Expr::Select, {k, a, b}}; }

/// A random Boolean expression: and/or/not/select of comparisons of sums,
/// quotients, minima and absolute values of m, n, numbers around `size`, the
/// scalars s0 to s2, the row values r0 and the keys' values k0.
Expr drawMask(std::mt19937 &random, int64_t size, int depth);

} // namespace attentile::test

#endif
