//===- SemaConstants.cpp - conditions whose values are known --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace attentile;
using namespace attentile::frontend;

namespace {
/// A constant of any type; floats are rounded to f32 at each step, as they
/// would be at run time.
struct Constant {
  int64_t i = 0; // of an Int or a Bool
  float f = 0;
};

class Evaluator {
public:
  explicit Evaluator(const CheckedKernel &kernel) : kernel(kernel) {}
  std::optional<Constant> evaluate(const TypedExpr &expr) {
    // Calls share their arguments: a graph, with more paths than nodes.
    auto it = known.find(&expr);
    if (it != known.end())
      return it->second;
    std::optional<Constant> value = evaluateNode(expr);
    known.try_emplace(&expr, value);
    return value;
  }

private:
  std::optional<Constant> evaluateNode(const TypedExpr &expr);
  std::optional<Constant> logical(const TypedExpr &expr);
  std::optional<Constant> integer(const TypedExpr &expr, int64_t a, int64_t b);
  std::optional<Constant> floating(const TypedExpr &expr, float a, float b);
  std::optional<Constant> convert(const TypedExpr &expr, Constant a);

  const CheckedKernel &kernel;
  llvm::DenseMap<const TypedExpr *, std::optional<Constant>> known;
};
} // namespace

static Constant ofBool(bool value) { return {value, 0}; }
static Constant ofInt(int64_t value) { return {value, 0}; }
static Constant ofFloat(float value) { return {0, value}; }

/// A comparison of integers, Booleans or floats; nothing for another op.
template <typename T>
static std::optional<Constant> compare(TypedExpr::Op op, T a, T b) {
  switch (op) {
  case TypedExpr::Eq:
    return ofBool(a == b);
  case TypedExpr::Ne:
    return ofBool(a != b);
  case TypedExpr::Lt:
    return ofBool(a < b);
  case TypedExpr::Le:
    return ofBool(a <= b);
  case TypedExpr::Gt:
    return ofBool(a > b);
  case TypedExpr::Ge:
    return ofBool(a >= b);
  default:
    return std::nullopt;
  }
}

/// One side may decide alone.
std::optional<Constant> Evaluator::logical(const TypedExpr &expr) {
  bool deciding = expr.op == TypedExpr::Or;
  auto a = evaluate(*expr.operands[0]), b = evaluate(*expr.operands[1]);
  if ((a && a->i == deciding) || (b && b->i == deciding))
    return ofBool(deciding);
  return a && b ? std::optional(ofBool(!deciding)) : std::nullopt;
}

std::optional<Constant> Evaluator::integer(const TypedExpr &expr, int64_t a,
                                           int64_t b) {
  SizeExpr left{SizeExpr::Constant, a, 0, nullptr, nullptr};
  SizeExpr right{SizeExpr::Constant, b, 0, nullptr, nullptr};
  auto arithmetic = [&](SizeExpr::Kind kind) -> std::optional<Constant> {
    SizeExpr both{kind, 0, 0, &left, &right};
    auto value = both.evaluate([](unsigned) { return std::nullopt; });
    return value ? std::optional(ofInt(*value)) : std::nullopt;
  };
  switch (expr.op) {
  case TypedExpr::Add:
    return arithmetic(SizeExpr::Add);
  case TypedExpr::Sub:
    return arithmetic(SizeExpr::Sub);
  case TypedExpr::Mul:
    return arithmetic(SizeExpr::Mul);
  case TypedExpr::Div:
    return arithmetic(SizeExpr::FloorDiv);
  case TypedExpr::Mod:
    return arithmetic(SizeExpr::Mod);
  case TypedExpr::Min:
    return ofInt(std::min(a, b));
  case TypedExpr::Max:
    return ofInt(std::max(a, b));
  case TypedExpr::Neg:
    return a == std::numeric_limits<int64_t>::min() ? std::nullopt
                                                    : std::optional(ofInt(-a));
  case TypedExpr::Abs:
    return a == std::numeric_limits<int64_t>::min()
               ? std::nullopt
               : std::optional(ofInt(std::abs(a)));
  default:
    return compare(expr.op, a, b);
  }
}

