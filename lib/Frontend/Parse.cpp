//===- Parse.cpp - text to syntax tree ------------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParseContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include <algorithm>

using namespace attentile;
using namespace attentile::frontend;

namespace attentile::frontend {
int parseTokens(ParseContext &context); // Lexer.ll
} // namespace attentile::frontend

//===----------------------------------------------------------------------===//
// SyntaxTree
//===----------------------------------------------------------------------===//

SyntaxTree::SyntaxTree(const SourceFile &file)
    : source(&file), pimpl(std::make_unique<Impl>()) {}
SyntaxTree::SyntaxTree(SyntaxTree &&) = default;
SyntaxTree &SyntaxTree::operator=(SyntaxTree &&) = default;
SyntaxTree::~SyntaxTree() = default;

llvm::SmallVector<llvm::StringRef> SyntaxTree::kernelNames() const {
  llvm::SmallVector<llvm::StringRef> names;
  for (const ast::KernelDecl *kernel : pimpl->file.kernels)
    names.push_back(kernel->name.str());
  return names;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Larger files are no kernels, and offsets have 32 bits.
static constexpr size_t maxFileSize = 16 << 20;

/// More files than this are refused: who imports so many has made them.
static constexpr unsigned maxFiles = 256;

/// Refuses bytes that are no text, so that whoever comes later may print them.
static bool isText(const SourceFile &file, unsigned part,
                   Diagnostics &diagnostics) {
  llvm::StringRef text = file.text(part);
  uint32_t base = file.begin(part);
  if (text.size() > maxFileSize) {
    // [L8.6]
    diagnostics.error(file, {base, base},
                      "expected a source of at most 16 MiB, got " +
                          llvm::Twine(text.size()) + " bytes");
    return false;
  }
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  const auto *stop = begin;
  llvm::isLegalUTF8String(&stop, begin + text.size());
  size_t at = std::min<size_t>(stop - begin, text.find('\0'));
  if (at >= text.size())
    return true;
  uint32_t offset = base + at;
  unsigned char byte = text[at];
  // [L8.1]
  diagnostics
      .error(file, {offset, offset + 1},
             "expected UTF-8 text, got the byte 0x" +
                 llvm::utohexstr(byte, /*LowerCase=*/true, /*Width=*/2))
      .note("is this a source file of the attn language?");
  return false;
}

namespace {
/// Parses a file, then what it imports, each file once.
class FileParser {
public:
  FileParser(SourceFile &file, SyntaxTree::Impl &impl, Diagnostics &diagnostics,
             FindImport find)
      : file(file), impl(impl), diagnostics(diagnostics), find(find) {}

  void parse(unsigned part, ast::File &tree);

private:
  void follow(ast::Import &import);
  void reportCycle(const ast::Import &import);

  SourceFile &file;
  SyntaxTree::Impl &impl;
  Diagnostics &diagnostics;
  FindImport find;
  llvm::SmallVector<unsigned> open; // each imported by the one before it
};
} // namespace

void FileParser::parse(unsigned part, ast::File &tree) {
  if (!isText(file, part, diagnostics))
    return;
  ParseContext context(file, part, impl.arena, tree, diagnostics);
  [[maybe_unused]] int failed = parseTokens(context);
  assert((!failed || diagnostics.hasErrors()) && "every syntax error is told");
  open.push_back(part);
  for (ast::Import *import : tree.imports)
    follow(*import);
  open.pop_back();
}

void FileParser::follow(ast::Import &import) {
  llvm::StringRef path = import.path.str().trim('"');
  llvm::Expected<ImportedFile> found = find(path, file.name(open.back()));
  if (!found) {
    // [L2.15]
    diagnostics.error(file, import.path.range, "cannot import '" + path + "'")
        .note(llvm::toString(found.takeError()));
    return;
  }
  for (unsigned part = 0; part < file.count(); ++part) {
    if (file.name(part) != found->name)
      continue;
    import.part = part;
    if (llvm::is_contained(open, part))
      reportCycle(import);
    return;
  }
  if (file.count() == maxFiles) {
    // [L8.6]
    diagnostics.error(file, import.path.range,
                      "expected at most " + llvm::Twine(maxFiles) +
                          " files, got another one");
    return;
  }
  import.part = file.import(found->name, std::move(found->text));
  ast::File imported;
  parse(import.part, imported);
  impl.file.functions.append(imported.functions);
  impl.file.imports.append(imported.imports);
}

void FileParser::reportCycle(const ast::Import &import) {
  std::string chain;
  for (unsigned part : llvm::ArrayRef<unsigned>(open).drop_while(
           [&](unsigned part) { return part != import.part; }))
    chain += "'" + file.name(part).str() + "' imports ";
  // [L2.16]
  diagnostics
      .error(file, import.range,
             "expected no import cycle, got " + chain + "'" +
                 file.name(import.part) + "'")
      .note("put what both need into a file of its own");
}

SyntaxTree attentile::parse(SourceFile &file, Diagnostics &diagnostics,
                            FindImport find) {
  SyntaxTree tree(file);
  ast::File own;
  FileParser(file, tree.impl(), diagnostics, find).parse(0, own);
  ast::File &all = tree.impl().file;
  own.functions.append(all.functions);
  own.imports.append(all.imports);
  all = std::move(own);
  return tree;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

using ast::Expr;

Expr *ParseContext::node(Expr::Kind kind, SourceRange range) {
  Expr *expr = make(Expr{});
  expr->kind = kind;
  expr->range = range;
  return expr;
}

void ParseContext::setArgs(Expr *expr, llvm::ArrayRef<Expr *> args) {
  expr->args = args;
  unsigned deepest = 0;
  for (const Expr *arg : args)
    deepest = std::max<unsigned>(deepest, arg->depth);
  expr->depth = deepest + 1;
  if (expr->depth <= ast::maxDepth || tooDeep)
    return;
  tooDeep = true;
  // [L8.4]
  diagnostics
      .error(source, expr->range,
             "expected an expression at most " + llvm::Twine(ast::maxDepth) +
                 " levels deep, got a deeper one")
      .note("name a part of it with let");
}

Expr *ParseContext::literal(SourceRange range, int64_t value) {
  Expr *expr = node(Expr::Int, range);
  expr->intValue = value;
  return expr;
}
Expr *ParseContext::literal(SourceRange range, double value) {
  Expr *expr = node(Expr::Float, range);
  expr->floatValue = value;
  return expr;
}
Expr *ParseContext::boolean(SourceRange range, bool value) {
  Expr *expr = node(Expr::Bool, range);
  expr->intValue = value;
  return expr;
}
Expr *ParseContext::ref(ast::Name name) {
  Expr *expr = node(Expr::Ref, name.range);
  expr->name = name;
  return expr;
}
Expr *ParseContext::read(SourceRange range, ast::Name name,
                         List<Expr *> *index) {
  Expr *expr = node(Expr::Read, range);
  expr->name = name;
  setArgs(expr, index->ref());
  return expr;
}
Expr *ParseContext::call(SourceRange range, ast::Name name,
                         List<Expr *> *args) {
  Expr *expr = node(Expr::Call, range);
  expr->name = name;
  setArgs(expr, args->ref());
  return expr;
}
Expr *ParseContext::apply(SourceRange range, ast::Function function,
                          List<Expr *> *args) {
  Expr *expr = node(Expr::Apply, range);
  expr->function = function;
  setArgs(expr, args->ref());
  return expr;
}
Expr *ParseContext::cast(SourceRange range, ElementType type,
                         List<Expr *> *args) {
  Expr *expr = node(Expr::Cast, range);
  expr->element = type;
  setArgs(expr, args->ref());
  return expr;
}
Expr *ParseContext::reduce(SourceRange range, ast::Reduction reduction,
                           List<ast::Name> *axes, List<Expr *> *args) {
  Expr *expr = node(Expr::Reduce, range);
  expr->reduction = reduction;
  expr->axes = axes->ref();
  setArgs(expr, args->ref());
  return expr;
}
Expr *ParseContext::unary(SourceRange range, ast::UnaryOp op, Expr *operand) {
  Expr *expr = node(Expr::Unary, range);
  expr->unaryOp = op;
  setArgs(expr, list(operand)->ref());
  return expr;
}
Expr *ParseContext::binary(SourceRange range, ast::BinaryOp op, Expr *lhs,
                           Expr *rhs) {
  Expr *expr = node(Expr::Binary, range);
  expr->binaryOp = op;
  List<Expr *> *args = list(lhs);
  append(args, rhs);
  setArgs(expr, args->ref());
  return expr;
}

Expr *ParseContext::brackets(SourceRange range, Expr *expr) {
  // Brackets leave no node, but they count as a level.
  List<Expr *> *inner = list(expr);
  Expr *outer = make(Expr(*expr));
  outer->range = range;
  setArgs(outer, inner->ref());
  outer->args = expr->args;
  return outer;
}

llvm::ArrayRef<ast::Statement>
ParseContext::body(List<ast::Statement> *statements) {
  List<ast::Statement> *kept = list<ast::Statement>();
  for (const ast::Statement &statement : statements->ref()) {
    if (statement.kind != ast::Statement::For) {
      append(kept, statement);
      continue;
    }
    // [L5.7]
    diagnostics
        .error(source, statement.target,
               "expected no loop within a loop over tiles, got one")
        .note("write one after the other, or a reduction over the inner axis");
  }
  return kept->ref();
}

Diagnostic &ParseContext::notSupported(SourceRange range,
                                       const llvm::Twine &what) {
  // [L8.7]
  return diagnostics.error(source, range, what + " is not supported yet")
      .note("the language has it, this version of the compiler does not");
}
