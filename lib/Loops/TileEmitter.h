//===- TileEmitter.h - formulas of the attn level on tiles ------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value of the attn level, a function of its axes, becomes a tile that has
// those of them that are not steps of the grid:
//
//   %q : axes b h m d   ->   tensor<64x128xf32, #tile.axes<"m", "d">>
//
// Within a scope (a program's body, or that of a loop) each value is made once,
// where it is first asked for, with all that it needs: loops share nothing but
// what stands before them. MLIR's passes merge and move what is common.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_TILEEMITTER_H
#define ATTENTILE_LIB_LOOPS_TILEEMITTER_H

#include "Products.h"
#include "Tile/Tile.h"

namespace attentile {

/// Where operations are made, and the tiles already made there.
struct TileScope {
  TileScope(mlir::OpBuilder builder, TileScope *parent)
      : builder(builder), parent(parent) {}

  mlir::OpBuilder builder;
  TileScope *parent;
  llvm::DenseMap<mlir::Value, mlir::Value> tiles;
  llvm::DenseMap<mlir::Value, mlir::Value> inRange; // an axis's tail test
  /// Where a loop over tiles begins and ends, of its axis.
  llvm::DenseMap<mlir::Value, std::pair<mlir::Value, mlir::Value>> bounds;

  mlir::Value lookup(mlir::Value value) const;
  /// `bounds` of the nearest scope that has some for `axis`; null without one.
  std::pair<mlir::Value, mlir::Value> boundsOf(mlir::Value axis) const;
};

/// Whether `axis` is one of the indices by itself, in a dimension of its own
/// extent: where it is out of range, a read gives 0 and a write is dropped.
bool standsPlainly(attn::KernelOp kernel, mlir::Value tensor,
                   mlir::ValueRange indices, mlir::BlockArgument axis);

/// What two parts of a reduction give together.
mlir::Value combineParts(mlir::OpBuilder &builder, mlir::Location loc,
                         attn::ReduceKind kind, mlir::Value a, mlir::Value b);

/// Which sums become tile.dot.
enum class Dots {
  Matrices,    ///< those that are matrix products in their tiles
  MultiplyAdds ///< all of x * y
};

/// How the axes of one grid appear in tiles.
class TileEmitter {
public:
  /// `extents` are the index variables' extents as values of the program,
  /// `sizes` the tile sizes of all axes of the grid but its steps.
  TileEmitter(attn::KernelOp kernel, attn::GridOp grid,
              attn::AxesAnalysis &axes,
              const llvm::DenseMap<mlir::Value, mlir::Value> &extents,
              const llvm::DenseMap<mlir::Value, int64_t> &sizes, Dots dots);

  /// The tile of `value` in `scope`, made there if no scope around has it.
  /// Every loop that it needs must be in one. Fails on what has no tile form.
  llvm::FailureOr<mlir::Value> emit(mlir::Value value, TileScope &scope);

  /// The tiles that one step of a reduction adds to its accumulator, or
  /// reduces; its loops are those of `scope`.
  llvm::FailureOr<mlir::Value> emitReduction(attn::ReduceOp reduction,
                                             TileScope &scope,
                                             mlir::Value accumulator);

  /// What a reduction is over nothing, in its tile type.
  mlir::Value makeNeutral(attn::ReduceOp reduction, mlir::OpBuilder &builder);

  /// The tile type of an element type over a set of axes; a scalar if none of
  /// them is in a tile.
  mlir::Type typeOf(mlir::Type element, const attn::Axes &set);
  mlir::Type typeOf(mlir::Value value);

  /// Repeats a tile or scalar along the axes it lacks.
  mlir::Value broadcast(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, const attn::Axes &set);

  /// Whether the index is within its extent, a tile of i1 over that axis; null
  /// where every tile is known to be full.
  mlir::Value makeInRange(mlir::Value axis, TileScope &scope,
                          mlir::Location loc);

  mlir::StringAttr nameOf(mlir::Value axis);
  int64_t sizeOf(mlir::Value axis) const { return sizes.lookup(axis); }

private:
  /// In a loop over tiles, a sum of what it carries and a product over the
  /// tile: the product adds to what is there, as in a loop made of a reduction.
  struct Accumulation {
    attn::ReduceOp reduction;
    mlir::Value before;
  };
  std::optional<Accumulation> matchAccumulation(mlir::Operation *op);
  /// The index variables that a reduction binds, in the order of a tile.
  llvm::SmallVector<mlir::Value> reducedAxes(attn::ReduceOp reduction);
  llvm::SmallVector<mlir::Operation *> findMissing(mlir::Value value,
                                                   const TileScope &scope);
  llvm::LogicalResult emitOp(mlir::Operation *op, TileScope &scope);
  std::optional<Product> matchDot(attn::ReduceOp reduction);
  mlir::Value clipFactor(mlir::Value factor, llvm::ArrayRef<mlir::Value> over,
                         TileScope &scope);
  mlir::Value clip(mlir::Value tile, const attn::Axes &set,
                   mlir::ValueRange over, mlir::TypedAttr neutral,
                   TileScope &scope, mlir::Location loc);

  attn::KernelOp kernel;
  attn::GridOp grid;
  attn::AxesAnalysis &axes;
  const llvm::DenseMap<mlir::Value, mlir::Value> &extents;
  const llvm::DenseMap<mlir::Value, int64_t> &sizes;
  Dots dots;
  attn::Axes steps;
  llvm::SmallVector<mlir::BlockArgument> order; // of a tile's axes
};

} // namespace attentile

#endif
