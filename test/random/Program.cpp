//===- Program.cpp - a random program, in parts ---------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace attentile::random {

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

ExprRef makeExpr(Type type, std::string form, std::vector<ExprRef> operands,
                 Axes axes, Axes bound) {
  auto expr = std::make_shared<Expr>();
  expr->type = type;
  expr->form = std::move(form);
  expr->axes = axes;
  for (const ExprRef &operand : operands)
    expr->axes |= operand->axes;
  expr->axes &= ~bound;
  expr->bound = bound;
  expr->operands = std::move(operands);
  return expr;
}

std::string Expr::text() const {
  std::string result;
  auto next = operands.begin();
  for (char c : form) {
    if (c == '$')
      result += (*next++)->text();
    else
      result += c;
  }
  return result;
}

size_t Expr::size() const {
  size_t count = 1;
  for (const ExprRef &operand : operands)
    count += operand->size();
  return count;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

bool mentions(llvm::StringRef text, llvm::StringRef name) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(name); at != llvm::StringRef::npos;
       at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !isWord(text[at - 1])) &&
        (end == text.size() || !isWord(text[end])))
      return true;
  }
  return false;
}

/// The statement without the brackets around all of its right side.
static std::string lineOf(const Statement &statement) {
  std::string value = statement.value->text();
  if (statement.isLoop())
    return value;
  if (value.front() == '(') {
    int depth = 0;
    size_t end = 0;
    do
      depth += value[end] == '(' ? 1 : value[end] == ')' ? -1 : 0;
    while (depth > 0 && ++end < value.size());
    if (end + 1 == value.size())
      value = value.substr(1, end - 1);
  }
  return statement.isOutput()
             ? statement.name + statement.indices + " = " + value + ";"
             : "let " + statement.name + " = " + value + ";";
}

/// The imports whose functions the text calls.
static std::string importsOf(llvm::StringRef text) {
  static const std::pair<const char *, std::vector<const char *>> files[] = {
      {"masks.attn",
       {"causal", "causal_top_left", "sliding_window", "local", "sink_window",
        "prefix_lm", "document", "chunk", "dilated", "neighbourhood"}},
      {"scores.attn", {"softcap", "alibi", "alibi_slope", "relative"}}};
  std::string result;
  for (const auto &[file, functions] : files)
    if (llvm::any_of(functions,
                     [&](const char *name) { return mentions(text, name); }))
      result += std::string("import \"") + file + "\";\n";
  return result;
}

std::string Program::text() const {
  // From the last statement up: what nothing below mentions is left out.
  std::vector<std::string> lines;
  std::string used;
  for (const Statement &statement : llvm::reverse(statements)) {
    auto isUsed = [&](const std::string &name) { return mentions(used, name); };
    if (statement.isLoop() ? llvm::none_of(statement.carried, isUsed)
                           : !statement.isOutput() && !isUsed(statement.name))
      continue;
    lines.push_back(lineOf(statement));
    used += lines.back() + "\n";
  }
  std::string outs;
  for (const Statement &statement : statements)
    if (statement.isOutput())
      outs += (outs.empty() ? "" : ", ") + statement.name + ": " +
              statement.declaration;
  std::vector<std::string> ins;
  std::string head = outs;
  for (const Param &param : params)
    if (mentions(used, param.name)) {
      ins.push_back(param.name + ": " + param.declaration);
      head += ins.back();
    }
  // A constraint stays while all that it names does.
  std::vector<std::string> kept;
  for (const std::string &constraint : constraints) {
    bool known = true;
    for (size_t i = 0; i < constraint.size(); ++i) {
      if (!llvm::isAlpha(constraint[i]))
        continue;
      size_t end = i;
      while (end < constraint.size() && llvm::isAlnum(constraint[end]))
        ++end;
      known &= mentions(head, llvm::StringRef(constraint).slice(i, end));
      i = end;
    }
    if (known)
      kept.push_back(constraint);
  }
  std::string result = importsOf(used);
  if (mentions(head, "T"))
    result += "type T = f32 | f16 | bf16;\n";
  if (mentions(head, "T8"))
    result += "type T8 = i8 | f8e4m3 | f8e5m2;\n";
  result +=
      "kernel random(" + llvm::join(ins, ", ") + ")\n    -> (" + outs + ")" +
      (kept.empty() ? "" : "\n    where " + llvm::join(kept, ", ")) + "\n{\n";
  for (const std::string &line : llvm::reverse(lines))
    result += "  " + line + "\n";
  result += "}\n";
  std::vector<std::string> stored;
  for (const std::string &name : materialized)
    if (mentions(used, "let " + name))
      stored.push_back(name);
  if (!stored.empty())
    result +=
        "schedule random { materialize " + llvm::join(stored, ", ") + "; }\n";
  return result;
}

size_t Program::size() const {
  size_t count = params.size() + constraints.size() + bound.size() +
                 runs.size() + materialized.size() +
                 switches.disabledPasses.size() +
                 switches.enabledPasses.size() + switches.tileSizes.size();
  for (const Statement &statement : statements)
    count += statement.value->size();
  return count;
}

} // namespace attentile::random
