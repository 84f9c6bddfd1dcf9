//===- WarpEmitter.h - a kernel's tiles as registers and buffers *- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of tile-to-warp: what each value of the tile level has become. A
// tile in a fragment layout is a vector of this thread's registers, one in a
// shared layout a buffer. Each family of operations has a file of its own.
//
// Where a register's element lies is a sum: of a constant that the register's
// number gives, and of a part that the thread's lane and warp give, the same
// for all registers (Tile/Layout.h). "Relative" positions below are those of
// lane 0 of warp 0.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_WARPEMITTER_H
#define ATTENTILE_LIB_MAPPING_WARPEMITTER_H

#include "Warp/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

namespace attentile {

/// A part of the thread's position: from its lane, its warp, or both.
enum class ThreadUnits { Lane, Warp, Both };

class WarpEmitter {
public:
  /// Fills the empty body of `target`, whose region arguments are those of
  /// `kernel`. Rows decide by blocks where a decision of all would keep more
  /// than so many registers.
  WarpEmitter(tile::KernelOp kernel, warp::KernelOp target,
              int64_t registersAtOnce);
  mlir::LogicalResult emitBody();

private:
  // TileToWarp.cpp: control flow and elementwise operations.
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emit(mlir::Operation *op);
  mlir::LogicalResult emitFor(mlir::scf::ForOp loop);
  mlir::LogicalResult emitIf(mlir::scf::IfOp branch);
  mlir::LogicalResult emitElementwise(mlir::Operation *op);
  bool emitComparison(mlir::arith::CmpIOp comparison);
  mlir::LogicalResult emitConstant(mlir::arith::ConstantOp constant);
  mlir::LogicalResult emitPoison(mlir::ub::PoisonOp poison);
  mlir::LogicalResult emitRef(tile::RefOp ref);
  mlir::LogicalResult moveRegion(mlir::Block &from, mlir::Block &to);

  // EmitDecisions.cpp: branches on votes, one block of rows after the other.
  /// Emits `first` and the branches that its decision takes; nothing where
  /// there are no blocks to tell apart.
  std::optional<mlir::LogicalResult> emitByBlocks(mlir::scf::IfOp first);
  mlir::Value joinBlocks(mlir::Type type, mlir::StringAttr axis,
                         llvm::ArrayRef<mlir::Value> parts);
  /// The layout of a tile in registers, of the part that is being emitted.
  tile::Layout layoutOf(mlir::Type type);

  // EmitPieces.cpp: factors that are computed, piece after piece.
  /// What leads to a tile in shared memory, to be emitted for so many pieces of
  /// so many positions of an axis.
  struct Pieces {
    mlir::StringAttr axis;
    int64_t extent = 1, count = 1;
    llvm::SmallVector<mlir::Operation *> ops;
  };
  void findPieces();
  std::optional<Pieces> findPieces(tile::ConvertLayoutOp convert);
  mlir::LogicalResult emitPieces(tile::ConvertLayoutOp convert,
                                 const Pieces &pieces, mlir::Value buffer);
  /// Where the part that is being emitted starts on an axis, or null.
  mlir::Value startOf(mlir::StringAttr axis) const {
    return axis == part.axis ? part.start : mlir::Value();
  }

  // EmitRegisters.cpp: moves that stay within a thread.
  mlir::LogicalResult emitIndex(tile::IndexOp index);
  mlir::LogicalResult emitBroadcast(tile::BroadcastOp broadcast);
  /// Whether `to` names the same elements in each thread, in other registers.
  bool isRenaming(const tile::Layout &from, const tile::Layout &to);
  mlir::Value rename(mlir::Value vector, const tile::Layout &from,
                     const tile::Layout &to);
  /// `vector` in another layout, if every thread has the elements of its own
  /// there, some of them as copies; else null.
  mlir::Value choose(mlir::Value vector, const tile::Layout &from,
                     const tile::Layout &to);

  // EmitReductions.cpp
  mlir::LogicalResult emitReduce(tile::ReduceOp reduce);
  mlir::LogicalResult emitVote(tile::VoteOp vote);
  mlir::LogicalResult emitReduceGroup(tile::ReduceGroupOp reduce);
  mlir::Value reduceOverLanes(attn::ReduceKind kind, mlir::Value value,
                              const tile::Digit &digit);
  /// All of `values` combined; a tree, for it has the least dependent steps.
  mlir::Value combineAll(attn::ReduceKind kind,
                         llvm::SmallVector<mlir::Value> values);
  mlir::Value combine(attn::ReduceKind kind, mlir::Value a, mlir::Value b);
  /// Combines what warps that differ in `digits` hold in `layout`, each of them
  /// in the same order; all get the result.
  mlir::Value reduceOverWarps(attn::ReduceKind kind, mlir::Value vector,
                              const tile::Layout &layout,
                              llvm::ArrayRef<tile::Digit> digits);

  // EmitBallots.cpp
  /// A tile of truths in another layout, by ballots; null where these do not
  /// have them at constant bits.
  mlir::Value exchangeTruths(mlir::Value vector, const tile::Layout &from,
                             const tile::Layout &to);

