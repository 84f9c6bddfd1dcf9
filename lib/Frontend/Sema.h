//===- Sema.h - checking one kernel -----------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One class, in files by concern; [L1.4] and the like are the rules of
// docs/language.md, cited where one is reported:
//
//   Sema.cpp           order of the checks; which kernel; unused names
//   SemaHead.cpp       types, parameters, shapes, constraints
//   SemaBindings.cpp   what --bind gives, what must be known
//   SemaSizes.cpp      size expressions: making, comparing, bounding them
//   SemaSchedule.cpp   which schedule applies, what it says
//   SemaNames.cpp      what a name is
//   SemaRanges.cpp     ranges of index variables
//   SemaFunctions.cpp  functions, declared and imported
//   SemaBody.cpp       statements
//   SemaTiles.cpp      loops over tiles
//   SemaCarried.cpp    axes and types of what they carry
//   SemaExpr.cpp       expressions: types, axes
//   SemaRefs.cpp       expressions: names and reads
//   SemaConstants.cpp  conditions whose values are known
//   SemaBounds.cpp     reads known to lie outside
//   SemaNodes.cpp      making typed nodes, intervals
//   SemaProducts.cpp   which sums are matrix products, and in which type
//   SemaAlike.cpp      sums that are a product at other indices
//   SemaSinks.cpp      one more logit in a softmax
//   SemaFactors.cpp    which factors of products are computed once
//   SemaHeadSizes.cpp  which sizes must be known
//
// A function that reports an error returns null; null operands are passed on
// without a second report.
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_FRONTEND_SEMA_H
#define ATTENTILE_FRONTEND_SEMA_H

#include "TypedExpr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

namespace attentile::frontend {

/// More parameters of a kernel or a function than this are refused, so that no
/// check takes quadratic time.
constexpr unsigned maxParams = 256;

/// What a name of a kernel is: one thing everywhere in it.
struct Entity {
  enum Kind : uint8_t { Type, Size, In, Out, Let, Index };
  Kind kind;
  unsigned id; // in the kernel's list of its kind; in Sema::lets for a Let
  SourceRange range;
};

/// The `let`s of one name.
struct LetName {
  unsigned last; // the statement that defines it last
  bool isDefined = false;
  unsigned statement = 0; // the statement whose value counts now
  const TypedExpr *value = nullptr;
  SourceRange loop = {}; // the head of the loop that had it, behind that loop
};

/// What is known of a value before it is checked.
struct ValueShape {
  AxisSet axes = 0;
  ValueType type = ValueType::Int;
  uint8_t reads16 = 0;
  bool operator==(const ValueShape &) const = default;
};

/// Names that stand for other things within an inlined function.
struct FunctionScope {
  const ast::FunctionDecl *function;
  llvm::ArrayRef<const TypedExpr *> arguments;
};

/// Where an expression stands decides which names it may use.
struct Scope {
  enum Kind : uint8_t { Head, Body };
  Kind kind;
  const FunctionScope *function = nullptr;
  const CallSite *inlinedAt = nullptr;
  unsigned depth = 0;
};

/// c + sum of coefficient * atom. Atoms are sizes, and products, quotients and
/// remainders that are not linear; equal forms are equal sizes.
struct LinearSize {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> terms; // sorted by atom
  bool operator==(const LinearSize &) const = default;
};

class IndexMatch; // SemaAlike.cpp

/// A sum as it is written: over what, of what.
struct WrittenSum {
  AxisSet bound;
  const TypedExpr *operand;
};

class Sema {
public:
  Sema(const SyntaxTree &tree, const ast::KernelDecl &decl,
       const Bindings &bindings, const CheckOptions &options,
       Diagnostics &diagnostics, CheckedKernel &kernel)
      : file(tree.file()), tree(tree.impl().file), decl(decl),
        bindings(bindings), options(options), diagnostics(diagnostics),
        kernel(kernel), arena(kernel.arena->allocator) {}

  void run();

private:
  //===--- Sema.cpp -------------------------------------------------------===//
  Diagnostic &error(SourceRange range, const llvm::Twine &message);
  /// In an inlined function, with notes that lead to the kernel.
  Diagnostic &error(const Scope &scope, SourceRange range,
                    const llvm::Twine &message);
  void warnUnusedLets();
  void warnUnreadInputs();

