//===- ProductEmitter.h - one product by matrix instructions ----*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_PRODUCTEMITTER_H
#define ATTENTILE_LIB_MAPPING_PRODUCTEMITTER_H

#include "WarpEmitter.h"

namespace attentile {

class ProductEmitter {
public:
  ProductEmitter(WarpEmitter &emitter, tile::DotOp dot)
      : emitter(emitter), dot(dot), builder(emitter.builder), loc(emitter.loc) {
  }

  mlir::LogicalResult emit();

private:
  using Value = mlir::Value;

  /// A factor in shared memory: which of the buffer's dimensions is k.
  struct SharedFactor {
    Value buffer;
    bool reducedIsLast; // k is the contiguous dimension

    mlir::Type element() const {
      return mlir::cast<warp::BufferType>(buffer.getType()).getElementType();
    }
  };

  /// 16 x 8 blocks of the result: the first row and column of them, and how
  /// many.
  struct Part {
    int64_t row, rows, column, columns;

    int64_t size() const { return rows * columns; }
  };

  /// A factor; of f32 its two parts, and the high one with 0 for infinities:
  /// beside a part that is 0 these would make NaN of an infinite product.
  struct Operand {
    Value high, low, finite;
  };

  // EmitProducts.cpp
  mlir::LogicalResult prepare();
  llvm::SmallVector<int64_t> orderSteps();
  Value leftStep(int64_t rowBlock, int64_t step);
  llvm::SmallVector<Value> rightStep(Value columnPart, int64_t block,
                                     int64_t end, int64_t step);
  Value readElements(const SharedFactor &factor, Value row, int64_t rowOffset,
                     bool isLeft, int64_t step);
  Operand split(Value value);
  Value multiply(const Operand &a, const Operand &b, Value c);
  void emitSteps(const Part &part, Value columnPart,
                 llvm::SmallVector<Value> &blocks);
  llvm::SmallVector<Value> startBlocks();
  Value assemble(llvm::ArrayRef<Value> blocks);
  Value zeroBlock();

  // EmitSplitProducts.cpp
  mlir::LogicalResult emitSplit(llvm::ArrayRef<tile::Digit> over,
                                llvm::SmallVector<Value> &blocks);
  llvm::SmallVector<Part> divide(int64_t most) const;

  int64_t firstRegister(int64_t rowBlock, int64_t block) const {
    int64_t position[2];
    position[rowAxis] = 16 * rowBlock;
    position[1 - rowAxis] = 8 * block;
    return result.placeOf(position).reg;
  }

  WarpEmitter &emitter;
  tile::DotOp dot;
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Type product;
  bool isF32;
  int64_t depth;    // k of one instruction
  int64_t steps;    // in this warp
  bool pairedOrder; // f32: k as a fragment has it
  tile::Layout result;
  unsigned rowAxis;
  int64_t rowBlocks, columnBlocks; // of this warp
  // A.
  Value left;
  tile::Layout leftLayout; // if in registers
  unsigned leftRowAxis;
  SharedFactor leftShared; // else
  Value rowPart;           // this warp's first row
  // B.
  SharedFactor right;
  Value reducedPart; // this warp's first k
  Value columnFrom, reducedFrom; // where a slice starts
};

} // namespace attentile

#endif