  // EmitProducts.cpp
  mlir::LogicalResult emitDot(tile::DotOp dot);

  // EmitTransfers.cpp: tensors.
  mlir::LogicalResult emitLoad(tile::LoadOp load);
  mlir::LogicalResult emitLoadToShared(tile::LoadOp load);
  mlir::LogicalResult emitStore(tile::StoreOp store);

  // EmitShared.cpp: registers and shared memory.
  mlir::LogicalResult emitConvert(tile::ConvertLayoutOp convert);
  void repack(tile::ConvertLayoutOp convert, tile::ConvertLayoutOp source,
              mlir::Value buffer);
  void storeToShared(mlir::Value vector, mlir::RankedTensorType type,
                     mlir::Value buffer);
  mlir::Value loadFromShared(mlir::Value buffer, mlir::RankedTensorType type);
  mlir::Value loadMatrices(mlir::Value buffer, mlir::RankedTensorType type);
  mlir::Value makeBuffer(mlir::RankedTensorType type);
  /// Plain rows, without permutation. Axes before the last two are rows of
  /// rows, and rowAndColumn finds an element's.
  mlir::Value makeBuffer(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  mlir::Value makeBuffer(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                         const tile::SharedLayout &layout);
  llvm::SmallVector<mlir::Value>
  rowAndColumn(llvm::SmallVector<mlir::Value> indices,
               llvm::ArrayRef<int64_t> shape);
  /// A row of `elements` for each warp, whose lanes go to neighbours: without
  /// permutation, so that addresses differ in constants.
  mlir::Value makeWarpRows(int64_t elements, mlir::Type element);

  /// The warps that differ from this one in `digits`, itself included: `base`,
  /// the one where they are 0, plus each of `offsets`; the same for all of
  /// them.
  struct Peers {
    mlir::Value base;
    llvm::SmallVector<int64_t> offsets{0};
  };
  Peers peersOf(llvm::ArrayRef<tile::Digit> digits);

  friend class ProductEmitter;
  friend class TensorAccess;

  //===--------------------------------------------------------------------===//
  // What all of them use
  //===--------------------------------------------------------------------===//

  /// What a value has become.
  mlir::Value get(mlir::Value value);
  void set(mlir::Value value, mlir::Value emitted) {
    mapping.map(value, emitted);
  }
  /// What a type becomes.
  mlir::Type convertType(mlir::Type type);

  mlir::Value constant(int64_t value);
  /// value + offset; `value` may be null, for 0.
  mlir::Value offset(mlir::Value value, int64_t offset);
  /// a + b, each of which may be null.
  mlir::Value sum(mlir::Value a, mlir::Value b);

  /// The part of the thread's position on an axis that `units` give, or null
  /// where it is always 0. Computed once, at the kernel's top.
  mlir::Value threadPart(llvm::ArrayRef<tile::Digit> digits, ThreadUnits units);
  mlir::Value threadPart(const tile::Layout &layout, unsigned axis,
                         ThreadUnits units = ThreadUnits::Both) {
    return threadPart(layout.digits(axis), units);
  }
  /// Whether this thread is the first of those that hold copies of its
  /// elements, or null where each has its own. A scalar's layout has no axes.
  /// With lanes alone, the first of its warp.
  mlir::Value isFirstHolder(const tile::Layout &layout,
                            ThreadUnits units = ThreadUnits::Both);

  /// Registers of a vector, as a vector.
  mlir::Value gather(mlir::Value vector, llvm::ArrayRef<int64_t> registers);
  llvm::SmallVector<mlir::Value> elements(mlir::Value vector);
  mlir::Value fromElements(llvm::ArrayRef<mlir::Value> elements);
  /// The operand's elements converted to another float type.
  mlir::Value convertFloat(mlir::Value value, mlir::Type element);

  bool isInLoop();

  tile::KernelOp kernel;
  warp::KernelOp target;
  int64_t registersAtOnce;
  int64_t warps;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::IRMapping mapping;
  /// At the kernel's top: buffers and what depends on the thread alone.
  mlir::Operation *lastAtTop = nullptr;
  mlir::Value lane, warp;
  llvm::StringMap<mlir::Value> threadParts;
  /// While work on one part of a tile is emitted, a block of rows or a piece of
  /// a factor: so many positions of an axis, from `start` on where that is no
  /// constant.
  struct Part {
    mlir::StringAttr axis;
    int64_t extent = 0;
    mlir::Value start;
  } part;
  llvm::DenseMap<mlir::Operation *, Pieces> pieces; ///< of a conversion
  llvm::DenseSet<mlir::Operation *> inPieces;
  llvm::DenseSet<mlir::Operation *> emittedBranches;
};

/// Whether each 16 x 8 block of a tile is held as matrix instructions leave it:
/// four consecutive registers, positions (g, 2 t), (g, 2 t + 1) and both of row
/// g + 8, with the rows on `rowAxis`.
bool isAccumulator(const tile::Layout &layout, unsigned rowAxis);

/// Whether an index is known to be a multiple of `factor`.
bool isMultipleOf(mlir::Value index, int64_t factor);

} // namespace attentile

#endif
