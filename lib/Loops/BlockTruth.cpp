//===- BlockTruth.cpp - what a formula is in one block --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Truth by intervals, then by asking elements. What a value may be over the
// block stands in BlockValues.cpp.
//
//===----------------------------------------------------------------------===//

#include "BlockTruth.h"
#include "VisibilityFormula.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace attentile {

BlockTruth::BlockTruth(IndexBuilder &index, IntervalSets &sets, scf::ForOp loop,
                       ArrayRef<RowAxis> rows, Value start, int64_t size)
    : index(index), sets(sets), loop(loop), rows(rows), start(start),
      size(size) {
  last = index.add(index.minimum(index.add(start, size), loop.getUpperBound()),
                   -1);
  copies.map(loop.getInductionVar(), start);
}

//===----------------------------------------------------------------------===//
// By intervals
//===----------------------------------------------------------------------===//

Truth BlockTruth::getUnknown() {
  return {index.boolean(true), index.boolean(false)};
}

Truth BlockTruth::negate(Truth truth) {
  return {index.logicalNot(truth.sure), index.logicalNot(truth.can)};
}

Truth BlockTruth::both(Truth a, Truth b) {
  return {index.logicalAnd(a.can, b.can), index.logicalAnd(a.sure, b.sure)};
}

Truth BlockTruth::either(Truth a, Truth b) {
  return {index.logicalOr(a.can, b.can), index.logicalOr(a.sure, b.sure)};
}

Truth BlockTruth::get(Formula formula) {
  return foldFormula<Truth>(
      formula,
      [&](Formula node) -> Truth {
        if (node->kind != FormulaNode::Atom) {
          Value constant = index.boolean(node->isTrue());
          return {constant, constant};
        }
        Truth truth = getCondition(node->atom);
        return node->negated ? negate(truth) : truth;
      },
      [&](Formula node, Truth a, Truth b) {
        return node->kind == FormulaNode::And ? both(a, b) : either(a, b);
      });
}

Truth BlockTruth::getCondition(Value condition) {
  condition = stripBroadcast(condition);
  if (auto constant = getIntegerConstant(condition)) {
    Value known = index.boolean(!constant->isZero());
    return {known, known};
  }
  if (Value uniform = copyUniform(condition))
    return {uniform, uniform};
  Operation *op = condition.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op)) {
    Truth a = getCondition(op->getOperand(0));
    Truth b = getCondition(op->getOperand(1));
    return isa<arith::AndIOp>(op) ? both(a, b) : either(a, b);
  }
  if (isa_and_nonnull<arith::XOrIOp>(op))
    for (unsigned i : {0u, 1u})
      if (auto constant = getIntegerConstant(op->getOperand(i))) {
        Truth truth = getCondition(op->getOperand(1 - i));
        return constant->isZero() ? truth : negate(truth);
      }
  if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
      compare && tile::getElementType(compare.getLhs().getType()).isIndex())
    return getComparison(compare);
  // A value of rows or of columns alone: each is asked.
  auto type = dyn_cast<RankedTensorType>(condition.getType());
  if (!type || type.getRank() > 1)
    return getUnknown();
  return {reduce(condition, attn::ReduceKind::Any),
          reduce(condition, attn::ReduceKind::All)};
}

Truth BlockTruth::getComparison(arith::CmpIOp compare) {
  using P = arith::CmpIPredicate;
  P predicate = compare.getPredicate();
  if (predicate >= P::ult) {
    if (getStaticRange(compare.getLhs()).lo < 0 ||
        getStaticRange(compare.getRhs()).lo < 0)
      return getUnknown();
    predicate = predicate == P::ult   ? P::slt
                : predicate == P::ule ? P::sle
                : predicate == P::ugt ? P::sgt
                                      : P::sge;
  }
  AffineForm difference = getAffineForm(compare.getLhs());
  if (!difference.add(getAffineForm(compare.getRhs()), -1))
    return getUnknown();
  Range range = getRange(difference);
  if (!range.lo)
    return getUnknown();
  auto atMost = [&](int64_t bound) -> Truth {
    return {index.isLessOrEqual(range.lo, index.constant(bound)),
            index.isLessOrEqual(range.hi, index.constant(bound))};
  };
  auto atLeast = [&](int64_t bound) -> Truth {
    return {index.isLessOrEqual(index.constant(bound), range.hi),
            index.isLessOrEqual(index.constant(bound), range.lo)};
  };
  switch (predicate) {
  case P::slt:
    return atMost(-1);
  case P::sle:
    return atMost(0);
  case P::sgt:
    return atLeast(1);
  case P::sge:
    return atLeast(0);
  case P::eq:
    return both(atMost(0), atLeast(0));
  default:
    return negate(both(atMost(0), atLeast(0)));
  }
}

//===----------------------------------------------------------------------===//
// By elements
//===----------------------------------------------------------------------===//

/// Whether a condition has axes that the loop's body sums up alone, as d of a
/// score's sum.
static bool isOfInnerAxes(Value condition, scf::ForOp loop) {
  llvm::DenseSet<StringAttr> inner;
  loop.getBody()->walk([&](Operation *op) {
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      inner.insert_range(reduce.getOver().getAsRange<StringAttr>());
    if (auto dot = dyn_cast<tile::DotOp>(op))
      inner.insert_range(dot.getOver().getAsRange<StringAttr>());
  });
  inner.erase(loop->getAttrOfType<StringAttr>("tile.axis"));
  ArrayRef<StringAttr> axes = tile::getAxes(condition.getType());
  return !axes.empty() && llvm::all_of(axes, [&](StringAttr axis) {
    return inner.contains(axis);
  });
}

