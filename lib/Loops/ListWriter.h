//===- ListWriter.h - kernels that find the needed blocks --------*- C++
//-*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that reads a list of blocks becomes one that helps to write it: in
// place of its loop the formulas of the masks are evaluated for each block, and
// of all else what these need is left.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_LISTWRITER_H
#define ATTENTILE_LOOPS_LISTWRITER_H

#include "BlockTruth.h"
#include "MaskedLoops.h"
#include "attentile/SortedList.h"

namespace attentile {

/// The place of a row's first partial block; full ones stand before it.
mlir::Value getMiddlePlace(IndexBuilder &index, mlir::Value extent,
                           int64_t size);

/// What a copy of the kernel does: all of it, or one of several steps. Programs
/// of the first steps have some of the blocks alone, and write the class of
/// each: Classify by what its indices and its columns may be, many blocks side
/// by side, which leaves some open; Ask looks at the elements of those; Judge
/// does both, block by block. Where the blocks go in the list is a count, which
/// goes from block to block: Collect.
enum class ListTask { All, Classify, Ask, Judge, Collect };

class ListWriter {
public:
  ListWriter(tile::KernelOp kernel, mlir::scf::ForOp loop,
             llvm::ArrayRef<RowAxis> rows, ListTask task);

  /// Gives the kernel a coordinate for the `parts` of the axis, of so many
  /// blocks, that programs judge apart.
  void divide(mlir::Value parts, int64_t blocks);
  /// Reads what was judged from here.
  void readFrom(mlir::Value tensor, llvm::ArrayRef<unsigned> coordinates);
  /// Emits the loops over blocks. Fails where blocks cannot stand side by side.
  mlir::LogicalResult choose();
  int64_t getSize() const { return size; }
  /// Whether a block may be left open to be asked.
  bool leavesOpen() const { return isOpen; }
  /// The kernel's coordinates that the list depends on.
  llvm::SmallVector<unsigned> getCoordinates();
  /// Writes to `list`, of these coordinates, and drops what else there is.
  void write(mlir::Value list, llvm::ArrayRef<unsigned> coordinates);

private:
  struct Choice {
    mlir::Value needed, full;
  };
  /// An entry of the list, or the class of a block; not written if its place is
  /// negative.
  struct Entry {
    mlir::Operation *after;
    mlir::Value value, place;
  };
  /// What intervals say of a block, and whether no element need be asked.
  struct Judgement {
    Truth needed, full;
    mlir::Value settled;
  };

  Judgement judge(BlockTruth &truth);
  mlir::Value isSettled(Truth needs, Truth isFull);
  void addSamples(BlockTruth &truth, Judgement &judgement);
  Choice judgeByRows(BlockTruth &truth, const Judgement &judgement,
                     llvm::ArrayRef<BlockTruth::Part> asked);
  Choice judgeByElements(BlockTruth &truth, Truth isFull);
  Choice branch(mlir::Value condition, llvm::function_ref<Choice()> yes,
                llvm::function_ref<Choice()> no);
  mlir::Value getClass(Choice choice);
  mlir::Value isWhollyFull(Choice choice, mlir::Value block);
  mlir::Value classify(IntervalSets &shared, mlir::Value block);
  mlir::Value ask(mlir::Value block);
  Choice judgeWholly(IntervalSets &shared, mlir::Value block);
  mlir::Value readClass(mlir::Value block);
  Choice getChoiceOf(mlir::Value number);
  bool readsElements();
  void collect(mlir::scf::ForOp visit, mlir::Value block, Choice choice);
  mlir::LogicalResult setSideBySide(mlir::scf::ForOp visit, mlir::Value found);
  void eraseUnused();
  llvm::SmallVector<mlir::Value> getRow(llvm::ArrayRef<unsigned> coordinates);
  bool givesClasses() const {
    return task != ListTask::All && task != ListTask::Collect;
  }

  ListTask task;
  tile::KernelOp kernel;
  mlir::scf::ForOp loop;
  llvm::ArrayRef<RowAxis> rows;
  MaskedLoop masked;
  int64_t size;
  Formula needed, full;
  mlir::OpBuilder builder;
  IndexBuilder index;
  llvm::SmallVector<Entry> entries;
  llvm::SmallVector<mlir::scf::ForOp> choosing;
  mlir::Value from, to;             ///< the list's ends
  mlir::Value firstBlock, endBlock; ///< of the program's part
  int64_t blocksOfPart = 0;
  mlir::Value judged;
  llvm::SmallVector<mlir::Value> judgedRow;
  bool isOpen = false;
};

} // namespace attentile

#endif
