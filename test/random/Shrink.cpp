//===- Shrink.cpp - a small program that fails alike ----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy: each step proposes programs that are a little smaller, largest cuts
// first, and goes on from the first that fails in the same way; until no step
// has one. What the front end refuses (a cut may take an index's range away)
// does not count as failing, unless that is the failure.
//
//===----------------------------------------------------------------------===//

#include "Shrink.h"
#include "Isolate.h"
#include "llvm/ADT/STLExtras.h"
#include <chrono>

namespace attentile::random {
namespace {

/// A place in a tree: the operand to take at each level.
using Path = std::vector<unsigned>;

void collect(const ExprRef &expr, Path &path,
             std::vector<std::pair<size_t, Path>> &places) {
  places.push_back({expr->size(), path});
  for (unsigned i = 0; i < expr->operands.size(); ++i) {
    path.push_back(i);
    collect(expr->operands[i], path, places);
    path.pop_back();
  }
}

const ExprRef &at(const ExprRef &expr, llvm::ArrayRef<unsigned> path) {
  return path.empty() ? expr : at(expr->operands[path[0]], path.drop_front());
}

ExprRef replaced(const ExprRef &expr, llvm::ArrayRef<unsigned> path,
                 const ExprRef &by) {
  if (path.empty())
    return by;
  auto copy = std::make_shared<Expr>(*expr);
  copy->operands[path[0]] =
      replaced(expr->operands[path[0]], path.drop_front(), by);
  return copy;
}

class Shrinker {
public:
  Shrinker(Program program, Outcome outcome, unsigned trials, unsigned seconds)
      : program(std::move(program)), outcome(std::move(outcome)),
        trials(trials),
        end(std::chrono::steady_clock::now() + std::chrono::seconds(seconds)) {}

  void run() {
    for (bool smaller = true; smaller;) {
      smaller = false;
      smaller |= dropRuns();
      smaller |= dropStatements();
      smaller |= dropSwitches();
      smaller |= cutTrees();
      smaller |= shrinkSizes();
      smaller |= simplifyHead();
    }
    inlineLets();
  }

  Program program;
  Outcome outcome;

private:
  /// Whether the candidate fails as the program does; it is then the program.
  bool take(Program candidate) {
    if (trials == 0 || std::chrono::steady_clock::now() > end)
      return false;
    --trials;
    Outcome result = runIsolated(candidate);
    if (result.kind != outcome.kind)
      return false;
    // Another message of a pass is another failure.
    auto start = [](const Outcome &of) { return of.message.substr(0, 40); };
    if ((outcome.kind == Outcome::NotCompiled ||
         outcome.kind == Outcome::Refused ||
         outcome.kind == Outcome::Crashed) &&
        start(result) != start(outcome))
      return false;
    // So is an infinity or NaN where both were finite, or the reverse.
    auto isFinite = [](const Outcome &of) {
      return of.message.find("nan") == std::string::npos &&
             of.message.find("inf") == std::string::npos;
    };
    if (outcome.kind == Outcome::Wrong && isFinite(result) != isFinite(outcome))
      return false;
    program = std::move(candidate);
    outcome = std::move(result);
    return true;
  }

  /// Tries to change a copy; whether that was taken.
  template <class Change> bool attempt(Change change) {
    Program candidate = program;
    change(candidate);
    return take(std::move(candidate));
  }

  bool dropRuns() {
    for (size_t i = 0; program.runs.size() > 1 && i < program.runs.size(); ++i)
      if (attempt([&](Program &p) { p.runs = {p.runs[i]}; }))
        return true;
    return false;
  }

  bool dropStatements() {
    bool smaller = false;
    for (size_t i = program.statements.size(); i-- > 0;)
      if (program.statements[i].isOutput())
        smaller |= attempt(
            [&](Program &p) { p.statements.erase(p.statements.begin() + i); });
    return smaller;
  }

  /// Drops elements of a list of the program, all at once if that goes.
  template <class List> bool dropElements(List list) {
    if (list(program).empty())
      return false;
    if (attempt([&](Program &p) { list(p).clear(); }))
      return true;
    bool smaller = false;
    for (size_t i = list(program).size(); i-- > 0 && list(program).size() > 1;)
      smaller |=
          attempt([&](Program &p) { list(p).erase(list(p).begin() + i); });
    return smaller;
  }

  bool dropSwitches() {
    bool smaller = dropElements(
        [](Program &p) -> auto & { return p.switches.enabledPasses; });
    smaller |= dropElements(
        [](Program &p) -> auto & { return p.switches.disabledPasses; });
    smaller |=
        dropElements([](Program &p) -> auto & { return p.switches.tileSizes; });
    smaller |=
        dropElements([](Program &p) -> auto & { return p.materialized; });
    for (bool PipelineOptions::*flag :
         {&PipelineOptions::normalizeEachStep, &PipelineOptions::programPerHead,
          &PipelineOptions::splitReduced, &PipelineOptions::byElement})
      if (program.switches.*flag)
        smaller |= attempt([&](Program &p) { p.switches.*flag = false; });
    return smaller;
  }