  //===--- SemaHead.cpp ---------------------------------------------------===//
  void checkTypes();
  void checkParams();
  void addParam(const ast::Param &param, bool isOutput);
  std::optional<ElementType> resolveType(const ast::TypeRef &type,
                                         llvm::StringRef &typeName);
  void checkDefaults();
  void checkConstraints();
  /// The condition as a Boolean; a division by 0 in it makes it false.
  const TypedExpr *condition(const ast::Condition &condition);
  /// Whether `T in {...}` holds; nothing if the condition is not about a type.
  std::optional<bool> typeCondition(const ast::Condition &condition);
  const TypedExpr *setMembership(const ast::Condition &condition);
  void guardDivisions(const TypedExpr *expr, const TypedExpr *&condition);
  void reportBroken(const ast::Condition &condition);

  //===--- SemaBindings.cpp -----------------------------------------------===//
  /// First the types, which the parameters depend on, then all other names.
  void applyBindings(bool types);
  void bindSize(CheckedSize &size, const BoundValue &value);
  void bindType(CheckedType &type, const BoundValue &value);
  void bindScalar(CheckedParam &param, const BoundValue &value);
  Diagnostic &bindingError(llvm::StringRef name, const BoundValue &value,
                           const llvm::Twine &expected);
  void checkAllKnown();
  /// Whether an output has it for an axis that is not its last.
  bool isSizeOfRows(unsigned size) const;
  bool fileHasName(llvm::StringRef name) const;
  const TypedExpr *boundScalar(const CheckedParam &param, SourceRange range);

  //===--- SemaSizes.cpp --------------------------------------------------===//
  const SizeExpr *sizeExpr(const ast::Expr &expr);
  const SizeExpr *makeSize(SizeExpr expr);
  LinearSize linear(const SizeExpr &expr);
  unsigned opaqueAtom(SizeExpr::Kind kind, LinearSize lhs, LinearSize rhs);
  bool sameSize(const SizeExpr &a, const SizeExpr &b);
  void checkDimensions();
  unsigned addSize(ast::Name name);

  //===--- SemaSchedule.cpp -----------------------------------------------===//
  void chooseSchedule();
  std::optional<bool> applies(const ast::ScheduleDecl &schedule);
  void checkSchedules();
  void checkItems(const ast::ScheduleDecl &candidate);
  void checkTile(const ast::ScheduleItem &item);
  void checkTile(const ast::ScheduleItem &item,
                 llvm::SmallVectorImpl<CheckedTile> &tiles, bool isTaken);
  bool isMaterialized(llvm::StringRef name) const;

  //===--- SemaNames.cpp --------------------------------------------------===//
  bool declare(ast::Name name, Entity entity);
  void collectNames();
  void collectLets(llvm::ArrayRef<ast::Statement> body);
  void collectLet(ast::Name name, unsigned number);
  void collectIndices(const ast::Expr &expr);
  void collectIterations();
  llvm::StringRef kindName(Entity entity) const;
  /// `isRead`: it has indices, as a tensor.
  void reportUnknown(const Scope &scope, ast::Name name, bool isRead = false);
  /// Of a name that can be an index variable alone; once for each name.
  void reportNoRange(const Scope &scope, ast::Name name);
  /// The index variable of a reduction's brackets or of extent().
  std::optional<unsigned> indexVariable(const Scope &scope, ast::Name name);

  //===--- SemaRanges.cpp -------------------------------------------------===//
  void collectSubscript(ast::Name tensor, llvm::ArrayRef<ast::Expr *> index);
  void addStand(ast::Name name, const SizeExpr &extent);
  void checkRanges();
  /// A dimension in which an index variable stands, and where it does.
  struct Stand {
    const SizeExpr *extent = nullptr;
    SourceRange range = {};
  };
  llvm::SmallVector<Stand, 4> standsElsewhere(unsigned subscript);
  bool isTransposed(unsigned subscript);
  const CheckedIndex *indexNamed(const ast::Expr &index) const;
  Diagnostic &reportRanges(const CheckedIndex &index, ast::Name name,
                           const SizeExpr &extent);

