//===- AST.cpp - spelling and printing of the syntax tree -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AST.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace attentile;
using namespace attentile::ast;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Spelling
//===----------------------------------------------------------------------===//

StringRef ast::spelling(Function function) {
  static constexpr StringRef names[] = {
      "where", "exp",   "exp2",  "log",    "log2",   "tanh", "sigmoid",
      "sqrt",  "rsqrt", "sin",   "cos",    "abs",    "min",  "max",
      "pow",   "clamp", "floor", "extent", "dropout"};
  return names[static_cast<unsigned>(function)];
}
StringRef ast::spelling(Reduction reduction) {
  static constexpr StringRef names[] = {"sum", "max",     "min",      "any",
                                        "all", "softmax", "logsumexp"};
  return names[static_cast<unsigned>(reduction)];
}
StringRef ast::spelling(UnaryOp op) { return op == UnaryOp::Minus ? "-" : "!"; }
StringRef ast::spelling(BinaryOp op) {
  static constexpr StringRef names[] = {"||", "&&", "==", "!=", "<", "<=", ">",
                                        ">=", "+",  "-",  "*",  "/", "%"};
  return names[static_cast<unsigned>(op)];
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

namespace {
/// Prints a node a line, indented by its depth, with its range at the end.
class Printer {
public:
  Printer(const SourceFile &file, llvm::raw_ostream &os) : file(file), os(os) {}
  void print(const File &tree);

private:
  void print(const TypeDecl &decl);
  void print(const FunctionDecl &decl);
  void print(const KernelDecl &decl);
  void print(const ScheduleDecl &decl);
  void print(StringRef what, const Param &param);
  void print(const Condition &condition);
  void print(const Statement &statement);
  void print(const Carried &carried);
  void print(const ScheduleItem &item);
  void print(const Expr &expr);
  void label(const Expr &expr);

  llvm::raw_ostream &start() { return os.indent(2 * level); }
  void finish(SourceRange range) {
    LineColumn from = file.lineColumn(range.begin);
    LineColumn to = file.lineColumn(range.end);
    os << " <" << from.line << ':' << from.column << '-' << to.line << ':'
       << to.column << ">\n";
  }

  const SourceFile &file;
  llvm::raw_ostream &os;
  unsigned level = 0;
};
} // namespace

void Printer::label(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Int:
    os << "int " << expr.intValue;
    break;
  case Expr::Float:
    os << "float " << expr.floatValue;
    break;
  case Expr::Bool:
    os << "bool " << (expr.intValue ? "true" : "false");
    break;
  case Expr::Ref:
    os << "name " << expr.name.str();
    break;
  case Expr::Read:
    os << "read " << expr.name.str();
    break;
  case Expr::Call:
    os << "call " << expr.name.str();
    break;
  case Expr::Apply:
    os << "apply " << spelling(expr.function);
    break;
  case Expr::Cast:
    os << "cast " << spelling(expr.element);
    break;
  case Expr::Reduce:
    os << "reduce " << spelling(expr.reduction) << " over";
    for (Name axis : expr.axes)
      os << ' ' << axis.str();
    break;
  case Expr::Unary:
    os << "unary " << spelling(expr.unaryOp);
    break;
  case Expr::Binary:
    os << "binary " << spelling(expr.binaryOp);
    break;
  }
}

void Printer::print(const Expr &expr) {
  start();
  label(expr);
  finish(expr.range);
  ++level;
  for (const Expr *arg : expr.args)
    print(*arg);
  --level;
}

void Printer::print(StringRef what, const Param &param) {
  start() << what << ' ' << param.name.str() << ": "
          << (param.type.isElement ? attentile::spelling(param.type.element)
                                   : param.type.name.str());
  finish(param.range);
  ++level;
  for (const Expr *dimension : param.shape)
    print(*dimension);
  if (param.init) {
    start() << "default\n";
    ++level;
    print(*param.init);
    --level;
  }
  --level;
}

