//===- Expression.cpp - expressions of a manifest -------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Expression.h"
#include "attentile/Tensor.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

using nlohmann::json;

namespace attentile::runtime {

/// Values held at once, and how deep a tree may nest.
static constexpr unsigned kMaxHeld = 32, kMaxDepth = 64;

enum class Expression::Op : uint8_t {
  Slot,
  Constant,
  ToReal, // of the top of the stack, exactly
  Convert,
  Add,
  Sub,
  Mul,
  FloorDiv,
  FloorMod,
  CeilDiv,
  Min,
  Max,
  And,
  Or,
  Not,
  Select,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  RealEq, // in the order of Eq to Ge
  RealNe,
  RealLt,
  RealLe,
  RealGt,
  RealGe,
  RealAdd,
  RealSub,
  RealMul,
  RealDiv,
  RealMin,
  RealMax,
  Sqrt,
  Exp,
  Log
};

/// What an operation's name stands for.
struct Expression::Signature {
  const char *name;
  Op op;
  unsigned operands;
  bool takesMore; // further operands are folded in from the left
  enum { Integers, Floats, Either } kind;
};

const Expression::Signature *Expression::find(const std::string &name) {
  using S = Signature;
  static constexpr Signature signatures[] = {
      {"add", Op::Add, 2, true, S::Integers},
      {"sub", Op::Sub, 2, false, S::Integers},
      {"mul", Op::Mul, 2, true, S::Integers},
      {"floordiv", Op::FloorDiv, 2, false, S::Integers},
      {"floormod", Op::FloorMod, 2, false, S::Integers},
      {"ceildiv", Op::CeilDiv, 2, false, S::Integers},
      {"min", Op::Min, 2, true, S::Integers},
      {"max", Op::Max, 2, true, S::Integers},
      {"and", Op::And, 2, true, S::Integers},
      {"or", Op::Or, 2, true, S::Integers},
      {"not", Op::Not, 1, false, S::Integers},
      {"select", Op::Select, 3, false, S::Either},
      {"eq", Op::Eq, 2, false, S::Either},
      {"ne", Op::Ne, 2, false, S::Either},
      {"lt", Op::Lt, 2, false, S::Either},
      {"le", Op::Le, 2, false, S::Either},
      {"gt", Op::Gt, 2, false, S::Either},
      {"ge", Op::Ge, 2, false, S::Either},
      {"fadd", Op::RealAdd, 2, true, S::Floats},
      {"fsub", Op::RealSub, 2, false, S::Floats},
      {"fmul", Op::RealMul, 2, true, S::Floats},
      {"fdiv", Op::RealDiv, 2, false, S::Floats},
      {"fmin", Op::RealMin, 2, true, S::Floats},
      {"fmax", Op::RealMax, 2, true, S::Floats},
      {"sqrt", Op::Sqrt, 1, false, S::Floats},
      {"exp", Op::Exp, 1, false, S::Floats},
      {"log", Op::Log, 1, false, S::Floats}};
  for (const Signature &signature : signatures)
    if (name == signature.name)
      return &signature;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

void Expression::push(Op op, ElementType type) {
  code.push_back({op, type, 0, {}});
}

bool Expression::compile(const json &tree, const std::vector<Name> &names,
                         std::string &error) {
  code.clear();
  return add(tree, names, 0, 0, floats, error);
}

/// Appends the code of `tree`, where `held` values are on the stack already.
bool Expression::add(const json &tree, const std::vector<Name> &names,
                     unsigned depth, unsigned held, bool &isFloat,
                     std::string &error) {
  if (depth > kMaxDepth || held >= kMaxHeld)
    return error = "expected an expression that nests less deep", false;
  if (tree.is_number()) {
    if (tree.is_number_unsigned() && tree.get<uint64_t>() > INT64_MAX)
      return error = "expected a number that fits 64 bits", false;
    push(Op::Constant);
    isFloat = tree.is_number_float();
    if (isFloat)
      code.back().value.real = tree.get<double>();
    else
      code.back().value.integer = tree.get<int64_t>();
    return true;
  }
  if (tree.is_boolean()) {
    push(Op::Constant);
    isFloat = false;
    code.back().value.integer = tree.get<bool>();
    return true;
  }
  if (tree.is_string()) {
    const auto &text = tree.get_ref<const std::string &>();
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i].name == text) {
        push(Op::Slot);
        code.back().slot = static_cast<uint16_t>(i);
        isFloat = names[i].isFloat;
        return true;
      }
    return error = "expected a size or scalar, got '" + text + "'", false;
  }
  if (!tree.is_array() || tree.empty() || !tree[0].is_string())
    return error = "expected a number, a name or [\"op\", ...]", false;

