//===- SemaBindings.cpp - what --bind gives, what must be known -----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace attentile;
using namespace attentile::frontend;
using llvm::StringRef;
using llvm::Twine;

Diagnostic &Sema::bindingError(StringRef name, const BoundValue &value,
                               const Twine &expected) {
  std::string message =
      ("expected " + expected + ", got " + name + "=" + value.str()).str();
  return value.file ? diagnostics.error(*value.file, value.range, message)
                    : diagnostics.error(message);
}

void Sema::bindSize(CheckedSize &size, const BoundValue &value) {
  if (value.kind != BoundValue::Int || value.intValue < 0 ||
      value.intValue > std::numeric_limits<int32_t>::max()) {
    // [L1.22]
    bindingError(size.name, value, "a size from 0 to 2^31 - 1")
        .note(file, size.range, "the size stands here");
    return;
  }
  size.bound = value.intValue;
}

void Sema::bindType(CheckedType &type, const BoundValue &value) {
  if (value.kind != BoundValue::Type ||
      !llvm::is_contained(type.options, value.type)) {
    std::string listed;
    for (ElementType option : type.options)
      listed += (listed.empty() ? "" : ", ") + spelling(option).str();
    // [L1.22]
    bindingError(type.name, value, "one of the types " + listed)
        .note(file, type.range, "the type is declared here");
    return;
  }
  type.chosen = value.type;
  type.isBound = true;
}

void Sema::bindScalar(CheckedParam &param, const BoundValue &value) {
  BoundValue bound = value;
  bool fits = false;
  switch (param.type) {
  case ElementType::F32:
    if (value.kind == BoundValue::Int)
      bound.floatValue = static_cast<double>(value.intValue);
    bound.kind = BoundValue::Float;
    fits = value.kind == BoundValue::Int || value.kind == BoundValue::Float;
    break;
  case ElementType::I32:
    fits = value.kind == BoundValue::Int &&
           value.intValue >= std::numeric_limits<int32_t>::min() &&
           value.intValue <= std::numeric_limits<int32_t>::max();
    break;
  case ElementType::I64:
    fits = value.kind == BoundValue::Int;
    break;
  default:
    fits = value.kind == BoundValue::Bool;
    break;
  }
  if (fits)
    param.bound = bound;
  else
    // [L1.22]
    bindingError(param.name, value, "a value of type " + spelling(param.type))
        .note(file, param.range, "the scalar is declared here");
}

bool Sema::fileHasName(StringRef name) const {
  llvm::SmallVector<const ast::Expr *> open;
  for (const ast::KernelDecl *other : tree.kernels)
    for (llvm::ArrayRef<ast::Param> params : {other->ins, other->outs})
      for (const ast::Param &param : params) {
        if (param.name.str() == name)
          return true;
        open.append(param.shape.begin(), param.shape.end());
      }
  while (!open.empty()) {
    const ast::Expr *expr = open.pop_back_val();
    if (expr->kind == ast::Expr::Ref && expr->name.str() == name)
      return true;
    open.append(expr->args.begin(), expr->args.end());
  }
  return false;
}

void Sema::applyBindings(bool types) {
  for (const Bindings::Entry &entry : bindings.entries()) {
    const BoundValue &value = entry.value;
    auto it = names.find(entry.name);
    bool isType = it != names.end() && it->second.kind == Entity::Type;
    if (isType != types)
      continue;
    if (it == names.end()) {
      if (fileHasName(entry.name))
        continue; // of another kernel
      std::vector<StringRef> candidates;
      for (const CheckedSize &size : kernel.sizes)
        candidates.push_back(size.name);
      for (const CheckedType &type : kernel.types)
        candidates.push_back(type.name);
      for (const CheckedParam &param : kernel.ins)
        if (!param.isTensor)
          candidates.push_back(param.name);
      StringRef nearest = nearestName(entry.name, candidates);
      std::string message = "'" + entry.name + "' is bound, but " +
                            file.name().str() + " has no such name";
      // [L1.22]
      Diagnostic &w =
          value.file ? diagnostics.warning(*value.file, value.range, message)
                     : diagnostics.warning(message);
      if (!nearest.empty())
        w.note("did you mean '" + nearest + "'?");
      continue;
    }
    Entity entity = it->second;
    if (entity.kind == Entity::Size)
      bindSize(kernel.sizes[entity.id], value);
    else if (entity.kind == Entity::Type)
      bindType(kernel.types[entity.id], value);
    else if (entity.kind == Entity::In && !kernel.ins[entity.id].isTensor)
      bindScalar(kernel.ins[entity.id], value);
    else
      // [L1.22]
      bindingError(entry.name, value, "a size, type or scalar to bind")
          .note(file, entity.range,
                "'" + entry.name + "' is " +
                    (entity.kind == Entity::In ? "a tensor" : "an output"));
  }
}

