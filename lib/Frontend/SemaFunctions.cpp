//===- SemaFunctions.cpp - functions, declared and imported ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OtherWords.h"
#include "Sema.h"
#include "attentile/Library.h"

using namespace attentile;
using namespace attentile::frontend;
using ast::Expr;
using llvm::StringRef;
using llvm::Twine;

void Sema::declareFunctions() {
  llvm::DenseMap<unsigned, llvm::SmallVector<const ast::FunctionDecl *>> of;
  for (const ast::FunctionDecl *function : tree.functions) {
    unsigned part = file.partAt(function->range.begin);
    of[part].push_back(function);
    auto [it, isNew] =
        functions.try_emplace({part, function->name.str()}, function);
    if (isNew)
      continue;
    callsAreSound = false;
    // [L2.11]
    error(function->name.range, "expected a new function name, got '" +
                                    function->name.str() +
                                    "', which is declared already")
        .note(file, it->second->name.range, "it is declared here");
  }
  for (const ast::Import *import : tree.imports) {
    unsigned part = file.partAt(import->range.begin);
    for (const ast::FunctionDecl *function : of[import->part]) {
      auto [it, isNew] =
          functions.try_emplace({part, function->name.str()}, function);
      unsigned other = file.partAt(it->second->range.begin);
      if (isNew || other == part || other == import->part)
        continue;
      callsAreSound = false;
      // [L2.17]
      error(import->range, "expected one imported function '" +
                               function->name.str() + "', got a second one")
          .note(file, it->second->name.range, "the first is declared here")
          .note(file, function->name.range, "and the second here")
          .note("a function of this name in the importing file hides both");
    }
  }
}

const ast::FunctionDecl *Sema::findFunction(ast::Name name) const {
  return functions.lookup({file.partAt(name.range.begin), name.str()});
}

void Sema::checkFunctions() {
  declareFunctions();
  for (const ast::FunctionDecl *function : tree.functions) {
    if (function->params.size() > maxParams) {
      // [L8.5]
      error(function->name.range, "expected at most " + Twine(maxParams) +
                                      " parameters, got " +
                                      Twine(function->params.size()));
      callsAreSound = false;
      continue;
    }
    llvm::DenseMap<StringRef, SourceRange> params;
    for (ast::Name param : function->params) {
      auto [it, isNew] = params.try_emplace(param.str(), param.range);
      if (!isNew)
        // [L2.11]
        error(param.range,
              "expected a new parameter name, got '" + param.str() + "' again")
            .note(file, it->second, "it is declared here");
    }
    checkFunctionBody(*function, *function->body);
  }
  for (const ast::FunctionDecl *function : tree.functions)
    checkCalls(*function);
}

/// A function uses no name but its parameters and reads no tensor.
void Sema::checkFunctionBody(const ast::FunctionDecl &function,
                             const Expr &expr) {
  auto checkName = [&](ast::Name name) {
    std::vector<StringRef> candidates;
    for (ast::Name param : function.params) {
      if (param.str() == name.str())
        return;
      candidates.push_back(param.str());
    }
    StringRef nearest = nearestName(name.str(), candidates);
    // [L2.12]
    Diagnostic &e =
        error(name.range, "unknown name '" + name.str() + "' in function '" +
                              function.name.str() + "'");
    if (nearest.empty())
      e.note("a function uses no name but its parameters");
    else
      e.note("did you mean '" + nearest + "'?");
  };
  if (expr.kind == Expr::Read)
    // [L2.12]
    error(expr.range, "expected no subscript in a function, got '" +
                          expr.name.str() + "[...]'")
        .note("functions read no tensor; pass the element as an argument");
  else if (expr.kind == Expr::Ref)
    checkName(expr.name);
  for (ast::Name axis : expr.axes)
    checkName(axis);
  for (const Expr *arg : expr.args)
    checkFunctionBody(function, *arg);
}

/// Finds recursion, and chains of calls too deep to be inlined.
void Sema::checkCalls(const ast::FunctionDecl &function) {
  if (callsChecked.try_emplace(&function, false).second)
    checkCalls(function, *function.body, 0);
  callsChecked[&function] = true;
}

void Sema::checkCalls(const ast::FunctionDecl &function, const Expr &expr,
                      unsigned depth) {
  // `depth` counts levels of the trees as if they were inlined, so that this
  // recursion ends too.
  if (diagnostics.isFull())
    return;
  if (expr.kind == Expr::Call) {
    if (const ast::FunctionDecl *found = findFunction(expr.name)) {
      const ast::FunctionDecl &callee = *found;
      auto [state, isNew] = callsChecked.try_emplace(&callee, false);
      if (!isNew && !state->second) {
        callsAreSound = false;
        // [L2.13]
        error(expr.name.range, "expected no recursion, got a call of '" +
                                   callee.name.str() + "' from itself")
            .note(file, callee.name.range, "functions are inlined");
      } else if (isNew && depth >= ast::maxDepth) {
        callsAreSound = false;
        // [L8.4]
        error(expr.name.range, "expected calls at most " +
                                   Twine(ast::maxDepth) +
                                   " levels deep, got a deeper one");
        callsChecked[&callee] = true;
      } else if (isNew) {
        checkCalls(callee, *callee.body, depth + 1);
        callsChecked[&callee] = true;
      }
    }
  }
  for (const Expr *arg : expr.args)
    checkCalls(function, *arg, depth + 1);
}