  const auto &name = tree[0].get_ref<const std::string &>();
  if (name == "convert") {
    std::optional<ElementType> type;
    if (tree.size() == 3 && tree[1].is_string())
      type = parseElementType(tree[1].get_ref<const std::string &>());
    if (!type || *type == ElementType::F8E4M3 || *type == ElementType::F8E5M2 ||
        *type == ElementType::I8 || *type == ElementType::I4)
      return error = "expected [\"convert\", TYPE, VALUE]", false;
    bool operand;
    if (!add(tree[2], names, depth + 1, held, operand, error))
      return false;
    isFloat = attentile::isFloat(*type);
    if (!isFloat && !operand)
      return true; // integers have one type here
    if (!operand)
      push(Op::ToReal);
    push(Op::Convert, *type);
    return true;
  }
  const Signature *signature = find(name);
  if (!signature)
    return error = "expected an operation, got '" + name + "'", false;
  size_t count = tree.size() - 1;
  if (count < signature->operands ||
      (count > signature->operands && !signature->takesMore))
    return error = "expected " + std::to_string(signature->operands) +
                   " operands of '" + name + "', got " + std::to_string(count),
           false;
  std::vector<size_t> ends;
  std::vector<bool> kinds;
  for (size_t i = 0; i < count; ++i) {
    bool kind;
    unsigned now = signature->takesMore ? std::min<unsigned>(i, 1) : i;
    if (!add(tree[i + 1], names, depth + 1, held + now, kind, error))
      return false;
    kinds.push_back(kind);
    ends.push_back(code.size());
    if (signature->kind == Signature::Integers && kind)
      return error = "expected integers under '" + name + "'", false;
    if (signature->kind == Signature::Floats && !kind) {
      push(Op::ToReal);
      ends.back() = code.size();
    }
    if (signature->takesMore && i >= 1)
      push(signature->op);
  }
  isFloat = signature->kind == Signature::Floats;
  if (signature->takesMore)
    return true;
  // Two operands of which one is a float are both taken as floats.
  size_t first = signature->op == Op::Select ? 1 : 0;
  if (first == 1 && kinds[0])
    return error = "expected a condition under 'select'", false;
  Op op = signature->op;
  if (signature->kind == Signature::Either) {
    bool anyFloat = kinds[first] || kinds[first + 1];
    for (size_t i = first + 2; i-- > first;)
      if (anyFloat && !kinds[i])
        code.insert(code.begin() + ends[i],
                    Instruction{Op::ToReal, ElementType::F32, 0, {}});
    if (op == Op::Select)
      isFloat = anyFloat;
    else if (anyFloat)
      op = static_cast<Op>(static_cast<int>(op) - static_cast<int>(Op::Eq) +
                           static_cast<int>(Op::RealEq));
  }
  push(op);
  return true;
}

int Expression::slot() const {
  return code.size() == 1 && code[0].op == Op::Slot ? code[0].slot : -1;
}

