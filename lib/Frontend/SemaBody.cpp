//===- SemaBody.cpp - statements ------------------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace attentile;
using namespace attentile::frontend;
using ast::Expr;
using llvm::StringRef;
using llvm::Twine;

/// Where a value has an index by `op`: as a number (IndexVar), not as a
/// tensor's, or as a tensor's (Read); null if nowhere.
static const TypedExpr *
findOrigin(const TypedExpr *value, unsigned id, TypedExpr::Op op,
           llvm::SmallPtrSetImpl<const TypedExpr *> &seen) {
  if (!(value->axes >> id & 1) || !seen.insert(value).second)
    return nullptr;
  if (value->op == op)
    return value->inlinedAt ? nullptr : value;
  if (value->op == TypedExpr::Read)
    return nullptr;
  for (const TypedExpr *operand : value->operands)
    if (const TypedExpr *found = findOrigin(operand, id, op, seen))
      return found;
  return nullptr;
}

void Sema::checkBody() {
  uses.resize(statements.size());
  checkStatements(decl.body);
  checkAllDefined();
}

void Sema::checkStatements(llvm::ArrayRef<ast::Statement> body) {
  for (const ast::Statement &statement : body) {
    if (diagnostics.isFull())
      return;
    unsigned number = checkedStatements++;
    auto *outer = std::exchange(currentUses, &uses[number]);
    checkStatement(statement, number);
    currentUses = outer;
  }
}

void Sema::checkStatement(const ast::Statement &statement, unsigned number) {
  switch (statement.kind) {
  case ast::Statement::Let:
    return checkLet(statement, number);
  case ast::Statement::Output: {
    if (!currentLoop)
      return checkOutput(statement);
    StringRef axis = kernel.indices[currentLoop->axis].name;
    std::string step =
        (Twine("; to keep x of every step, carry one more: seq = "
               "where(sum[") +
         axis + "](" + axis +
         ") == u, x, seq), with u another index of that size")
            .str();
    // [L5.7]
    error(statement.target, "expected an output's statement behind the loop, "
                            "got one within it")
        .note("a loop defines what it carries, for the statements behind it" +
              (currentLoop->size == 1 ? step : ""));
    return;
  }
  case ast::Statement::Tile:
    if (!currentLoop) {
      for (const ast::ScheduleItem &tile : statement.tiles)
        checkTile(tile);
      return;
    }
    // [L5.7]
    error(statement.range, "expected a tile statement outside of loops, got "
                           "one within a loop")
        .note("it holds for the whole kernel");
    return;
  case ast::Statement::For:
    return checkLoop(statement, number);
  case ast::Statement::Next:
    if (currentLoop)
      return; // with the loop
    // [L5.3]
    error(statement.target, "expected 'next' at the end of a loop over tiles, "
                            "got one outside");
    return;
  }
}

void Sema::checkLet(const ast::Statement &statement, unsigned number) {
  CheckedStatement checked{};
  checked.kind = CheckedStatement::Let;
  checked.name = statement.name.str();
  checked.range = statement.range;
  checked.value = visit(*statement.value, {Scope::Body});
  auto it = names.find(checked.name);
  if (it != names.end() && it->second.kind == Entity::Let) {
    LetName &let = lets[it->second.id];
    // A name that several lets bear means the last.
    bool isMarked =
        checked.value && let.last == number && isMaterialized(checked.name);
    if (isMarked && checked.value->isOfTile()) {
      // [L7.4]
      error(statement.name.range,
            "expected a let that holds for a whole axis to materialize, got '" +
                checked.name + "', which is of one tile of a loop")
          .note("what a loop carries can be named behind it with let");
    } else if (isMarked) {
      checked.materialize = true;
      checked.value = materialize(checked.value, checked.name, statement.range);
    }
    let.isDefined = true;
    let.loop = {};
    let.statement = number;
    let.value = checked.value;
  }
  kernel.body.push_back(std::move(checked));
}

const TypedExpr *Sema::convertTo(ElementType type, const TypedExpr *value,
                                 SourceRange range, StringRef what) {
  if (!value)
    return nullptr;
  ValueType wanted = valueType(type);
  if (wanted == ValueType::Float && value->type == ValueType::Int)
    return toFloat(value);
  if (wanted == value->type)
    return value;
  // [L2.6]
  error(range, "expected a value that converts to " + spelling(type) +
                   " for '" + what + "', got " + spelling(value->type))
      .note(value->type == ValueType::Bool ? "write where(..., 1, 0)"
            : wanted == ValueType::Bool
                ? "write true or false, or compare it, as in x != 0"
                : "write i32(...) to drop the "
                  "fraction");
  return nullptr;
}

