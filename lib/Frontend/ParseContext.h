//===- ParseContext.h - what lexer and parser share -------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_FRONTEND_PARSECONTEXT_H
#define ATTENTILE_FRONTEND_PARSECONTEXT_H

#include "AST.h"

namespace attentile::frontend {

/// A list that grows in the arena while its rule is reduced again and again.
/// Trivial, because it stands in the parser's union.
template <typename T> struct List {
  T *data;
  uint32_t size, capacity;

  void push(llvm::BumpPtrAllocator &arena, const T &value) {
    if (size == capacity) {
      uint32_t grown = capacity ? 2 * capacity : 4;
      T *moved = arena.Allocate<T>(grown);
      std::uninitialized_copy(data, data + size, moved);
      data = moved;
      capacity = grown;
    }
    new (data + size++) T(value);
  }
  llvm::ArrayRef<T> ref() const { return {data, size}; }
};

/// The parser's semantic values; which member counts follows from the symbol.
union Value {
  int64_t intValue;
  double floatValue;
  bool flag;
  ElementType element;
  ast::Function function;
  ast::Reduction reduction;
  ast::Name name;
  ast::Expr *expr;
  ast::TypeRef *type;
  ast::Param *param;
  ast::Condition *condition;
  ast::SetMember *member;
  List<ast::Expr *> *exprs;
  List<ast::Name> *names;
  List<ElementType> *elements;
  List<ast::Param> *params;
  List<ast::Condition> *conditions;
  List<ast::SetMember> *members;
  List<ast::Statement> *statements;
  List<ast::ScheduleItem> *items;
  List<ast::Carried> *carried;
};

/// One run of the parser over one text: input, output, and the node factories
/// that the grammar's actions call.
class ParseContext {
public:
  ParseContext(const SourceFile &source, unsigned part,
               llvm::BumpPtrAllocator &arena, ast::File &tree,
               Diagnostics &diagnostics)
      : source(source), text(source.text(part)), begin(source.begin(part)),
        arena(arena), tree(tree), diagnostics(diagnostics), offset(begin),
        lastEnd(begin) {}

  template <typename T> T *make(T value) {
    return new (arena.Allocate<T>()) T(std::move(value));
  }
  template <typename T> List<T> *list() { return make(List<T>{nullptr, 0, 0}); }
  template <typename T> List<T> *list(const T &first) {
    List<T> *result = list<T>();
    result->push(arena, first);
    return result;
  }
  template <typename T> List<T> *append(List<T> *list, const T &value) {
    list->push(arena, value);
    return list;
  }

  ast::Expr *literal(SourceRange range, int64_t value);
  ast::Expr *literal(SourceRange range, double value);
  ast::Expr *boolean(SourceRange range, bool value);
  ast::Expr *ref(ast::Name name);
  ast::Expr *read(SourceRange range, ast::Name name, List<ast::Expr *> *index);
  ast::Expr *call(SourceRange range, ast::Name name, List<ast::Expr *> *args);
  ast::Expr *apply(SourceRange range, ast::Function function,
                   List<ast::Expr *> *args);
  ast::Expr *cast(SourceRange range, ElementType type, List<ast::Expr *> *args);
  ast::Expr *reduce(SourceRange range, ast::Reduction reduction,
                    List<ast::Name> *axes, List<ast::Expr *> *args);
  ast::Expr *unary(SourceRange range, ast::UnaryOp op, ast::Expr *operand);
  ast::Expr *binary(SourceRange range, ast::BinaryOp op, ast::Expr *lhs,
                    ast::Expr *rhs);
  ast::Expr *brackets(SourceRange range, ast::Expr *expr);

  /// The statements of a loop over tiles, in which loops do not stand.
  llvm::ArrayRef<ast::Statement> body(List<ast::Statement> *statements);

  /// A construct that the language has and this compiler does not, yet.
  Diagnostic &notSupported(SourceRange range, const llvm::Twine &what);

  const SourceFile &source;
  /// The text that is parsed, and the offset of its first byte.
  llvm::StringRef text;
  uint32_t begin;
  llvm::BumpPtrAllocator &arena;
  ast::File &tree;
  Diagnostics &diagnostics;
  /// How far the lexer has come, and the end of the last token it returned.
  uint32_t offset, lastEnd;
  /// End of the last text that was no token. Syntax errors on its line only
  /// say again that something is missing there.
  uint32_t lexicalError = ~0u;
  /// Set when an expression nests too deep: parsing stops.
  bool tooDeep = false;

private:
  ast::Expr *node(ast::Expr::Kind kind, SourceRange range);
  void setArgs(ast::Expr *expr, llvm::ArrayRef<ast::Expr *> args);
};

} // namespace attentile::frontend

#endif // ATTENTILE_FRONTEND_PARSECONTEXT_H
