//===- SemaRanges.cpp - ranges of index variables -------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An index variable has the range of the dimensions in which it stands plainly.
// The first of them counts; where another disagrees, a subscript in the wrong
// order may be the cause: then one error says which order would fit.
//
//===----------------------------------------------------------------------===//

#include "Sema.h"

using namespace attentile;
using namespace attentile::frontend;
using ast::Expr;
using llvm::StringRef;
using llvm::Twine;

/// In kernels with more subscripts, and in longer ones, no order is looked for.
static constexpr size_t mostSubscripts = 256, mostIndices = 16;

void Sema::collectSubscript(ast::Name tensor, llvm::ArrayRef<Expr *> index) {
  auto it = names.find(tensor.str());
  if (it == names.end() ||
      (it->second.kind != Entity::In && it->second.kind != Entity::Out))
    return;
  bool isOutput = it->second.kind == Entity::Out;
  const auto &params = isOutput ? kernel.outs : kernel.ins;
  const CheckedParam &param = params[it->second.id];
  if (param.shape.size() != index.size())
    return; // reported with the statement
  subscripts.push_back({tensor, index, &param, isOutput});
  for (auto [arg, extent] : llvm::zip(index, param.shape))
    if (arg->kind == Expr::Ref)
      addStand(arg->name, *extent);
}

void Sema::addStand(ast::Name name, const SizeExpr &extent) {
  unsigned id = kernel.indices.size();
  auto [it, isNew] =
      names.try_emplace(name.str(), Entity{Entity::Index, id, name.range});
  if (isNew) {
    if (id == 64) {
      // [L8.5]
      error(name.range, "expected at most 64 index variables, got another one");
      names.erase(it);
      return;
    }
    kernel.indices.push_back({name.str(), name.range, &extent});
    return;
  }
  if (it->second.kind != Entity::Index)
    return;
  const CheckedIndex &index = kernel.indices[it->second.id];
  rangesConflict |= index.extent != &extent && !sameSize(*index.extent, extent);
}

/// An index variable that stands plainly nowhere has the range of the loop over
/// it, if that ends at a number or a size: iterations.
void Sema::collectIterations() {
  llvm::SmallDenseMap<StringRef, unsigned> found;
  for (const ast::Statement *statement : statements) {
    const ast::TileLoop *loop = statement->loop;
    if (!loop)
      continue;
    const Expr &upper = *loop->upper;
    auto end =
        upper.kind == Expr::Ref ? names.find(upper.name.str()) : names.end();
    bool isOfSize = end != names.end() && end->second.kind == Entity::Size;
    auto known = found.find(loop->axis.str());
    if ((!isOfSize && upper.kind != Expr::Int) ||
        (known == found.end() && names.contains(loop->axis.str())))
      continue;
    const SizeExpr *extent = sizeExpr(upper);
    if (!extent)
      continue;
    if (known == found.end()) {
      found.try_emplace(loop->axis.str(), kernel.indices.size());
      addStand(loop->axis, *extent);
    } else if (const CheckedIndex &index = kernel.indices[known->second];
               !sameSize(*index.extent, *extent)) {
      reportRanges(index, loop->axis, *extent);
    }
  }
}

/// The index variable that stands plainly as an index; null: there is none.
const CheckedIndex *Sema::indexNamed(const Expr &index) const {
  if (index.kind != Expr::Ref)
    return nullptr;
  auto it = names.find(index.name.str());
  return it != names.end() && it->second.kind == Entity::Index
             ? &kernel.indices[it->second.id]
             : nullptr;
}

Diagnostic &Sema::reportRanges(const CheckedIndex &index, ast::Name name,
                               const SizeExpr &extent) {
  // [L1.4]
  return error(name.range, "expected one range for index variable '" +
                               index.name + "', got " +
                               kernel.text(*index.extent) + " and " +
                               kernel.text(extent))
      .note(file, index.range,
            "here it runs over " + kernel.text(*index.extent));
}

/// The ranges that a subscript's indices have in other subscripts; no extent
/// where those give none, or several.
llvm::SmallVector<Sema::Stand, 4> Sema::standsElsewhere(unsigned number) {
  llvm::SmallVector<Stand, 4> stands;
  for (const Expr *arg : subscripts[number].index) {
    Stand &found = stands.emplace_back();
    bool isOne = true;
    const CheckedIndex *index = indexNamed(*arg);
    for (auto [other, subscript] : llvm::enumerate(subscripts)) {
      if (!index || other == number || subscript.isTransposed)
        continue;
      for (auto [stand, extent] :
           llvm::zip(subscript.index, subscript.param->shape)) {
        if (indexNamed(*stand) != index)
          continue;
        if (!found.extent)
          found = {extent, stand->name.range};
        isOne &= sameSize(*found.extent, *extent);
      }
    }
    if (!isOne)
      found.extent = nullptr;
  }
  return stands;
}