  /// What may stand for a part of a tree: one of its own parts of its type, or
  /// a constant.
  static std::vector<ExprRef> substitutes(const ExprRef &expr) {
    std::vector<ExprRef> result;
    auto constant = [&](const char *text) {
      if (expr->text() != text)
        result.push_back(makeExpr(expr->type, text, {}));
    };
    switch (expr->type) {
    case Type::Int:
      constant("0");
      constant("1");
      break;
    case Type::Float:
      constant("1.0");
      constant("0.5");
      break;
    case Type::Bool:
      constant("true");
      constant("false");
    }
    bool isConstant = expr->operands.empty() && expr->axes == 0;
    if (isConstant && result.size() < 2)
      return {};
    for (const ExprRef &operand : expr->operands)
      if (operand->type == expr->type)
        result.push_back(operand);
      else
        for (const ExprRef &inner : operand->operands)
          if (inner->type == expr->type)
            result.push_back(inner);
    return result;
  }

  bool cutTrees() {
    bool smaller = false;
    for (size_t i = program.statements.size(); i-- > 0;) {
      std::vector<std::pair<size_t, Path>> places;
      auto find = [&] {
        places.clear();
        Path path;
        collect(program.statements[i].value, path, places);
        llvm::sort(places, [](const auto &a, const auto &b) {
          return a.first != b.first ? a.first > b.first : a.second < b.second;
        });
      };
      find();
      for (size_t k = 0; k < places.size(); ++k) {
        Path path = places[k].second;
        bool taken = false;
        for (const ExprRef &by :
             substitutes(at(program.statements[i].value, path))) {
          taken = attempt([&](Program &p) {
            ExprRef &value = p.statements[i].value;
            value = replaced(value, path, by);
          });
          if (taken)
            break;
        }
        if (taken && places[k].first > 1) {
          smaller = true;
          find();
          k = k > 0 ? k - 1 : 0;
        }
      }
    }
    return smaller;
  }

  bool shrinkSizes() {
    bool smaller = false;
    std::map<std::string, int64_t> sizes = program.runs[0].sizes;
    for (const auto &[name, size] : sizes) {
      if (!mentions(program.text(), name))
        continue;
      for (int64_t to : {int64_t(0), int64_t(1), int64_t(2), size / 2,
                         size * 3 / 4, size - 1}) {
        if (to < 0 || to >= program.runs[0].sizes.at(name))
          continue;
        if (attempt([&](Program &p) {
              for (RunShape &run : p.runs)
                run.sizes[name] = to;
              if (p.bound.contains(name))
                p.bound[name] = std::to_string(to);
            })) {
          smaller = true;
          break;
        }
      }
    }
    return smaller;
  }

  bool simplifyHead() {
    bool smaller = false;
    std::vector<std::string> bound;
    for (const auto &[name, value] : program.bound)
      bound.push_back(name);
    for (const std::string &name : bound)
      smaller |= attempt([&](Program &p) { p.bound.erase(name); });
    for (size_t i = program.constraints.size(); i-- > 0;)
      smaller |= attempt(
          [&](Program &p) { p.constraints.erase(p.constraints.begin() + i); });
    if (program.type != "f32")
      smaller |= attempt([](Program &p) { p.type = "f32"; });
    for (std::string RunShape::*part :
         {&RunShape::strides, &RunShape::values}) {
      const char *plain = part == &RunShape::strides ? "contiguous" : "normal";
      if (program.runs[0].*part != plain)
        smaller |= attempt([&](Program &p) { p.runs[0].*part = plain; });
    }
    return smaller;
  }

  /// A value that one statement names once stands there.
  void inlineLets() {
    for (size_t i = program.statements.size(); i-- > 0;) {
      const Statement &made = program.statements[i];
      if (made.isOutput() || made.isLoop())
        continue;
      attempt([&](Program &p) {
        std::string name = made.name;
        ExprRef value = made.value;
        std::function<ExprRef(const ExprRef &)> put =
            [&](const ExprRef &expr) -> ExprRef {
          if (expr->operands.empty() && expr->form == name)
            return value;
          auto copy = std::make_shared<Expr>(*expr);
          for (ExprRef &operand : copy->operands)
            operand = put(operand);
          return copy;
        };
        for (Statement &statement : p.statements)
          statement.value = put(statement.value);
        p.statements.erase(p.statements.begin() + i);
      });
    }
  }

  unsigned trials;
  const std::chrono::steady_clock::time_point end;
};

} // namespace

Program shrink(Program program, Outcome &outcome, unsigned trials,
               unsigned seconds) {
  Shrinker shrinker(std::move(program), outcome, trials, seconds);
  shrinker.run();
  outcome = shrinker.outcome;
  return shrinker.program;
}

} // namespace attentile::random
