//===- Formula.h - Boolean formulas over conditions -------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_FORMULA_H
#define ATTENTILE_LOOPS_FORMULA_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <memory>
#include <tuple>

namespace attentile {

/// A Boolean formula in negation normal form; nodes are unique, so equal
/// pointers are equal formulas.
struct FormulaNode {
  enum Kind { False, True, Atom, And, Or };
  Kind kind;
  mlir::Value atom;     // Atom: an i1 scalar or tile that is no and/or/not
  bool negated = false; // Atom
  const FormulaNode *lhs = nullptr, *rhs = nullptr; // And, Or
  unsigned number = 0; ///< in the order in which nodes are made

  bool isTrue() const { return kind == True; }
  bool isFalse() const { return kind == False; }
};
using Formula = const FormulaNode *;

/// What a formula amounts to: `leaf` of each atom and constant, `join` of each
/// And and Or and what its sides gave. Each node is asked once, however many
/// hold it: there are far more ways through a formula than nodes.
template <typename T>
T foldFormula(Formula formula, llvm::function_ref<T(Formula)> leaf,
              llvm::function_ref<T(Formula, T, T)> join) {
  llvm::DenseMap<Formula, T> known;
  auto fold = [&](auto &&fold, Formula node) -> T {
    if (auto found = known.find(node); found != known.end())
      return found->second;
    T result;
    if (node->lhs) {
      T a = fold(fold, node->lhs), b = fold(fold, node->rhs);
      result = join(node, a, b);
    } else {
      result = leaf(node);
    }
    return known[node] = result;
  };
  return fold(fold, formula);
}

/// Makes formulas, simplified by the laws of constants, repetition,
/// contradiction and absorption.
class Formulas {
public:
  Formulas();
  Formula get(bool value) const { return value ? yes : no; }
  Formula getAtom(mlir::Value value, bool negated = false);
  Formula getAnd(Formula a, Formula b);
  Formula getOr(Formula a, Formula b);
  Formula getNot(Formula a);
  /// condition ? a : b. With `consensus`, also `a & b`: the same function, but
  /// tighter where nothing is known of the condition.
  Formula getSelect(Formula condition, Formula a, Formula b, bool consensus);

  /// The formula where an atom is what `value` says.
  Formula getWhere(Formula formula, mlir::Value atom, bool value);
  /// Without the atoms that satisfy `test`: where it holds for some values of
  /// theirs or, with `always`, for all of them.
  Formula getWithout(Formula formula,
                     llvm::function_ref<bool(mlir::Value)> test, bool always);

  /// Whether an atom of the formula satisfies `test`.
  static bool anyAtom(Formula formula,
                      llvm::function_ref<bool(mlir::Value)> test);

private:
  /// The same, of an atom as it stands there, negated or not.
  static bool anyLeaf(Formula formula, llvm::function_ref<bool(Formula)> test);

  Formula get(FormulaNode::Kind kind, mlir::Value atom, bool negated,
              Formula lhs, Formula rhs);

  using Key = std::tuple<int, void *, bool, Formula, Formula>;
  std::map<Key, std::unique_ptr<FormulaNode>> nodes;
  llvm::DenseMap<Formula, Formula> negations;
  Formula yes, no;
};

} // namespace attentile

#endif