bool Sema::checkTarget(const ast::Statement &statement, unsigned output,
                       CheckedStatement &checked) {
  const CheckedParam &param = kernel.outs[output];
  if (statement.index.size() != param.shape.size()) {
    // [L1.9]
    error(statement.target,
          "expected " + counted(param.shape.size(), "index", "indices") +
              " for '" + param.name + "', got " + Twine(statement.index.size()))
        .note(file, param.range, "it is declared here");
    return false;
  }
  AxisSet seen = 0;
  for (const Expr *index : statement.index) {
    if (index->kind != Expr::Ref) {
      // [L1.9]
      error(index->range, "an output index other than a plain index variable "
                          "is not supported yet")
          .note("with plain ones each element is defined exactly once");
      return false;
    }
    auto id = indexVariable({Scope::Body}, index->name);
    if (!id)
      return false;
    AxisSet bit = AxisSet(1) << *id;
    if (seen & bit) {
      // [L1.9]
      error(index->range, "expected each index once on the left, got '" +
                              index->name.str() + "' twice")
          .note("elements off the diagonal of '" + param.name +
                "' would not be defined");
      return false;
    }
    seen |= bit;
    checked.index.push_back(*id);
  }
  return true;
}

void Sema::checkOutput(const ast::Statement &statement) {
  CheckedStatement checked{};
  checked.kind = CheckedStatement::Output;
  checked.name = statement.name.str();
  checked.range = statement.range;
  auto it = names.find(checked.name);
  bool isOutput = it != names.end() && it->second.kind == Entity::Out;
  if (!isOutput) {
    std::vector<StringRef> candidates;
    for (const CheckedParam &param : kernel.outs)
      candidates.push_back(param.name);
    StringRef nearest = nearestName(checked.name, candidates);
    // [L1.9]
    Diagnostic &e =
        it == names.end()
            ? error(statement.name.range,
                    "unknown output '" + checked.name + "'")
            : error(statement.name.range, "expected an output, got " +
                                              kindName(it->second) + " '" +
                                              checked.name + "'");
    if (!nearest.empty())
      e.note("did you mean '" + nearest + "'?");
    else
      e.note("outputs stand behind -> in the kernel's head");
    visit(*statement.value, {Scope::Body}); // for its own errors
    kernel.body.push_back(std::move(checked));
    return;
  }
  checked.output = it->second.id;
  const CheckedParam &param = kernel.outs[checked.output];
  for (const CheckedStatement &earlier : kernel.body)
    if (earlier.kind == CheckedStatement::Output &&
        earlier.name == checked.name) {
      // [L1.8]
      error(statement.target, "expected one statement for output '" +
                                  param.name + "', got another one")
          .note(file, earlier.range, "it is defined here");
      break;
    }
  bool targetOk = checkTarget(statement, checked.output, checked);
  const TypedExpr *value = visit(*statement.value, {Scope::Body});
  if (value && targetOk) {
    AxisSet left = 0;
    for (unsigned id : checked.index)
      left |= AxisSet(1) << id;
    for (auto [i, index] : llvm::enumerate(kernel.indices))
      if ((value->axes & ~left) >> i & 1) {
        // [L1.10]
        Diagnostic &e = error(
            statement.value->range,
            "expected a value with axes of the left side only, got axis '" +
                index.name + "'");
        e.note("reduce over it, as in sum[" + index.name +
               "](...), or add it to the left side");
        llvm::SmallPtrSet<const TypedExpr *, 16> seen, seenReads;
        const TypedExpr *number =
            findOrigin(value, i, TypedExpr::IndexVar, seen);
        const TypedExpr *read =
            findOrigin(value, i, TypedExpr::Read, seenReads);
        if (read && read->range.end <= statement.target.begin)
          e.note(file, read->range, "'" + index.name + "' comes from here");
        if (number && index.extent->kind == SizeExpr::Size)
          e.note(file, number->range,
                 "'" + index.name + "' is an index here, a number for each " +
                     "element; the size of its axis is '" +
                     kernel.sizes[index.extent->size].name + "'");
      }
  }
  checked.value =
      convertTo(param.type, value, statement.value->range, param.name);
  kernel.body.push_back(std::move(checked));
}

void Sema::checkAllDefined() {
  for (auto [i, output] : llvm::enumerate(kernel.outs)) {
    bool defined = llvm::any_of(kernel.body, [&](const CheckedStatement &s) {
      return s.kind == CheckedStatement::Output && s.name == output.name;
    });
    if (!defined && names.lookup(output.name).kind == Entity::Out)
      // [L1.8]
      error(output.range, "output '" + output.name + "' is not defined")
          .note("write a statement " + output.name + "[...] = ...;");
  }
}
