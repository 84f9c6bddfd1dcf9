//===- IndexBuilder.h - folded arithmetic on indices ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_INDEXBUILDER_H
#define ATTENTILE_LOOPS_INDEXBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attentile {

/// Builds scalar index and i1 arithmetic before a loop; what is known when
/// compiling, also by the order of two values, is not emitted.
class IndexBuilder {
public:
  IndexBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value constant(int64_t value);
  mlir::Value boolean(bool value);
  /// A tile of integers or booleans that are all `value`.
  mlir::Value fill(mlir::RankedTensorType type, int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, int64_t b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  mlir::Value clamp(mlir::Value value, int64_t lo, int64_t hi);
  /// Toward minus infinity; a divisor of 0 gives 0.
  mlir::Value floorDivide(mlir::Value a, mlir::Value b);
  /// Of values that are at least 0, by a positive constant.
  mlir::Value divideUnsigned(mlir::Value a, int64_t b);
  /// Rounded up, likewise.
  mlir::Value divideUp(mlir::Value a, int64_t b);
  mlir::Value isLessOrEqual(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b);
  mlir::Value logicalOr(mlir::Value a, mlir::Value b);
  mlir::Value logicalNot(mlir::Value a);

  /// The sum of `terms`, values times constants, and a constant, as it is in
  /// unbounded arithmetic if that is within 2^60, else something beyond that
  /// of its sign.
  mlir::Value
  saturatingSum(llvm::ArrayRef<std::pair<mlir::Value, int64_t>> terms,
                int64_t constant);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace attentile

#endif
