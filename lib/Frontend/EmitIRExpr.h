//===- EmitIRExpr.h - expressions as attn, arith and math -------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_FRONTEND_EMITIREXPR_H
#define ATTENTILE_FRONTEND_EMITIREXPR_H

#include "Attn/Attn.h"
#include "TypedExpr.h"
#include "mlir/IR/Builders.h"

namespace attentile::frontend {

/// The type of such elements.
mlir::Type typeOf(mlir::Builder &builder, ElementType type);

/// Emits the values of one kernel into its block, each once.
class ExprEmitter {
public:
  ExprEmitter(mlir::OpBuilder &builder, const CheckedKernel &kernel)
      : builder(builder), kernel(kernel) {}

  /// The value of an expression. Does not recurse over the graph, which
  /// through lets can be as deep as a file is long.
  mlir::Value emit(const TypedExpr &expr);

  /// A range of the source; within the calls that inlined it, if any.
  mlir::Location location(SourceRange range, const CallSite *site = nullptr);

  /// The arguments that stand for parameters, unbound sizes and index
  /// variables; null for what is bound.
  llvm::SmallVector<mlir::Value> ins, sizes, indices;

private:
  mlir::Value emitNode(const TypedExpr &expr,
                       llvm::ArrayRef<mlir::Value> operands);
  mlir::Value emitInteger(const TypedExpr &expr,
                          llvm::ArrayRef<mlir::Value> operands);
  mlir::Value emitFloat(const TypedExpr &expr,
                        llvm::ArrayRef<mlir::Value> operands);
  mlir::Value emitLogical(const TypedExpr &expr,
                          llvm::ArrayRef<mlir::Value> operands);
  mlir::Value emitComparison(const TypedExpr &expr,
                             llvm::ArrayRef<mlir::Value> operands);
  attn::ForOp emitLoop(const TypedExpr &expr);
  mlir::Value emitReduction(const TypedExpr &expr, mlir::Value operand);
  mlir::Value emitRead(const TypedExpr &expr,
                       llvm::ArrayRef<mlir::Value> indices);
  mlir::Value emitSize(const SizeExpr &size);
  mlir::Value emitToInt(const TypedExpr &expr, mlir::Value operand);
  mlir::Value constant(mlir::TypedAttr value);
  mlir::Value index(int64_t value);
  mlir::Value f32(double value);

  mlir::OpBuilder &builder;
  const CheckedKernel &kernel;
  mlir::Location here = builder.getUnknownLoc();
  llvm::DenseMap<const TypedExpr *, mlir::Value> values;
  std::vector<std::optional<bool>> truth; ///< of conditions, by their order
  llvm::DenseMap<const TypedExpr *, attn::ForOp> loops;
  llvm::DenseMap<const CheckedLoop *, mlir::Value> tileIndices;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
};

} // namespace attentile::frontend

#endif // ATTENTILE_FRONTEND_EMITIREXPR_H
