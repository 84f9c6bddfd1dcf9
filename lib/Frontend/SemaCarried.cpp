//===- SemaCarried.cpp - axes and types of what loops carry ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In `next (acc = acc * a + sum[n](p * V[b, h, n, e]))` the axes of acc follow
// from its next, which contains acc. So they are found on the syntax tree
// first: from the starts' axes on, the lets and nexts are gone through until
// nothing is added. What is wrong with them is said when they are checked.
//
//===----------------------------------------------------------------------===//

#include "Sema.h"

using namespace attentile;
using namespace attentile::frontend;
using ast::Expr;
using llvm::StringRef;

namespace {

/// Finds shapes without checking anything.
class ShapeFinder {
public:
  using Known = llvm::DenseMap<StringRef, ValueShape>;
  using Lookup = llvm::function_ref<ValueShape(const Expr &)>;
  using Functions = llvm::function_ref<const ast::FunctionDecl *(const Expr &)>;

  /// `outside`: the shape of a name or of a read's element.
  ShapeFinder(Lookup outside, Functions functions)
      : outside(outside), functions(functions) {}

  Known local;

  ValueShape of(const Expr &expr) { return of(expr, local, 0); }

private:
  ValueShape of(const Expr &expr, const Known &known, unsigned depth);
  ValueShape join(const Expr &expr, const Known &known, unsigned depth);
  ValueShape call(const Expr &expr, const Known &known, unsigned depth);
  ValueShape reduce(const Expr &expr, const Known &known, unsigned depth);

  Lookup outside;
  Functions functions;
  unsigned left = 1 << 16; // functions that call twice grow like powers of 2
};

/// Of all arguments together; a float if one is.
ValueShape ShapeFinder::join(const Expr &expr, const Known &known,
                             unsigned depth) {
  ValueShape result;
  for (auto [i, arg] : llvm::enumerate(expr.args)) {
    ValueShape shape = of(*arg, known, depth);
    result.axes |= shape.axes;
    result.reads16 |= shape.reads16;
    if (shape.type != ValueType::Int)
      result.type = shape.type;
  }
  return result;
}

ValueShape ShapeFinder::call(const Expr &expr, const Known &known,
                             unsigned depth) {
  const ast::FunctionDecl *function = functions(expr);
  if (!function || function->params.size() != expr.args.size()) {
    ValueShape cast = join(expr, known, depth);
    cast.type = outside(expr).type;
    return cast;
  }
  Known params;
  for (auto [param, arg] : llvm::zip(function->params, expr.args))
    params[param.str()] = of(*arg, known, depth);
  return of(*function->body, params, depth);
}

ValueShape ShapeFinder::reduce(const Expr &expr, const Known &known,
                               unsigned depth) {
  ValueShape result = join(expr, known, depth);
  bool keepsAxes = expr.reduction == ast::Reduction::Softmax;
  for (ast::Name axis : expr.axes) {
    Expr index{};
    index.kind = Expr::Ref;
    index.name = axis;
    AxisSet bound = of(index, known, depth).axes;
    result.axes = keepsAxes ? result.axes | bound : result.axes & ~bound;
  }
  if (keepsAxes || expr.reduction == ast::Reduction::Logsumexp)
    result.type = ValueType::Float;
  return result;
}

ValueShape ShapeFinder::of(const Expr &expr, const Known &known,
                           unsigned depth) {
  if (left == 0 || depth > ast::maxDepth)
    return {};
  --left;
  ++depth;
  ValueShape result;
  switch (expr.kind) {
  case Expr::Int:
    return result;
  case Expr::Float:
    result.type = ValueType::Float;
    return result;
  case Expr::Bool:
    result.type = ValueType::Bool;
    return result;
  case Expr::Ref: {
    auto it = known.find(expr.name.str());
    return it == known.end() ? outside(expr) : it->second;
  }
  case Expr::Read: {
    result = outside(expr);
    result.axes = join(expr, known, depth).axes;
    return result;
  }
  case Expr::Call:
    return call(expr, known, depth);
  case Expr::Cast:
    result = join(expr, known, depth);
    result.type = valueType(expr.element);
    return result;
  case Expr::Reduce:
    return reduce(expr, known, depth);
  case Expr::Unary:
    return join(expr, known, depth);
  case Expr::Binary:
    result = join(expr, known, depth);
    if (expr.binaryOp < ast::BinaryOp::Add)
      result.type = ValueType::Bool;
    return result;
  case Expr::Apply:
    break;
  }
  using ast::Function;
  if (expr.function == Function::Extent)
    return result;
  result = join(expr, known, depth);
  switch (expr.function) {
  case Function::Where: { // the condition has axes, but no say in the type
    result.type = ValueType::Int;
    for (const Expr *branch : expr.args.drop_front())
      if (ValueType type = of(*branch, known, depth).type;
          type != ValueType::Int)
        result.type = type;
    return result;
  }
  case Function::Abs:
  case Function::Min:
  case Function::Max:
  case Function::Clamp:
    return result;
  default:
    result.type = ValueType::Float;
    return result;
  }
}

} // namespace