/// Whether another order of a subscript's indices gives each the range that it
/// has elsewhere; reports it, and takes those ranges.
bool Sema::isTransposed(unsigned number) {
  const Subscript &subscript = subscripts[number];
  llvm::ArrayRef<const SizeExpr *> shape = subscript.param->shape;
  if (shape.size() > mostIndices)
    return false;
  llvm::SmallVector<Stand, 4> stands = standsElsewhere(number);
  // What is no index variable stays; an index variable of a range that the
  // tensor has goes there, at its own place if that fits; the others take what
  // is left.
  enum Step { Fixed, AtHome, Moved, Open };
  llvm::SmallVector<Step, 4> steps;
  auto fits = [&](size_t from, size_t to) {
    return stands[from].extent && sameSize(*stands[from].extent, *shape[to]);
  };
  for (size_t i = 0; i < shape.size(); ++i) {
    bool hasPlace = false;
    for (size_t to = 0; to < shape.size(); ++to)
      hasPlace |= fits(i, to);
    steps.push_back(!indexNamed(*subscript.index[i]) ? Fixed
                    : fits(i, i)                     ? AtHome
                    : hasPlace                       ? Moved
                                                     : Open);
  }
  auto *moved = llvm::find(steps, Moved);
  if (moved == steps.end())
    return false;
  llvm::SmallVector<int, 4> order(shape.size(), -1);
  for (Step step : {Fixed, AtHome, Moved, Open})
    for (size_t i = 0; i < shape.size(); ++i) {
      if (steps[i] != step)
        continue;
      size_t to = i;
      if (step == Moved || order[i] >= 0)
        for (to = 0; to < shape.size(); ++to)
          if (order[to] < 0 && (step == Open || fits(i, to)))
            break;
      if (to == shape.size())
        return false;
      order[to] = i;
    }
  std::string text;
  for (auto [to, from] : llvm::enumerate(order)) {
    const Expr &arg = *subscript.index[from];
    text +=
        (to ? ", " : "") +
        (steps[from] == Fixed ? file.text(arg.range) : arg.name.str()).str();
    if (steps[from] == Fixed)
      continue;
    CheckedIndex &index = kernel.indices[names.find(arg.name.str())->second.id];
    bool isOpen = steps[from] == Open;
    index.extent = isOpen ? shape[to] : stands[from].extent;
    index.range = isOpen ? arg.name.range : stands[from].range;
  }
  size_t first = moved - steps.begin();
  reportRanges(*indexNamed(*subscript.index[first]),
               subscript.index[first]->name, *shape[first])
      .note("in the order " + subscript.param->name + "[" + text +
            "] each index has the range that it has elsewhere");
  return true;
}

void Sema::checkRanges() {
  if (!rangesConflict)
    return;
  if (subscripts.size() <= mostSubscripts)
    for (bool isOutput : {false, true})
      for (auto [i, subscript] : llvm::enumerate(subscripts))
        if (subscript.isOutput == isOutput)
          subscript.isTransposed = isTransposed(i);
  for (const Subscript &subscript : subscripts) {
    if (subscript.isTransposed)
      continue;
    for (auto [arg, extent] :
         llvm::zip(subscript.index, subscript.param->shape)) {
      const CheckedIndex *index = indexNamed(*arg);
      if (!index || index->extent == extent ||
          sameSize(*index->extent, *extent))
        continue;
      auto other = llvm::find_if(kernel.indices, [&](const CheckedIndex &each) {
        return each.extent && sameSize(*each.extent, *extent);
      });
      std::string instead =
          other != kernel.indices.end()
              ? ("write " + other->name + ", which runs over " +
                 kernel.text(*extent) + ", or ")
                    .str()
          : subscript.index.size() > 2 && arg != subscript.index.back()
              ? "use two index variables, as g = h / (H / G) for heads that "
                "share, or write "
              : "use two index variables, or write ";
      std::string sameEnd;
      if (index->extent->kind == SizeExpr::Size &&
          extent->kind == SizeExpr::Size)
        sameEnd = (", " + index->name + " + (" + kernel.text(*extent) + " - " +
                   kernel.text(*index->extent) + ") where both end alike")
                      .str();
      // [L1.4]
      reportRanges(*index, arg->name, *extent)
          .note(instead + index->name + " + 0 where it shall give no range" +
                sameEnd + "; outside 0 is read");
    }
  }
}