std::vector<unsigned> Expression::slots() const {
  std::vector<unsigned> result;
  for (const Instruction &instruction : code)
    if (instruction.op == Op::Slot &&
        std::find(result.begin(), result.end(), instruction.slot) ==
            result.end())
      result.push_back(instruction.slot);
  return result;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Rounds down; 0 for a divisor of 0, as the compiler's operations are.
static int64_t floorDiv(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return a == INT64_MIN ? INT64_MAX : -a;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floorMod(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t ceilDiv(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  return floorDiv(a, b) + (floorMod(a, b) != 0);
}

static double toF32(double value) { return static_cast<float>(value); }

bool Expression::evaluate(const Value *slots, Value &result) const {
  Value stack[kMaxHeld + 3]; // two below the first, so that a and b exist
  Value *top = stack + 1;    // the last value held
  for (const Instruction &instruction : code) {
    // Of an operation with two operands: a is both operand and result.
    Value &a = top[-1];
    const Value &b = top[0];
    bool overflow = false;
    switch (instruction.op) {
    case Op::Slot:
      *++top = slots[instruction.slot];
      continue;
    case Op::Constant:
      *++top = instruction.value;
      continue;
    case Op::ToReal:
      top->real = static_cast<double>(top->integer);
      continue;
    case Op::Convert:
      if (attentile::isFloat(instruction.type))
        top->real = roundTo(instruction.type, top->real);
      else
        top->integer =
            static_cast<int64_t>(roundTo(instruction.type, top->real));
      continue;
    case Op::Not:
      top->integer = top->integer == 0;
      continue;
    case Op::Sqrt:
      top->real = toF32(std::sqrt(top->real));
      continue;
    case Op::Exp:
      top->real = toF32(std::exp(top->real));
      continue;
    case Op::Log:
      top->real = toF32(std::log(top->real));
      continue;
    case Op::Select:
      top -= 2;
      *top = top->integer ? top[1] : top[2];
      continue;
    case Op::Add:
      overflow = __builtin_add_overflow(a.integer, b.integer, &a.integer);
      break;
    case Op::Sub:
      overflow = __builtin_sub_overflow(a.integer, b.integer, &a.integer);
      break;
    case Op::Mul:
      overflow = __builtin_mul_overflow(a.integer, b.integer, &a.integer);
      break;
    case Op::FloorDiv:
      a.integer = floorDiv(a.integer, b.integer);
      break;
    case Op::FloorMod:
      a.integer = floorMod(a.integer, b.integer);
      break;
    case Op::CeilDiv:
      a.integer = ceilDiv(a.integer, b.integer);
      break;
    case Op::Min:
      a.integer = std::min(a.integer, b.integer);
      break;
    case Op::Max:
      a.integer = std::max(a.integer, b.integer);
      break;
    case Op::And:
      a.integer = a.integer != 0 && b.integer != 0;
      break;
    case Op::Or:
      a.integer = a.integer != 0 || b.integer != 0;
      break;
    case Op::Eq:
      a.integer = a.integer == b.integer;
      break;
    case Op::Ne:
      a.integer = a.integer != b.integer;
      break;
    case Op::Lt:
      a.integer = a.integer < b.integer;
      break;
    case Op::Le:
      a.integer = a.integer <= b.integer;
      break;
    case Op::Gt:
      a.integer = a.integer > b.integer;
      break;
    case Op::Ge:
      a.integer = a.integer >= b.integer;
      break;
    case Op::RealEq:
      a.integer = a.real == b.real;
      break;
    case Op::RealNe:
      a.integer = a.real != b.real;
      break;
    case Op::RealLt:
      a.integer = a.real < b.real;
      break;
    case Op::RealLe:
      a.integer = a.real <= b.real;
      break;
    case Op::RealGt:
      a.integer = a.real > b.real;
      break;
    case Op::RealGe:
      a.integer = a.real >= b.real;
      break;
    case Op::RealAdd:
      a.real = toF32(a.real + b.real);
      break;
    case Op::RealSub:
      a.real = toF32(a.real - b.real);
      break;
    case Op::RealMul:
      a.real = toF32(a.real * b.real);
      break;
    case Op::RealDiv:
      a.real = toF32(a.real / b.real);
      break;
    case Op::RealMin: // NaN spreads
      a.real = a.real < b.real || std::isnan(a.real) ? a.real : b.real;
      break;
    case Op::RealMax:
      a.real = a.real > b.real || std::isnan(a.real) ? a.real : b.real;
      break;
    }
    if (overflow)
      return false;
    --top;
  }
  result = *top;
  return true;
}

} // namespace attentile::runtime
