//===- Scores.cpp - random floats: products, biases, functions ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

namespace attentile::random {

//===----------------------------------------------------------------------===//
// Any floats
//===----------------------------------------------------------------------===//

ExprRef Generator::realLeaf(Axes available) {
  switch (weighted({2, 1.5, 3, 0.7})) {
  case 0:
    return leaf(Type::Float,
                pick<const char *>({"0.5", "1.0", "2.0", "0.1", "1.5", "0.25",
                                    "3.0", "0.0", "1e-3"}));
  case 1:
    return scalar("factor", "f32");
  case 2: {
    Axes axes =
        (someOuter() | pick<Axes>({axisM, axisN, axisN, 0})) & available;
    return axes ? read(Type::Float, pick<const char *>({"X", "Y", "Z"}),
                       floatType(), axes)
                : leaf(Type::Float, "0.75");
  }
  default:
    return f("f32($)", {integer(available, 1)});
  }
}

/// Mostly tame; sometimes what gives infinities and NaN.
ExprRef Generator::real(Axes available, int depth) {
  if (depth <= 0 || chance(0.2))
    return realLeaf(available);
  auto next = [&] { return real(available, depth - 1); };
  switch (weighted({4, 2.5, 1, 1, 3, 1, 0.6, 0.5, 0.3})) {
  case 0:
    return f(chance(0.5) ? "($ + $)" : "($ - $)", {next(), next()});
  case 1:
    return f("($ * $)", {next(), next()});
  case 2:
    return f(chance(0.5) ? "max($, $)" : "min($, $)", {next(), next()});
  case 3:
    return f("where($, $, $)",
             {condition(available, depth - 2), next(), next()});
  case 4:
    return f(pick<const char *>(
                 {"tanh($)", "sigmoid($)", "abs($)", "sin($)", "cos($)", "(-$)",
                  "exp(-abs($))", "log(1.0 + abs($))", "sqrt(abs($))",
                  "(1.0 / (1.0 + abs($)))", "floor($)", "exp2(min($, 4.0))",
                  "bf16($)", "f16($)", "f8e4m3($)", "f8e5m2($)",
                  "log2(2.0 + abs($))", "rsqrt(0.5 + abs($))"}),
             {next()});
  case 5:
    return f("clamp($, -2.0, 2.0)", {next()});
  case 6:
    return f("(f32($) * 0.125)", {integer(available, 2)});
  case 7:
    return f(pick<const char *>({"pow(0.5 + abs($), 1.5)", "pow($, 2)"}),
             {next()});
  default:
    return f(pick<const char *>(
                 {"($ / $)", "($ * exp($))", "($ - log($))", "($ + rsqrt($))"}),
             {next(), next()});
  }
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Queries, keys or values that the kernel projects from features.
ExprRef Generator::projected(Axes rows, Axes last) {
  return let(nameOf(last) + "s", f("sum[r]($ * $)",
                                   {read(Type::Float, "features", "T",
                                         (someOuter() & axisB) | rows | axisR),
                                    read(Type::Float, "projection", "T",
                                         (outer & axisH) | last | axisR)},
                                   0, axisR));
}

/// Rows by their own length, their greatest element or their own softmax.
ExprRef Generator::normed(ExprRef x, Axes last) {
  std::string over = "[" + nameOf(last) + "]";
  if (x->size() > 1)
    x = let("x", x);
  auto scaled = [&](const ExprRef &x) {
    ExprRef squares = f("sum" + over + "($ * $)", {x, x}, 0, last);
    if (chance(0.5))
      squares = f("($ / " + sizeOf(last) + ")", {squares});
    return f("($ * rsqrt(0.1 + $))", {x, squares});
  };
  switch (weighted({3, 1.5, 1, 1})) {
  case 0:
    return scaled(x);
  case 1: { // a layer norm
    ExprRef sum = f("sum" + over + "($)", {x}, 0, last);
    return scaled(let("x", f("($ - $ / " + sizeOf(last) + ")", {x, sum})));
  }
  case 2:
    return f("($ / (0.1 + $))",
             {x, f("max" + over + "(abs($))", {x}, 0, last)});
  default:
    return f("softmax" + over + "($)", {x});
  }
}

/// One side of a product: read, or computed from what is read.
ExprRef Generator::factorOf(Axes rows, Axes summed, const std::string &name) {
  if (summed != axisR && chance(0.05))
    return projected(rows, summed);
  bool isKey = rows == axisN;
  if (isKey && chance(0.02)) // of no tensor that has both axes
    return f("cos($ * $)",
             {read(Type::Float, "place", "f32", rows), axis(summed)});
  ExprRef value = isKey ? readKeySide(name, summed)
                        : read(Type::Float, name, "T", outer | rows | summed);
  switch (weighted({14, 1, 1, 1, 0.7, 0.5, 0.5, 0.8})) {
  case 0:
    return value;
  case 7:
    return normed(value, summed);
  case 1: // a scale for each row, as of 8-bit tensors
    return f("($ * $)", {value, read(Type::Float, "rowscale", "f32",
                                     (outer & axisB) | rows)});
  case 2: // a table of angles
    return f("($ * cos($))",
             {value, read(Type::Float, "angle", "f32", rows | summed)});
  case 3:
    return f("($ * $)", {value, read(Type::Float, "weight", "f32", summed)});
  case 4:
    return f("($ + $)", {value, read(Type::Float, "shift", "T",
                                     (outer & axisH) | summed)});
  case 5:
    return f(chance(0.5) ? "max($, 0.0)" : "tanh($)", {value});
  default:
    return f(pick<const char *>({"bf16($)", "f8e4m3($)", "f32($)"}), {value});
  }
}

ExprRef Generator::productScore(Axes summed, const std::string &suffix) {
  return f("sum[" + nameOf(summed) + "]($ * $)",
           {factorOf(axisM, summed, "Q" + suffix),
            factorOf(axisN, summed, "K" + suffix)},
           0, summed);
}

/// What is no product of a query and a key.
ExprRef Generator::otherScore() {
  Axes heads = outer & axisH;
  switch (weighted({2, 1.5, 2, 1, 0.4})) {
  case 4: { // a distance with all pairs of two axes
    ExprRef q = read(Type::Float, "Q", "T", outer | axisM | axisD);
    ExprRef k = readKeySide("K", axisD);
    ExprRef metric =
        read(Type::Float, "projection", "T", heads | axisD | axisR);
    return f("(0.1 * sum[d, r]((($ - $) * $) * ($ - $)))",
             {q, k, metric,
              read(Type::Float, "points", "f32", outer | axisM | axisR),
              read(Type::Float, "points", "f32", outer | axisN | axisR)},
             0, axisD | axisR);
  }
  case 0: { // distances
    ExprRef q = read(Type::Float, "Q", "T", outer | axisM | axisD);
    ExprRef k = readKeySide("K", axisD);
    return chance(0.7)
               ? f("(-sum[d](($ - $) * ($ - $)))", {q, k, q, k}, 0, axisD)
               : f("(-sum[d](abs($ - $)))", {q, k}, 0, axisD);
  }
  case 1: // a pair's own logit
    return read(Type::Float, "pair", "T", outer | axisM | axisN);
  case 2: // a row's and a column's
    return f(chance(0.5) ? "($ + $)" : "tanh($ - $)",
             {read(Type::Float, "X", "T", outer | axisM),
              read(Type::Float, "Y", "T", outer | axisN)});
  default: // a small network: sum of w * tanh(q + k)
    return f("sum[d]($ * tanh($ + $))",
             {read(Type::Float, "weight", "f32", heads | axisD),
              read(Type::Float, "Q", "T", outer | axisM | axisD),
              readKeySide("K", axisD)},
             0, axisD);
  }
}

ExprRef Generator::scale(ExprRef s) {
  switch (weighted({3, 3, 1, 1, 1})) {
  case 0:
    return f("($ / sqrt(D))", {s});
  case 1:
    return f("($ * $)", {scalar("scale", "f32", "= 1 / sqrt(D)"), s});
  case 2:
    return f("($ * $)", {scalar("factor", "f32"), s});
  case 3:
    return f(
        "($ * $)",
        {leaf(Type::Float, pick<const char *>({"0.125", "2.0", "-0.5"})), s});
  default:
    return s;
  }
}

ExprRef Generator::rawScore() {
  if (chance(0.18))
    return otherScore();
  ExprRef s = productScore(axisD, scores.empty() || chance(0.3) ? "" : "2");
  if (chance(0.1))
    s = f(chance(0.7) ? "($ + $)" : "($ - $)", {s, productScore(axisR, "r")});
  if (chance(0.06)) // over two axes, in groups of features
    s = f(chance(0.5) ? "sum[r, d]($ * $)" : "sum[r](sum[d]($ * $))",
          {read(Type::Float, "groups", "T", outer | axisM | axisD | axisR),
           read(Type::Float, "groups", "T",
                (chance(0.7) ? outer : outer & axisB) | axisN | axisD | axisR)},
          0, axisD | axisR);
  if (chance(0.04)) { // how far points are from each other
    ExprRef far = let(
        "far", f("($ - $)",
                 {read(Type::Float, "points", "f32", outer | axisM | axisR),
                  read(Type::Float, "points", "f32", outer | axisN | axisR)}));
    s = f("($ - sum[r]($ * $))", {s, far, far}, 0, axisR);
  }
  if (chance(0.04)) // over two axes, of which no operand but one has both
    s = f(
        pick<const char *>({"sum[d, r](($ * $) * $)", "sum[r, d]($ * ($ * $))",
                            "sum[r, d](($ * 0.5) * ($ * $))"}),
        {read(Type::Float, "Q", "T", outer | axisM | axisD),
         read(Type::Float, "projection", "T", (outer & axisH) | axisD | axisR),
         read(Type::Float, "features", "T",
              (chance(0.7) ? outer : outer & axisB) | axisN | axisR)},
        0, axisD | axisR);
  if (chance(0.05)) // three operands: a gate on each of d
    s = f("sum[d](($ * $) * $)",
          {read(Type::Float, "Q", "T", outer | axisM | axisD),
           readKeySide("K", axisD),
           read(Type::Float, "gate", "T", (outer & axisH) | axisD)},
          0, axisD);
  return scale(s);
}

/// A place in a table of P entries, mostly of the distance.
ExprRef Generator::tablePlace(Axes available) {
  if (chance(0.2))
    return i("relative(m, n, P / 2)", {}, axisM | axisN);
  if (chance(0.7))
    return i("clamp(($ - $) + (P / 2), 0, P - 1)",
             {axis(axisN), keyPosition()});
  if (chance(0.5))
    return i("($ % P)", {integer(available & (axisM | axisN), 2)});
  return i("($ - $)", {axis(axisN), axis(axisM)}); // may lie outside
}

/// Queries or keys by relative positions, each a row of a table.
ExprRef Generator::relativeProduct(Axes available) {
  Axes heads = chance(0.5) ? outer & axisH : 0;
  declare(heads ? "rowsH" : "rows", heads ? "T[H, P, D]" : "T[P, D]");
  ExprRef row = f(heads ? "rowsH[h, $, d]" : "rows[$, d]",
                  {tablePlace(available)}, heads | axisD);
  switch (weighted({3, 1, 1})) {
  case 0:
    return f("sum[d]($ * $)", {factorOf(axisM, axisD, "Q"), row}, 0, axisD);
  case 1:
    return f("sum[d]($ * $)", {row, readKeySide("K", axisD)}, 0, axisD);
  default:
    return f(chance(0.5) ? "sum[d]($ * ($ + $))" : "sum[d]($ * ($ - $))",
             {read(Type::Float, "Q", "T", outer | axisM | axisD),
              readKeySide("K", axisD), row},
             0, axisD);
  }
}

/// What gates between a key and a query leave of it: sums of all before each.
ExprRef Generator::decay() {
  ExprRef gate =
      f("abs($)", {read(Type::Float, "gates", "f32", someOuter() | axisJ)});
  auto upTo = [&](const ExprRef &place) {
    return let("c",
               f("sum[j](where(j <= $, $, 0.0))", {place, gate}, axisJ, axisJ));
  };
  ExprRef ofKey = upTo(axis(axisN));
  return f("($ - $)", {ofKey, upTo(keyPosition())});
}

/// Something to add to a score.
ExprRef Generator::bias(Axes available) {
  Axes heads = outer & axisH;
  switch (weighted({3, 3, 3, 2, 1, 1, 0.7, 1, 0.5})) {
  case 8:
    return decay();
  case 7:
    return relativeProduct(available);
  case 6: // projected from what is known of a pair
    return f("sum[r]($ * $)",
             {read(Type::Float, "pairs", "T",
                   (someOuter() & axisB) | axisM | axisN | axisR),
              read(Type::Float, "projection", "T", heads | axisR)},
             0, axisR);
  case 5:
    return heads && chance(0.5)
               ? f("alibi(m, n, alibi_slope(h))", {}, heads | axisM | axisN)
               : f("alibi(m, n, $)", {realLeaf(outer)}, axisM | axisN);
  case 0: { // a slope for each head or for all
    ExprRef slope = heads ? read(Type::Float, "slope", "f32", heads)
                          : scalar("factor", "f32");
    ExprRef distance = chance(0.7)
                           ? i("($ - $)", {axis(axisN), keyPosition()})
                           : i("abs($ - $)", {axis(axisN), keyPosition()});
    return f("($ * $)", {slope, distance});
  }
  case 1: // a pair's
    return read(Type::Float, "pair", chance(0.7) ? "T" : "f32",
                (someOuter() | axisM | axisN) & available);
  case 2: { // a table's entry
    std::string name = heads ? "tableH" : "table";
    declare(name, heads ? "T[H, P]" : "T[P]");
    return f(heads ? name + "[h, $]" : name + "[$]", {tablePlace(available)},
             heads);
  }
  case 3:
    return read(Type::Float, pick<const char *>({"X", "Y"}), floatType(),
                (someOuter() | (chance(0.5) ? axisM : axisN)) & available);
  default:
    return real(available, 2);
  }
}

ExprRef Generator::changeScore(ExprRef s) {
  Axes all = outer | axisM | axisN;
  switch (weighted({5, 2, 1.2, 1.2, 1, 1, 0.6, 0.5})) {
  case 0:
    return f(chance(0.8) ? "($ + $)" : "($ - $)", {s, bias(all)});
  case 1: {
    ExprRef cap = chance(0.5)
                      ? scalar("cap", "f32", "= 5.0")
                      : leaf(Type::Float, pick<const char *>({"2.0", "30.0"}));
    return chance(0.5) ? f("($ * tanh($ / $))", {cap, s, cap})
                       : f("softcap($, $)", {s, cap});
  }
  case 2:
    return chance(0.3)
               ? f("max($, 0.1 * $)", {s, s})
               : f(pick<const char *>({"clamp($, -3.0, 3.0)", "max($, -1.0)",
                                       "min($, 2.0)", "(-$)"}),
                   {s});
  case 3:
    return f("where($, $, $)", {condition(all, 1), s,
                                f("($ * $)", {s, leaf(Type::Float, "0.5")})});
  case 4:
    return f(pick<const char *>({"tanh($)", "sigmoid($)", "log(1.0 + abs($))",
                                 "sin($)", "floor($)", "abs($)", "(-abs($))",
                                 "max($, -1.0)", "min($, 2.0)", "bf16($)",
                                 "exp(-abs($))", "(1.0 / (1.0 + abs($)))"}),
             {s});
  case 5:
    return f("($ * $)",
             {s, read(Type::Float, pick<const char *>({"X", "Y"}), floatType(),
                      someOuter() | (chance(0.5) ? axisM : axisN))});
  case 6:
    return f("($ * $)", {s, s});
  default:
    return f("($ + $)", {s, real(all, 3)});
  }
}

} // namespace attentile::random