void Sema::warnOfIndex(const Expr &call,
                       llvm::ArrayRef<const TypedExpr *> args) {
  const TypedExpr *value = args[0], *index = args[1];
  if (index->op != TypedExpr::IndexVar || value->type != ValueType::Float ||
      !(value->axes & index->axes))
    return;
  StringRef function = ast::spelling(call.function);
  // [L2.20]
  diagnostics
      .warning(file, call.range,
               "'" + function + "' is of the value and the index '" +
                   call.args[1]->name.str() + "' here")
      .note("over the axis it is " + function + "[" + call.args[1]->name.str() +
            "](x)");
}

void Sema::reportUnknownFunction(const Scope &scope, ast::Name name) {
  // [L2.14]
  Diagnostic &e =
      error(scope, name.range, "unknown function '" + name.str() + "'");
  if (llvm::any_of(tree.kernels, [&](const ast::KernelDecl *kernel) {
        return kernel->name.str() == name.str();
      })) {
    e.note("'" + name.str() + "' is a kernel, and kernels are not called");
    return;
  }
  if (auto it = names.find(name.str()); it != names.end()) {
    std::string kind = kindName(it->second).str();
    bool isTensor = kind == "tensor" || kind == "output";
    e.note("'" + name.str() + "' is " + (kind == "output" ? "an " : "a ") +
           kind +
           (isTensor ? ": its indices stand in brackets, as in "
                     : ", and what multiplies it stands behind *: ") +
           name.str() + (isTensor ? "[...]" : " * (...)"));
    return;
  }
  if (StringRef type = elementTypeCalled(name.str()); !type.empty()) {
    e.note("write " + type + "(x)");
    return;
  }
  StringRef library = libraryFileWith(name.str());
  if (!library.empty()) {
    e.note("the library has it: import \"" + library + "\";");
    return;
  }
  for (auto called : {functionCalled, reductionCalled})
    if (StringRef formula = called(name.str()); !formula.empty()) {
      e.note("write " + formula);
      return;
    }
  for (auto last = unsigned(ast::Reduction::Logsumexp), i = 0u; i <= last; ++i)
    if (auto [reduction, axis] = name.str().split('_');
        reduction == ast::spelling(ast::Reduction(i)) && !axis.empty()) {
      e.note("a reduction names its axes in brackets, as in " + reduction +
             "[" + axis + "](...)");
      return;
    }
  std::vector<StringRef> candidates;
  for (const ast::FunctionDecl *function : tree.functions)
    candidates.push_back(function->name.str());
  for (unsigned i = 0; i <= static_cast<unsigned>(ast::Function::Dropout); ++i)
    candidates.push_back(ast::spelling(static_cast<ast::Function>(i)));
  StringRef nearest = nearestName(name.str(), candidates);
  if (!nearest.empty())
    e.note("did you mean '" + nearest + "'?");
  else
    e.note("define it, as in fn " + name.str() + "(x) = ...;");
}

const TypedExpr *Sema::call(const Expr &expr, const Scope &scope) {
  StringRef name = expr.name.str();
  const ast::FunctionDecl *found = findFunction(expr.name);
  if (!found) {
    reportUnknownFunction(scope, expr.name);
    return nullptr;
  }
  const ast::FunctionDecl &function = *found;
  if (expr.args.size() != function.params.size()) {
    // [L2.7]
    error(scope, expr.range,
          "expected " +
              counted(function.params.size(), "argument", "arguments") +
              " to '" + name + "', got " + Twine(expr.args.size()))
        .note(file, function.name.range, "it is declared here");
    return nullptr;
  }
  llvm::SmallVector<const TypedExpr *, 4> arguments;
  bool failed = false;
  for (const Expr *arg : expr.args) {
    arguments.push_back(visit(*arg, scope));
    failed |= !arguments.back();
  }
  if (failed)
    return nullptr;
  FunctionScope inner{&function, arguments};
  auto *site =
      new (arena.Allocate<CallSite>()) CallSite{expr.range, scope.inlinedAt};
  const CallSite *outer = currentCallSite;
  currentCallSite = site;
  const TypedExpr *result =
      visit(*function.body, {scope.kind, &inner, site, scope.depth});
  currentCallSite = outer;
  return result;
}
