//===- KernelPlan.h - what tile-to-loops decides of one kernel --*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile value is one of three things at run time:
//
//   lazy     recomputed, element by element, wherever it is used: index
//            arithmetic, masks, cheap chains with one use;
//   root     computed once by a loop nest: reductions, factors of products,
//            values that are carried, stored or expensive and used twice;
//   fixed    made by an operation that is a step of its own: loads, products,
//            loops, branches.
//
// Roots and fixed values live in scratch buffers. The steps of a block are its
// fixed operations and, between them, groups of loop nests. Example, the body
// of a fused softmax loop:
//
//   s  = dot q, k                     step: product kernel, s in a buffer
//   mx = max(m, reduce max s * c)     \
//   p  = exp2(s * c - ref mx)          } step: one group, m's vector outermost,
//   l' = l * a + reduce sum p         /  in it a nest for max, one for p and
//   sum o' = dot p, v acc (o * a)         step: product kernel, o in place
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NATIVE_KERNELPLAN_H
#define ATTENTILE_LIB_NATIVE_KERNELPLAN_H

#include "Tile/Tile.h"
#include "llvm/ADT/SetVector.h"

namespace attentile::native {

using Axis = mlir::StringAttr;

/// Whether a value or a tile's elements are positions, integers of 64 bits.
bool isWideInteger(mlir::Type type);

/// One loop of a nest: an axis and its size in the tile.
struct AxisLoop {
  Axis axis;
  int64_t size;
  bool operator==(const AxisLoop &) const = default;
};

/// A value that a group of nests computes.
struct Root {
  mlir::Value value;
  /// Loops around one element besides the vector axis: the result's axes, then
  /// those that are reduced.
  llvm::SmallVector<AxisLoop> kept, over;
  /// Position in NestGroup::nests; -1 for a value over the vector axis alone
  /// that is not reduced, which is computed where it is first used.
  int nest = -1;
  /// The value is not computed here but copied into the buffer of `target`, a
  /// carried value or a branch's result.
  bool isCopy = false;
  /// Random bits along this axis, 32 elements from four calls: a nest of its
  /// own.
  Axis spans;
  mlir::Value target;
  /// Where the value is stored, or -1.
  int buffer = -1;
};

struct Nest {
  llvm::SmallVector<AxisLoop> loops;
  llvm::SmallVector<unsigned> roots;
  Axis spans; ///< as in Root
};

/// Nests under one loop over vectors of axis `vector` (none: all is scalar).
struct NestGroup {
  Axis vector;
  int64_t vectorSize = 1;
  /// Holds 64-bit integers that differ from lane to lane: half the lanes.
  bool wide = false;
  std::vector<Root> roots;
  std::vector<Nest> nests;
};

enum class StepKind { Scalar, Load, Store, Dot, Nests, Loop, If };

struct Step {
  StepKind kind;
  mlir::Operation *op = nullptr;
  NestGroup group;
  /// Of a loop, or a branch's first side.
  std::vector<Step> body;
  std::vector<Step> otherwise;
  int time = 0;
};

/// A product with a register-blocked kernel. `vectorFactor` is in scratch with
/// the result's vector axis innermost; `scalarFactor` lacks that axis and is
/// read element by element.
struct DotPlan {
  mlir::Value vectorFactor, scalarFactor;
};

/// A stretch of scratch, element order `order` (the vector axis last). With a
/// `panel`, the vector axis is cut into pieces of that size, each stored whole:
/// [m / 16][n][m % 16]. What one stripe of vectors touches is then contiguous,
/// so that it does not crowd a few sets of the first-level cache.
struct Buffer {
  mlir::RankedTensorType type;
  llvm::SmallVector<Axis> order;
  int64_t panel = 0;
  int64_t bytes = 0;
  /// Steps between which the contents matter, both included.
  int first = 0, last = 0;
  int64_t offset = 0;
};

/// See the top of the file.
class KernelPlan {
public:
  /// Plans `kernel` for vectors of `vectorBits`. Emits an error and fails on an
  /// operation the level does not have.
  static mlir::FailureOr<KernelPlan> create(tile::KernelOp kernel,
                                            unsigned vectorBits);

