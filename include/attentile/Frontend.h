//===- Frontend.h - from source text to a checked kernel --------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The front end's interface, without MLIR. In order of use:
//
//   SourceFile file(name, text);
//   Diagnostics diagnostics;
//   SyntaxTree tree = parse(file, diagnostics, findBesideOrInLibrary);
//   Bindings bindings;                       // --bind D=128,T=bf16,window=256
//   bindings.add("D=128,T=bf16", diagnostics);
//   auto kernel = check(tree, bindings, options, diagnostics);
//
// and then emit() of EmitIR.h. Everything that fails has reported why.
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_FRONTEND_H
#define ATTENTILE_FRONTEND_H

#include "attentile/Diagnostics.h"
#include "attentile/ElementType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace attentile {

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

/// The type as the language writes it: `bf16`.
inline llvm::StringRef spelling(ElementType type) { return nameOf(type); }

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// A parsed file with what it imports. The SourceFile it was parsed from must
/// outlive it.
class SyntaxTree {
public:
  struct Impl;
  SyntaxTree(const SourceFile &file);
  SyntaxTree(SyntaxTree &&);
  SyntaxTree &operator=(SyntaxTree &&);
  ~SyntaxTree();

  const SourceFile &file() const { return *source; }
  Impl &impl() const { return *pimpl; }

  /// The kernels of the file, in its order.
  llvm::SmallVector<llvm::StringRef> kernelNames() const;

  /// Prints the tree (`--emit=ast`), a node a line with its range.
  void print(llvm::raw_ostream &os) const;

private:
  const SourceFile *source;
  std::unique_ptr<Impl> pimpl;
};

/// What an import names. Files of one name are one file.
struct ImportedFile {
  std::string name; ///< as diagnostics print it
  std::string text;
};

/// Finds what `path` means in an import that stands in the file `from`. The
/// error says where it was looked for.
using FindImport = llvm::function_ref<llvm::Expected<ImportedFile>(
    llvm::StringRef path, llvm::StringRef from)>;

/// Only the library that is part of the compiler.
llvm::Expected<ImportedFile> findInLibrary(llvm::StringRef path,
                                           llvm::StringRef from);
/// A file beside the importing one, else the library.
llvm::Expected<ImportedFile> findBesideOrInLibrary(llvm::StringRef path,
                                                   llvm::StringRef from);

/// Parses a file and, added to it, what it imports. On an error the tree may be
/// incomplete: ask `diagnostics` before going on.
SyntaxTree parse(SourceFile &file, Diagnostics &diagnostics,
                 FindImport find = findInLibrary);

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

/// What a name is bound to. Whether it is a size, a type or a scalar is known
/// only with the kernel, so the value keeps the form it was written in.
struct BoundValue {
  enum Kind : uint8_t { Int, Float, Bool, Type };
  Kind kind;
  int64_t intValue = 0; // also 0 or 1 of a Bool
  double floatValue = 0;
  ElementType type = ElementType::F32;
  /// Where it was written; null for what was read from a tensor.
  const SourceFile *file = nullptr;
  SourceRange range = {0, 0};

  static BoundValue ofInt(int64_t value);
  static BoundValue ofFloat(double value);
  static BoundValue ofBool(bool value);
  static BoundValue ofType(ElementType type);
  std::string str() const;
};

/// Names fixed when code is made: from `--bind`, or from the tensors of a run.
class Bindings {
public:
  /// Adds `D=128,T=bf16,window=256`. A malformed text, or a name bound to two
  /// values, is reported at its place in a file called `--bind`.
  bool add(llvm::StringRef text, Diagnostics &diagnostics);
  /// Binds or rebinds one name.
  void set(llvm::StringRef name, BoundValue value);
  const BoundValue *find(llvm::StringRef name) const;

  struct Entry {
    std::string name;
    BoundValue value;
  };
  const std::vector<Entry> &entries() const { return list; }

  /// The texts that were added: what diagnostics point into.
  const std::vector<std::shared_ptr<const SourceFile>> &files() const {
    return texts;
  }

private:
  std::vector<Entry> list;
  std::vector<std::shared_ptr<const SourceFile>> texts;
};

//===----------------------------------------------------------------------===//
// Checked kernels
//===----------------------------------------------------------------------===//

/// An integer expression over sizes: a dimension of a shape, an axis's extent.
/// Immutable; lives as long as the checked kernel.
struct SizeExpr {
  enum Kind : uint8_t { Constant, Size, Add, Sub, Mul, FloorDiv, Mod };
  Kind kind;
  int64_t value; // of a Constant
  unsigned size; // of a Size: its place in CheckedKernel::sizes
  const SizeExpr *lhs, *rhs;

