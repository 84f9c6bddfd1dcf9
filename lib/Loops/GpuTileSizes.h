//===- GpuTileSizes.h - tiles that fit a GPU --------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_LOOPS_GPUTILESIZES_H
#define ATTENTILE_LIB_LOOPS_GPUTILESIZES_H

#include "GpuTileTable.h"
#include "Tile/Layout.h"
#include "TileSizes.h"

namespace attentile {

/// What one element takes in memory.
int64_t bytesOf(mlir::Type element);

/// What a block of threads takes, as predicted from the formula.
struct GpuUse {
  int64_t rowWarps = 1, columnWarps = 1;
  int64_t registers = 0; ///< of a thread, 32-bit
  int64_t shared = 0;    ///< bytes

  int64_t warps() const { return rowWarps * columnWarps; }
};

/// Counts registers and shared memory of one grid for given tile sizes.
///
/// A thread holds, of 32 lanes times the warps over the rows: the sums that a
/// loop carries (twice where a formula has two softmaxes, whose sums are
/// carried apart), the scores of one step, 16 rows of these again rounded for
/// the next product, left factors that stay, what else is read over two axes; 8
/// for the statistics of each 16 rows, and what addresses and operands on their
/// way take; what scores are computed from by rows or columns alone, and a
/// little for loads of single elements and a tanh. Measured
/// kernels are within 15 % (d 64, 4 x 32 rows, 64 keys: 240 for 242; d 128, 4 x
/// 16, 128 keys: 232 for 242; d 128, 4 x 16, 64 keys: 184 for 168). Shared
/// memory is that of every loaded factor, rows swizzled or padded, but for
/// right factors that no loop needs: they are counted as taking turns. What
/// fits is known when buffers have their places (LowerToWarps.h).
class GpuModel {
public:
  GpuModel(attn::GridOp grid, attn::AxesAnalysis &axes);

  /// The axis that is spread over warps; null if the grid has scalars only.
  mlir::Value rows() const { return rowAxis; }
  bool hasProducts() const { return productBytes != 0; }
  /// Whether a loop copies no more than keys and values and loads nothing else
  /// but what masks compare, so that with two buffers its warps meet at
  /// mbarriers (warp-pipeline-copies).
  bool canMeetAtMbarriers() const;
  /// Whether scores take random words, which come for kRandomSpan columns.
  bool hasRandoms() const { return randoms > 0; }
  /// Whether scores are sums of cheap terms that are no products.
  bool hasSums() const { return sums > 0; }
  /// Of the products' factors; 4 without products.
  int64_t elementBytes() const { return productBytes ? productBytes : 4; }

  /// Whether every product is of f32: they take 8 of the reduced axis at a
  /// time, others 16.
  bool isAllF32() const { return hasProducts() && leastBytes == 4; }
  /// Whether a product has other rows than the grid's: keys, where they are
  /// projected in a loop.
  bool hasProductOfOtherRows() const { return hasOtherRows; }

  GpuUse use(const llvm::DenseMap<mlir::Value, int64_t> &sizes,
             int64_t rowWarps, bool keepLeft, int64_t stages) const;

private:
  /// A tile in registers: elements of so many bytes, so many times.
  struct Held {
    attn::Axes axes;
    int64_t bytes, times;
  };
  /// A Boolean that is one in whole blocks of so many indices of axes.
  struct TableRead {
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> blocks;
    Held elements;
  };
  /// A tile in shared memory, its last axis contiguous.
  struct Shared {
    attn::Axes axes;
    int64_t bytes;
    bool isLooped, isForScores = false, takesTurns = false;

    tile::SharedLayout layout(int64_t columns) const {
      return isForScores ? tile::SharedLayout::forScores(columns, bytes)
                         : tile::SharedLayout::forRows(columns, bytes);
    }
  };

  void addProduct(attn::ReduceOp reduction, mlir::Value lhs, mlir::Value rhs);
  void addOperand(mlir::Operation &op);
  void addCarried();
  bool isByDiagonals(attn::ReadOp read);
  bool addTableRead(attn::ReadOp read);
  bool isWindowOfScores(attn::ReadOp read) const;
  void addSum(attn::ReduceOp reduction);
  void addFactor(mlir::Value factor, bool isLeft, int64_t bytes);
  llvm::SmallVector<attn::ReadOp> readsOfComputed(mlir::Value factor);
  int64_t countSoftmaxes(mlir::Value factor, const attn::Axes &over);

  attn::GridOp grid;
  attn::AxesAnalysis &axes;
  attn::Axes steps, loops;
  mlir::Value rowAxis;
  int64_t productBytes = 0, leastBytes = 4;
  int64_t diagonals = 0;       ///< reads by sums of several axes
  int64_t tanhs = 0;           ///< of rows and columns
  int64_t exponentials = 0;    ///< likewise, beside a softmax's
  int64_t quotients = 0;       ///< of rows or columns by a size
  int64_t narrowQuotients = 0; ///< likewise, in 32 bits
  int64_t loads = 0;           ///< an element for each score
  int64_t columnLoads = 0;     ///< likewise for each column
  int64_t rowValues = 0;       ///< registers for each row
  int64_t sums = 0;            ///< of cheap terms, along whole axes
  bool hasStatistics = false;  ///< of rows: reductions that are no products
  bool hasOtherRows = false;   ///< a product without the grid's rows
  llvm::SmallVector<Held> scoreValues, columnValues; ///< of columns
  llvm::SmallVector<Held> maskValues;   ///< likewise, made where masks are
  int64_t randoms = 0;                  ///< values of random bits
  int64_t bytesRegisters = 0;           ///< of 8-bit factors in a loop
  int64_t piecesRead = 0;               ///< tiles that factors are made of
  llvm::SmallVector<mlir::Value> order; ///< tile, loop, whole axes
  llvm::SmallVector<Held> accumulators, scores, rounded, lefts, others;
  llvm::SmallVector<TableRead> tables;
  llvm::SmallVector<Shared> factors;
  llvm::SmallDenseSet<mlir::Value> known;
};

/// What is asked of the tiles beside fitting.
struct GpuTiling {
  bool splitReduced = false; ///< four warps share out the keys of the same rows
  bool small = false;        ///< little code counts, not speed; requests do not
};

/// The sizes of every axis and what they take. Sizes that are requested are
/// kept; the rest are the table's, or the nearest to them that fit. Whole axes
/// are padded to multiples of 16. Requested tiles that cannot fit, or that are
/// no multiple of 16, are an error.
llvm::FailureOr<TileChoice>
chooseGpuTileSizes(attn::GridOp grid, attn::KernelOp kernel,
                   attn::AxesAnalysis &axes, const RequestedSizes &requested,
                   const GpuTarget &target, GpuTiling tiling = {});

} // namespace attentile

#endif
