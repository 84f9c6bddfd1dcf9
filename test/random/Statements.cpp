//===- Statements.cpp - what a random kernel is made of -------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

namespace attentile::random {

//===----------------------------------------------------------------------===//
// Names and tensors
//===----------------------------------------------------------------------===//

ExprRef Generator::number(int64_t value) {
  std::string text = std::to_string(value);
  return leaf(Type::Int, value < 0 ? "(" + text + ")" : text);
}

size_t Generator::weighted(std::initializer_list<double> weights) {
  double sum = 0;
  for (double weight : weights)
    sum += weight;
  double at = double(random.next() >> 11) * 0x1p-53 * sum;
  size_t number = 0;
  for (double weight : weights) {
    if (at < weight)
      return number;
    at -= weight;
    ++number;
  }
  return 0; // rounding; the first is never of weight 0
}

std::string Generator::nameOf(Axes one) {
  static const char *const names[] = {"b", "h", "m", "n", "j", "d", "e", "r"};
  return names[__builtin_ctz(one)];
}

std::string Generator::sizeOf(Axes one) const {
  static const char *const names[] = {"B", "H", "M", "N", "N", "D", "E", "R"};
  if (isSelf && (one & (axisM | axisN | axisJ)))
    return "S";
  return sharesSize && one == axisE ? "D" : names[__builtin_ctz(one)];
}

std::string Generator::indices(Axes axes) {
  std::string text;
  for (unsigned k = 0; k < numAxes; ++k)
    if (axes >> k & 1)
      text += (text.empty() ? "" : ", ") + nameOf(1 << k);
  return text;
}

std::string Generator::dims(Axes axes) const {
  std::string text;
  for (unsigned k = 0; k < numAxes; ++k)
    if (axes >> k & 1)
      text += (text.empty() ? "" : ", ") + sizeOf(1 << k);
  return text;
}

bool Generator::declare(const std::string &name,
                        const std::string &declaration) {
  for (const Param &param : program.params)
    if (param.name == name)
      return false;
  program.params.push_back({name, declaration});
  return true;
}

std::string Generator::fresh(const std::string &stem) {
  return stem + std::to_string(++names);
}

ExprRef Generator::read(Type type, const std::string &stem,
                        const std::string &element, Axes axes) {
  if (!axes)
    axes = axisM;
  // Axes of one size can be those of one tensor.
  std::string name = stem;
  for (char c : dims(axes))
    if (c != ',' && c != ' ')
      name += c;
  declare(name, element + "[" + dims(axes) + "]");
  return leaf(type, name + "[" + indices(axes) + "]", axes);
}

ExprRef Generator::readKeySide(const std::string &stem, Axes last) {
  std::string name = stem, shape, place;
  if (outer & axisB) {
    shape = "B, ";
    place = "b, ";
  }
  bool shared = stem == "K2"; // of all heads
  if ((outer & axisH) && !shared) {
    shape += grouped ? "G, " : "H, ";
    place += grouped ? "h / (H / G), " : "h, ";
  }
  Axes axes = (shared ? outer & ~axisH : outer) | last;
  std::vector<ExprRef> operands;
  // Some tensor of keys has their range plainly.
  if (gathered && (isIndexed || stem == "V" || stem == "U")) {
    // Rows of another number than keys, found by an index.
    shape += "L, ";
    place += "$, ";
    operands.push_back(gathered);
  } else {
    shape += sizeOf(axisN) + ", ";
    place += "n, ";
    axes |= axisN;
  }
  std::string width = sizeOf(last);
  bool isByte = llvm::StringRef(bytes).contains(stem);
  declare(name, (isByte ? "T8[" : "T[") + shape + width + "]");
  if (stem == "K" && last == axisD)
    lastKeys = name;
  std::string element = name + "[" + place + nameOf(last) + "]";
  if (!isByte || chance(0.1))
    return makeExpr(Type::Float, element, std::move(operands), axes);
  element = "f32(" + element + ")";
  if (chance(0.6)) { // a scale for each row, of all shares or not
    declare(name + "scale", "f32[" + shape.substr(0, shape.size() - 2) + "]");
    element = "(" + element + " * " + name + "scale[" +
              place.substr(0, place.size() - 2) + "])";
    if (!operands.empty())
      operands.push_back(operands.front());
  }
  return makeExpr(Type::Float, element, std::move(operands), axes);
}

ExprRef Generator::scalar(const std::string &name, const std::string &element,
                          const std::string &suffix) {
  bool isDefault = suffix.starts_with("= ");
  if (declare(name, element + (isDefault ? " " + suffix : ""))) {
    if (suffix.starts_with(">"))
      program.constraints.push_back(name + " " + suffix);
    // What is positive can be folded into exponentials.
    if (isDefault && chance(0.6))
      program.constraints.push_back(name + " > 0");
  }
  return leaf(element == "f32"    ? Type::Float
              : element == "bool" ? Type::Bool
                                  : Type::Int,
              name);
}

ExprRef Generator::let(const std::string &stem, ExprRef value) {
  std::string name = fresh(stem);
  program.statements.push_back({name, "", "", value});
  return leaf(value->type, name, value->axes);
}

void Generator::output(const std::string &stem, Axes axes,
                       const std::string &type, ExprRef value) {
  program.statements.push_back({fresh(stem), "[" + indices(axes) + "]",
                                type + "[" + dims(axes) + "]",
                                std::move(value)});
  ++outputs;
}

//===----------------------------------------------------------------------===//
// Scores and weights
//===----------------------------------------------------------------------===//

/// A score of every query and key, masked or not; noted in `scores`, its mask
/// in `masks`.
ExprRef Generator::score() {
  ExprRef s = rawScore();
  // Whatever the first is made of, queries and keys have their own axes.
  for (int changes = weighted({3, 4, 2, 1}); changes > 0; --changes) {
    if (s->size() > 8)
      s = let("s", s);
    s = changeScore(s);
  }
  ExprRef visible;
  if (!masks.empty() && chance(0.5))
    visible = masks[random.below(masks.size())];
  else if (chance(0.85))
    visible = mask();
  if (visible) {
    if (visible->size() > 12 || chance(0.3))
      visible = let("seen", visible);
    masks.push_back(visible);
    switch (weighted({12, 1, 1, 0.7})) {
    case 0:
      s = f("where($, $, -inf)", {visible, s});
      break;
    case 1:
      s = f("($ + where($, 0.0, -inf))", {s, visible});
      break;
    case 2:
      s = f("where($, -inf, $)", {b("(!$)", {visible}), s});
      break;
    default: // hides nothing, but weights are 0
      s = f("where($, $, -1e30)", {visible, s});
    }
    if (chance(0.08))
      s = f("(2.0 * tanh($ / 2.0))", {s}); // hides nothing either
  }
  s = let("s", s);
  scores.push_back(s);
  return s;
}

ExprRef Generator::softmax(const std::string &name, ExprRef s, Axes over) {
  std::string axis = "[" + indices(over) + "]";
  Axes left = (axisM | axisN) & ~over;
  if (!chance(0.15))
    return makeExpr(Type::Float, name + axis + "($)", {s}, 0,
                    name == "softmax" ? 0 : over);
  ExprRef sink = chance(0.6) && (outer & axisH)
                     ? read(Type::Float, "sink", "f32", axisH)
                 : left && chance(0.5) ? read(Type::Float, "sink", "f32", left)
                                       : scalar("factor", "f32");
  return makeExpr(Type::Float, name + axis + "($, sink = $)", {s, sink}, 0,
                  name == "softmax" ? 0 : over);
}

/// Weights over their own sum: before that f16 may hold none of them.
ExprRef Generator::shares(ExprRef p) {
  Axes rows = outer | axisM;
  switch (weighted({2, 1, 2, 1, 0.5})) {
  case 0: // tiny, or huge
    p = f("($ * ($ * abs($)))",
          {p, leaf(Type::Float, pick<const char *>({"1e-8", "1e-6", "1e5"})),
           real(rows | axisN, 1)});
    break;
  case 1: // a decay
    p = f("($ * exp(8.0 * $))",
          {p, read(Type::Float, "Y", floatType(),
                   (outer & axisB) | pick<Axes>({axisM, axisN}))});
    break;
  case 2: // a part, of which the largest may not be
    p = f("where($, $, 0.0)", {condition(rows | axisN, 1), p});
    break;
  case 3: // what sums over queries leave of a key
    p = f("($ + 1e-8)", {softmax("softmax", scores.back(), axisM)});
    break;
  default:
    break;
  }
  p = let("a", p);
  ExprRef sum = f("sum[n]($)", {p}, 0, axisN);
  switch (weighted({3, 1, 1})) {
  case 0:
    return f("($ / $)", {p, sum});
  case 1:
    return f("($ / max(abs($), 1.0))", {p, sum});
  default:
    return f("($ * (1.0 / $))", {p, sum});
  }
}

/// What each key counts for each query. `visible` may be null.
ExprRef Generator::weights(ExprRef s, ExprRef visible) {
  auto hidden = [&](ExprRef p) {
    return visible ? f("where($, $, 0.0)", {visible, p}) : p;
  };
  ExprRef p;
  double ofHeads = s->axes & axisH ? 0.4 : 0;
  switch (weighted({12, 1.5, 1, 1, 0.8, 1, 1.2, 1.5, 0.4, 0.3, ofHeads})) {
  case 0:
    p = softmax("softmax", s, axisN);
    break;
  case 10: // heads share each pair
    p = f("softmax[h]($)", {s});
    mixesHeads = true;
    break;
  case 8: // over all pairs
    p = softmax("softmax", s, axisM | axisN);
    break;
  case 9: { // a part of a softmax written out, its condition twice
    ExprRef part = let("part", condition(outer | axisM | axisN, 1));
    ExprRef top = let("top", f("max[n]($)", {s}, 0, axisN));
    p = f("(where($, exp($ - $), 0.0) / sum[n](exp(where($, $, -inf) - $)))",
          {part, s, top, part, s, top}, 0);
    break;
  }
  case 1:
    p = hidden(f("sigmoid($)", {s}));
    break;
  case 2:
    p = hidden(f("max($, 0.0)", {s}));
    break;
  case 3: { // a softmax written out; a row that sees nothing is NaN
    ExprRef top = let("top", f("max[n]($)", {s}, 0, axisN));
    ExprRef power = let("w", f("exp($ - $)", {s, top}));
    p = chance(0.5) ? power
                    : f("($ / $)", {power, f("sum[n]($)", {power}, 0, axisN)});
    break;
  }
  case 4:
    p = f("exp($ - $)", {s, softmax("logsumexp", s, axisN)});
    break;
  case 5: // no nonlinearity
    p = visible
            ? f("where($, $, 0.0)", {visible, f("clamp($, -8.0, 8.0)", {s})})
            : s;
    break;
  case 6:
    p = softmax("softmax", s, axisM);
    break;
  default: { // the difference of two
    ExprRef other = score();
    ExprRef lambda = chance(0.5) ? scalar("lambda", "f32", "= 0.8")
                                 : leaf(Type::Float, "0.5");
    p = f("($ - ($ * $))", {softmax("softmax", s, axisN), lambda,
                            softmax("softmax", other, axisN)});
  }
  }
  switch (weighted({12, 0.7, 0.8, 0.8, 0.7, 1})) {
  case 0:
    break;
  case 1: // a threshold on the weight itself takes another loop
    p = let("p", p);
    p = f("where(($ > 0.05), $, 0.0)", {p, p});
    break;
  case 2:
    p = f("($ * $)",
          {p, read(Type::Float, "gain", "f32", (outer & axisB) | axisN)});
    break;
  case 3: // dropout by a tensor
    p = f("where($, $, 0.0)",
          {read(Type::Bool, "keep", "bool", someOuter() | axisM | axisN),
           f("($ * 1.25)", {p})});
    break;
  case 5:
    p = shares(p);
    break;
  default:
    p = f("($ * $)", {p, real(outer | axisM, 1)});
  }
  p = let("p", p);
  probabilities.push_back(p);
  return p;
}

/// Whether an index variable is an index of a tensor by itself, where it gets
/// its range.
static bool standsPlainly(llvm::StringRef text, llvm::StringRef index) {
  for (size_t at = text.find('['); at != llvm::StringRef::npos;
       at = text.find('[', at + 1)) {
    llvm::StringRef before = text.take_front(at);
    bool isReduction = llvm::any_of(
        llvm::ArrayRef<const char *>{"sum", "max", "min", "any", "all"},
        [&](const char *name) { return before.ends_with(name); });
    llvm::SmallVector<llvm::StringRef> indices;
    text.slice(at + 1, text.find_first_of("[]", at + 1)).split(indices, ", ");
    if (!isReduction && !before.ends_with("exp") &&
        llvm::is_contained(indices, index))
      return true;
  }
  return false;
}

void Generator::writeBody() {
  for (int count = 1 + weighted({7, 2, 0.6}); count > 0; --count) {
    ExprRef s = score();
    weights(s, masks.empty() || chance(0.2) ? nullptr : masks.back());
  }
  output("O", outer | axisM | axisE, floatType(), weightedSum());
  // Not always the usual one.
  if (chance(0.25)) {
    program.statements.pop_back();
    outputs = 0;
  }
  for (int more = weighted({3, 3, 1.5, 0.7}) + (outputs == 0); more > 0; --more)
    writeOutput();
  // (What weights are made of has it so.)
  if (!standsPlainly(program.text(), "n"))
    output("O", outer | axisM | axisE, floatType(),
           f("sum[n]($ * $)", {probabilities.front(), valueRead()}, 0, axisN));
  if (chance(0.1))
    for (const Statement &statement : program.statements)
      if (!statement.isOutput() && !statement.isLoop() &&
          statement.value->axes && chance(0.4))
        program.materialized.push_back(statement.name);
}

} // namespace attentile::random
