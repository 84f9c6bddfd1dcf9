//===- KernelEmitter.h - writes the loops of one kernel ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NATIVE_KERNELEMITTER_H
#define ATTENTILE_LIB_NATIVE_KERNELEMITTER_H

#include "KernelPlan.h"
#include "attentile/Native/ArgSlots.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace attentile::native {

/// A tensor of the caller: pointer (!llvm.ptr), sizes and strides (index).
struct TensorAccess {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> sizes, strides;
  mlir::Type element;
};

/// Where the elements of a product's scalar factor are: in a scratch buffer,
/// or (a view) at pointer + sum of position * stride over the axes.
struct ElementSource {
  int buffer = -1;
  mlir::Value pointer;
  llvm::SmallDenseMap<Axis, mlir::Value> strides;
};

/// A tile in the caller's memory that is read soon: `rows` rows of `columns`
/// elements, those strides (in elements) apart. With a condition it is asked
/// for only where that holds.
struct NextTile {
  mlir::Value pointer, rowStride, stride;
  mlir::Type element; ///< as it is in memory
  int64_t rows = 0, columns = 0;
  mlir::Value condition;
};

/// What tile.ref is of a scalar or a vector: the maximum, 0 for -inf.
mlir::Value emitRef(mlir::OpBuilder &b, mlir::Location loc,
                    mlir::Value maximum);

/// Positions along axes, in the tile: where one element is.
using Coordinates = llvm::SmallDenseMap<Axis, mlir::Value>;

/// Shared by the parts that write a kernel's function; each part is in the
/// file of its name.
class KernelEmitter {
public:
  KernelEmitter(tile::KernelOp kernel, const KernelPlan &plan,
                const ArgSlots &slots, unsigned vectorBits, bool countBlocks);

  /// Writes the function after the kernel's program.
  mlir::LogicalResult emit();

  // TileToLoops.cpp
  void emitSteps(llvm::ArrayRef<Step> steps);
  /// The value of a scalar, from the kernel or from the program around it.
  mlir::Value scalar(mlir::Value value);
  void setScalar(mlir::Value value, mlir::Value result) {
    mapping.map(value, result);
  }
  /// The caller's tensor or workspace.
  const TensorAccess &tensor(mlir::Value value);
  /// The scratch buffer as a memref in the buffer's order.
  mlir::Value buffer(int id);
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value toI64(mlir::Value index);
  /// The pointer to what lies `offset` elements further.
  mlir::Value advance(mlir::Value pointer, mlir::Type element,
                      mlir::Value offset);
  /// The indices of an element of a buffer at `at`.
  llvm::SmallVector<mlir::Value> indicesOf(int id, const Coordinates &at);

  // ElementwiseNests.cpp
  void emitGroup(const NestGroup &group);

  // DotKernel.cpp
  void emitDot(tile::DotOp dot);

  // LoadsAndStores.cpp
  void emitLoad(tile::LoadOp load);
  void emitStore(tile::StoreOp store);
  /// The element at `indices`, or 0 outside, in the tensor's element type.
  mlir::Value loadElement(const TensorAccess &from, mlir::ValueRange indices);

  // Prefetch.cpp
  /// Notes the tile that follows `load`'s, for the next product to ask for.
  void noteNext(tile::LoadOp load);
  /// What was noted before `loop` is asked for in its first iteration.
  void enterLoop(mlir::scf::ForOp loop);
  /// Asks for the share `number` of `count` shares of a tile's rows.
  void askForShare(const NextTile &next, mlir::Value number, int64_t count);

  mlir::OpBuilder b;
  mlir::Location loc;
  const KernelPlan &plan;
  unsigned vectorBits;
  /// Noted, and not asked for yet.
  llvm::SmallVector<NextTile> nextTiles;

private:
  void count(mlir::scf::ForOp loop);
  mlir::Value slot(unsigned number, mlir::Type type);
  mlir::Value argument(mlir::BlockArgument argument);
  mlir::Value decodeCell(mlir::Value cell);
  void emitLoop(const Step &step);
  void emitBranch(const Step &step);
  /// Whether `loop`, of tiles, is in its last iteration.
  mlir::Value isLast(mlir::scf::ForOp loop);
  void fillView(tile::LoadOp load);
  void copyIn(tile::LoadOp load);
  void storeElement(const TensorAccess &to, mlir::ValueRange indices,
                    mlir::Value value);

  tile::KernelOp kernel;
  const ArgSlots &slots;
  bool countBlocks;
  mlir::func::FuncOp function;
  mlir::Operation *entryEnd = nullptr; ///< entry code goes before this
  mlir::Value scratchBytes;
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, TensorAccess> tensors;
  llvm::DenseMap<int, mlir::Value> bufferValues;
  llvm::DenseMap<mlir::Value, ElementSource> viewSources;
};

} // namespace attentile::native

#endif