void Sema::inferCarried(const ast::TileLoop &loop, const ast::Statement &next,
                        llvm::MutableArrayRef<ValueShape> shapes) {
  auto outside = [&](const Expr &expr) -> ValueShape {
    auto it = names.find(expr.name.str());
    if (it == names.end())
      return {};
    Entity entity = it->second;
    switch (entity.kind) {
    case Entity::Index:
      return {AxisSet(1) << entity.id};
    case Entity::Type:
      return {0, valueType(kernel.types[entity.id].chosen)};
    case Entity::In: {
      ElementType type = kernel.ins[entity.id].type;
      uint8_t reads16 = type == ElementType::BF16  ? readsBF16
                        : type == ElementType::F16 ? readsF16
                                                   : 0;
      return {0, valueType(type), reads16};
    }
    case Entity::Let:
      if (const TypedExpr *value = lets[entity.id].value)
        return {value->axes, value->type, value->reads16};
      return {};
    default:
      return {};
    }
  };
  auto function = [&](const Expr &expr) { return findFunction(expr.name); };
  bool changed = true;
  while (changed) {
    changed = false;
    ShapeFinder finder(outside, function);
    for (auto [carried, shape] : llvm::zip_equal(loop.carried, shapes))
      finder.local[carried.name.str()] = shape;
    for (const ast::Statement &statement : loop.body)
      if (statement.kind == ast::Statement::Let)
        finder.local[statement.name.str()] = finder.of(*statement.value);
    for (const ast::Carried &value : next.carried)
      for (auto [carried, shape] : llvm::zip_equal(loop.carried, shapes)) {
        if (carried.name.str() != value.name.str())
          continue;
        ValueShape from = finder.of(*value.value), before = shape;
        shape.axes |= from.axes;
        shape.reads16 |= from.reads16;
        if (shape.type == ValueType::Int && from.type == ValueType::Float)
          shape.type = ValueType::Float;
        changed |= !(shape == before);
      }
  }
}

/// As in `next (h = sum[d](W[e, d] * h))`, where h has the axis e and cannot
/// have d before it. A loop over single indices has sums over its own axis, of
/// one term.
void Sema::warnOfLostAxis(const Expr &sum, const TypedExpr &product,
                          AxisSet bound) {
  if (product.op != TypedExpr::Mul ||
      (currentLoop && currentLoop->size == 1 &&
       bound == AxisSet(1) << currentLoop->axis))
    return;
  for (const TypedExpr *factor : product.operands) {
    if (factor->op != TypedExpr::Carried || factor->axes & bound ||
        factor->axes == 0)
      continue;
    std::string over, has;
    for (auto [i, index] : llvm::enumerate(kernel.indices))
      if ((bound | factor->axes) >> i & 1) {
        std::string &names = bound >> i & 1 ? over : has;
        names += (names.empty() ? "" : ", ") + index.name.str();
      }
    // [L5.10]
    diagnostics
        .warning(file, sum.range,
                 "the sum over " + over + " is of the other factor alone: '" +
                     factor->name + "' has the axes " + has)
        .note("what is carried keeps its axes from tile to tile");
  }
}
