//===- PointEmitter.h - the value of an expression at one point -*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A point is a position inside nested loops over axes; along one axis, the
// vector axis, it is a whole stretch of lanes, `parts` vectors of `lanes`
// each. Computing a tile value at a point gives one of three forms:
//
//   uniform   one scalar, the same for all lanes;
//   affine    a scalar + c * lane, of 64-bit integers;
//   vectors   one for each part.
//
// So a mask n <= m + N - M is a subtraction of scalars, a splat and a compare
// with a constant vector of 32-bit lane numbers. A value is computed in the
// outermost loop that has its axes, and remembered there.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NATIVE_POINTEMITTER_H
#define ATTENTILE_LIB_NATIVE_POINTEMITTER_H

#include "KernelEmitter.h"

namespace attentile::native {

/// A value at a point; see the top of the file. 16-bit floats are held as f32,
/// 64-bit integers that are uniform or affine as `base` of type index.
struct Lanes {
  llvm::SmallVector<mlir::Value, 4> parts; ///< vectors
  mlir::Value base;                        ///< uniform, or affine
  int64_t coefficient = 0;                 ///< of the lane number, if affine
  bool isVector() const { return !base; }
  bool isUniform() const { return base && coefficient == 0; }
};

class PointEmitter {
public:
  /// The point has stripe number `stripe` (of lanes * parts elements) along
  /// `vector` (null: all is scalar). Code goes where the kernel's builder
  /// stands.
  PointEmitter(KernelEmitter &kernel, Axis vector, mlir::Value stripe,
               unsigned lanes, unsigned parts);

  /// Enters a loop: `loop` is the operation if values that do not depend on
  /// it should be computed before it; the builder stands in its body.
  void push(Axis axis, mlir::Value position, mlir::Operation *loop);
  void pop() { levels.pop_back(); }
  /// The point's position along an axis that was entered.
  mlir::Value position(Axis axis) const {
    for (const Level &level : llvm::reverse(levels))
      if (level.axis == axis)
        return level.position;
    return {};
  }

  /// The value at this point. The builder must stand in the innermost level.
  Lanes get(mlir::Value value);
  /// Makes `value` known at the level that has the axes of its type.
  void remember(mlir::Value value, Lanes lanes);

  /// One part as a vector of `element` (or the scalar, without vector axis).
  mlir::Value part(const Lanes &lanes, unsigned i, mlir::Type element);
  mlir::Value scalarOf(const Lanes &lanes, mlir::Type element);
  /// One part of an integer, the low 32 bits of each lane.
  mlir::Value word(const Lanes &lanes, unsigned i);
  Lanes uniform(mlir::Value value);

  /// Reads or writes a buffer at this point.
  Lanes load(int buffer, mlir::Type element);
  void store(int buffer, const Lanes &lanes, mlir::Type element);
  llvm::SmallVector<mlir::Value> indicesAt(int buffer, unsigned part);

  Axis getVector() const { return vector; }
  mlir::Value getStripe() const { return stripe; }
  unsigned getParts() const { return vector ? parts : 1; }
  mlir::Type vectorOf(mlir::Type element) const;

  /// Roots of the current group that are to be computed here and now rather
  /// than read from their buffers.
  std::function<bool(mlir::Value)> computesHere = [](mlir::Value) {
    return false;
  };

  /// Conditions that are known to hold here.
  llvm::DenseSet<mlir::Value> assumed;

  /// What is known of the outermost level: code in a branch keeps what it adds
  /// to itself.
  llvm::DenseMap<mlir::Value, Lanes> save() const { return levels[0].known; }
  void restore(llvm::DenseMap<mlir::Value, Lanes> known) {
    levels[0].known = std::move(known);
  }

private:
  struct Level {
    Axis axis;
    mlir::Value position;
    mlir::Operation *loop; ///< this level's loop, in the level before
    llvm::DenseMap<mlir::Value, Lanes> known;
  };

  unsigned levelOf(mlir::Type type) const;
  Coordinates coordinates(const Buffer &memory);
  Lanes emitOp(mlir::Operation *op);
  std::optional<Lanes> emitAffine(mlir::Operation *op);
  Lanes emitCompare(mlir::arith::CmpIOp op, const Lanes &lhs, const Lanes &rhs);
  mlir::Value stepsOf(mlir::Value to, mlir::Value from, int64_t coefficient);
  void setBeforeLoops();
  Lanes getBeforeLoops(mlir::Value value);
  Lanes emitToFloat(mlir::Value value, const Lanes &operand);
  mlir::Value laneNumbers(unsigned part, int64_t coefficient,
                          mlir::Type element);

  KernelEmitter &k;
  mlir::OpBuilder &b;
  mlir::Location loc;
  Axis vector;
  mlir::Value stripe, offset;
  unsigned lanes, parts;
  llvm::SmallVector<Level> levels;
};

/// A nest of its own for random bits (KernelPlan::getSpans), into their buffer.
void emitRandomSpans(KernelEmitter &kernel, PointEmitter &point,
                     const Root &root, llvm::ArrayRef<AxisLoop> loops);

} // namespace attentile::native

#endif
