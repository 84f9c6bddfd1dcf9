//===- SemaNames.cpp - what a name is -------------------------------------===//
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

StringRef Sema::kindName(Entity entity) const {
  switch (entity.kind) {
  case Entity::Type:
    return "type";
  case Entity::Size:
    return "size";
  case Entity::In:
    return kernel.ins[entity.id].isTensor ? "tensor" : "scalar";
  case Entity::Out:
    return "output";
  case Entity::Let:
    return "let";
  case Entity::Index:
    return "index variable";
  }
  return {};
}

bool Sema::declare(ast::Name name, Entity entity) {
  auto [it, isNew] = names.try_emplace(name.str(), entity);
  if (isNew)
    return true;
  // [L1.17]
  error(name.range, "expected a new name, got '" + name.str() +
                        "', which is declared already")
      .note(file, it->second.range,
            "it is declared here; a name is one thing in a kernel");
  return false;
}

void Sema::collectLet(ast::Name name, unsigned number) {
  auto it = names.find(name.str());
  if (it != names.end() && it->second.kind == Entity::Let) {
    lets[it->second.id].last = number;
    return;
  }
  unsigned id = lets.size();
  lets.push_back({number});
  if (it == names.end()) {
    names.try_emplace(name.str(), Entity{Entity::Let, id, name.range});
    return;
  }
  // [L1.17]
  error(name.range, "expected a new name, got '" + name.str() + "', which is " +
                        (it->second.kind == Entity::Out ? "an " : "a ") +
                        kindName(it->second))
      .note(file, it->second.range,
            "it is declared here; a let may repeat a let's name only");
}

/// Numbers the statements, and declares what they name.
void Sema::collectLets(llvm::ArrayRef<ast::Statement> body) {
  for (const ast::Statement &statement : body) {
    unsigned number = statements.size();
    statements.push_back(&statement);
    if (statement.kind == ast::Statement::Let)
      collectLet(statement.name, number);
    if (statement.kind != ast::Statement::For)
      continue;
    for (const ast::Carried &carried : statement.loop->carried)
      collectLet(carried.name, number);
    collectLets(statement.loop->body);
  }
}

static void collectRefs(const Expr &expr, llvm::DenseSet<StringRef> &names) {
  if (expr.kind == Expr::Ref)
    names.insert(expr.name.str());
  for (const Expr *arg : expr.args)
    collectRefs(*arg, names);
}

void Sema::collectIndices(const Expr &expr) {
  for (ast::Name axis : expr.axes)
    namesInBrackets.insert(axis.str());
  if (expr.kind == Expr::Read)
    collectSubscript(expr.name, expr.args);
  for (const Expr *arg : expr.args) {
    if (expr.kind == Expr::Read)
      collectRefs(*arg, namesInBrackets);
    collectIndices(*arg);
  }
}

void Sema::collectNames() {
  collectLets(decl.body);
  for (const ast::Statement *statement : statements) {
    if (statement->kind == ast::Statement::Output)
      collectSubscript(statement->name, statement->index);
    for (const Expr *index : statement->index)
      collectIndices(*index);
    if (statement->value)
      collectIndices(*statement->value);
    for (const ast::Carried &next : statement->carried)
      collectIndices(*next.value);
    if (const ast::TileLoop *loop = statement->loop) {
      for (const Expr *expr : {loop->lower, loop->upper})
        collectIndices(*expr);
      for (const ast::Carried &start : loop->carried)
        collectIndices(*start.value);
    }
  }
  checkRanges();
  collectIterations();
}

void Sema::reportUnknown(const Scope &scope, ast::Name name, bool isRead) {
  std::vector<StringRef> candidates;
  for (auto &[known, entity] : names)
    if (scope.kind == Scope::Body || entity.kind == Entity::Size ||
        entity.kind == Entity::In)
      candidates.push_back(known);
  if (scope.kind == Scope::Body && !isRead)
    candidates.insert(candidates.end(), {"inf", "true", "false"});
  llvm::sort(candidates); // the table's order is no order
  StringRef nearest = nearestName(name.str(), candidates);
  // l in x[l + j], with a size L.
  if (scope.kind == Scope::Body && !isRead &&
      namesInBrackets.contains(name.str()) &&
      (nearest.empty() || nearest.equals_insensitive(name.str())))
    return reportNoRange(scope, name);
  // [L1.18]
  Diagnostic &e = error(scope, name.range, "unknown name '" + name.str() + "'");
  if (!nearest.empty())
    e.note("did you mean '" + nearest + "'?");
  else if (name.str().starts_with_insensitive("infinity"))
    e.note("write inf");
  else if (name.str() == "nan" || name.str() == "pi")
    e.note(name.str() == "nan" ? "write inf - inf" : "write 3.14159265358979");
  else if (scope.kind == Scope::Head)
    e.note("sizes and scalar parameters are known here");
  else if (isRead)
    e.note("declare it among the kernel's inputs, as in " + name.str() +
           ": f32[...]");
  else
    e.note("an index variable stands plainly in an input or output, as m in "
           "Q[b, h, m, d]; a scalar is an input, as in " +
           name.str() + ": f32");
}

void Sema::reportNoRange(const Scope &scope, ast::Name name) {
  if (!withoutRange.insert(name.str()).second)
    return;
  std::vector<StringRef> candidates;
  for (const CheckedIndex &index : kernel.indices)
    candidates.push_back(index.name);
  StringRef nearest = nearestName(name.str(), candidates);
  // [L1.5]
  Diagnostic &e = error(scope, name.range,
                        "index variable '" + name.str() + "' has no range");
  if (!nearest.empty())
    e.note("did you mean '" + nearest + "'?");
  else
    e.note("its range is the size of a dimension in which it stands plainly, "
           "as m in Q[b, h, m, d], or where a loop over it ends, as in "
           "tiles(0 .. 10, 1), at a number or a size");
}

std::optional<unsigned> Sema::indexVariable(const Scope &scope,
                                            ast::Name name) {
  if (scope.function) {
    llvm::ArrayRef<ast::Name> params = scope.function->function->params;
    for (auto [param, argument] :
         llvm::zip(params, scope.function->arguments)) {
      if (param.str() != name.str())
        continue;
      if (argument->op == TypedExpr::IndexVar)
        return argument->id;
      // [L1.5]
      error(scope, name.range,
            "expected an index variable for parameter '" + name.str() +
                "', got a value")
          .note(file, argument->range, "this is passed for it");
    }
    return std::nullopt;
  }
  auto it = names.find(name.str());
  if (it != names.end() && it->second.kind == Entity::Index)
    return it->second.id;
  if (it != names.end()) {
    // [L1.5]
    error(name.range, "expected an index variable, got " +
                          kindName(it->second) + " '" + name.str() + "'")
        .note(file, it->second.range, "it is declared here");
    return std::nullopt;
  }
  reportNoRange(scope, name);
  return std::nullopt;
}
