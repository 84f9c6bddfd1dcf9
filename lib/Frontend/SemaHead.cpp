//===- SemaHead.cpp - types, parameters, shapes, constraints --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OtherWords.h"
#include "Sema.h"
#include "llvm/ADT/DenseSet.h"

using namespace attentile;
using namespace attentile::frontend;
using ast::Expr;
using llvm::StringRef;
using llvm::Twine;

/// Types this version of the compiler can read and write.
static bool isSupported(ElementType type) { return type != ElementType::I4; }

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

void Sema::checkTypes() {
  for (const ast::TypeDecl *type : tree.types) {
    unsigned id = kernel.types.size();
    if (!declare(type->name, {Entity::Type, id, type->name.range}))
      continue;
    CheckedType checked{type->name.str(), type->name.range, {}, {}, false};
    for (ElementType option : type->options) {
      if (!isSupported(option))
        // [L8.7]
        error(type->range,
              "the type " + spelling(option) + " is not supported yet")
            .note("the language has it, this version of the compiler does not");
      checked.options.push_back(option);
    }
    checked.chosen = checked.options.front();
    checked.isBound = checked.options.size() == 1;
    kernel.types.push_back(std::move(checked));
  }
}

std::optional<ElementType> Sema::resolveType(const ast::TypeRef &type,
                                             StringRef &typeName) {
  if (type.isElement) {
    if (isSupported(type.element))
      return type.element;
    // [L8.7]
    error(type.range,
          "the type " + spelling(type.element) + " is not supported yet")
        .note("the language has it, this version of the compiler does not");
    return std::nullopt;
  }
  typeName = type.name.str();
  if (const CheckedType *declared = kernel.findType(typeName))
    return declared->chosen;
  if (!unknownTypes.insert(typeName).second)
    return std::nullopt; // reported where it stands first
  std::vector<StringRef> candidates = {"f32", "bf16", "f16", "f8e4m3", "f8e5m2",
                                       "i8",  "i32",  "i64", "bool"};
  for (const CheckedType &declared : kernel.types)
    candidates.push_back(declared.name);
  StringRef nearest = nearestName(typeName, candidates);
  // [L2.1]
  Diagnostic &e = error(type.range, "unknown type '" + typeName + "'");
  if (StringRef known = elementTypeCalled(typeName); !known.empty())
    e.note("write " + known);
  else if (nearest.empty())
    e.note("declare it, as in type " + typeName + " = f32 | f16 | bf16;");
  else
    e.note("did you mean '" + nearest + "'?");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

void Sema::addParam(const ast::Param &param, bool isOutput) {
  auto &params = isOutput ? kernel.outs : kernel.ins;
  unsigned id = params.size();
  declare(param.name,
          {isOutput ? Entity::Out : Entity::In, id, param.name.range});
  CheckedParam checked{};
  checked.name = param.name.str();
  checked.range = param.name.range;
  checked.isTensor = param.isTensor;
  StringRef typeName;
  auto type = resolveType(param.type, typeName);
  checked.type = type.value_or(ElementType::F32);
  checked.typeName = typeName;
  if (isOutput && !param.isTensor)
    // [L1.7]
    error(param.range,
          "expected an output with at least one axis, got scalar '" +
              checked.name + "'")
        .note("write its shape, as in " + checked.name + ": f32[M]");
  if (!isOutput && !param.isTensor && type) {
    bool allowed = *type == ElementType::F32 || *type == ElementType::I32 ||
                   *type == ElementType::I64 || *type == ElementType::Bool;
    if (!allowed || !typeName.empty())
      // [L2.2]
      error(param.type.range,
            "expected a scalar of type f32, i32, i64 or bool, got " +
                (typeName.empty() ? spelling(*type) : typeName))
          .note("scalars have 32 bits or more; a tensor has elements of other "
                "types");
  }
  if (param.init && (isOutput || param.isTensor))
    // [L1.16]
    error(param.init->range, Twine("expected no default for ") +
                                 (isOutput ? "an output" : "a tensor") +
                                 ", got one for '" + checked.name + "'")
        .note("only scalars have defaults");
  params.push_back(std::move(checked));
}

void Sema::checkParams() {
  if (decl.ins.size() > maxParams || decl.outs.size() > maxParams) {
    // [L8.5]
    error(decl.name.range, "expected at most " + Twine(maxParams) +
                               " inputs and as many outputs, got " +
                               Twine(decl.ins.size()) + " and " +
                               Twine(decl.outs.size()));
    return;
  }
  for (const ast::Param &param : decl.ins)
    addParam(param, /*isOutput=*/false);
  for (const ast::Param &param : decl.outs)
    addParam(param, /*isOutput=*/true);
  // Shapes come after all names: a parameter's name in a shape is an error
  // wherever the parameter stands.
  auto addShape = [&](const ast::Param &param, CheckedParam &checked) {
    for (const Expr *dimension : param.shape) {
      const SizeExpr *size = sizeExpr(*dimension);
      if (size && size->kind == SizeExpr::Size)
        kernel.sizes[size->size].standsAlone = true;
      checked.shape.push_back(size);
    }
  };
  for (auto [param, checked] : llvm::zip(decl.ins, kernel.ins))
    addShape(param, checked);
  for (auto [param, checked] : llvm::zip(decl.outs, kernel.outs))
    addShape(param, checked);
}

void Sema::checkDefaults() {
  for (auto [i, param] : llvm::enumerate(decl.ins)) {
    CheckedParam &checked = kernel.ins[i];
    if (!param.init || checked.isTensor)
      continue;
    const TypedExpr *value = visit(*param.init, {Scope::Head});
    if (!value)
      continue;
    // Scalars that come later have no value yet when this one is computed.
    for (const TypedExpr *node : nodes)
      if (node->op == TypedExpr::Scalar && node->id >= i &&
          node->range.begin >= param.init->range.begin &&
          node->range.end <= param.init->range.end)
        // [L1.15]
        error(node->range, "expected an earlier scalar in a default, got '" +
                               kernel.ins[node->id].name + "'")
            .note("a default is computed from sizes and the scalars before it");
    checked.defaultValue =
        convertTo(checked.type, value, param.init->range, checked.name);
  }
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

const TypedExpr *Sema::setMembership(const ast::Condition &condition) {
  const TypedExpr *value = visit(*condition.expr, {Scope::Head});
  if (!value ||
      !expectNumber(value, *condition.expr, {Scope::Head}, "before 'in'"))
    return nullptr;
  const TypedExpr *any = nullptr;
  for (const ast::SetMember &member : condition.members) {
    if (member.isType) {
      // [L2.9]
      error(member.range, "expected a number in the set, got type " +
                              spelling(member.element));
      return nullptr;
    }
    const TypedExpr *choice = visit(*member.value, {Scope::Head});
    if (!choice ||
        !expectNumber(choice, *member.value, {Scope::Head}, "in the set"))
      return nullptr;
    const TypedExpr *subject = value;
    unify(subject, choice);
    if (!subject || !choice)
      return nullptr;
    const TypedExpr *equal =
        make(TypedExpr::Eq, ValueType::Bool, member.range, {subject, choice});
    if (!equal)
      return nullptr;
    any = any ? make(TypedExpr::Or, ValueType::Bool, condition.range,
                     {any, equal})
              : equal;
    if (!any)
      return nullptr;
  }
  return any;
}

/// Adds "and the divisor is not 0" for every division in `expr`.
void Sema::guardDivisions(const TypedExpr *expr, const TypedExpr *&condition) {
  // Calls share their arguments: a graph, with more paths than nodes.
  llvm::SmallVector<const TypedExpr *> open = {expr};
  llvm::DenseSet<const TypedExpr *> seen;
  while (!open.empty() && condition) {
    const TypedExpr *next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    open.append(next->operands.begin(), next->operands.end());
    if (next->op != TypedExpr::Div && next->op != TypedExpr::Mod)
      continue;
    const TypedExpr *divisor = next->operands[1];
    const TypedExpr *zero = divisor->type == ValueType::Int
                                ? intConst(0, divisor->range)
                                : floatConst(0, divisor->range);
    const TypedExpr *nonzero = zero ? make(TypedExpr::Ne, ValueType::Bool,
                                           divisor->range, {divisor, zero})
                                    : nullptr;
    condition = nonzero ? make(TypedExpr::And, ValueType::Bool,
                               condition->range, {condition, nonzero})
                        : nullptr;
  }
}

const TypedExpr *Sema::condition(const ast::Condition &condition) {
  const TypedExpr *value;
  if (condition.isIn) {
    value = setMembership(condition);
  } else {
    value = visit(*condition.expr, {Scope::Head});
    if (value &&
        !expectBool(value, *condition.expr, {Scope::Head}, "as condition"))
      return nullptr;
  }
  if (!value)
    return nullptr;
  const TypedExpr *guarded = value;
  guardDivisions(value, guarded);
  return guarded;
}

void Sema::reportBroken(const ast::Condition &condition) {
  StringRef text = file.text(condition.range);
  // [L1.24]
  Diagnostic &e = error(condition.range, "expected '" + text +
                                             "' to hold, got values that "
                                             "break it");
  // Where each of its names got its value.
  llvm::SmallVector<const Expr *> open = {condition.expr};
  llvm::SmallVector<StringRef> seen;
  while (!open.empty()) {
    const Expr *expr = open.pop_back_val();
    open.append(expr->args.rbegin(), expr->args.rend());
    StringRef name = expr->name.str();
    const BoundValue *value =
        expr->kind == Expr::Ref ? bindings.find(name) : nullptr;
    if (!value || llvm::is_contained(seen, name))
      continue;
    seen.push_back(name);
    std::string note = (name + " is " + value->str()).str();
    if (value->file)
      e.note(*value->file, value->range, note);
    else
      e.note(note);
  }
}

std::optional<bool> Sema::typeCondition(const ast::Condition &condition) {
  if (!condition.isIn || condition.expr->kind != Expr::Ref)
    return std::nullopt;
  const CheckedType *type = kernel.findType(condition.expr->name.str());
  if (!type)
    return std::nullopt;
  bool holds = false;
  for (const ast::SetMember &member : condition.members) {
    if (!member.isType)
      // [L2.9]
      error(member.range, "expected an element type in the set, got a value");
    holds |= !member.isType || member.element == type->chosen;
  }
  return holds;
}

void Sema::checkConstraints() {
  for (const ast::Condition &clause : decl.constraints) {
    // A type is known when code is made, unless nothing has to be.
    if (auto holds = typeCondition(clause)) {
      const CheckedType *type = kernel.findType(clause.expr->name.str());
      if (!*holds && (type->isBound || options.mode == CheckMode::Run))
        reportBroken(clause);
      continue;
    }
    const TypedExpr *value = condition(clause);
    if (!value)
      continue;
    auto known = evaluateCondition(*value, kernel);
    if (!known)
      kernel.constraints.push_back(
          {value, file.text(clause.range), clause.range});
    else if (!*known)
      reportBroken(clause);
  }
}