  //===--- SemaFunctions.cpp ----------------------------------------------===//
  void checkFunctions();
  void declareFunctions();
  /// The function that a call means: of the same text, else an imported one.
  const ast::FunctionDecl *findFunction(ast::Name name) const;
  void reportUnknownFunction(const Scope &scope, ast::Name name);
  /// Where max(x, n) stands for max[n](x).
  void warnOfIndex(const ast::Expr &call,
                   llvm::ArrayRef<const TypedExpr *> args);
  void checkFunctionBody(const ast::FunctionDecl &function,
                         const ast::Expr &expr);
  void checkCalls(const ast::FunctionDecl &function);
  void checkCalls(const ast::FunctionDecl &function, const ast::Expr &expr,
                  unsigned depth);
  const TypedExpr *call(const ast::Expr &expr, const Scope &scope);

  //===--- SemaBody.cpp ---------------------------------------------------===//
  void checkBody();
  void checkStatements(llvm::ArrayRef<ast::Statement> statements);
  void checkStatement(const ast::Statement &statement, unsigned number);
  void checkLet(const ast::Statement &statement, unsigned number);
  void checkOutput(const ast::Statement &statement);
  bool checkTarget(const ast::Statement &statement, unsigned output,
                   CheckedStatement &checked);
  void checkAllDefined();
  const TypedExpr *convertTo(ElementType type, const TypedExpr *value,
                             SourceRange range, llvm::StringRef what);

  //===--- SemaTiles.cpp --------------------------------------------------===//
  void checkLoop(const ast::Statement &statement, unsigned number);
  /// The loop's lower and upper bound, brought into the axis's range.
  bool checkBounds(const ast::TileLoop &loop, unsigned axis,
                   llvm::SmallVectorImpl<const TypedExpr *> &operands);
  std::optional<int64_t> checkLoopTile(const ast::TileLoop &loop);
  const ast::Statement *findNext(const ast::Statement &statement);
  void checkLoopBody(const ast::Statement &statement, const CheckedLoop &loop,
                     llvm::SmallVectorImpl<const TypedExpr *> &nexts);
  const TypedExpr *checkNext(const ast::Carried &next,
                             const TypedExpr &carried);
  void checkLoopTiles();

  //===--- SemaCarried.cpp ------------------------------------------------===//
  /// The shapes of what a loop carries, from those of the starts.
  void inferCarried(const ast::TileLoop &loop, const ast::Statement &next,
                    llvm::MutableArrayRef<ValueShape> shapes);
  /// Warns of a sum of products over what the carried factor does not have.
  void warnOfLostAxis(const ast::Expr &sum, const TypedExpr &product,
                      AxisSet bound);

  //===--- SemaExpr.cpp ---------------------------------------------------===//
  const TypedExpr *visit(const ast::Expr &expr, Scope scope);
  const TypedExpr *visitKind(const ast::Expr &expr, const Scope &scope);
  const TypedExpr *apply(const ast::Expr &expr, const Scope &scope);
  const TypedExpr *castOrCall(const ast::Expr &expr, const Scope &scope);
  const TypedExpr *cast(ElementType type, const ast::Expr &expr,
                        const Scope &scope);
  const TypedExpr *reduce(const ast::Expr &expr, const Scope &scope);
  const TypedExpr *unary(const ast::Expr &expr, const Scope &scope);
  const TypedExpr *binary(const ast::Expr &expr, const Scope &scope);
  bool visitArgs(const ast::Expr &expr, const Scope &scope, unsigned count,
                 llvm::SmallVectorImpl<const TypedExpr *> &values);
  bool expectNumber(const TypedExpr *value, const ast::Expr &expr,
                    const Scope &scope, const llvm::Twine &what);
  bool expectBool(const TypedExpr *value, const ast::Expr &expr,
                  const Scope &scope, const llvm::Twine &what);

  //===--- SemaRefs.cpp ---------------------------------------------------===//
  const TypedExpr *ref(const ast::Expr &expr, const Scope &scope);
  const TypedExpr *entityValue(const ast::Expr &expr, Entity entity,
                               const Scope &scope);
  const TypedExpr *read(const ast::Expr &expr, const Scope &scope);

