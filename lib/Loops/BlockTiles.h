//===- BlockTiles.h - what a loop does of each block, side by side -*- C++
//-*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop over blocks computes a number of each; the same for many blocks at
// once is a tile with an axis of blocks, where a scalar was, and one axis more,
// where a tile of the block's indices was:
//
//     for block:                           blocks = first + [0, 1, ...]
//       n = 64 block + [0, 1, ...]   ->    n = 64 blocks + [0, 1, ...]   (2-d)
//       least = min over n (doc[n])        least = min over n (doc[n])   (1-d)
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_BLOCKTILES_H
#define ATTENTILE_LOOPS_BLOCKTILES_H

#include "Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attentile {

class BlockTiles {
public:
  /// Of the blocks `first`, `first` + 1, ... of `loop`, so many. What is
  /// emitted goes before the loop.
  BlockTiles(mlir::scf::ForOp loop, mlir::Value first, int64_t count);

  /// The blocks' numbers.
  mlir::Value getBlocks() const { return blocks; }
  /// The tile of what `value`, a scalar of the loop's body, is for each block.
  /// Null where it takes more than tiles of one axis, or a branch.
  mlir::Value get(mlir::Value value);

private:
  mlir::Value compute(mlir::Value value);
  mlir::Value make(mlir::Operation *op);
  bool isOfBlocks(mlir::Value value) const;
  mlir::RankedTensorType getType(mlir::Type type) const;
  mlir::Value spread(mlir::Value value, mlir::RankedTensorType type);

  mlir::scf::ForOp loop;
  mlir::OpBuilder builder;
  mlir::StringAttr axis;
  int64_t count;
  mlir::Value blocks;
  llvm::DenseMap<mlir::Value, mlir::Value> tiles;
};

} // namespace attentile

#endif
