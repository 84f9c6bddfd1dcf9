//===- SemaRefs.cpp - expressions: names and reads ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema.h"

using namespace attentile;
using namespace attentile::frontend;
using ast::Expr;
using llvm::StringRef;
using llvm::Twine;

const TypedExpr *Sema::ref(const Expr &expr, const Scope &scope) {
  StringRef name = expr.name.str();
  if (scope.function) {
    llvm::ArrayRef<ast::Name> params = scope.function->function->params;
    for (size_t i = 0; i < params.size(); ++i)
      if (params[i].str() == name)
        return scope.function->arguments[i];
    return nullptr; // checkFunctionBody has reported it
  }
  auto it = names.find(name);
  if (it != names.end())
    return entityValue(expr, it->second, scope);
  reportUnknown(scope, expr.name);
  return nullptr;
}

const TypedExpr *Sema::entityValue(const Expr &expr, Entity entity,
                                   const Scope &scope) {
  StringRef name = expr.name.str();
  SourceRange range = expr.range;
  switch (entity.kind) {
  case Entity::Type:
    // [L1.18]
    error(range, "expected a value, got type '" + name + "'");
    return nullptr;
  case Entity::Size:
    return sizeValue(makeSize({SizeExpr::Size, 0, entity.id, nullptr, nullptr}),
                     range);
  case Entity::In: {
    const CheckedParam &param = kernel.ins[entity.id];
    if (param.isTensor) {
      // [L1.18]
      error(range, "expected a value, got tensor '" + name + "'")
          .note("name its element, as in " + name + "[...]");
      return nullptr;
    }
    readInputs.set(entity.id);
    if (param.bound)
      return boundScalar(param, range);
    TypedExpr scalar{};
    scalar.op = TypedExpr::Scalar;
    scalar.type = valueType(param.type);
    scalar.range = range;
    scalar.id = entity.id;
    return node(scalar, {});
  }
  case Entity::Out:
    // [L1.11]
    error(range, "expected a value, got output '" + name + "'")
        .note("outputs are not read; name the value with let");
    return nullptr;
  case Entity::Index: {
    if (scope.kind == Scope::Head)
      break;
    TypedExpr index{};
    index.op = TypedExpr::IndexVar;
    index.type = ValueType::Int;
    index.range = range;
    index.id = entity.id;
    return node(index, {});
  }
  case Entity::Let: {
    if (scope.kind == Scope::Head)
      break;
    const LetName &let = lets[entity.id];
    if (!let.isDefined && let.loop.end) {
      // [L5.6]
      error(range, "expected a value that is known here, got '" + name +
                       "', which a loop has for each of its tiles")
          .note(file, let.loop,
                "what this loop carries is known behind it, its lets are not");
      return nullptr;
    }
    if (!let.isDefined) {
      // [L1.19]
      Diagnostic &e = error(range, "'" + name + "' is used before its let");
      e.note(file, entity.range, "it is defined here");
      if (range.begin > entity.range.begin) // in its own value
        e.note("where an index variable is meant, the let has another name");
      return nullptr;
    }
    if (currentUses)
      currentUses->push_back(let.statement);
    return let.value;
  }
  }
  // [L1.15]
  error(range, "expected a size or a scalar parameter, got " +
                   kindName(entity) + " '" + name + "'");
  return nullptr;
}

const TypedExpr *Sema::read(const Expr &expr, const Scope &scope) {
  if (scope.function)
    return nullptr; // checkFunctionBody has reported it
  StringRef name = expr.name.str();
  auto it = names.find(name);
  if (it == names.end()) {
    reportUnknown(scope, expr.name, /*isRead=*/true);
    return nullptr;
  }
  Entity entity = it->second;
  if (entity.kind == Entity::Out) {
    // [L1.11]
    error(expr.name.range,
          "expected an input to read, got output '" + name + "'")
        .note("outputs are not read; name the value with let");
    return nullptr;
  }
  if (entity.kind != Entity::In || !kernel.ins[entity.id].isTensor) {
    // [L1.12]
    error(expr.name.range, "expected a tensor to read, got " +
                               kindName(entity) + " '" + name + "'")
        .note(entity.kind == Entity::Let
                  ? "values are not subscripted: write the name alone, its "
                    "axes follow from what it depends on"
                  : "only inputs with a shape have elements");
    return nullptr;
  }
  if (scope.kind == Scope::Head) {
    // [L1.15]
    error(expr.range, "expected sizes and scalars only, got an element of "
                      "tensor '" +
                          name + "'");
    return nullptr;
  }
  const CheckedParam &tensor = kernel.ins[entity.id];
  if (expr.args.size() != tensor.shape.size()) {
    // [L1.12]
    error(expr.range, "expected " +
                          counted(tensor.shape.size(), "index", "indices") +
                          " for '" + name + "', got " + Twine(expr.args.size()))
        .note(file, tensor.range, "it is declared here");
    return nullptr;
  }
  llvm::SmallVector<const TypedExpr *, 4> indices;
  bool failed = false;
  for (auto [i, arg] : llvm::enumerate(expr.args)) {
    const TypedExpr *index = visit(*arg, scope);
    if (index && index->type != ValueType::Int) {
      // [L1.13]
      Diagnostic &e = error(scope, arg->range,
                            Twine("expected an integer as index, got ") +
                                spelling(index->type));
      auto named = names.find(arg->name.str());
      if (!scope.function && arg->kind == ast::Expr::Ref &&
          named != names.end() && named->second.kind == Entity::Let)
        e.note(file, named->second.range,
               "'" + named->first.str() +
                   "' is this let: call it something else where an index "
                   "variable is meant");
      else
        e.note(index->type == ValueType::Float
                   ? "write i32(...) to drop the fraction"
                   : "write where(..., 1, 0) to choose by a bool");
      index = nullptr;
    }
    if (index)
      checkInside(index, tensor, i, scope);
    failed |= !index;
    indices.push_back(index);
  }
  if (failed)
    return nullptr;
  readInputs.set(entity.id);
  TypedExpr result{};
  result.op = TypedExpr::Read;
  result.type = valueType(tensor.type);
  result.range = expr.range;
  result.id = entity.id;
  result.reads16 = tensor.type == ElementType::BF16  ? readsBF16
                   : tensor.type == ElementType::F16 ? readsF16
                                                     : 0;
  return node(result, indices);
}