  //===--- SemaBounds.cpp -------------------------------------------------===//
  void checkInside(const TypedExpr *index, const CheckedParam &tensor,
                   unsigned dimension, const Scope &scope);

  //===--- SemaNodes.cpp --------------------------------------------------===//
  /// A copy of `expr` in the arena, with axes and the like from its operands;
  /// null if the kernel got too large.
  const TypedExpr *node(TypedExpr expr,
                        llvm::ArrayRef<const TypedExpr *> operands);
  const TypedExpr *make(TypedExpr::Op op, ValueType type, SourceRange range,
                        llvm::ArrayRef<const TypedExpr *> operands);
  const TypedExpr *intConst(int64_t value, SourceRange range);
  const TypedExpr *floatConst(double value, SourceRange range);
  const TypedExpr *boolConst(bool value, SourceRange range);
  const TypedExpr *sizeValue(const SizeExpr *size, SourceRange range);
  const TypedExpr *toFloat(const TypedExpr *value);
  /// A square or cube is a product, which is what most powers are for.
  const TypedExpr *power(const TypedExpr *base, const TypedExpr *exponent,
                         SourceRange range);
  /// Makes both of one type, an integer that meets a float f32.
  void unify(const TypedExpr *&a, const TypedExpr *&b);
  void setInterval(TypedExpr &expr);
  /// The same node of other operands.
  const TypedExpr *remake(const TypedExpr &old,
                          llvm::ArrayRef<const TypedExpr *> operands);
  /// The kernel's graph again, as nodes are shared and do not change: what is
  /// needed of it, with what `change` makes of a node, of its copy with copied
  /// operands and of the copies so far, by the order of what was copied.
  void copyGraph(llvm::function_ref<bool(const TypedExpr &old)> isNeeded,
                 llvm::function_ref<const TypedExpr *(
                     const TypedExpr &old, const TypedExpr *copy,
                     llvm::ArrayRef<const TypedExpr *>)>
                     change);

  //===--- SemaProducts.cpp -----------------------------------------------===//
  const TypedExpr *sum(AxisSet axes, const TypedExpr *operand,
                       SourceRange range);
  const TypedExpr *product(AxisSet axes, const TypedExpr *operand,
                           SourceRange range, unsigned budget);
  const TypedExpr *productOfHidden(AxisSet axes, const TypedExpr *operand,
                                   SourceRange range);
  const TypedExpr *byteProduct(AxisSet axes, const TypedExpr *operand,
                               SourceRange range, unsigned budget);
  const TypedExpr *sumFirst(AxisSet bound,
                            llvm::ArrayRef<const TypedExpr *> factors,
                            SourceRange range, unsigned budget);
  const TypedExpr *distribute(AxisSet axes,
                              llvm::ArrayRef<const TypedExpr *> factors,
                              SourceRange range, unsigned budget);
  const TypedExpr *multiply(llvm::ArrayRef<const TypedExpr *> factors,
                            SourceRange range);
  const TypedExpr *sumOfFactors(AxisSet bound, const TypedExpr &multiplied,
                                SourceRange range);
  /// Sums before their factors were grouped.
  llvm::DenseMap<const TypedExpr *, WrittenSum> writtenSums;

  //===--- SemaAlike.cpp --------------------------------------------------===//
  friend class IndexMatch;
  void groupAlike();
  const TypedExpr *groupAs(const TypedExpr &grouped, const IndexMatch &match,
                           llvm::ArrayRef<const TypedExpr *> copies);

  //===--- SemaSinks.cpp --------------------------------------------------===//
  const TypedExpr *sinkOf(const ast::Expr &expr, AxisSet bound,
                          const Scope &scope);
  /// A softmax or logsumexp with one more logit.
  const TypedExpr *addSink(const TypedExpr *reduced, const TypedExpr *sink,
                           SourceRange range);

  //===--- SemaDropout.cpp ------------------------------------------------===//
  const TypedExpr *dropout(const ast::Expr &expr, const Scope &scope,
                           llvm::ArrayRef<const TypedExpr *> args);
  unsigned placeInHead(const CheckedIndex &index);
  bool constrainRate(const TypedExpr *rate, const ast::Expr &written,
                     const Scope &scope);