  /// The value for given sizes, with the language's division (toward minus
  /// infinity, 0 for a divisor of 0); nothing if a size is unknown or the value
  /// does not fit 64 bits.
  std::optional<int64_t> evaluate(
      llvm::function_ref<std::optional<int64_t>(unsigned size)> lookup) const;
};

struct TypedExpr; // lib/Frontend/TypedExpr.h

/// An input or output of a kernel.
struct CheckedParam {
  llvm::StringRef name;
  SourceRange range;
  ElementType type;
  /// The type parameter it was declared with; empty for a plain type.
  llvm::StringRef typeName;
  bool isTensor;
  llvm::SmallVector<const SizeExpr *, 4> shape;
  /// Scalars only: the value when the caller gives none, or null.
  const TypedExpr *defaultValue = nullptr;
  /// Scalars only: the value it is bound to; it is then no argument of the
  /// emitted kernel.
  std::optional<BoundValue> bound;
};

/// A size name of the kernel.
struct CheckedSize {
  llvm::StringRef name;
  SourceRange range; // where it first stands
  std::optional<int64_t> bound;
  /// Must be known when code is made: an axis summed inside a score, or an
  /// output axis that no score has, is that long.
  bool isHead = false;
  /// Stands alone as a dimension somewhere, so that a tensor gives its value.
  bool standsAlone = false;
};

/// A type parameter: what it may be and what it is taken to be.
struct CheckedType {
  llvm::StringRef name;
  SourceRange range;
  llvm::SmallVector<ElementType, 4> options;
  ElementType chosen;
  bool isBound;
};

/// An index variable and the position that gave it its range.
struct CheckedIndex {
  llvm::StringRef name;
  SourceRange range;
  const SizeExpr *extent;
};

/// A condition of the `where` clause that is not known to hold: the caller's
/// arguments must keep it.
struct CheckedConstraint {
  const TypedExpr *condition; // Boolean; false where it divides by 0
  llvm::StringRef text;
  SourceRange range;
};

struct CheckedStatement {
  enum Kind : uint8_t { Let, Output };
  Kind kind;
  llvm::StringRef name;
  SourceRange range;
  const TypedExpr *value;
  unsigned output = 0;                  // of an Output: its place in outs
  llvm::SmallVector<unsigned, 4> index; // of an Output: places in indices
  bool materialize = false; // of a Let: the schedule puts it in workspace
};

struct CheckedTile {
  llvm::StringRef axis;
  int64_t size;
};

/// A kernel that has passed every check, under one set of bindings.
struct CheckedKernel {
  const SourceFile *file;
  llvm::StringRef name;
  SourceRange range;
  llvm::SmallVector<CheckedParam> ins, outs;
  llvm::SmallVector<CheckedSize> sizes;
  llvm::SmallVector<CheckedType> types;
  llvm::SmallVector<CheckedIndex> indices;
  llvm::SmallVector<CheckedConstraint> constraints;
  llvm::SmallVector<CheckedStatement> body;
  /// The schedule taken: its name (empty for none or one without a name); its
  /// tile sizes and those of the kernel's own `tile` statements.
  llvm::StringRef schedule;
  llvm::SmallVector<CheckedTile> tiles;
  /// The loops over tiles that it writes out.
  struct Loop {
    llvm::StringRef axis;
    int64_t size;
    SourceRange range;
  };
  llvm::SmallVector<Loop> loops;

  struct Arena;
  std::shared_ptr<Arena> arena; // holds expressions

  const CheckedParam *findParam(llvm::StringRef name) const;
  const CheckedType *findType(llvm::StringRef name) const;

  /// The value of a size expression with the bound sizes; nothing if it
  /// depends on one that is not bound.
  std::optional<int64_t> evaluate(const SizeExpr &expr) const;
  /// The expression as the language writes it.
  std::string text(const SizeExpr &expr) const;
};

/// What must be known for the check to pass.
enum class CheckMode : uint8_t {
  /// Nothing: a type that is not bound is the first one listed. For reading a
  /// kernel's head before the tensors of a run are known, and for editors.
  Syntax,
  /// Types, head sizes, and sizes that stand nowhere alone.
  Compile,
  /// As Compile, but a type that is not bound is the first one listed.
  Run,
};

struct CheckOptions {
  llvm::StringRef kernel;   // empty: the only one of the file
  llvm::StringRef schedule; // empty: the first one without a name that applies
  llvm::StringRef target = "cpu";
  CheckMode mode = CheckMode::Compile;
};

/// Checks one kernel of a file; null if that reported an error.
std::unique_ptr<CheckedKernel> check(const SyntaxTree &tree,
                                     const Bindings &bindings,
                                     const CheckOptions &options,
                                     Diagnostics &diagnostics);

} // namespace attentile

#endif // ATTENTILE_FRONTEND_H
