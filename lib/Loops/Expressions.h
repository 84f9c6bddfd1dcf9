//===- Expressions.h - a tile kernel's values as one graph ------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unfused, every loop over n computes the scores again. To see that three
// loops speak of the same scores, all bodies are read into one graph in which
// equal expressions are one node. Two things make "equal" wide enough:
//
//   * the loops' induction variables are one leaf;
//   * a node has only the axes it really depends on. Broadcasts are not nodes:
//     they are put back where an operation needs them. So in
//       exp(s - broadcast(r)) * broadcast(1 / l)
//     r and 1 / l are plainly row values, and what was computed of broadcast
//     row values is computed for the row.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_EXPRESSIONS_H
#define ATTENTILE_LOOPS_EXPRESSIONS_H

#include "Tile/Tile.h"
#include "llvm/ADT/BitVector.h"
#include <deque>
#include <unordered_map>

namespace attentile::fusion {

/// A value of the graph: an operation on other nodes, or a leaf.
struct Expr {
  std::optional<mlir::OperationName> name = {}; ///< none: a leaf
  mlir::DictionaryAttr attributes = {};
  llvm::SmallVector<Expr *, 3> operands = {};
  /// What each operand is broadcast to before the operation.
  llvm::SmallVector<mlir::Type, 3> operandTypes = {};
  mlir::Type type;
  mlir::Location loc;
  /// Whether it changes from one iteration of the loop to the next.
  bool varies = false;
  /// The statistics (by number) it is computed from.
  llvm::BitVector statistics = {};
  unsigned id = 0;

  template <typename OpTy> bool is() const {
    return name && name->getTypeID() == mlir::TypeID::get<OpTy>();
  }
};

/// Owns the nodes of one kernel and makes new ones.
class Graph {
public:
  /// Learns the kernel's axes, their order and tile sizes. `valid` is false if
  /// one axis has two sizes or two tiles disagree about the order.
  explicit Graph(tile::KernelOp kernel);
  bool valid = true;

  mlir::MLIRContext *getContext() const { return context; }

  /// A new leaf, equal to no other node.
  Expr *leaf(mlir::Type type, mlir::Location loc, bool varies);

  /// The node of `op` (pure, one result, no region) on these operands.
  Expr *operation(mlir::Operation *op, llvm::ArrayRef<Expr *> operands);

  /// An elementwise operation, on as many axes as its operands have together.
  template <typename OpTy>
  Expr *make(llvm::ArrayRef<Expr *> operands, mlir::Type element = {},
             llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return elementwise(
        mlir::OperationName(OpTy::getOperationName(), context), operands,
        element ? element : tile::getElementType(operands.back()->type),
        mlir::DictionaryAttr::get(context, attributes), operands.back()->loc);
  }
  Expr *select(Expr *condition, Expr *yes, Expr *no) {
    return make<mlir::arith::SelectOp>({condition, yes, no});
  }
  /// The node of the same operation on other operands.
  Expr *withOperands(const Expr *expr, llvm::ArrayRef<Expr *> operands);
  Expr *logicalNot(Expr *condition);
  Expr *compare(mlir::arith::CmpFPredicate predicate, Expr *a, Expr *b);

  Expr *constant(double value, mlir::Location loc);
  Expr *constant(mlir::TypedAttr value, mlir::Location loc);
  Expr *boolean(bool value, mlir::Location loc);

  /// A reduction of `operand`, repeated along the axes in `over` it lacks.
  Expr *reduce(attn::ReduceKind kind, Expr *operand, mlir::ArrayAttr over);
  /// A product; the factors are repeated to these types.
  Expr *dot(Expr *lhs, mlir::Type lhsType, Expr *rhs, mlir::Type rhsType,
            Expr *acc, mlir::Type type, mlir::ArrayAttr over,
            mlir::TypeAttr product);

  /// The tile type (or scalar) with all axes of these types and axes.
  mlir::Type join(llvm::ArrayRef<mlir::Type> types, mlir::Type element,
                  mlir::ArrayAttr axes = {});

private:
  Expr *elementwise(mlir::OperationName name, llvm::ArrayRef<Expr *> operands,
                    mlir::Type element, mlir::DictionaryAttr attributes,
                    mlir::Location loc);
  Expr *unique(Expr &&node);

  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::StringAttr> axisOrder;
  llvm::DenseMap<mlir::StringAttr, int64_t> axisSize;
  std::deque<Expr> nodes;
  std::unordered_multimap<size_t, Expr *> known;
};

/// The value of a floating-point constant, or nothing.
std::optional<double> constantOf(const Expr *expr);
/// Whether `expr` is this floating-point constant.
bool isConstant(const Expr *expr, double value);
/// Whether `expr` is 0 or false.
bool isZero(const Expr *expr);

/// Whether an expression is a finite number whatever tensors hold: a constant,
/// a choice between such, a converted integer.
bool isSurelyFinite(const Expr *expr);

/// Emits nodes as operations: those that vary inside the current loop, the
/// others before it, each once.
class Emitter {
public:
  explicit Emitter(mlir::OpBuilder rows) : rows(rows) {}

  /// The value that a leaf stands for.
  void bind(Expr *leaf, mlir::Value value) { values[leaf] = value; }
  /// The node that a leaf stands for.
  void define(Expr *leaf, Expr *node) { definitions[leaf] = node; }

  /// From here on what varies is emitted at the end of the innermost loop's
  /// body, and what does not before the outermost loop.
  void enterLoop(mlir::scf::ForOp outermost, mlir::scf::ForOp innermost);
  void leaveLoop(mlir::scf::ForOp outermost);

  mlir::Value emit(Expr *expr);
  /// The same, repeated to `type`.
  mlir::Value emit(Expr *expr, mlir::Type type);
  /// Where row values are emitted now.
  mlir::OpBuilder &rowBuilder() { return rows; }

private:
  mlir::Value broadcast(mlir::Value value, mlir::Type type, mlir::Location loc);

  mlir::OpBuilder rows;
  std::optional<mlir::OpBuilder> body;
  llvm::DenseMap<Expr *, mlir::Value> values;
  llvm::DenseMap<Expr *, Expr *> definitions;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> repeated;
  llvm::SmallVector<Expr *> inBody;
};

} // namespace attentile::fusion

#endif
