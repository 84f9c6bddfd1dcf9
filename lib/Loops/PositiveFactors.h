//===- PositiveFactors.h - what scores are scaled by ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_POSITIVEFACTORS_H
#define ATTENTILE_LIB_LOOPS_POSITIVEFACTORS_H

#include "Tile/Tile.h"

namespace attentile {

/// Without tile.broadcast.
mlir::Value withoutBroadcast(mlir::Value value);

/// The value of a floating-point constant or splat, or nothing.
std::optional<double> floatConstant(mlir::Value value);

/// A product of values that do not change in a kernel's loops and are known to
/// be positive: constant * prod(values) / prod(divisors).
struct Factor {
  double constant = 1;
  llvm::SmallVector<mlir::Value, 2> values, divisors;

  bool isOne() const {
    return constant == 1 && values.empty() && divisors.empty();
  }
  /// Equal as sets; the order of multiplication does not matter.
  bool operator==(const Factor &other) const;
};

/// Finds factors of scores in one kernel.
class PositiveFactors {
public:
  /// `firstLoop`: factors must be known before it.
  explicit PositiveFactors(mlir::Operation *firstLoop) : before(firstLoop) {}

  /// The factor of a score: through selects whose other branch is -inf, and
  /// products and quotients. 1 if there is none.
  Factor of(mlir::Value score);

  /// The score without its factor, made at `builder`; the selects are made
  /// again, of what is left.
  static mlir::Value divide(mlir::OpBuilder &builder, mlir::Value score,
                            PositiveFactors &factors);

  /// A factor that could be taken out if its sign were known, seen by of().
  mlir::Value unknownSign;

private:
  bool isFactor(mlir::Value value);
  bool isKnownBefore(mlir::Value value) const;

  mlir::Operation *before;
};

} // namespace attentile

#endif