const TypedExpr *Sema::boundScalar(const CheckedParam &param,
                                   SourceRange range) {
  switch (valueType(param.type)) {
  case ValueType::Int:
    return intConst(param.bound->intValue, range);
  case ValueType::Float:
    return floatConst(param.bound->floatValue, range);
  case ValueType::Bool:
    return boolConst(param.bound->intValue, range);
  }
  return nullptr;
}

bool Sema::isSizeOfRows(unsigned size) const {
  return llvm::any_of(kernel.outs, [&](const CheckedParam &out) {
    return llvm::any_of(
        llvm::ArrayRef(out.shape).drop_back(), [&](const SizeExpr *extent) {
          return extent->kind == SizeExpr::Size && extent->size == size;
        });
  });
}

void Sema::checkAllKnown() {
  if (options.mode == CheckMode::Syntax)
    return;
  if (options.mode == CheckMode::Compile)
    for (const CheckedType &type : kernel.types) {
      auto uses = [&](const CheckedParam &param) {
        return param.typeName == type.name;
      };
      if (!type.isBound &&
          (llvm::any_of(kernel.ins, uses) || llvm::any_of(kernel.outs, uses)))
        // [L1.23]
        error(type.range, "type '" + type.name + "' must be known to compile")
            .note("bind it, as in --bind " + type.name + "=" +
                  spelling(type.options.front()));
    }
  for (auto [number, size] : llvm::enumerate(kernel.sizes)) {
    if (size.bound)
      continue;
    if (size.isHead) {
      // [L1.23]
      Diagnostic &e = error(size.range, "head size '" + size.name +
                                            "' must be known to compile");
      HeadAxis axis = headAxes.lookup(number);
      static const char *const reasons[] = {
          "is reduced inside another reduction",
          "is reduced within a loop over another's tiles",
          "is the last of an output's axes that no score has"};
      e.note("'" + axis.name.str() + "' " + reasons[axis.reason] +
             ": tiles have all of it");
      e.note("bind it, as in --bind " + size.name + "=64");
      llvm::SetVector<llvm::StringRef> others(sizesAroundSums.begin(),
                                              sizesAroundSums.end());
      if (!others.contains(size.name) && !others.empty())
        e.note("or bind " + llvm::join(others, ", ") +
               ": sums in sums over known sizes may be of any length");
      for (auto [i, index] : llvm::enumerate(kernel.indices))
        if (axis.reason != HeadAxis::InTiles && reducedDeep >> i & 1)
          e.note(
              "or write what is reduced over '" + index.name.str() +
              "' as a let that a schedule materializes: it is reduced inside "
              "two others");
      if (axis.reason == HeadAxis::InReduction && isSizeOfRows(number))
        e.note("or write what is reduced over '" + axis.name.str() +
               "' as a let that a schedule materializes: it goes through "
               "memory, and tiles need not have all of it");
    } else if (!size.standsAlone)
      // [L1.3]
      error(size.range, "size '" + size.name +
                            "' stands nowhere alone, so that no tensor gives "
                            "its value")
          .note("bind it, as in --bind " + size.name + "=...")
          .note("or let a tensor have it as a dimension of its own, [" +
                size.name + "]");
  }
}