  //===--- SemaFactors.cpp ------------------------------------------------===//
  void keepFactors(bool unknownIsLong = false);
  /// The same of more factors, where that leaves no head size to be known.
  void keepFactorsOfRows();
  llvm::StringRef nameOf(const TypedExpr &value) const;
  const TypedExpr *materialize(const TypedExpr *value, llvm::StringRef name,
                               SourceRange range);

  //===--- SemaHeadSizes.cpp ----------------------------------------------===//
  /// With these known, head sizes in sums over their axes need not be.
  std::vector<std::string> sizesAroundSums;
  /// Axes that are reduced three deep, as c of softmax[n](sum[d](sum[c](...))).
  AxisSet reducedDeep = 0;
  /// The axis for which a size, by its number, is one of a head, and why.
  struct HeadAxis {
    llvm::StringRef name;
    enum Reason { InReduction, InTiles, LastOfOutput } reason;
  };
  llvm::DenseMap<unsigned, HeadAxis> headAxes;
  void findHeadSizes();
  void markHead(const SizeExpr &extent, HeadAxis why);

  const SourceFile &file;
  const ast::File &tree;
  const ast::KernelDecl &decl;
  const Bindings &bindings;
  const CheckOptions &options;
  Diagnostics &diagnostics;
  CheckedKernel &kernel;
  llvm::BumpPtrAllocator &arena;

  llvm::DenseMap<llvm::StringRef, Entity> names;
  /// What stands in brackets, of tensors and of reductions, plainly or not.
  llvm::DenseSet<llvm::StringRef> namesInBrackets;
  llvm::DenseSet<llvm::StringRef> withoutRange; // and is reported
  llvm::DenseSet<llvm::StringRef> unknownTypes;
  /// The functions that a text can call, by the text's number and their name.
  llvm::DenseMap<std::pair<unsigned, llvm::StringRef>,
                 const ast::FunctionDecl *>
      functions;
  llvm::DenseMap<const ast::FunctionDecl *, bool> callsChecked; // true: done
  /// What stands in brackets behind an input or output.
  struct Subscript {
    ast::Name tensor;
    llvm::ArrayRef<ast::Expr *> index;
    const CheckedParam *param;
    bool isOutput;
    bool isTransposed = false; // and reported
  };
  llvm::SmallVector<Subscript, 0> subscripts;
  bool rangesConflict = false;
  llvm::SmallVector<LetName> lets;
  /// The kernel's statements, those of a loop behind it.
  llvm::SmallVector<const ast::Statement *> statements;
  unsigned checkedStatements = 0;
  const CheckedLoop *currentLoop = nullptr;
  /// For each of them, those whose lets it uses.
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>> uses;
  llvm::SmallVector<unsigned, 4> *currentUses = nullptr;
  llvm::SmallBitVector readInputs; // by their number in kernel.ins
  const ast::ScheduleDecl *schedule = nullptr;
  struct OpaqueSize {
    SizeExpr::Kind kind;
    LinearSize lhs, rhs;
  };
  llvm::SmallVector<OpaqueSize, 0> opaqueSizes;
  std::vector<const TypedExpr *> nodes; // in creation order
  const CallSite *currentCallSite = nullptr;
  unsigned numSoftmaxes = 0;
  unsigned sizeNodes = 0;
  bool tooLarge = false;
  bool callsAreSound = true; // no name for two functions, no recursion, no
                             // chain too long to inline
};

/// "1 index", "3 indices".
std::string counted(size_t count, llvm::StringRef one, llvm::StringRef many);

/// The value of a condition over sizes and scalars; nothing if it depends on
/// one that is not bound. (SemaConstants.cpp)
std::optional<bool> evaluateCondition(const TypedExpr &condition,
                                      const CheckedKernel &kernel);

/// A condition's value where it is known, from those of its operands if it is
/// made of conditions; `known` has one for each node, by its order.
/// (SemaHeadSizes.cpp)
std::optional<bool> truthOf(const TypedExpr &node, const CheckedKernel &kernel,
                            llvm::ArrayRef<std::optional<bool>> known);

} // namespace attentile::frontend

#endif // ATTENTILE_FRONTEND_SEMA_H