bool canAskElements(Value condition, scf::ForOp loop) {
  if (isOfInnerAxes(condition, loop))
    return false;
  auto kernel = loop->getParentOfType<tile::KernelOp>();
  llvm::DenseSet<Value> seen;
  SmallVector<Value> open = {condition};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *parent = value.getParentBlock()->getParentOp();
    if (value == loop.getInductionVar() || !kernel->isAncestor(parent) ||
        !seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op && parent == kernel)
      continue; // a coordinate
    if (!op || (parent != loop && parent != kernel) ||
        op->getNumRegions() != 0 || !isPure(op))
      return false;
    llvm::append_range(open, op->getOperands());
  }
  return isMadeOfIntegers(condition);
}

Value BlockTruth::askAny(Formula formula) {
  RankedTensorType type = getType(formula);
  if (type.getRank() == 0)
    return get(formula).can; // numbers alone are known
  auto elements = [&](Value atom) { return copy(atom); };
  return reduceElements(ask(formula, type, elements), attn::ReduceKind::Any);
}

Value BlockTruth::askAll(Formula formula) {
  RankedTensorType type = getType(formula);
  if (type.getRank() == 0)
    return get(formula).sure;
  auto elements = [&](Value atom) { return copy(atom); };
  return reduceElements(ask(formula, type, elements), attn::ReduceKind::All);
}

/// The tile of all axes that the formula's conditions have.
RankedTensorType BlockTruth::getType(Formula formula) {
  llvm::MapVector<StringAttr, int64_t> found;
  Formulas::anyAtom(formula, [&](Value atom) {
    atom = stripBroadcast(atom);
    if (auto type = dyn_cast<RankedTensorType>(atom.getType()))
      for (auto [axis, extent] :
           llvm::zip_equal(tile::getAxes(type), type.getShape()))
        found.insert({axis, extent});
    return false;
  });
  // Rows come first.
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  auto take = [&](StringAttr axis) {
    names.push_back(axis);
    sizes.push_back(found.lookup(axis));
    found.erase(axis);
  };
  for (const RowAxis &row : rows) {
    StringAttr axis = tile::getAxes(row.index->getResult(0).getType())[0];
    if (found.contains(axis))
      take(axis);
  }
  while (!found.empty())
    take(found.front().first);
  return tile::getTileType(index.getBuilder().getI1Type(), names, sizes);
}

/// The formula of each element.
Value BlockTruth::ask(Formula formula, RankedTensorType type,
                      function_ref<Value(Value)> getElements) {
  OpBuilder &builder = index.getBuilder();
  Location loc = index.getLoc();
  return foldFormula<Value>(
      formula,
      [&](Formula node) -> Value {
        if (node->kind != FormulaNode::Atom)
          return index.fill(type, node->isTrue());
        Value elements = getElements(stripBroadcast(node->atom));
        if (!elements)
          return {};
        elements = builder.createOrFold<tile::BroadcastOp>(loc, type, elements);
        return node->negated ? builder.createOrFold<arith::XOrIOp>(
                                   loc, elements, index.fill(type, 1))
                             : elements;
      },
      [&](Formula node, Value a, Value b) -> Value {
        if (!a || !b)
          return {};
        return node->kind == FormulaNode::And ? index.logicalAnd(a, b)
                                              : index.logicalOr(a, b);
      });
}

std::optional<Truth> BlockTruth::getOf(Part part, Formula formula) {
  Value elements = ask(formula, getType(part, index.getBuilder().getI1Type()),
                       [&](Value atom) { return copyOf(part, atom); });
  if (!elements)
    return std::nullopt;
  return Truth{reduceElements(elements, attn::ReduceKind::Any),
               reduceElements(elements, attn::ReduceKind::All)};
}

/// Which elements of a tile of this type lie in rows and columns that count;
/// null if all do.
Value BlockTruth::getElementsThatCount(RankedTensorType type) {
  OpBuilder &builder = index.getBuilder();
  Location loc = index.getLoc();
  auto indices = cast<RankedTensorType>(
      tile::withElementType(type, builder.getIndexType()));
  Value result;
  auto require = [&](Value at, Value end) {
    at = builder.createOrFold<tile::BroadcastOp>(loc, indices, at);
    end = builder.createOrFold<tile::BroadcastOp>(loc, indices, end);
    Value counts =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at, end);
    result = result ? index.logicalAnd(result, counts) : counts;
  };
  for (RowAxis row : rows)
    if (row.extent &&
        tile::getAxisPosition(type, tile::getAxes(row.index.getType())[0]))
      require(row.index.getResult(), row.extent);
  auto axis = loop->getAttrOfType<StringAttr>("tile.axis");
  auto extent = getIntegerConstant(loop.getUpperBound());
  bool isWhole = extent && extent->getSExtValue() % size == 0;
  if (tile::getAxisPosition(type, axis) && !isWhole)
    require(tile::IndexOp::create(
                builder, loc,
                tile::getTileType(builder.getIndexType(), {axis}, {size}),
                start),
            loop.getUpperBound());
  return result;
}

/// Over the elements that count of a tile for this block.
Value BlockTruth::reduceElements(Value tile, attn::ReduceKind kind) {
  Value counts = getElementsThatCount(cast<RankedTensorType>(tile.getType()));
  return reduceWhere(index, counts, tile, kind);
}

Value BlockTruth::reduce(Value tile, attn::ReduceKind kind) {
  return sets.isInvariant(tile) ? sets.reduceRows(tile, kind)
                                : reduceElements(copy(tile), kind);
}

} // namespace attentile
