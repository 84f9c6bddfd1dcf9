//===- Outputs.cpp - what random kernels write ----------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

namespace attentile::random {

ExprRef Generator::valueRead() {
  if (sharesSize && !lastKeys.empty() && chance(0.4)) {
    ExprRef keys = readKeySide("K", axisE); // keys are values too
    return keys;
  }
  return chance(0.05) ? projected(axisN, axisE) : readKeySide("V", axisE);
}

/// sum[n](p * v), and what may be around it.
ExprRef Generator::weightedSum() {
  ExprRef p = probabilities[random.below(probabilities.size())];
  ExprRef v = valueRead();
  if (chance(0.12))
    v = f("($ * $)",
          {v, read(Type::Float, "rowscale", "f32", (outer & axisB) | axisN)});
  else if (chance(0.06))
    v = f("tanh($)", {v});
  ExprRef o = chance(0.08)   ? explicitSum()
              : chance(0.06) ? hiddenSum(p, v)
                             : f("sum[n]($ * $)", {p, v}, 0, axisN);
  Axes all = outer | axisM | axisE;
  switch (weighted({12, 1, 1, 1, 0.7, 0.7})) {
  case 0:
    break;
  case 1:
    o = f("($ * sigmoid($))", {o, read(Type::Float, "gate", "T", all)});
    break;
  case 2:
    o = f("($ + $)", {read(Type::Float, "residual", "T", all), o});
    break;
  case 3: // normalised by the weights' own sum
    o = f("($ / (1.0 + abs($)))", {o, f("sum[n]($)", {p}, 0, axisN)});
    break;
  case 4:
    o = f(chance(0.5) ? "tanh($)" : "max($, 0.0)", {o});
    break;
  default:
    o = f("($ - $)", {o, f("sum[n]($ * $)", {p, valueRead()}, 0, axisN)});
  }
  return o;
}

/// Values, with weights or without, beside a condition of pairs.
ExprRef Generator::hiddenSum(ExprRef p, ExprRef v) {
  ExprRef visible = masks.empty() || chance(0.5)
                        ? condition(outer | axisM | axisN, 1)
                        : masks[random.below(masks.size())];
  const char *hidden = chance(0.7) ? "where($, $, 0.0)" : "where($, 0.0, $)";
  switch (weighted({2, 1, 1})) {
  case 0:
    return f("sum[n]($)", {f(hidden, {visible, v})}, 0, axisN);
  case 1:
    return f("sum[n]($)", {f(hidden, {visible, f("($ * $)", {p, v})})}, 0,
             axisN);
  default:
    return f("sum[n]($ * $)", {p, f(hidden, {visible, v})}, 0, axisN);
  }
}

/// One number for each query.
void Generator::rowStatistic() {
  Axes rows = outer | axisM;
  ExprRef s = scores[random.below(scores.size())];
  ExprRef p = probabilities[random.below(probabilities.size())];
  ExprRef visible = masks.empty() ? comparison(outer | axisM | axisN)
                                  : masks[random.below(masks.size())];
  if (!(visible->axes & axisN))
    visible = b("(n <= $)", {keyPosition()}, axisN);
  switch (weighted({4, 1.5, 1.5, 1, 1, 1.5, 1, 0.7, 0.8, 0.5})) {
  case 9:
    return output("J", rows, "f32", iterated(softmax("logsumexp", s, axisN)));
  case 8: { // the greatest one's index
    ExprRef top = f(chance(0.7) ? "max[n]($)" : "min[n]($)", {s}, 0, axisN);
    return output("I", rows, integerType(),
                  i("min[n](where(($ == $), n, " + sizeOf(axisN) + "))",
                    {s, top}, axisN, axisN));
  }
  case 0:
    return output("L", rows, "f32", softmax("logsumexp", s, axisN));
  case 1:
    return output("X", rows, floatType(),
                  f(chance(0.7) ? "max[n]($)" : "min[n]($)", {s}, 0, axisN));
  case 2:
    return output("C", rows, integerType(),
                  i("sum[n](where($, 1, 0))", {visible}, 0, axisN));
  case 3:
    return output(
        "A", rows, "bool",
        b(chance(0.5) ? "any[n]($)" : "all[n]($)", {visible}, 0, axisN));
  case 4: // the first or last visible key
    return output(
        "I", rows, integerType(),
        i(chance(0.5) ? "max[n](where($, n, -1))" : "min[n](where($, n, 1000))",
          {visible}, 0, axisN));
  case 5:
    return output("Y", rows, floatType(),
                  f("sum[n]($ * $)",
                    {p, read(Type::Float, "Y", "f32", someOuter() | axisN)}, 0,
                    axisN));
  case 6:
    return output("W", rows, "f32", f("sum[n]($)", {p}, 0, axisN));
  default:
    return output("G", rows, "f32",
                  f("sum[n]($ * $)", {p, f("max($, -20.0)", {s})}, 0, axisN));
  }
}

/// Sums over queries, of which weights need a pass over keys first.
void Generator::columnOutput() {
  ExprRef p = probabilities[random.below(probabilities.size())];
  ExprRef s = scores[random.below(scores.size())];
  Axes columns = outer | axisN;
  switch (weighted({3, 2, 1, 0.7, outer ? 0.7 : 0, outer ? 0.3 : 0})) {
  case 0:
    return output("A", columns, "f32", f("sum[m]($)", {p}, 0, axisM));
  case 1: // as in a derivative
    return output("D", columns | axisE, floatType(),
                  f("sum[m]($ * $)",
                    {p, read(Type::Float, "U", "T", outer | axisM | axisE)}, 0,
                    axisM));
  case 2:
    return output("X", columns, "f32", f("max[m]($)", {s}, 0, axisM));
  case 3:
    return output("L", columns, "f32", softmax("logsumexp", s, axisM));
  case 5:
    return output("L", outer, "f32", softmax("logsumexp", s, axisM | axisN));
  default:
    return output("Z", outer, "f32",
                  f(chance(0.6) ? "sum[m, n]($)" : "max[m, n]($)", {p}, 0,
                    axisM | axisN));
  }
}

/// What stands around an attention: norms, projections, losses.
void Generator::layerOutput() {
  auto residual = [&] {
    return read(Type::Float, "residual", "T", outer | axisM | axisE);
  };
  switch (weighted({1.5, outer & axisH ? 2.0 : 0, 1, outer ? 1.0 : 0})) {
  case 1: { // heads together
    // No loop over tiles: its bounds may be another head's.
    ExprRef p = probabilities[random.below(probabilities.size())];
    ExprRef o = f("sum[n]($ * $)", {p, valueRead()}, 0, axisN);
    Axes rest = (outer & ~axisH) | axisM;
    if (chance(0.4))
      return output("O", rest | axisE, floatType(),
                    f("sum[h]($ * $)",
                      {o, read(Type::Float, "weight", "f32", axisH)}, 0,
                      axisH));
    return output(
        "O", rest | axisR, floatType(),
        f(chance(0.5) ? "sum[h, e]($ * $)" : "sum[h](sum[e]($ * $))",
          {o, read(Type::Float, "projection", "T", axisH | axisE | axisR)}, 0,
          axisH | axisE));
  }
  case 0:
    return output(
        "O", outer | axisM | axisE, floatType(),
        f("($ * $)", {normed(f("($ + $)", {residual(), weightedSum()}), axisE),
                      read(Type::Float, "weight", "f32", axisE)}));
  case 2: { // no key at all
    ExprRef y = f("sum[e]($ * $)",
                  {normed(residual(), axisE),
                   read(Type::Float, "projection", "T", axisE | axisR)},
                  0, axisE);
    return output("Y", outer | axisM | axisR, floatType(),
                  chance(0.5) ? f("max($, 0.0)", {y}) : y);
  }
  default: { // a cross entropy
    ExprRef s = scores[random.below(scores.size())];
    ExprRef label = read(Type::Int, "label", "i32", (outer & axisB) | axisM);
    ExprRef own =
        f("sum[n](where((n == $), $, 0.0))", {label, s}, axisN, axisN);
    return output(
        "L", outer, "f32",
        f("sum[m]($ - $)", {softmax("logsumexp", s, axisN), own}, 0, axisM));
  }
  }
}

/// Weights of which both rows and columns have been divided by their sums.
void Generator::balancedOutput() {
  ExprRef s = scores[random.below(scores.size())];
  for (int steps = 1 + weighted({3, 1}); steps > 0; --steps) {
    s = let("s", f("($ - $)", {s, softmax("logsumexp", s, axisN)}));
    s = let("s", f("($ - $)", {s, softmax("logsumexp", s, axisM)}));
  }
  ExprRef p = f("exp($)", {s});
  output("O", outer | axisM | axisE, floatType(),
         f("sum[n]($ * $)", {p, valueRead()}, 0, axisN));
}

void Generator::writeOutput() {
  switch (weighted({8, 4, 2.2, 0.8, 0.5, 0.5, 0.4, 0.5, 0.5, 0.6, 1.2, 0.3})) {
  case 0:
    return output("O", outer | axisM | axisE, floatType(), weightedSum());
  case 1:
    return rowStatistic();
  case 2:
    return columnOutput();
  case 3: // the whole matrix
    switch (weighted({2, 1, masks.empty() ? 0 : 1.0})) {
    case 0:
      return output("P", outer | axisM | axisN, floatType(),
                    probabilities[random.below(probabilities.size())]);
    case 1:
      return output("P", outer | axisM | axisN, "f32",
                    scores[random.below(scores.size())]);
    default:
      return output("P", outer | axisM | axisN, "bool",
                    masks[random.below(masks.size())]);
    }
  case 4: // no key at all
    return output(
        "E", outer | axisM | axisD, floatType(),
        f("($ * $)", {read(Type::Float, "Q", "T", outer | axisM | axisD),
                      real(outer | axisM, 2)}));
  case 5: // no query
    return output("F", outer | axisE, "f32",
                  f("sum[n]($)",
                    {read(Type::Float, "W", "T", outer | axisN | axisE)}, 0,
                    axisN));
  case 7: { // linear attention, by its state
    ExprRef k = readKeySide("K", axisD);
    if (chance(0.5))
      k = f("max($, 0.0)", {k});
    ExprRef state = f("sum[n]($ * $)", {k, valueRead()}, 0, axisN);
    return output("O", outer | axisM | axisE, floatType(),
                  f("sum[d]($ * $)",
                    {read(Type::Float, "Q", "T", outer | axisM | axisD),
                     chance(0.5) ? let("state", state) : state},
                    0, axisD));
  }
  case 8: { // values of two axes, or how long each is
    ExprRef o = f("sum[n]($ * $)",
                  {probabilities[random.below(probabilities.size())],
                   read(Type::Float, "parts", floatType(),
                        (outer & axisB) | axisN | axisE | axisR)},
                  0, axisN);
    if (chance(0.5))
      return output("O", outer | axisM | axisE | axisR, floatType(), o);
    o = let("o", o);
    return output("O", outer | axisM | axisE, "f32",
                  f("sqrt(sum[r]($ * $))", {o, o}, 0, axisR));
  }
  case 9: { // by what lacks axes of the output
    ExprRef keys =
        f("($ * $)",
          {read(Type::Float, "rowscale", "f32", (outer & axisB) | axisN),
           real(someOuter() | axisN, 2)});
    ExprRef all = chance(0.3) ? f("max[n](abs($))", {keys}, 0, axisN)
                  : chance(0.4)
                      ? softmax("logsumexp", keys, axisN)
                      : f("(1.0 + sum[n]($ * $))", {keys, keys}, 0, axisN);
    ExprRef x = read(Type::Float, "residual", "T", outer | axisM | axisE);
    return output("R", outer | axisM | axisE, floatType(),
                  f(chance(0.5) ? "($ * $)" : "($ / $)", {x, all}));
  }
  case 10:
    return layerOutput();
  case 11:
    return balancedOutput();
  default: { // attention to what attention gave
    ExprRef o = let("o", weightedSum());
    ExprRef t = f("sum[e]($ * $)", {o, readKeySide("U", axisE)}, 0, axisE);
    return output("O", outer | axisM | axisE, "f32",
                  f("sum[n]($ * $)",
                    {softmax("softmax", let("t", t), axisN), valueRead()}, 0,
                    axisN));
  }
  }
}

} // namespace attentile::random
