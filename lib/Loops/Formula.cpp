//===- Formula.cpp - Boolean formulas over conditions ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace attentile {

Formulas::Formulas() {
  no = get(FormulaNode::False, {}, false, nullptr, nullptr);
  yes = get(FormulaNode::True, {}, false, nullptr, nullptr);
}

Formula Formulas::get(FormulaNode::Kind kind, Value atom, bool negated,
                      Formula lhs, Formula rhs) {
  std::unique_ptr<FormulaNode> &node =
      nodes[{kind, atom.getAsOpaquePointer(), negated, lhs, rhs}];
  if (!node)
    node.reset(
        new FormulaNode{kind, atom, negated, lhs, rhs, unsigned(nodes.size())});
  return node.get();
}

Formula Formulas::getAtom(Value value, bool negated) {
  return get(FormulaNode::Atom, value, negated, nullptr, nullptr);
}

/// Operands in the order in which they were made: what is emitted for a formula
/// is in that order, which addresses would change from run to run.
static void sortOperands(Formula &a, Formula &b) {
  if (b->number < a->number)
    std::swap(a, b);
}

/// `x` if `b` is `a` and `x`, or `a` or `x` (the kind); else null.
static Formula getOther(Formula a, Formula b, FormulaNode::Kind kind) {
  if (b->kind != kind || (b->lhs != a && b->rhs != a))
    return nullptr;
  return b->lhs == a ? b->rhs : b->lhs;
}

Formula Formulas::getAnd(Formula a, Formula b) {
  if (a->isFalse() || b->isTrue() || a == b)
    return a;
  if (b->isFalse() || a->isTrue())
    return b;
  if (getNot(a) == b)
    return no;
  if (getOther(a, b, FormulaNode::Or) || getOther(b, a, FormulaNode::And))
    return a;
  if (getOther(b, a, FormulaNode::Or) || getOther(a, b, FormulaNode::And))
    return b;
  if (Formula x = getOther(getNot(a), b, FormulaNode::Or))
    return getAnd(a, x);
  if (Formula x = getOther(getNot(b), a, FormulaNode::Or))
    return getAnd(x, b);
  sortOperands(a, b);
  return get(FormulaNode::And, {}, false, a, b);
}

Formula Formulas::getOr(Formula a, Formula b) {
  if (a->isTrue() || b->isFalse() || a == b)
    return a;
  if (b->isTrue() || a->isFalse())
    return b;
  if (getNot(a) == b)
    return yes;
  if (getOther(a, b, FormulaNode::And) || getOther(b, a, FormulaNode::Or))
    return a;
  if (getOther(b, a, FormulaNode::And) || getOther(a, b, FormulaNode::Or))
    return b;
  if (Formula x = getOther(getNot(a), b, FormulaNode::And))
    return getOr(a, x);
  if (Formula x = getOther(getNot(b), a, FormulaNode::And))
    return getOr(x, b);
  sortOperands(a, b);
  return get(FormulaNode::Or, {}, false, a, b);
}

Formula Formulas::getNot(Formula a) {
  switch (a->kind) {
  case FormulaNode::False:
    return yes;
  case FormulaNode::True:
    return no;
  case FormulaNode::Atom:
    return getAtom(a->atom, !a->negated);
  case FormulaNode::And:
  case FormulaNode::Or:
    break;
  }
  if (Formula known = negations.lookup(a))
    return known;
  // Not through getAnd and getOr: they ask for negations themselves, and what
  // they could simplify was simplified in `a`.
  Formula lhs = getNot(a->lhs), rhs = getNot(a->rhs);
  sortOperands(lhs, rhs);
  Formula result =
      get(a->kind == FormulaNode::And ? FormulaNode::Or : FormulaNode::And, {},
          false, lhs, rhs);
  negations[a] = result;
  negations[result] = a;
  return result;
}

Formula Formulas::getSelect(Formula condition, Formula a, Formula b,
                            bool consensus) {
  if (a == b)
    return a;
  Formula result = getOr(getAnd(condition, a), getAnd(getNot(condition), b));
  return consensus ? getOr(result, getAnd(a, b)) : result;
}

Formula Formulas::getWhere(Formula formula, Value atom, bool value) {
  return foldFormula<Formula>(
      formula,
      [&](Formula node) {
        return node->kind == FormulaNode::Atom && node->atom == atom
                   ? get(value != node->negated)
                   : node;
      },
      [&](Formula node, Formula a, Formula b) {
        return node->kind == FormulaNode::And ? getAnd(a, b) : getOr(a, b);
      });
}

Formula Formulas::getWithout(Formula formula, function_ref<bool(Value)> test,
                             bool always) {
  while (true) {
    Value found;
    anyAtom(formula, [&](Value atom) {
      if (test(atom))
        found = atom;
      return bool(found);
    });
    if (!found)
      return formula;
    // Where all of its leaves are alike, the formula with one of its values
    // follows from that with the other: nothing grows.
    auto stands = [&](bool negated) {
      return anyLeaf(formula, [&](Formula leaf) {
        return leaf->atom == found && leaf->negated == negated;
      });
    };
    bool isPlain = stands(false);
    if (isPlain != stands(true)) {
      formula = getWhere(formula, found, isPlain != always);
      continue;
    }
    Formula yes = getWhere(formula, found, true);
    Formula no = getWhere(formula, found, false);
    formula = always ? getAnd(yes, no) : getOr(yes, no);
  }
}

bool Formulas::anyAtom(Formula formula, function_ref<bool(Value)> test) {
  return anyLeaf(formula, [&](Formula leaf) { return test(leaf->atom); });
}

bool Formulas::anyLeaf(Formula formula, function_ref<bool(Formula)> test) {
  llvm::SmallPtrSet<Formula, 16> seen;
  SmallVector<Formula> open = {formula};
  while (!open.empty()) {
    Formula node = open.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    if (node->kind == FormulaNode::Atom && test(node))
      return true;
    if (node->lhs) {
      open.push_back(node->lhs);
      open.push_back(node->rhs);
    }
  }
  return false;
}

} // namespace attentile
