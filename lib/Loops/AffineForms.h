//===- AffineForms.h - integers as sums of what they are made of -*- C++
//-*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_AFFINEFORMS_H
#define ATTENTILE_LOOPS_AFFINEFORMS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <utility>

namespace attentile {

/// An integer, scalar or tile, as a sum of atoms times constants: `m - n + 3`.
/// Atoms are values without tile.broadcast around them, each once, none times
/// 0. So what stands on both sides of a comparison cancels.
struct AffineForm {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 4> terms;
  int64_t constant = 0;

  /// Adds `factor` times another form; false if a coefficient overflows.
  [[nodiscard]] bool add(const AffineForm &other, int64_t factor);
};

/// What sums, differences and products with constants make of their atoms.
AffineForm getAffineForm(mlir::Value value);

/// Bounds known when compiling, of every element of a tile.
struct StaticRange {
  int64_t lo, hi;

  /// The larger of the two distances from 0.
  uint64_t magnitude() const;
};

/// Bounds of an integer from the operations that make it. Sizes are taken to be
/// at least 0 and below 2^31, as everywhere at this level; other scalars and
/// loaded values may be anything that their type holds.
StaticRange getStaticRange(mlir::Value value);
StaticRange getStaticRange(const AffineForm &form);

/// Whether a >= b + distance for every value of what they are made of: cancels
/// atoms, and looks into minima and maxima. Scalars.
bool isProvablyAtLeast(mlir::Value a, mlir::Value b, int64_t distance = 0);

/// Whether a scalar is a multiple of `size`, by how it is computed.
bool isMultiple(mlir::Value value, int64_t size);

} // namespace attentile

#endif
