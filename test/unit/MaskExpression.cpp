//===- MaskExpression.cpp - masks as trees, printed and evaluated ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskExpression.h"
#include <algorithm>

namespace attentile::test {

// The language's integers wrap; signed overflow in C++ is undefined.
static int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

static int64_t floorDivide(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return wrap(-static_cast<uint64_t>(a));
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t Expr::evaluate(const MaskInputs &inputs, int64_t b, int64_t m,
                       int64_t n) const {
  auto x = [&](size_t i) {
    return node->operands[i].evaluate(inputs, b, m, n);
  };
  auto bits = [&](size_t i) { return static_cast<uint64_t>(x(i)); };
  switch (node->kind) {
  case Constant:
    return node->value;
  case M:
    return m;
  case N:
    return n;
  case Scalar:
    return inputs.scalars.at(node->name);
  case Row:
    return inputs.rows.at(node->name)[m];
  case Batch:
    return inputs.batches.at(node->name)[b];
  case Add:
    return wrap(bits(0) + bits(1));
  case Sub:
    return wrap(bits(0) - bits(1));
  case Mul:
    return wrap(bits(0) * bits(1));
  case Div:
    return floorDivide(x(0), x(1));
  case Mod: {
    int64_t divisor = x(1);
    return divisor == 0
               ? 0
               : wrap(bits(0) - bits(1) * static_cast<uint64_t>(
                                              floorDivide(x(0), divisor)));
  }
  case Min:
    return std::min(x(0), x(1));
  case Max:
    return std::max(x(0), x(1));
  case Abs:
    return x(0) < 0 ? wrap(-bits(0)) : x(0);
  case Choose:
  case Select:
    return x(0) ? x(1) : x(2);
  case Le:
    return x(0) <= x(1);
  case Lt:
    return x(0) < x(1);
  case Ge:
    return x(0) >= x(1);
  case Gt:
    return x(0) > x(1);
  case Eq:
    return x(0) == x(1);
  case Ne:
    return x(0) != x(1);
  case And:
    return x(0) && x(1);
  case Or:
    return x(0) || x(1);
  case Not:
    return !x(0);
  case Load:
  case Ask: {
    const MaskTable &table = inputs.tables.at(node->name);
    int64_t position = 0;
    for (size_t i = 0; i < table.shape.size(); ++i) {
      int64_t at = x(i);
      if (at < 0 || at >= table.shape[i])
        return 0;
      position = position * table.shape[i] + at;
    }
    return table.data[position];
  }
  }
  return 0;
}

std::string Expr::toString() const {
  static const char *const names[] = {
      "",   "m", "n",   "",    "",    "",      "+", "-",     "*",
      "/",  "%", "min", "max", "abs", "where", "",  "<=",    "<",
      ">=", ">", "==",  "!=",  "&&",  "||",    "!", "where", ""};
  std::string name = names[node->kind];
  if (node->kind == Load || node->kind == Ask)
    name = node->name;
  switch (node->kind) {
  case Constant:
    return std::to_string(node->value);
  case Scalar:
    return node->name;
  case Row:
    return node->name + "[m]";
  case Batch:
    return node->name + "[b]";
  default:
    break;
  }
  if (node->operands.empty())
    return name;
  if (node->operands.size() == 2 && !isalpha(name[0]))
    return "(" + node->operands[0].toString() + " " + name + " " +
           node->operands[1].toString() + ")";
  std::string text = name + "(";
  for (const Expr &operand : node->operands)
    text += (text.back() == '(' ? "" : ", ") + operand.toString();
  return text + ")";
}

/// A type of these axes, as the test's module names them.
static std::string typeOf(const std::string &axes, const std::string &element,
                          int64_t tileM, int64_t tileN) {
  if (axes.empty())
    return element;
  std::string shape;
  for (char axis : axes)
    shape += std::to_string(axis == 'm' ? tileM : tileN) + "x";
  return "tensor<" + shape + element + ", #" + axes + ">";
}

std::pair<std::string, std::string> Expr::emit(std::string &out, int64_t tileM,
                                               int64_t tileN, int &next) const {
  auto define = [&](const std::string &text) {
    std::string name = "%v" + std::to_string(next++);
    out += "      " + name + " = " + text + "\n";
    return name;
  };
  auto type = [&](const std::string &axes, const std::string &element) {
    return typeOf(axes, element, tileM, tileN);
  };
  auto load = [&](const char *at, const std::string &axes) {
    std::string index = type(axes, "index"), loaded = type(axes, "i32");
    std::string value =
        define("tile.load %" + node->name + "[" + at + "] : tensor<?xi32>, (" +
               index + ") -> " + loaded);
    return std::pair(
        define("arith.index_cast " + value + " : " + loaded + " to " + index),
        axes);
  };
  switch (node->kind) {
  case Constant:
    return {
        define("arith.constant " + std::to_string(node->value) + " : index"),
        ""};
  case M:
    return {"%m", "m"};
  case N:
    return {"%n", "n"};
  case Scalar:
    return {define("arith.index_cast %" + node->name + " : i64 to index"), ""};
  case Row:
    return load("%m", "m");
  case Batch:
    return load("%b", "");
  default:
    break;
  }
  bool isLoad = node->kind == Load || node->kind == Ask;
  bool isCondition = node->kind >= Le;
  bool joins = node->kind >= And && !isLoad; // Boolean operands
  std::vector<std::pair<std::string, std::string>> operands;
  std::string axes;
  for (const Expr &operand : node->operands)
    operands.push_back(operand.emit(out, tileM, tileN, next));
  for (char axis : {'m', 'n'})
    for (auto &operand : operands)
      if (operand.second.find(axis) != std::string::npos) {
        axes += axis;
        break;
      }
  if (isLoad) {
    std::string at, types, dims, element = isCondition ? "i1" : "i32";
    for (auto &[name, own] : operands) {
      at += (at.empty() ? "" : ", ") + name;
      types += (types.empty() ? "" : ", ") + type(own, "index");
      dims += "?x";
    }
    std::string loaded = type(axes, element);
    std::string value =
        define("tile.load %" + node->name + "[" + at + "] : tensor<" + dims +
               element + ">, (" + types + ") -> " + loaded);
    if (isCondition)
      return {value, axes};
    return {define("arith.index_cast " + value + " : " + loaded + " to " +
                   type(axes, "index")),
            axes};
  }
  bool chooses = node->kind == Choose || node->kind == Select;
  auto elementOf = [&](size_t i) -> std::string {
    return joins || (chooses && i == 0) ? "i1" : "index";
  };
  for (size_t i = 0; i < operands.size(); ++i)
    if (!isLoad && operands[i].second != axes)
      operands[i].first = define("tile.broadcast " + operands[i].first + " : " +
                                 type(operands[i].second, elementOf(i)) +
                                 " to " + type(axes, elementOf(i)));
  std::string a = operands[0].first;
  std::string b = operands.size() > 1 ? operands[1].first : "";
  std::string element = isCondition ? "i1" : "index";
  if (chooses)
    return {define("arith.select " + a + ", " + b + ", " + operands[2].first +
                   " : " + type(axes, "i1") + ", " + type(axes, element)),
            axes};
  if (node->kind == Abs)
    return {define("math.absi " + a + " : " + type(axes, "index")), axes};
  if (node->kind == Not) {
    std::string yes =
        axes.empty()
            ? define("arith.constant true")
            : define("arith.constant dense<true> : " + type(axes, "i1"));
    return {define("arith.xori " + a + ", " + yes + " : " + type(axes, "i1")),
            axes};
  }
  static const std::map<Kind, const char *> operations = {
      {Add, "arith.addi"},     {Sub, "arith.subi"},     {Mul, "arith.muli"},
      {Div, "attn.floordiv"},  {Mod, "attn.floormod"},  {Min, "arith.minsi"},
      {Max, "arith.maxsi"},    {Le, "arith.cmpi sle,"}, {Lt, "arith.cmpi slt,"},
      {Ge, "arith.cmpi sge,"}, {Gt, "arith.cmpi sgt,"}, {Eq, "arith.cmpi eq,"},
      {Ne, "arith.cmpi ne,"},  {And, "arith.andi"},     {Or, "arith.ori"}};
  return {define(std::string(operations.at(node->kind)) + " " + a + ", " + b +
                 " : " + type(axes, joins ? "i1" : "index")),
          axes};
}

void Expr::collect(MaskInputs &inputs) const {
  if (node->kind == Scalar)
    inputs.scalars[node->name];
  if (node->kind == Row)
    inputs.rows[node->name];
  if (node->kind == Batch)
    inputs.batches[node->name];
  for (const Expr &operand : node->operands)
    operand.collect(inputs);
}

//===----------------------------------------------------------------------===//
// Random masks
//===----------------------------------------------------------------------===//

static Expr drawInteger(std::mt19937 &random, int64_t size, int depth) {
  auto upTo = [&](int64_t bound) { return int64_t(random() % (bound + 1)); };
  auto part = [&] { return drawInteger(random, size, depth - 1); };
  if (depth <= 0) {
    switch (upTo(8)) {
    case 0:
    case 1:
      return m();
    case 2:
    case 3:
    case 4:
      return n();
    case 5:
      return upTo(2 * size) - size / 2;
    case 6:
      return scalar("s" + std::to_string(upTo(2)));
    case 7:
      return load("k0", {n()});
    default:
      return perRow("r0");
    }
  }
  switch (upTo(10)) {
  case 0:
  case 1:
    return part() + part();
  case 2:
  case 3:
    return part() - part();
  case 4:
    return part() * Expr(upTo(5) - 2);
  case 5:
    return part() / Expr(upTo(size / 2) + 1);
  case 6:
    return part() / scalar("s" + std::to_string(upTo(2)));
  case 7:
    return min(part(), part());
  case 8:
    return max(part(), part());
  case 9:
    return abs(part());
  default:
    return upTo(1) ? part() % Expr(upTo(size / 2) + 1)
                   : choose(drawMask(random, size, 0), part(), part());
  }
}

Expr drawMask(std::mt19937 &random, int64_t size, int depth) {
  auto part = [&] { return drawMask(random, size, depth - 1); };
  if (depth <= 0) {
    Expr a = drawInteger(random, size, random() % 3);
    Expr b = drawInteger(random, size, random() % 3);
    return {Expr::Kind(Expr::Le + random() % 6), {a, b}};
  }
  switch (random() % 6) {
  case 0:
  case 1:
    return all(part(), part());
  case 2:
  case 3:
    return any(part(), part());
  case 4:
    return no(part());
  default:
    return select(part(), part(), part());
  }
}

} // namespace attentile::test