std::optional<Constant> Evaluator::floating(const TypedExpr &expr, float a,
                                            float b) {
  switch (expr.op) {
  case TypedExpr::Add:
    return ofFloat(a + b);
  case TypedExpr::Sub:
    return ofFloat(a - b);
  case TypedExpr::Mul:
    return ofFloat(a * b);
  case TypedExpr::Div: // by 0 is defined by IEEE, not by C++
    return b == 0 ? std::nullopt : std::optional(ofFloat(a / b));
  case TypedExpr::Neg:
    return ofFloat(-a);
  case TypedExpr::Abs:
    return ofFloat(std::fabs(a));
  case TypedExpr::Floor:
    return ofFloat(std::floor(a));
  // NaN where a side is.
  case TypedExpr::Min:
    return ofFloat(std::isnan(a) || a < b ? a : b);
  case TypedExpr::Max:
    return ofFloat(std::isnan(a) || a > b ? a : b);
  case TypedExpr::Exp:
    return ofFloat(std::exp(a));
  case TypedExpr::Exp2:
    return ofFloat(std::exp2(a));
  case TypedExpr::Log:
    return ofFloat(std::log(a));
  case TypedExpr::Log2:
    return ofFloat(std::log2(a));
  case TypedExpr::Tanh:
    return ofFloat(std::tanh(a));
  case TypedExpr::Sigmoid:
    return ofFloat(1 / (1 + std::exp(-a)));
  case TypedExpr::Sqrt:
    return ofFloat(std::sqrt(a));
  case TypedExpr::Rsqrt:
    return a == 0 ? std::nullopt : std::optional(ofFloat(1 / std::sqrt(a)));
  case TypedExpr::Sin:
    return ofFloat(std::sin(a));
  case TypedExpr::Cos:
    return ofFloat(std::cos(a));
  case TypedExpr::Pow:
    return ofFloat(std::pow(a, b));
  default:
    return compare(expr.op, a, b);
  }
}

std::optional<Constant> Evaluator::convert(const TypedExpr &expr, Constant a) {
  switch (expr.op) {
  case TypedExpr::IntToFloat:
    return ofFloat(static_cast<float>(a.i));
  case TypedExpr::Not:
    return ofBool(!a.i);
  default:
    return std::nullopt;
  }
}

std::optional<Constant> Evaluator::evaluateNode(const TypedExpr &expr) {
  switch (expr.op) {
  case TypedExpr::IntConst:
  case TypedExpr::BoolConst:
    return ofInt(expr.intValue);
  case TypedExpr::FloatConst:
    return ofFloat(static_cast<float>(expr.floatValue));
  case TypedExpr::Size:
    if (auto value = kernel.evaluate(*expr.size))
      return ofInt(*value);
    return std::nullopt;
  case TypedExpr::Or:
  case TypedExpr::And:
    return logical(expr);
  default:
    break;
  }
  if (expr.operands.empty())
    return std::nullopt;
  auto a = evaluate(*expr.operands[0]);
  if (!a)
    return std::nullopt;
  if (expr.op == TypedExpr::Select)
    return evaluate(*expr.operands[a->i ? 1 : 2]);
  ValueType type = expr.operands[0]->type;
  if (expr.operands.size() == 1 &&
      (expr.op == TypedExpr::IntToFloat || expr.op == TypedExpr::Not))
    return convert(expr, *a);
  std::optional<Constant> b = Constant{};
  if (expr.operands.size() > 1)
    b = evaluate(*expr.operands[1]);
  if (!b)
    return std::nullopt;
  return type == ValueType::Float ? floating(expr, a->f, b->f)
                                  : integer(expr, a->i, b->i);
}

std::optional<bool> frontend::evaluateCondition(const TypedExpr &condition,
                                                const CheckedKernel &kernel) {
  auto value = Evaluator(kernel).evaluate(condition);
  return value ? std::optional<bool>(value->i != 0) : std::nullopt;
}
