//===- Loops.cpp - random loops over tiles --------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

namespace attentile::random {

/// The statement of a loop that carries these names. Its ends are integers of
/// what all `operands` have, mostly the axis's.
void Generator::loopOverTiles(std::vector<std::string> carried,
                              const std::string &starts,
                              const std::string &body,
                              std::vector<ExprRef> operands) {
  if (loopTile == 0)
    loopTile = onWarps || !gpu.empty()
                   ? pick<int64_t>({1, 5, 8, 16, 16, 24, 32})
                   : pick<int64_t>({1, 8, 16, 24, 64});
  Axes common = (mixesHeads ? outer & ~axisH : outer) | axisM;
  for (const ExprRef &operand : operands)
    common &= operand->axes;
  ExprRef from = chance(0.85) ? number(0) : integer(common & outer, 1);
  ExprRef to = leaf(Type::Int, sizeOf(axisN));
  if (chance(0.25))
    to = chance(0.5) ? integer(common & outer, 1)
                     : i("min($, $)", {to, offset(common)});
  operands.insert(operands.begin(), {from, to});
  std::string text = "for n in tiles($ .. $, " + std::to_string(loopTile) +
                     ") carry (" + starts + ") { " + body + " }";
  ExprRef loop = makeExpr(Type::Float, text, std::move(operands), 0, axisN);
  std::string name = carried.back();
  program.statements.push_back({name, "", "", loop, std::move(carried)});
}

/// A row's value after some steps, each of which knows its number.
ExprRef Generator::iterated(ExprRef start) {
  std::string x = fresh("x"), t = fresh("t");
  ExprRef from = let("from", start);
  ExprRef step = real(from->axes, 1);
  ExprRef loop = makeExpr(
      Type::Float,
      "for " + t + " in tiles(0 .. " + std::to_string(1 + random.below(6)) +
          ", 1) carry (" + x + " = $) { next (" + x + " = 0.5 * " + x +
          " + $ * sum[" + t + "](" + t + ")); }",
      {from, step});
  program.statements.push_back({x, "", "", loop, {x}});
  return leaf(Type::Float, x, from->axes);
}

/// A sum of values by weights, tile by tile: the online softmax as it is
/// written by hand, or what depends on the tiles.
ExprRef Generator::explicitSum() {
  ExprRef s = scores[random.below(scores.size())], v = valueRead();
  std::string acc = fresh("acc");
  Axes axes = (s->axes | v->axes) & ~axisN;
  switch (weighted({5, 1, 1, 1, 1, 1})) {
  case 0: {
    std::string mx = fresh("mx"), l = fresh("l"), top = fresh("top"),
                at = fresh("at"), w = fresh("w"), old = fresh("old");
    loopOverTiles({mx, l, acc}, mx + " = -inf, " + l + " = 0, " + acc + " = 0",
                  "let " + top + " = max(" + mx + ", max[n]($)); let " + at +
                      " = where(" + top + " == -inf, 0, " + top + "); let " +
                      w + " = exp($ - " + at + "); let " + old + " = exp(" +
                      mx + " - " + at + "); next (" + mx + " = " + top + ", " +
                      l + " = " + l + " * " + old + " + sum[n](" + w + "), " +
                      acc + " = " + acc + " * " + old + " + sum[n](" + w +
                      " * $));",
                  {s, s, v});
    ExprRef sum = leaf(Type::Float, l, s->axes & ~axisN);
    return f("($ * where($ == 0, 0, 1 / $))",
             {leaf(Type::Float, acc, axes), sum, sum});
  }
  case 1: // tiles behind others count more
    loopOverTiles({acc}, acc + " = 0",
                  "next (" + acc + " = 0.5 * " + acc + " + sum[n]($ * $));",
                  {probabilities[random.below(probabilities.size())], v});
    axes |= program.statements.back().value->axes;
    break;
  case 2: // each tile by itself
    loopOverTiles({acc}, acc + " = 0",
                  "next (" + acc + " = " + acc +
                      " + sum[n](softmax[n]($) * $));",
                  {s, v});
    break;
  case 3: { // each tile, or all before it, normalised
    std::string tile = fresh("tile"),
                of = chance(0.5) ? tile : "(" + acc + " + " + tile + ")";
    loopOverTiles({acc}, acc + " = 0",
                  "let " + tile + " = sum[n]($ * $); next (" + acc +
                      " = 0.5 * " + acc + " + " + of +
                      " * rsqrt(0.5 + sum[e](" + of + " * " + of + ")));",
                  {probabilities[random.below(probabilities.size())], v});
    axes |= program.statements.back().value->axes;
    break;
  }
  case 4: { // no more than some keys, of those that a mask leaves
    std::string used = fresh("used");
    ExprRef seen = masks.empty() ? comparison(outer | axisM | axisN)
                                 : masks[random.below(masks.size())];
    if (!(seen->axes & axisN))
      seen = b("(n <= $)", {keyPosition()}, axisN);
    loopOverTiles({used, acc}, used + " = 0, " + acc + " = 0",
                  "let seen" + used + " = $ && " + used + " < 9; next (" +
                      used + " = " + used + " + sum[n](where(seen" + used +
                      ", 1, 0)), " + acc + " = " + acc +
                      " + sum[n](where(seen" + used + ", $, 0.0) * $));",
                  {seen, probabilities[random.below(probabilities.size())], v});
    axes |= (seen->axes | program.statements.back().value->axes) & ~axisN;
    break;
  }
  default: { // the delta rule: values less what a state recalls of them
    ExprRef k = readKeySide("K", axisD);
    // Of keys too what it recalls by values: a product of what are products.
    bool isBothWays = chance(0.4);
    std::vector<ExprRef> operands = {k, v, k};
    if (isBothWays)
      operands.insert(operands.begin() + 1, v);
    loopOverTiles(
        {acc}, acc + " = 0",
        "next (" + acc + " = 0.5 * " + acc + " + sum[n](" +
            (isBothWays ? "($ - tanh(sum[e]($ * " + acc + ")))" : "$") +
            " * ($ - tanh(sum[d]($ * " + acc + ")))));",
        operands);
    axes = (k->axes | v->axes) & ~axisN;
    return f("sum[d]($ * $)",
             {read(Type::Float, "Q", "T", outer | axisM | axisD),
              leaf(Type::Float, acc, axes)},
             0, axisD);
  }
  }
  return leaf(Type::Float, acc, axes);
}

} // namespace attentile::random