void Printer::print(const Condition &condition) {
  start() << (condition.isIn ? "condition in" : "condition");
  for (const SetMember &member : condition.members)
    if (member.isType)
      os << ' ' << attentile::spelling(member.element);
  finish(condition.range);
  ++level;
  print(*condition.expr);
  for (const SetMember &member : condition.members)
    if (!member.isType)
      print(*member.value);
  --level;
}

void Printer::print(const Statement &statement) {
  static constexpr StringRef words[] = {"let ", "output ", "tile", "for ",
                                        "next"};
  start() << words[statement.kind];
  if (statement.name.data)
    os << statement.name.str();
  finish(statement.range);
  ++level;
  for (const Expr *index : statement.index)
    print(*index);
  if (statement.value)
    print(*statement.value);
  for (const ScheduleItem &tile : statement.tiles)
    print(tile);
  for (const Carried &carried : statement.carried)
    print(carried);
  if (const TileLoop *loop = statement.loop) {
    for (const Expr *expr : {loop->lower, loop->upper, loop->size})
      print(*expr);
    for (const Carried &carried : loop->carried)
      print(carried);
    for (const Statement &inner : loop->body)
      print(inner);
  }
  --level;
}

void Printer::print(const Carried &carried) {
  start() << "carried " << carried.name.str();
  finish(carried.range);
  ++level;
  print(*carried.value);
  --level;
}

void Printer::print(const ScheduleItem &item) {
  start();
  if (item.kind == ScheduleItem::Tile)
    os << "tile ";
  else if (item.kind == ScheduleItem::Materialize)
    os << "materialize ";
  os << item.name.str();
  finish(item.range);
  if (!item.value)
    return;
  ++level;
  print(*item.value);
  --level;
}

void Printer::print(const TypeDecl &decl) {
  start() << "type " << decl.name.str() << " =";
  for (ElementType option : decl.options)
    os << ' ' << attentile::spelling(option);
  finish(decl.range);
}

void Printer::print(const FunctionDecl &decl) {
  start() << "fn " << decl.name.str();
  for (Name param : decl.params)
    os << ' ' << param.str();
  finish(decl.range);
  ++level;
  print(*decl.body);
  --level;
}

void Printer::print(const KernelDecl &decl) {
  start() << "kernel " << decl.name.str();
  finish(decl.range);
  ++level;
  for (const Param &param : decl.ins)
    print("in", param);
  for (const Param &param : decl.outs)
    print("out", param);
  for (const Condition &condition : decl.constraints)
    print(condition);
  for (const Statement &statement : decl.body)
    print(statement);
  --level;
}

void Printer::print(const ScheduleDecl &decl) {
  start() << "schedule " << decl.kernel.str();
  if (decl.as.data)
    os << " as " << decl.as.str();
  if (decl.target.data)
    os << " for " << decl.target.str();
  finish(decl.range);
  ++level;
  for (const Condition &condition : decl.conditions)
    print(condition);
  for (const ScheduleItem &item : decl.items)
    print(item);
  --level;
}

void Printer::print(const File &tree) {
  auto isOwn = [&](const auto *decl) {
    return file.partAt(decl->range.begin) == 0;
  };
  for (const Import *decl : llvm::make_filter_range(tree.imports, isOwn)) {
    start() << "import " << decl->path.str();
    finish(decl->range);
  }
  for (const TypeDecl *decl : tree.types)
    print(*decl);
  for (const FunctionDecl *decl :
       llvm::make_filter_range(tree.functions, isOwn))
    print(*decl);
  for (const KernelDecl *decl : tree.kernels)
    print(*decl);
  for (const ScheduleDecl *decl : tree.schedules)
    print(*decl);
}

void SyntaxTree::print(llvm::raw_ostream &os) const {
  Printer(*source, os).print(pimpl->file);
}
