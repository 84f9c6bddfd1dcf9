//===- NaturalLayouts.h - where a kernel's tiles lie ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_NATURALLAYOUTS_H
#define ATTENTILE_LIB_MAPPING_NATURALLAYOUTS_H

#include "KernelAxes.h"

namespace attentile {

/// One layout for each set of axes, such that what has fewer lies as a slice of
/// what has more. A tile over the kernel's rows and a column axis lies as
/// matrix instructions accumulate it; further axes are registers. A tile of two
/// axes without the rows (a right factor that is computed) has its first axis
/// of whole blocks spread over all warps: of it alone no slice is natural.
class NaturalLayouts {
public:
  NaturalLayouts(const KernelAxes &axes, tile::WarpsAttr warps)
      : axes(axes), warps(warps) {}

  tile::FragmentAttr get(mlir::RankedTensorType type) const;

  /// The axis of a tile that lies as an accumulator's rows.
  mlir::StringAttr rowsOf(mlir::RankedTensorType type) const;

  /// Where matrix instructions and copies meet no bank conflict.
  static tile::SharedAttr shared(mlir::RankedTensorType type);

  /// The same for a tile of values for scores.
  static tile::SharedAttr sharedForScores(mlir::RankedTensorType type);

  /// Rows of `columns` elements, eight of them in a lane: 16 bytes of a 16-bit
  /// type, and a row's lanes side by side. Null where lanes or rows do not
  /// divide.
  static tile::FragmentAttr packets(mlir::MLIRContext *context, int64_t rows,
                                    int64_t columns, int64_t warps);

  /// Likewise, with a row's further columns in the same lanes and the rows of
  /// all warps side by side: a thread's next rows are those below. Warps for
  /// which no rows are left hold copies.
  static tile::FragmentAttr pieces(mlir::RankedTensorType type, int64_t warps);

  /// What all of a warp's lanes look at together, an element of each in turn;
  /// other warps hold copies.
  static tile::FragmentAttr lanes(mlir::RankedTensorType type);

private:
  int64_t warpsOf(mlir::StringAttr column) const;

  const KernelAxes &axes;
  tile::WarpsAttr warps;
};

/// Whether matrix instructions that make `result` read a left factor from the
/// registers of its fragment: the rows of their accumulators, and for columns
/// pairs in groups of four lanes. Both tiles are of two axes.
bool isReadAsLeft(mlir::RankedTensorType left, mlir::RankedTensorType result);

/// The axis of a product's result that is its accumulators' rows: 8 of them in
/// groups of 4 lanes. None where it lies in another way.
std::optional<unsigned> rowsOfAccumulator(const tile::Layout &result);

} // namespace attentile

#endif
