//===- SemaNodes.cpp - making typed nodes, intervals ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace attentile;
using namespace attentile::frontend;

static constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
static constexpr int64_t highest = std::numeric_limits<int64_t>::max();
/// The integers of a type in memory.
static std::pair<int64_t, int64_t> rangeOf(ElementType type) {
  if (type == ElementType::I8)
    return {INT8_MIN, INT8_MAX};
  if (type == ElementType::I32)
    return {INT32_MIN, INT32_MAX};
  return {lowest, highest};
}

static constexpr int64_t largestSize = std::numeric_limits<int32_t>::max();

/// Larger kernels take too long to compile, and what inlining produces must
/// end somewhere (LANGUAGE, section 2).
static constexpr unsigned maxNodes = 1 << 16;

ValueType attentile::valueType(ElementType type) {
  if (type == ElementType::Bool)
    return ValueType::Bool;
  return isFloat(type) ? ValueType::Float : ValueType::Int;
}

llvm::StringRef attentile::spelling(ValueType type) {
  switch (type) {
  case ValueType::Int:
    return "an integer";
  case ValueType::Float:
    return "f32";
  case ValueType::Bool:
    return "bool";
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

namespace {
/// Bounds of an integer; what may overflow is taken to be anything.
struct Interval {
  int64_t low = lowest, high = highest;
};
} // namespace

static Interval of(const TypedExpr *expr) { return {expr->low, expr->high}; }

static Interval add(Interval a, Interval b) {
  Interval r;
  if (llvm::AddOverflow(a.low, b.low, r.low) ||
      llvm::AddOverflow(a.high, b.high, r.high))
    return {};
  return r;
}

static Interval sub(Interval a, Interval b) {
  Interval r;
  if (llvm::SubOverflow(a.low, b.high, r.low) ||
      llvm::SubOverflow(a.high, b.low, r.high))
    return {};
  return r;
}

static Interval mul(Interval a, Interval b) {
  int64_t corner[4];
  if (llvm::MulOverflow(a.low, b.low, corner[0]) ||
      llvm::MulOverflow(a.low, b.high, corner[1]) ||
      llvm::MulOverflow(a.high, b.low, corner[2]) ||
      llvm::MulOverflow(a.high, b.high, corner[3]))
    return {};
  auto [low, high] = std::minmax_element(corner, corner + 4);
  return {*low, *high};
}

/// Division toward minus infinity; 0 for a divisor of 0.
static Interval div(Interval a, Interval b) {
  if (b.low == 0 && b.high == 0)
    return {0, 0};
  if (b.low < 1) // a negative or 0 divisor: only a bound on the size is kept
    return {};
  auto floorDiv = [](int64_t x, int64_t y) {
    return x / y - (x % y != 0 && x < 0);
  };
  return {std::min(floorDiv(a.low, b.low), floorDiv(a.low, b.high)),
          std::max(floorDiv(a.high, b.low), floorDiv(a.high, b.high))};
}

static Interval mod(Interval a, Interval b) {
  if (b.low == 0 && b.high == 0)
    return {0, 0};
  if (b.low < 0)
    return {};
  if (b.low == b.high && a.low == a.high) {
    int64_t r = a.low % b.low;
    r += r < 0 ? b.low : 0;
    return {r, r};
  }
  return {0, b.high - 1};
}

void Sema::setInterval(TypedExpr &expr) {
  Interval r;
  Interval a = expr.operands.size() > 0 ? of(expr.operands[0]) : Interval{};
  Interval b = expr.operands.size() > 1 ? of(expr.operands[1]) : Interval{};
  switch (expr.op) {
  case TypedExpr::IntConst:
    r = {expr.intValue, expr.intValue};
    break;
  case TypedExpr::IndexVar: // not its extent: see SemaBounds.cpp
    r = {0, largestSize - 1};
    break;
  case TypedExpr::Size:
    if (auto value = kernel.evaluate(*expr.size))
      r = {*value, *value};
    else if (expr.size->kind == SizeExpr::Size)
      r = {0, largestSize};
    break;
  case TypedExpr::Read:
  case TypedExpr::Scalar:
    std::tie(r.low, r.high) = rangeOf(kernel.ins[expr.id].type);
    break;
  case TypedExpr::ToInt: {
    std::tie(r.low, r.high) = rangeOf(expr.element);
    if (expr.operands[0]->type == ValueType::Int)
      r = {std::clamp(a.low, r.low, r.high), std::clamp(a.high, r.low, r.high)};
    break;
  }
  case TypedExpr::Materialize:
    r = a;
    break;
  case TypedExpr::Select: {
    Interval c = of(expr.operands[2]);
    r = {std::min(b.low, c.low), std::max(b.high, c.high)};
    break;
  }
  case TypedExpr::Neg:
    r = sub({0, 0}, a);
    break;
  case TypedExpr::Add:
    r = add(a, b);
    break;
  case TypedExpr::Sub:
    r = sub(a, b);
    break;
  case TypedExpr::Mul:
    r = mul(a, b);
    break;
  case TypedExpr::Div:
    r = div(a, b);
    break;
  case TypedExpr::Mod:
    r = mod(a, b);
    break;
  case TypedExpr::Abs:
    if (a.low >= 0)
      r = a;
    else if (a.low != lowest)
      r = {std::max<int64_t>({0, -a.high, a.low}), std::max(-a.low, a.high)};
    break;
  case TypedExpr::Min:
    r = {std::min(a.low, b.low), std::min(a.high, b.high)};
    break;
  case TypedExpr::Max:
    r = {std::max(a.low, b.low), std::max(a.high, b.high)};
    break;
  default:
    break;
  }
  expr.low = r.low;
  expr.high = r.high;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

const TypedExpr *Sema::node(TypedExpr expr,
                            llvm::ArrayRef<const TypedExpr *> operands) {
  if (nodes.size() >= maxNodes) {
    if (!tooLarge)
      // [L8.5]
      error(decl.name.range, "expected a kernel of at most " +
                                 llvm::Twine(maxNodes) +
                                 " operations, got a larger one")
          .note("functions are inlined: each call repeats what it calls");
    tooLarge = true;
    return nullptr;
  }
  auto *copy = new (arena.Allocate<TypedExpr>()) TypedExpr(expr);
  copy->operands = operands.copy(arena);
  copy->order = nodes.size();
  copy->inlinedAt = currentCallSite;
  // What comes out of a loop has the axes that it was given.
  bool isResult = copy->op == TypedExpr::LoopResult;
  for (const TypedExpr *operand : operands) {
    copy->axes |= isResult ? 0 : operand->axes;
    copy->reduced |= operand->reduced;
    copy->reads16 |= operand->reads16;
    copy->softmaxes |= operand->softmaxes;
    if (copy->op != TypedExpr::Loop && operand->isOfTile())
      copy->loop = operand->loop;
  }
  if (copy->isReduction()) {
    // A row statistic is made of no softmax of its own row's axis.
    bool keepsAxes = copy->op == TypedExpr::Softmax;
    copy->axes = keepsAxes ? copy->axes : copy->axes & ~copy->bound;
    copy->reduced |= copy->bound;
    copy->softmaxes =
        keepsAxes ? uint64_t(1) << std::min(numSoftmaxes++, 63u) : 0;
    if (currentLoop && copy->bound >> currentLoop->axis & 1)
      copy->loop = currentLoop; // over one of its tiles
  }
  if (copy->op == TypedExpr::Loop) {
    copy->bound = AxisSet(1) << copy->loop->axis;
    copy->reduced |= copy->bound;
    copy->softmaxes = 0;
  }
  if (copy->op == TypedExpr::IndexVar)
    copy->axes |= AxisSet(1) << copy->id;
  if (copy->type == ValueType::Int)
    setInterval(*copy);
  nodes.push_back(copy);
  return copy;
}

const TypedExpr *Sema::make(TypedExpr::Op op, ValueType type, SourceRange range,
                            llvm::ArrayRef<const TypedExpr *> operands) {
  TypedExpr expr{};
  expr.op = op;
  expr.type = type;
  expr.range = range;
  return node(expr, operands);
}

const TypedExpr *Sema::intConst(int64_t value, SourceRange range) {
  TypedExpr expr{};
  expr.op = TypedExpr::IntConst;
  expr.type = ValueType::Int;
  expr.range = range;
  expr.intValue = value;
  return node(expr, {});
}

const TypedExpr *Sema::floatConst(double value, SourceRange range) {
  TypedExpr expr{};
  expr.op = TypedExpr::FloatConst;
  expr.type = ValueType::Float;
  expr.range = range;
  expr.floatValue = value;
  return node(expr, {});
}

const TypedExpr *Sema::boolConst(bool value, SourceRange range) {
  TypedExpr expr{};
  expr.op = TypedExpr::BoolConst;
  expr.type = ValueType::Bool;
  expr.range = range;
  expr.intValue = value;
  return node(expr, {});
}

const TypedExpr *Sema::sizeValue(const SizeExpr *size, SourceRange range) {
  TypedExpr expr{};
  expr.op = TypedExpr::Size;
  expr.type = ValueType::Int;
  expr.range = range;
  expr.size = size;
  return node(expr, {});
}

const TypedExpr *Sema::toFloat(const TypedExpr *value) {
  if (!value || value->type != ValueType::Int)
    return value;
  if (value->op == TypedExpr::IntConst)
    return floatConst(static_cast<double>(value->intValue), value->range);
  return make(TypedExpr::IntToFloat, ValueType::Float, value->range, value);
}

const TypedExpr *Sema::power(const TypedExpr *base, const TypedExpr *exponent,
                             SourceRange range) {
  auto is = [&](double number) {
    return exponent->op == TypedExpr::FloatConst &&
           exponent->floatValue == number;
  };
  if (!is(2) && !is(3))
    return make(TypedExpr::Pow, ValueType::Float, range, {base, exponent});
  const TypedExpr *square =
      make(TypedExpr::Mul, ValueType::Float, range, {base, base});
  if (!square || is(2))
    return square;
  return make(TypedExpr::Mul, ValueType::Float, range, {square, base});
}

const TypedExpr *Sema::remake(const TypedExpr &old,
                              llvm::ArrayRef<const TypedExpr *> operands) {
  const CallSite *site = std::exchange(currentCallSite, old.inlinedAt);
  const TypedExpr *copy = node(old, operands);
  currentCallSite = site;
  return copy;
}

void Sema::copyGraph(llvm::function_ref<bool(const TypedExpr &old)> isNeeded,
                     llvm::function_ref<const TypedExpr *(
                         const TypedExpr &old, const TypedExpr *copy,
                         llvm::ArrayRef<const TypedExpr *>)>
                         change) {
  const std::vector<const TypedExpr *> written = nodes;
  std::vector<const TypedExpr *> copies;
  for (const TypedExpr *old : written) {
    copies.push_back(old);
    if (!isNeeded(*old))
      continue;
    llvm::SmallVector<const TypedExpr *> operands;
    for (const TypedExpr *operand : old->operands)
      operands.push_back(copies[operand->order]);
    const TypedExpr *copy = old;
    if (old->operands != llvm::ArrayRef(operands))
      copy = remake(*old, operands);
    copies.back() = copy ? change(*old, copy, copies) : nullptr;
    if (!copies.back())
      return; // too large, and reported
  }
  for (CheckedStatement &statement : kernel.body)
    if (statement.value)
      statement.value = copies[statement.value->order];
}

void Sema::unify(const TypedExpr *&a, const TypedExpr *&b) {
  if (!a || !b || a->type == b->type)
    return;
  a = toFloat(a);
  b = toFloat(b);
}
