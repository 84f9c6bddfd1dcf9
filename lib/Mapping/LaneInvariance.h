//===- LaneInvariance.h - values that lanes have in common ------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_LANEINVARIANCE_H
#define ATTENTILE_LIB_MAPPING_LANEINVARIANCE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace attentile {

/// Whether a value of a warp.kernel is the same in two lanes whose numbers
/// differ by `mask` (xor), for all such pairs: constants and block coordinates
/// are, what a butterfly exchange over the mask has combined is, and what
/// follows from such values alone. Loops are taken to keep what they carry
/// invariant until an iteration shows otherwise.
class LaneInvariance {
public:
  explicit LaneInvariance(int64_t mask) : mask(mask) {}
  bool holds(mlir::Value value);

private:
  bool find(mlir::Value value);

  int64_t mask;
  llvm::DenseMap<mlir::Value, bool> known;
};

/// `value` = t combined with the lanes that differ in `masks`, by
/// x + shuffle_xor(x, mask) for each mask in turn; nothing if it is not.
struct LaneSum {
  mlir::Value part; ///< t
  llvm::SmallVector<int64_t> masks;
};
std::optional<LaneSum> matchLaneSum(mlir::Value value);

} // namespace attentile

#endif
