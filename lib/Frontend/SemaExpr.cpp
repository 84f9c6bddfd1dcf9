//===- SemaExpr.cpp - expressions: names, types, axes ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "llvm/Support/MathExtras.h"

using namespace attentile;
using namespace attentile::frontend;
using ast::Expr;
using llvm::StringRef;
using llvm::Twine;

const TypedExpr *Sema::visit(const Expr &expr, Scope scope) {
  if (tooLarge || diagnostics.isFull())
    return nullptr;
  // The parser has bounded each tree; inlining puts trees into each other.
  if (++scope.depth > ast::maxDepth) {
    // [L8.4]
    error(scope, expr.range,
          "expected an expression at most " + Twine(ast::maxDepth) +
              " levels deep with what is inlined, got a deeper one")
        .note("name a part of it with let");
    return nullptr;
  }
  return visitKind(expr, scope);
}

const TypedExpr *Sema::visitKind(const Expr &expr, const Scope &scope) {
  switch (expr.kind) {
  case Expr::Int:
    return intConst(expr.intValue, expr.range);
  case Expr::Float:
    return floatConst(expr.floatValue, expr.range);
  case Expr::Bool:
    return boolConst(expr.intValue, expr.range);
  case Expr::Ref:
    return ref(expr, scope);
  case Expr::Read:
    return read(expr, scope);
  case Expr::Call:
    return castOrCall(expr, scope);
  case Expr::Apply:
    return apply(expr, scope);
  case Expr::Cast:
    return cast(expr.element, expr, scope);
  case Expr::Reduce:
    return reduce(expr, scope);
  case Expr::Unary:
    return unary(expr, scope);
  case Expr::Binary:
    return binary(expr, scope);
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Functions and casts
//===----------------------------------------------------------------------===//

bool Sema::expectNumber(const TypedExpr *value, const Expr &expr,
                        const Scope &scope, const Twine &what) {
  if (!value)
    return false;
  if (value->type != ValueType::Bool)
    return true;
  // [L2.3]
  error(scope, expr.range, "expected a number " + what + ", got bool")
      .note("write where(..., 1, 0) to make a number of it, and to mask a "
            "score where(condition, s, -inf)");
  return false;
}

bool Sema::expectBool(const TypedExpr *value, const Expr &expr,
                      const Scope &scope, const Twine &what) {
  if (!value)
    return false;
  if (value->type == ValueType::Bool)
    return true;
  // [L2.3]
  error(scope, expr.range,
        "expected a bool " + what + ", got " + spelling(value->type))
      .note("compare it, as in x != 0");
  return false;
}

/// What a call with the right arguments looks like.
static std::string usage(const Expr &expr, StringRef name) {
  if (expr.kind == Expr::Cast)
    return (name + "(x)").str();
  switch (expr.function) {
  case ast::Function::Where:
    return "where(condition, a, b)";
  case ast::Function::Clamp:
    return "clamp(x, low, high)";
  case ast::Function::Dropout:
    return "dropout(x, rate, seed)";
  case ast::Function::Pow:
    return "pow(x, y)";
  case ast::Function::Min:
  case ast::Function::Max:
    return (name + "(a, b), or of an axis " + name + "[n](x)").str();
  default:
    return (name + "(x)").str();
  }
}

bool Sema::visitArgs(const Expr &expr, const Scope &scope, unsigned count,
                     llvm::SmallVectorImpl<const TypedExpr *> &values) {
  if (expr.args.size() != count) {
    StringRef name = expr.kind == Expr::Apply  ? ast::spelling(expr.function)
                     : expr.kind == Expr::Cast ? spelling(expr.element)
                                               : expr.name.str();
    // [L2.7]
    error(scope, expr.range,
          "expected " + counted(count, "argument", "arguments") + " to '" +
              name + "', got " + Twine(expr.args.size()))
        .note("write " + usage(expr, name));
    return false;
  }
  bool failed = false;
  for (const Expr *arg : expr.args) {
    values.push_back(visit(*arg, scope));
    failed |= !values.back();
  }
  return !failed;
}

/// The node of a function of one float.
static TypedExpr::Op floatFunction(ast::Function function) {
  using ast::Function;
  switch (function) {
  case Function::Exp:
    return TypedExpr::Exp;
  case Function::Exp2:
    return TypedExpr::Exp2;
  case Function::Log:
    return TypedExpr::Log;
  case Function::Log2:
    return TypedExpr::Log2;
  case Function::Tanh:
    return TypedExpr::Tanh;
  case Function::Sigmoid:
    return TypedExpr::Sigmoid;
  case Function::Sqrt:
    return TypedExpr::Sqrt;
  case Function::Rsqrt:
    return TypedExpr::Rsqrt;
  case Function::Sin:
    return TypedExpr::Sin;
  case Function::Cos:
    return TypedExpr::Cos;
  default:
    return TypedExpr::Floor;
  }
}

const TypedExpr *Sema::apply(const Expr &expr, const Scope &scope) {
  using ast::Function;
  if (expr.function == Function::Extent) {
    if (expr.args.size() != 1 || expr.args[0]->kind != Expr::Ref) {
      // [L2.7]
      error(scope, expr.range, "expected one index variable in extent()")
          .note("write extent(n) for the size of n's axis");
      return nullptr;
    }
    auto index = indexVariable(scope, expr.args[0]->name);
    return index ? sizeValue(kernel.indices[*index].extent, expr.range)
                 : nullptr;
  }
  unsigned count = 1;
  if (expr.function == Function::Where || expr.function == Function::Clamp ||
      expr.function == Function::Dropout)
    count = 3;
  else if (expr.function == Function::Min || expr.function == Function::Max ||
           expr.function == Function::Pow)
    count = 2;
  llvm::SmallVector<const TypedExpr *, 3> args;
  if (!visitArgs(expr, scope, count, args))
    return nullptr;
  SourceRange range = expr.range;

  if (expr.function == Function::Where) {
    if (!expectBool(args[0], *expr.args[0], scope, "as condition"))
      return nullptr;
    bool bools = args[1]->type == ValueType::Bool;
    if (bools != (args[2]->type == ValueType::Bool)) {
      // [L2.3]
      error(scope, range,
            Twine("expected branches of one type, got ") +
                spelling(args[1]->type) + " and " + spelling(args[2]->type))
          .note("bool mixes with nothing");
      return nullptr;
    }
    unify(args[1], args[2]);
    if (!args[1] || !args[2])
      return nullptr;
    return make(TypedExpr::Select, args[1]->type, range, args);
  }
  for (auto [i, arg] : llvm::enumerate(args))
    if (!expectNumber(arg, *expr.args[i], scope,
                      "as argument of '" + ast::spelling(expr.function) + "'"))
      return nullptr;
  switch (expr.function) {
  case Function::Dropout:
    return dropout(expr, scope, args);
  case Function::Abs:
    return make(TypedExpr::Abs, args[0]->type, range, args);
  case Function::Min:
  case Function::Max:
    if (!scope.inlinedAt)
      warnOfIndex(expr, args);
    unify(args[0], args[1]);
    if (!args[0] || !args[1])
      return nullptr;
    return make(expr.function == Function::Min ? TypedExpr::Min
                                               : TypedExpr::Max,
                args[0]->type, range, args);
  case Function::Clamp: { // clamp(x, low, high) = min(max(x, low), high)
    unify(args[0], args[1]);
    if (!args[0] || !args[1])
      return nullptr;
    const TypedExpr *raised =
        make(TypedExpr::Max, args[0]->type, range, {args[0], args[1]});
    unify(raised, args[2]);
    if (!raised || !args[2])
      return nullptr;
    return make(TypedExpr::Min, raised->type, range, {raised, args[2]});
  }
  case Function::Pow:
    args[0] = toFloat(args[0]);
    args[1] = toFloat(args[1]);
    return args[0] && args[1] ? power(args[0], args[1], range) : nullptr;
  default:
    args[0] = toFloat(args[0]);
    return args[0] ? make(floatFunction(expr.function), ValueType::Float, range,
                          args)
                   : nullptr;
  }
}

const TypedExpr *Sema::castOrCall(const Expr &expr, const Scope &scope) {
  auto it = names.find(expr.name.str());
  bool isType = it != names.end() && it->second.kind == Entity::Type;
  // A function of that name may exist beside a parameter, but not beside a
  // type that is used here as a cast.
  if (isType && !findFunction(expr.name))
    return cast(kernel.types[it->second.id].chosen, expr, scope);
  return call(expr, scope);
}

const TypedExpr *Sema::cast(ElementType type, const Expr &expr,
                            const Scope &scope) {
  llvm::SmallVector<const TypedExpr *, 1> args;
  if (!visitArgs(expr, scope, 1, args))
    return nullptr;
  const TypedExpr *value = args[0];
  const Expr &arg = *expr.args[0];
  if (type == ElementType::Bool)
    return expectBool(value, arg, scope, "to cast to bool") ? value : nullptr;
  if (!expectNumber(value, arg, scope, "to cast to " + spelling(type)))
    return nullptr;
  TypedExpr result{};
  result.element = type;
  result.range = expr.range;
  switch (type) {
  case ElementType::F32:
    return toFloat(value);
  case ElementType::BF16:
  case ElementType::F16:
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
    result.op = TypedExpr::Round;
    result.type = ValueType::Float;
    value = toFloat(value);
    return value ? node(result, value) : nullptr;
  case ElementType::I64:
    if (value->type == ValueType::Int)
      return value;
    [[fallthrough]];
  case ElementType::I32:
  case ElementType::I8:
    result.op = TypedExpr::ToInt;
    result.type = ValueType::Int;
    return node(result, value);
  default:
    // [L8.7]
    error(scope, expr.range,
          "a cast to " + spelling(type) + " is not supported yet")
        .note("the language has it, this version of the compiler does not");
    return nullptr;
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

const TypedExpr *Sema::reduce(const Expr &expr, const Scope &scope) {
  using ast::Reduction;
  StringRef name = ast::spelling(expr.reduction);
  if (scope.kind == Scope::Head) {
    // [L1.15]
    error(scope, expr.range,
          "expected sizes and scalars only, got a reduction");
    return nullptr;
  }
  const TypedExpr *value = visit(*expr.args[0], scope);
  AxisSet bound = 0;
  bool failed = !value;
  for (ast::Name axis : expr.axes) {
    auto index = indexVariable(scope, axis);
    if (!index) {
      failed = true;
      continue;
    }
    AxisSet bit = AxisSet(1) << *index;
    if (bound & bit) {
      // [L1.6]
      error(scope, axis.range,
            "expected each axis once, got '" + axis.str() + "' twice");
      failed = true;
    } else if (value && !(value->axes & bit)) {
      // [L1.6]
      Diagnostic &e =
          error(scope, axis.range,
                "expected an axis of the value under '" + name + "', got '" +
                    axis.str() + "', on which it does not depend");
      std::string has;
      for (auto [i, index] : llvm::enumerate(kernel.indices))
        if (value->axes >> i & 1)
          has += (has.empty() ? "" : ", ") + index.name.str();
      e.note(file, expr.args[0]->range,
             has.empty() ? "this has no axis" : "this has the axes " + has);
      failed = true;
    }
    bound |= bit;
  }
  if (failed)
    return nullptr;
  bool logical =
      expr.reduction == Reduction::Any || expr.reduction == Reduction::All;
  if (logical &&
      !expectBool(value, *expr.args[0], scope, "under '" + name + "'"))
    return nullptr;
  if (!logical &&
      !expectNumber(value, *expr.args[0], scope, "under '" + name + "'"))
    return nullptr;

  const TypedExpr *sink = nullptr;
  if (expr.args.size() == 2 && !(sink = sinkOf(expr, bound, scope)))
    return nullptr;

  TypedExpr result{};
  result.range = expr.range;
  result.bound = bound;
  switch (expr.reduction) {
  case Reduction::Sum:
    warnOfLostAxis(expr, *value, bound);
    return sum(bound, value, expr.range);
  case Reduction::Max:
  case Reduction::Min:
    result.op = expr.reduction == Reduction::Max ? TypedExpr::ReduceMax
                                                 : TypedExpr::ReduceMin;
    if (value->type == ValueType::Int)
      for (auto [i, index] : llvm::enumerate(kernel.indices))
        if ((bound >> i & 1) && kernel.evaluate(*index.extent) == 0) {
          // [L2.8]
          error(scope, expr.range,
                "expected a value to take the " + name + " of, got axis '" +
                    index.name + "' of size 0")
              .note("an integer " + name + " of nothing has no value");
          return nullptr;
        }
    break;
  case Reduction::Any:
    result.op = TypedExpr::Any;
    break;
  case Reduction::All:
    result.op = TypedExpr::All;
    break;
  case Reduction::Softmax:
    result.op = TypedExpr::Softmax;
    value = toFloat(value);
    break;
  case Reduction::Logsumexp:
    result.op = TypedExpr::Logsumexp;
    value = toFloat(value);
    break;
  }
  if (!value)
    return nullptr;
  result.type = value->type;
  const TypedExpr *reduced = node(result, value);
  return reduced && sink ? addSink(reduced, sink, expr.range) : reduced;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

const TypedExpr *Sema::unary(const Expr &expr, const Scope &scope) {
  const Expr &operand = *expr.args[0];
  const TypedExpr *value = visit(operand, scope);
  if (expr.unaryOp == ast::UnaryOp::Not)
    return expectBool(value, operand, scope, "after '!'")
               ? make(TypedExpr::Not, ValueType::Bool, expr.range, value)
               : nullptr;
  if (!expectNumber(value, operand, scope, "after '-'"))
    return nullptr;
  if (value->op == TypedExpr::FloatConst)
    return floatConst(-value->floatValue, expr.range);
  if (value->op == TypedExpr::IntConst) // a literal is never the lowest
    return intConst(0 - value->intValue, expr.range);
  return make(TypedExpr::Neg, value->type, expr.range, value);
}

/// Whether an operator on two known integers leaves 64 bits.
static bool overflows(ast::BinaryOp op, int64_t a, int64_t b) {
  int64_t result;
  switch (op) {
  case ast::BinaryOp::Add:
    return llvm::AddOverflow(a, b, result);
  case ast::BinaryOp::Sub:
    return llvm::SubOverflow(a, b, result);
  case ast::BinaryOp::Mul:
    return llvm::MulOverflow(a, b, result);
  case ast::BinaryOp::Div:
    return a == std::numeric_limits<int64_t>::min() && b == -1;
  default:
    return false;
  }
}

const TypedExpr *Sema::binary(const Expr &expr, const Scope &scope) {
  using ast::BinaryOp;
  const Expr &left = *expr.args[0], &right = *expr.args[1];
  const TypedExpr *a = visit(left, scope);
  const TypedExpr *b = visit(right, scope);
  if (!a || !b)
    return nullptr;
  BinaryOp op = expr.binaryOp;
  std::string where = ("beside '" + ast::spelling(op) + "'").str();
  auto nodeOp = static_cast<TypedExpr::Op>(
      TypedExpr::Or + (static_cast<int>(op) - static_cast<int>(BinaryOp::Or)));

  if (op == BinaryOp::Or || op == BinaryOp::And) {
    bool ok = expectBool(a, left, scope, where);
    ok &= expectBool(b, right, scope, where);
    return ok ? make(nodeOp, ValueType::Bool, expr.range, {a, b}) : nullptr;
  }
  bool bothBool = a->type == ValueType::Bool && b->type == ValueType::Bool;
  if (bothBool && (op == BinaryOp::Eq || op == BinaryOp::Ne))
    return make(nodeOp, ValueType::Bool, expr.range, {a, b});
  if (a->type == ValueType::Bool && left.kind == Expr::Binary &&
      op >= BinaryOp::Lt && op <= BinaryOp::Ge) {
    // [L2.3]
    error(scope, expr.range, "expected a number " + where + ", got bool")
        .note("comparisons do not chain: write a < b && b < c");
    return nullptr;
  }
  bool ok = expectNumber(a, left, scope, where);
  ok &= expectNumber(b, right, scope, where);
  if (!ok)
    return nullptr;
  if (op == BinaryOp::Mod &&
      (a->type == ValueType::Float || b->type == ValueType::Float)) {
    // [L2.4]
    error(scope, expr.range, "expected integers beside '%', got f32")
        .note("write x - y * floor(x / y)");
    return nullptr;
  }
  unify(a, b);
  if (!a || !b)
    return nullptr;
  auto x = a->constant(), y = b->constant();
  if (x && y && overflows(op, *x, *y)) {
    // [L2.5]
    error(scope, expr.range,
          "expected a constant that fits 64 bits, got " + Twine(*x) + " " +
              ast::spelling(op) + " " + Twine(*y));
    return nullptr;
  }
  if (op == BinaryOp::Div && x && left.kind == Expr::Int && *x > 0 &&
      !scope.inlinedAt && (y ? *y > *x : *x == 1))
    // [L2.19]
    diagnostics
        .warning(file, expr.range,
                 "integers divide to 0 here" +
                     Twine(y ? "" : " unless the divisor is 1"))
        .note("write " + Twine(*x) + ".0 for a quotient of floats");
  bool compares = op >= BinaryOp::Eq && op <= BinaryOp::Ge;
  return make(nodeOp, compares ? ValueType::Bool : a->type, expr.range, {a, b});
}
