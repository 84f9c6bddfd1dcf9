//===- SemaSchedule.cpp - which schedule applies, what it says ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "attentile/WholeExtent.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace attentile;
using namespace attentile::frontend;
using llvm::StringRef;
using llvm::Twine;

/// What code is made for, and sm_90a, which will be one.
static const std::vector<StringRef> targets = {"cpu",   "sm_80", "sm_86",
                                               "sm_89", "sm_90", "sm_90a"};

/// Whether all conditions hold; nothing where that is not known when code is
/// made.
std::optional<bool> Sema::applies(const ast::ScheduleDecl &decl) {
  bool all = true, isKnown = true;
  if (decl.target.data) {
    StringRef target = decl.target.str();
    all = target == options.target;
    if (!llvm::is_contained(targets, target)) {
      // [L7.7]
      Diagnostic &e = error(decl.target.range,
                            "unknown target '" + target + "' of a schedule");
      StringRef nearest = nearestName(target, targets);
      if (!nearest.empty() && target != "gpu")
        e.note("did you mean '" + nearest + "'?");
      else
        e.note("targets are " + llvm::join(targets, ", "));
    }
  }
  for (const ast::Condition &clause : decl.conditions) {
    if (auto holds = typeCondition(clause)) {
      all &= *holds;
      continue;
    }
    const TypedExpr *value = condition(clause);
    std::optional<bool> holds =
        value ? evaluateCondition(*value, kernel) : false;
    isKnown &= holds.has_value();
    all &= holds.value_or(true);
  }
  return all && !isKnown ? std::nullopt : std::optional(all);
}

void Sema::chooseSchedule() {
  std::vector<StringRef> candidates, kernels;
  for (const ast::KernelDecl *kernel : tree.kernels)
    kernels.push_back(kernel->name.str());
  llvm::DenseSet<StringRef> known(kernels.begin(), kernels.end());
  bool isNamed = false;
  for (const ast::ScheduleDecl *candidate : tree.schedules) {
    StringRef of = candidate->kernel.str();
    if (of != decl.name.str()) {
      if (known.contains(of))
        continue;
      // [L7.1]
      Diagnostic &e = error(candidate->kernel.range,
                            "unknown kernel '" + of + "' in a schedule");
      StringRef nearest = nearestName(of, kernels);
      if (!nearest.empty())
        e.note("did you mean '" + nearest + "'?");
      else
        e.note("a schedule stands in the file of its kernel");
      continue;
    }
    StringRef name = candidate->as.data ? candidate->as.str() : StringRef();
    if (!name.empty())
      candidates.push_back(name);
    isNamed |= name == options.schedule;
    auto holds = applies(*candidate); // reports errors in its conditions
    if (schedule || name != options.schedule)
      continue;
    if (holds.value_or(false))
      schedule = candidate;
    else if (!holds && options.mode != CheckMode::Syntax)
      // [L7.8]
      diagnostics
          .warning(file, candidate->kernel.range,
                   "whether this schedule applies is not known when code is "
                   "made: it is not taken")
          .note("bind what its conditions name, as in --bind N=...");
  }
  if (schedule || options.schedule.empty())
    return;
  std::string wanted = "schedule '" + options.schedule.str() + "'";
  if (isNamed) {
    // [L7.2]
    diagnostics.error("expected " + wanted + " of kernel '" + decl.name.str() +
                      "' to apply, got a target or sizes for which it does "
                      "not");
    return;
  }
  // [L7.2]
  Diagnostic &e = diagnostics.error("unknown " + wanted + " of kernel '" +
                                    decl.name.str() + "'");
  StringRef nearest = nearestName(options.schedule, candidates);
  if (!nearest.empty())
    e.note("did you mean '" + nearest + "'?");
  else if (candidates.empty())
    e.note("it has none; one is named by 'as', as in schedule " +
           decl.name.str() + " as " + options.schedule + " { ... }");
  else
    e.note("it has " + llvm::join(candidates, ", "));
}

bool Sema::isMaterialized(StringRef name) const {
  return schedule &&
         llvm::any_of(schedule->items, [&](const ast::ScheduleItem &item) {
           return item.kind == ast::ScheduleItem::Materialize &&
                  item.name.str() == name;
         });
}

void Sema::checkTile(const ast::ScheduleItem &item) {
  checkTile(item, kernel.tiles, /*isTaken=*/true);
}

void Sema::checkTile(const ast::ScheduleItem &item,
                     llvm::SmallVectorImpl<CheckedTile> &tiles, bool isTaken) {
  auto index = indexVariable({Scope::Body}, item.name);
  if (!index)
    return;
  if (item.value->kind == ast::Expr::Ref && item.value->name.str() == "auto") {
    // [L8.7]
    error(item.value->range, "an automatic tile size is not supported yet")
        .note("the language has it, this version of the compiler does not");
    return;
  }
  const TypedExpr *value = visit(*item.value, {Scope::Head});
  if (!value)
    return;
  auto size = value->constant();
  // When it is taken, what it names may be bound.
  if (!size && !isTaken && value->type == ValueType::Int)
    return;
  if (!size || *size < 1 || *size > largestTile) {
    // [L7.3]
    error(item.value->range,
          "expected a tile size from 1 to " + Twine(largestTile) + ", got " +
              (size ? Twine(*size)
                    : Twine(spelling(value->type)) + " that is not known"));
    return;
  }
  for (const CheckedTile &tile : tiles)
    if (tile.axis == item.name.str()) {
      // [L7.3]
      error(item.range, "expected one tile size for axis '" + item.name.str() +
                            "', got " + Twine(tile.size) + " and " +
                            Twine(*size));
      return;
    }
  tiles.push_back({item.name.str(), *size});
}

void Sema::checkSchedules() {
  for (const ast::ScheduleDecl *candidate : tree.schedules)
    if (candidate->kernel.str() == decl.name.str())
      checkItems(*candidate);
  if (schedule && schedule->as.data)
    kernel.schedule = schedule->as.str();
}

void Sema::checkItems(const ast::ScheduleDecl &candidate) {
  const bool isTaken = &candidate == schedule;
  llvm::SmallVector<CheckedTile> others;
  for (const ast::ScheduleItem &item : candidate.items) {
    switch (item.kind) {
    case ast::ScheduleItem::Tile:
      if (isTaken)
        checkTile(item);
      else
        checkTile(item, others, /*isTaken=*/false);
      break;
    case ast::ScheduleItem::Materialize: {
      auto it = names.find(item.name.str());
      if (it != names.end() && it->second.kind == Entity::Let)
        break;
      std::vector<StringRef> candidates;
      for (const auto &[name, entity] : names)
        if (entity.kind == Entity::Let)
          candidates.push_back(name);
      llvm::sort(candidates);
      StringRef nearest = nearestName(item.name.str(), candidates);
      // [L7.4]
      Diagnostic &e = error(
          item.range, "expected a let of kernel '" + decl.name.str() +
                          "' to materialize, got '" + item.name.str() + "'");
      if (!nearest.empty())
        e.note("did you mean '" + nearest + "'?");
      else
        e.note("name the value with let to put it in workspace");
      break;
    }
    case ast::ScheduleItem::Other:
      if (!isTaken) // of a target or a version that will have it
        break;
      // [L8.7]
      error(item.range,
            "'" + item.name.str() + "' in a schedule is not supported yet")
          .note("tile and materialize are");
      break;
    }
  }
}
