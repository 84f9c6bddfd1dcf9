//===- Conditions.cpp - random integers and masks -------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

namespace attentile::random {

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// A literal to divide by, or a scalar that is 1 at least; seldom anything.
ExprRef Generator::divisor(Axes available) {
  switch (weighted({6, 3, 0.3})) {
  case 0:
    return number(pick<int64_t>({1, 2, 3, 4, 5, 7, 8, 16, 32}));
  case 1:
    return scalar("width", integerType(), ">= 1");
  default:
    return integerLeaf(available);
  }
}

/// The key at which query m stands: aligned at the ends, or at the starts.
ExprRef Generator::keyPosition() {
  if (isSelf || chance(0.3))
    return axis(axisM);
  return chance(0.5)
             ? i("($ + ($ - $))", {axis(axisM), leaf(Type::Int, sizeOf(axisN)),
                                   leaf(Type::Int, sizeOf(axisM))})
             : i("($ + (extent(n) - extent(m)))", {axis(axisM)});
}

ExprRef Generator::integerLeaf(Axes available) {
  switch (weighted({5, 3, 1.5, 1, 2})) {
  case 0: {
    Axes one = pick<Axes>({axisM, axisN, axisM, axisN, axisB, axisH});
    return one & available ? axis(one) : number(random.below(9) - 3);
  }
  case 1:
    return number(pick<int64_t>({0, 1, 2, 3, 5, 8, 13, 16, 31, 64, -1, -4}));
  case 2:
    return scalar("window", integerType(), chance(0.5) ? ">= 1" : "");
  case 3:
    return leaf(Type::Int, sizeOf(chance(0.5) ? axisM : axisN));
  default: {
    Axes axes = (someOuter() | pick<Axes>({axisM, axisN, 0})) & available;
    if (!axes)
      return number(4);
    return read(Type::Int, pick<const char *>({"label", "length"}),
                integerType(), axes);
  }
  }
}

ExprRef Generator::integer(Axes available, int depth) {
  if (depth <= 0 || chance(0.25))
    return integerLeaf(available);
  auto next = [&] { return integer(available, depth - 1); };
  switch (weighted({6, 1.5, 2, 2, 1.5, 1.5, 0.7, 0.7, 0.4, 0.3})) {
  case 0:
    return i(chance(0.5) ? "($ + $)" : "($ - $)", {next(), next()});
  case 1:
    return i("($ * $)", {next(), number(random.below(6) - 2)});
  case 2:
    return i("($ / $)", {next(), divisor(available)});
  case 3:
    return i("($ % $)", {next(), divisor(available)});
  case 4:
    return i("abs($)", {next()});
  case 5:
    return i(chance(0.5) ? "min($, $)" : "max($, $)", {next(), next()});
  case 6:
    return i("clamp($, $, $)",
             {next(), number(random.below(4)), number(4 + random.below(20))});
  case 7:
    return i("where($, $, $)",
             {condition(available, depth - 2), next(), next()});
  case 8:
    return i("(-$)", {next()});
  default:
    return i("i32($)", {real(available, 1)});
  }
}

/// What a bound is moved by.
ExprRef Generator::offset(Axes available) {
  switch (weighted({3, 3, 2.5, 1, 2})) {
  case 0:
    return number(0);
  case 1:
    return number(random.below(41) - 20);
  case 2:
    return scalar("window", integerType(), chance(0.5) ? ">= 1" : "");
  case 3:
    return i("($ / $)", {leaf(Type::Int, sizeOf(axisN)), divisor(available)});
  default: {
    Axes axes = (someOuter() | (chance(0.6) ? axisM : 0)) & available;
    return axes ? read(Type::Int, "length", integerType(), axes)
                : number(random.below(30));
  }
  }
}

/// factor * m + factor * n + offset, as far as these axes are available.
ExprRef Generator::affine(Axes available) {
  ExprRef result;
  for (Axes one : {axisM, axisN}) {
    if (!(one & available))
      continue;
    int64_t factor = pick<int64_t>({1, 1, 1, 1, 1, 2, 3, -1, 0});
    if (factor == 0)
      continue;
    ExprRef term = one == axisM && chance(0.4) ? keyPosition() : axis(one);
    if (factor != 1)
      term = i("($ * $)", {number(factor), term});
    result = result ? i("($ + $)", {result, term}) : term;
  }
  ExprRef moved = offset(available);
  if (!result)
    return moved;
  return i(chance(0.6) ? "($ + $)" : "($ - $)", {result, moved});
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Values loaded for rows against values loaded for columns, and lengths.
ExprRef Generator::loadedComparison() {
  std::string order = pick<const char *>(
      {"($ == $)", "($ == $)", "($ == $)", "($ != $)", "($ <= $)", "($ > $)"});
  auto load = [&](const char *name, Axes axes) {
    return read(Type::Int, name, integerType(), someOuter() | axes);
  };
  switch (weighted({3, isSelf ? 2.0 : 0, 2, 1.5, 1})) {
  case 0:
    return b(order, {load("label", axisM), load("label", axisN)});
  case 1: { // one tensor, read at both places
    Axes axes = someOuter();
    return b(order, {read(Type::Int, "doc", "i32", axes | axisM),
                     read(Type::Int, "doc", "i32", axes | axisN)});
  }
  case 2:
    return b("($ < $)", {axis(axisN), load("length", outer ? 0 : axisM)});
  case 3:
    return b("(($ >= $) && ($ < $))", {axis(axisN), load("first", axisM),
                                       axis(axisN), load("behind", axisM)});
  default:
    return b("($ >= $)", {keyPosition(), load("born", axisN)});
  }
}

/// A mask of the library, by its name.
ExprRef Generator::libraryMask() {
  Axes all = axisM | axisN;
  // Some wide enough for rows of pixels that blocks do not cut.
  int64_t known = chance(0.6) ? 1 + random.below(24)
                              : pick<int64_t>({32, 48, 64, 64, 96, 128});
  ExprRef width = chance(0.6) ? scalar("width", integerType(), ">= 1")
                              : number(known);
  ExprRef few = chance(0.5) ? number(random.below(6)) : offset(outer);
  switch (weighted({3, 1, 2, 1, 1.5, 1.5, 1.5, 1.5, 1, 1.5})) {
  case 0:
    return b("causal(m, n)", {}, all);
  case 1:
    return b("causal_top_left(m, n)", {}, all);
  case 2:
    return b("sliding_window(m, n, $)", {width}, all);
  case 3:
    return b("local(m, n, $, $)", {few, width}, all);
  case 4:
    return b("sink_window(m, n, $, $)", {width, few}, all);
  case 5:
    return b("prefix_lm(m, n, $)", {few}, all);
  case 6: {
    Axes axes = someOuter();
    return b("document($, $)", {read(Type::Int, "doc", "i32", axes | axisM),
                                read(Type::Int, "doc", "i32", axes | axisN)});
  }
  case 7:
    return b("chunk(m, n, $)", {width}, all);
  case 8:
    return b("dilated(m, n, $, $)", {width, number(1 + random.below(5))}, all);
  default:
    return b("neighbourhood(m, n, $, $)", {width, few}, all);
  }
}

ExprRef Generator::comparison(Axes available) {
  static const std::initializer_list<const char *> orders = {
      "($ <= $)", "($ < $)", "($ >= $)", "($ > $)", "($ == $)", "($ != $)"};
  bool hasBoth = (available & axisM) && (available & axisN);
  if (!hasBoth)
    return b(pick(orders), {integer(available, 2), integer(available, 1)});
  auto inequality = [&] {
    return pick<const char *>({"($ <= $)", "($ < $)", "($ >= $)", "($ > $)"});
  };
  switch (weighted({5, 2.5, 2, 2.5, 3, 1, 1.2, 1.2, 0.5, 0.6, 2})) {
  case 0: // causal, windows
    return b(chance(0.7) ? "($ <= $)" : "($ > $)",
             {axis(axisN), i(chance(0.5) ? "($ + $)" : "($ - $)",
                             {keyPosition(), offset(available)})});
  case 1:
    return b(inequality(), {affine(available), affine(available)});
  case 2:
    return b(inequality(),
             {i("abs($)", {i("($ - $)", {axis(axisN), keyPosition()})}),
              offset(available)});
  case 3: { // blocks, strides, images
    ExprRef width = divisor(available);
    switch (weighted({2, 2, 1, 2})) {
    case 0:
      return b("(($ / $) == ($ / $))",
               {keyPosition(), width, axis(axisN), width});
    case 1:
      return b("((($ - $) % $) == $)",
               {keyPosition(), axis(axisN), width, number(random.below(3))});
    case 2:
      return b("(($ % $) < $)", {chance(0.7) ? axis(axisN) : axis(axisM), width,
                                 number(1 + random.below(4))});
    default:
      return b("((abs((m / $) - (n / $)) <= $) && (abs((m % $) - (n % $)) <= "
               "$))",
               {width, width, offset(0), width, width, offset(0)},
               axisM | axisN);
    }
  }
  case 4:
    return loadedComparison();
  case 5: { // the same for a block of rows and a block of columns
    int64_t rows = pick<int64_t>({2, 8, 16, 32, 64}),
            columns = chance(0.7) ? rows : pick<int64_t>({4, 16, 64});
    Axes axes = someOuter();
    std::string name = "allowed" + std::to_string(rows) + "by" +
                       std::to_string(columns) + (axes ? indices(axes) : "");
    llvm::erase_if(name, [](char c) { return c == ',' || c == ' '; });
    auto blocks = [](const std::string &size, int64_t width) {
      return "(" + size + " + " + std::to_string(width - 1) + ") / " +
             std::to_string(width);
    };
    std::string front = axes ? dims(axes) + ", " : "";
    declare(name, "bool[" + front + blocks(sizeOf(axisM), rows) + ", " +
                      blocks(sizeOf(axisN), columns) + "]");
    return b(name + "[" + (axes ? indices(axes) + ", " : "") + "m / " +
                 std::to_string(rows) + ", n / " + std::to_string(columns) +
                 "]",
             {}, axes | axisM | axisN);
  }
  case 6: {
    Axes axes = pick<Axes>({axisM, axisN, axisN, axisM | axisN});
    return read(Type::Bool, "seen", "bool", someOuter() | axes);
  }
  case 7:
    return b(pick(orders), {integer(available, 3), integer(available, 2)});
  case 8:
    return scalar("flag", "bool");
  case 10:
    return libraryMask();
  default:
    return b(inequality(), {real(available, 2), realLeaf(0)});
  }
}

ExprRef Generator::condition(Axes available, int depth) {
  if (depth <= 0 || chance(0.4))
    return comparison(available);
  auto next = [&] { return condition(available, depth - 1); };
  switch (weighted({4, 3, 1.5, 0.4, 0.4})) {
  case 0:
    return b("($ && $)", {next(), next()});
  case 1:
    return b("($ || $)", {next(), next()});
  case 2:
    return b("(!$)", {next()});
  case 3:
    return b(chance(0.5) ? "($ == $)" : "($ != $)", {next(), next()});
  default:
    return b("where($, $, $)", {next(), next(), next()});
  }
}

/// True for keys that few others come before by a product of their own, or all
/// keys of a row whose own one few come before.
ExprRef Generator::nearestKeys() {
  // (Of three factors or with scales: what is grouped by axes.)
  const unsigned form = weighted({3, 1, 1, 1});
  auto product = [&](Axes key) {
    ExprRef query = read(Type::Float, "Q", "T", outer | axisM | axisD),
            near = read(Type::Float, "near", "T", outer | key | axisD);
    if (form == 1)
      query = f("(0.37 * $)", {query});
    if (form == 2)
      query = f("($ * $)", {query, read(Type::Float, "w", "f32", axisD)});
    if (form == 3)
      near = f("($ * $)", {near, read(Type::Float, "far", "f32", key)});
    return let("t", f("sum[d]($ * $)", {query, near}, 0, axisD));
  };
  ExprRef own = product(isSelf && chance(0.3) ? axisM : axisN);
  ExprRef other = product(axisJ);
  ExprRef before =
      chance(0.6) ? b("($ > $)", {other, own})
                  : b("(($ > $) || (($ == $) && (j < n)))",
                      {other, own, other, own}, axisJ | axisN);
  return b("($ < $)",
           {i("sum[j](where($, 1, 0))", {before}, 0, axisJ),
            number(1 + random.below(12))});
}

/// True where query m sees key n; it depends on the key.
ExprRef Generator::mask() {
  Axes all = outer | axisM | axisN;
  ExprRef result = condition(all, 1 + random.below(3));
  if (!(result->axes & axisN))
    result = b("($ && $)", {comparison(all), result});
  if (!(result->axes & axisN))
    result = b("(($ <= $) && $)", {axis(axisN), keyPosition(), result});
  // (On a GPU products may differ in their last bits, so that nothing compares.)
  if (gpu.empty() && !onWarps && chance(0.03))
    result = b("($ && $)", {nearestKeys(), result});
  return result;
}

} // namespace attentile::random
