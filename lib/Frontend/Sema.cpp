//===- Sema.cpp - checking one kernel -------------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema.h"

using namespace attentile;
using namespace attentile::frontend;
using llvm::StringRef;
using llvm::Twine;

const CheckedParam *CheckedKernel::findParam(StringRef wanted) const {
  for (const auto *params : {&ins, &outs})
    for (const CheckedParam &param : *params)
      if (param.name == wanted)
        return &param;
  return nullptr;
}
const CheckedType *CheckedKernel::findType(StringRef wanted) const {
  for (const CheckedType &type : types)
    if (type.name == wanted)
      return &type;
  return nullptr;
}

std::string frontend::counted(size_t count, StringRef one, StringRef many) {
  return (Twine(count) + " " + (count == 1 ? one : many)).str();
}

Diagnostic &Sema::error(SourceRange range, const Twine &message) {
  return diagnostics.error(file, range, message);
}

Diagnostic &Sema::error(const Scope &scope, SourceRange range,
                        const Twine &message) {
  Diagnostic &e = diagnostics.error(file, range, message);
  unsigned shown = 0;
  for (const CallSite *site = scope.inlinedAt; site && shown < 3;
       site = site->parent, ++shown)
    e.note(file, site->range, "in the function called here");
  return e;
}

void Sema::warnUnusedLets() {
  std::vector<bool> used(statements.size(), false);
  for (const auto &list : uses)
    for (unsigned statement : list)
      used[statement] = true;
  for (auto [i, statement] : llvm::enumerate(statements))
    if (statement->kind == ast::Statement::Let && !used[i])
      // [L1.19]
      diagnostics
          .warning(file, statement->name.range,
                   "let '" + statement->name.str() + "' is not used")
          .note("remove it, or use it in a statement below");
}

void Sema::warnUnreadInputs() {
  for (auto [i, in] : llvm::enumerate(kernel.ins))
    if (!readInputs.test(i))
      // [L1.25]
      diagnostics
          .warning(file, in.range,
                   Twine(in.isTensor ? "tensor" : "scalar") + " '" + in.name +
                       "' is never read")
          .note("remove it from the kernel's head, or use " + in.name +
                (in.isTensor ? "[...]" : "") + " in a statement");
}

void Sema::run() {
  checkTypes();
  applyBindings(/*types=*/true);
  checkParams();
  readInputs.resize(kernel.ins.size());
  bool shapesOk = kernel.outs.size() == decl.outs.size();
  for (const auto *params : {&kernel.ins, &kernel.outs})
    for (const CheckedParam &param : *params)
      shapesOk &= !llvm::is_contained(param.shape, nullptr);
  applyBindings(/*types=*/false);
  checkFunctions();
  if (!shapesOk)
    return;
  checkDimensions();
  checkDefaults();
  checkConstraints();
  chooseSchedule();
  collectNames();
  if (!callsAreSound)
    return;
  checkBody();
  checkSchedules();
  checkLoopTiles();
  if (diagnostics.hasErrors())
    return;
  warnUnusedLets();
  warnUnreadInputs();
  groupAlike();
  keepFactors();
  findHeadSizes();
  keepFactorsOfRows();
  checkAllKnown();
}

/// The kernel that is asked for; null with an error.
static const ast::KernelDecl *chooseKernel(const SyntaxTree &tree,
                                           StringRef wanted,
                                           Diagnostics &diagnostics) {
  llvm::ArrayRef<ast::KernelDecl *> kernels = tree.impl().file.kernels;
  const SourceFile &file = tree.file();
  llvm::DenseMap<StringRef, const ast::KernelDecl *> byName;
  for (const ast::KernelDecl *kernel : kernels) {
    auto [it, isNew] = byName.try_emplace(kernel->name.str(), kernel);
    if (!isNew) {
      // [L1.20]
      diagnostics
          .error(file, kernel->name.range,
                 "expected a new kernel name, got '" + kernel->name.str() +
                     "', which is declared already")
          .note(file, it->second->name.range, "it is declared here");
      return nullptr;
    }
  }
  if (kernels.empty()) {
    // [L1.20]
    diagnostics
        .error("expected a kernel in " + file.name().str() + ", got none")
        .note("a file without a kernel can be imported, not compiled");
    return nullptr;
  }
  if (wanted.empty() && kernels.size() == 1)
    return kernels.front();
  if (const ast::KernelDecl *kernel = byName.lookup(wanted))
    return kernel;
  std::vector<StringRef> names;
  std::string listed;
  for (const ast::KernelDecl *kernel : kernels) {
    names.push_back(kernel->name.str());
    listed += (listed.empty() ? "" : ", ") + kernel->name.str().str();
  }
  if (wanted.empty()) {
    // [L1.20]
    diagnostics
        .error("expected one kernel in " + file.name().str() + ", got " +
               listed)
        .note("pick one: --kernel " + names.front());
    return nullptr;
  }
  StringRef nearest = nearestName(wanted, names);
  // [L1.20]
  Diagnostic &e = diagnostics.error("unknown kernel '" + wanted.str() +
                                    "' in " + file.name().str());
  if (nearest.empty())
    e.note("it has " + listed);
  else
    e.note("did you mean '" + nearest + "'?");
  return nullptr;
}

std::unique_ptr<CheckedKernel> attentile::check(const SyntaxTree &tree,
                                                const Bindings &bindings,
                                                const CheckOptions &options,
                                                Diagnostics &diagnostics) {
  unsigned errorsBefore = diagnostics.errorCount();
  for (const auto &text : bindings.files())
    diagnostics.keep(text);
  const ast::KernelDecl *decl = chooseKernel(tree, options.kernel, diagnostics);
  if (!decl)
    return nullptr;
  auto kernel = std::make_unique<CheckedKernel>();
  kernel->file = &tree.file();
  kernel->name = decl->name.str();
  kernel->range = decl->range;
  kernel->arena = std::make_shared<CheckedKernel::Arena>();
  Sema(tree, *decl, bindings, options, diagnostics, *kernel).run();
  if (diagnostics.errorCount() != errorsBefore)
    return nullptr;
  return kernel;
}
