//===- AST.h - the syntax tree of the attn language -------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain structs in an arena, every node with its source range. Names are slices
// of the source text. Nothing here is checked: Sema gives the tree a meaning.
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_FRONTEND_AST_H
#define ATTENTILE_FRONTEND_AST_H

#include "attentile/Frontend.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Allocator.h"

namespace attentile::ast {

/// A name where it stands. Trivial: it travels in the parser's union.
struct Name {
  const char *data;
  SourceRange range;

  llvm::StringRef str() const { return {data, range.end - range.begin}; }
};

/// Element-wise functions and the two that look like them.
enum class Function : uint8_t {
  Where,
  Exp,
  Exp2,
  Log,
  Log2,
  Tanh,
  Sigmoid,
  Sqrt,
  Rsqrt,
  Sin,
  Cos,
  Abs,
  Min,
  Max,
  Pow,
  Clamp,
  Floor,
  Extent,
  Dropout,
};

enum class Reduction : uint8_t { Sum, Max, Min, Any, All, Softmax, Logsumexp };

enum class UnaryOp : uint8_t { Minus, Not };

enum class BinaryOp : uint8_t {
  Or,
  And,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Add,
  Sub,
  Mul,
  Div,
  Mod,
};

llvm::StringRef spelling(Function function);
llvm::StringRef spelling(Reduction reduction);
llvm::StringRef spelling(UnaryOp op);
llvm::StringRef spelling(BinaryOp op);

/// Deepest nesting of expressions, counted on the tree (LANGUAGE, section 2).
constexpr unsigned maxDepth = 256;

/// An expression. `kind` says which of the other members have a meaning.
struct Expr {
  enum Kind : uint8_t {
    Int,    // intValue
    Float,  // floatValue; also `inf`
    Bool,   // intValue is 0 or 1
    Ref,    // name
    Read,   // name[args]
    Call,   // name(args): a function, or a cast to a type parameter
    Apply,  // function(args)
    Cast,   // element(args)
    Reduce, // reduction[axes](args[0]); sink, if args has a second one
    Unary,  // unaryOp args[0]
    Binary, // args[0] binaryOp args[1]
  };
  Kind kind;
  union {
    Function function;
    Reduction reduction;
    UnaryOp unaryOp;
    BinaryOp binaryOp;
    ElementType element;
  };
  uint16_t depth =
      1; // levels of the tree below and with this node, brackets too
  SourceRange range; // with the brackets around it
  Name name = {};
  union {
    int64_t intValue = 0;
    double floatValue;
  };
  llvm::ArrayRef<Expr *> args;
  llvm::ArrayRef<Name> axes;
};

/// `f32`, or the name of a type parameter.
struct TypeRef {
  bool isElement;
  ElementType element;
  Name name;
  SourceRange range;
};

/// `name: type[shape] = init`; a scalar has no shape.
struct Param {
  Name name;
  TypeRef type;
  bool isTensor;
  llvm::ArrayRef<Expr *> shape;
  Expr *init; // null: no default
  SourceRange range;
};

/// A member of the braces of `in`: a type or a number.
struct SetMember {
  bool isType;
  ElementType element;
  Expr *value;
  SourceRange range;
};

/// `expr` or `expr in {members}`, in a `where` or `when` clause.
struct Condition {
  Expr *expr;
  bool isIn;
  llvm::ArrayRef<SetMember> members;
  SourceRange range;
};

struct ScheduleItem {
  enum Kind : uint8_t { Tile, Materialize, Other };
  Kind kind;
  Name name;   // the axis, the let, or the word that begins another item
  Expr *value; // of a tile
  SourceRange range;
};

/// `name = value` in the brackets of `carry` and `next`.
struct Carried {
  Name name;
  Expr *value;
  SourceRange range;
};

struct TileLoop;

/// A statement of a kernel or a loop. `kind` says which members have a meaning.
struct Statement {
  enum Kind : uint8_t {
    Let,    // let name = value;
    Output, // name[index] = value;
    Tile,   // tile name = value, ...;
    For,    // for ... { }
    Next,   // next (carried);
  };
  Kind kind;
  Name name = {};
  llvm::ArrayRef<Expr *> index = {};
  Expr *value = nullptr;
  SourceRange target = {}; // the left side; the head of a loop
  SourceRange range;
  llvm::ArrayRef<ScheduleItem> tiles = {};
  llvm::ArrayRef<Carried> carried = {};
  const TileLoop *loop = nullptr;
};

/// `for axis in tiles(lower .. upper, size) carry (carried) { body }`.
struct TileLoop {
  Name axis;
  Expr *lower, *upper, *size;
  llvm::ArrayRef<Carried> carried;
  llvm::ArrayRef<Statement> body;
};

/// `import "masks.attn";`: takes that file's functions.
struct Import {
  Name path; // with its quotes
  SourceRange range;
  unsigned part = 0; // the text's number in the SourceFile, once it was found
};

struct TypeDecl {
  Name name;
  llvm::ArrayRef<ElementType> options;
  SourceRange range;
};

struct FunctionDecl {
  Name name;
  llvm::ArrayRef<Name> params;
  Expr *body;
  SourceRange range;
};

struct KernelDecl {
  Name name;
  llvm::ArrayRef<Param> ins;
  llvm::ArrayRef<Param> outs;
  llvm::ArrayRef<Condition> constraints;
  llvm::ArrayRef<Statement> body;
  SourceRange range;
};

struct ScheduleDecl {
  Name kernel;
  Name as;     // data is null without one
  Name target; // likewise
  llvm::ArrayRef<Condition> conditions;
  llvm::ArrayRef<ScheduleItem> items;
  SourceRange range;
};

/// A file. Functions and imports are also those of the files it imports, and of
/// what they import; a range says which text each stands in.
struct File {
  llvm::SmallVector<Import *, 2> imports;
  llvm::SmallVector<TypeDecl *, 4> types;
  llvm::SmallVector<FunctionDecl *, 4> functions;
  llvm::SmallVector<KernelDecl *, 2> kernels;
  llvm::SmallVector<ScheduleDecl *, 2> schedules;
};

} // namespace attentile::ast

namespace attentile {
/// The tree with the arena that holds it.
struct SyntaxTree::Impl {
  llvm::BumpPtrAllocator arena;
  ast::File file;
};
} // namespace attentile

#endif // ATTENTILE_FRONTEND_AST_H