  /// The axis that runs along vectors wherever a value has it.
  Axis lane;
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
  int64_t scratchBytes = 0;

  /// The axis along vectors of a value of this type; null for a scalar.
  Axis getVectorAxis(mlir::Type type) const;
  /// Lanes of a vector along an axis of `size`: all of the machine's, or the
  /// largest part that divides the size.
  unsigned getLanes(int64_t size, bool wide) const;
  /// Elements along the vector axis that nests and products handle at once: two
  /// vectors, where the size allows.
  unsigned getStripe(int64_t size) const;
  /// Buffer of a value, -1 for lazy ones and those that never leave registers.
  int getBuffer(mlir::Value value) const;
  bool isRoot(mlir::Value value) const { return roots.contains(value); }
  /// Whether `value` is found in a buffer or register, not recomputed.
  bool isAvailable(mlir::Value value) const;
  /// The product kernel's plan, or null for a product that becomes a nest.
  const DotPlan *getDotPlan(mlir::Operation *op) const;
  /// Whether a load's elements are read in place by products.
  bool isView(mlir::Value load) const { return views.contains(load); }
  /// Removes conversions that scratch buffers make invisible: 16-bit floats
  /// are held as f32.
  static mlir::Value strip(mlir::Value value);
  /// For integers of 64 bits: c if `value` is a scalar + c * position along
  /// `axis`, nothing if its elements have no such form.
  std::optional<int64_t> getCoefficient(mlir::Value value, Axis axis) const;
  /// Whether such integers never turn back from one position along `axis` to
  /// the next: clamp(n - m, -8, 8).
  bool isMonotone(mlir::Value value, Axis axis) const;
  /// The axis along which random bits share calls, with the number of elements
  /// that are known to lie in one span of 32 (a power of two, at least 8); null
  /// where each element has a call of its own.
  std::pair<Axis, int64_t> getSpans(mlir::Value value) const;
  /// The values that computing `value` reads: available ones and scalars.
  void collectLeaves(mlir::Value value,
                     llvm::SetVector<mlir::Value> &leaves) const;
  /// The same for the operands of a root's operation.
  void collectRootLeaves(const Root &root,
                         llvm::SetVector<mlir::Value> &leaves) const;

private:
  friend class ScratchPlanner;
  unsigned vectorBits = 256;
  llvm::DenseSet<mlir::Value> roots;
  llvm::DenseSet<mlir::Value> views;
  llvm::DenseMap<mlir::Operation *, DotPlan> dots;
  llvm::DenseMap<mlir::Value, int> bufferOf;

  mlir::LogicalResult classify(tile::KernelOp kernel);
  void chooseLane(tile::KernelOp kernel);
  /// Of values with several users.
  using Coefficients = llvm::DenseMap<mlir::Value, std::optional<int64_t>>;
  std::optional<int64_t> getCoefficient(mlir::Value value, Axis axis,
                                        Coefficients &known) const;
  std::optional<int64_t> computeCoefficient(mlir::Value value, Axis axis,
                                            Coefficients &known) const;
  void planDot(tile::DotOp dot);
  void chooseViews(tile::KernelOp kernel);
  void chooseRoots(tile::KernelOp kernel);
  void requireStored(mlir::Value value);
  int64_t getCost(mlir::Value value) const;
  bool isWide(const NestGroup &group) const;
  bool isWideAt(mlir::Value value, Axis axis,
                llvm::DenseSet<mlir::Value> &seen) const;
  std::vector<Step> schedule(mlir::Block &block);
  void flush(mlir::Block &block, std::vector<Step> &steps,
             llvm::DenseSet<mlir::Value> &done);
  void formNests(NestGroup &group) const;
  Root makeRoot(mlir::Value value) const;
};

/// Gives every value that needs it a buffer, with carried values updated in
/// place where that is right, and every buffer its place (ScratchPlan.cpp).
void planScratch(KernelPlan &plan);

} // namespace attentile::native

#endif
