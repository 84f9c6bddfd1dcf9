//===- SliceReductions.cpp - reductions along a head size in slices -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: makes a reduction of a large tile of floats, along an axis that stands
// whole in it, a loop over slices of that axis. Expects: loops as they are to
// run. Leaves: the same elements, added in slices. Does not handle: what a
// product or another reduction, a branch or a loop gives along that axis;
// reductions in a branch.
//
//===----------------------------------------------------------------------===//
//
// Scores that are no matrix product, sum[d](w[d] * tanh(q[m, d] + k[n, d])),
// are computed element by element: 16 rows, 16 keys and a head size of 128 are
// 1,024 elements for each of 32 lanes, each written out, in more registers than
// there are. In slices of 8 they are 64, and what is loaded for a slice is
// needed there alone. Cheap terms, |q - k|, are summed at once up to 512, as
// slices wait for their loads.
//
// What the reduced tile is made of is computed again for a slice, from the
// loads on. So all of it must be cut along the axis: each operation that has it
// works element by element, broadcasts, loads along it, or is its index.
//

#include "LoopReductions.h"
#include "TileEmitter.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace attentile {
#define GEN_PASS_DEF_TILESLICEREDUCTIONS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-slice-reductions"

using namespace mlir;

namespace attentile {
namespace {

/// Of an axis: what threads' layouts take at least.
constexpr int64_t kLeastSlice = 8;

/// Elements for a lane up to which a tile is reduced at once. A slice of a
/// larger one has half as many (measured: docs/performance.md).
constexpr int64_t kCostlyElements = 128, kElements = 512;

/// A reduction and the axis that it is cut along.
struct Cut {
  tile::ReduceOp reduce;
  StringAttr axis;
  int64_t extent, size; ///< of the axis, of a slice
  /// What has the axis and is computed for each slice, operands first.
  llvm::SetVector<Operation *> slice;
};

/// `type` (a tile or scalar) with a slice of the axis.
Type cutType(Type type, const Cut &cut) {
  std::optional<unsigned> at = tile::getAxisPosition(type, cut.axis);
  if (!at)
    return type;
  auto whole = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(whole.getShape());
  shape[*at] = cut.size;
  return whole.clone(shape);
}

/// Whether the operation gives a slice of its result for slices of its
/// operands, and is worth computing again for each block of a loop.
bool canCut(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return isa<tile::LoadOp, tile::IndexOp, tile::BroadcastOp>(op) ||
         OpTrait::hasElementwiseMappableTraits(op);
}

/// Collects what has the axis below the reduction; false if it cannot be cut.
bool collect(Cut &cut) {
  SmallVector<Value> left{cut.reduce.getOperand()};
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!tile::getAxisPosition(value.getType(), cut.axis))
      continue;
    Operation *op = value.getDefiningOp();
    if (!op || !canCut(op))
      return false;
    if (cut.slice.insert(op))
      left.append(op->operand_begin(), op->operand_end());
  }
  cut.slice = topologicalSort(cut.slice);
  return true;
}

/// Whether each of `elements` takes many instructions, or registers for a load
/// of its own.
bool isCostly(Operation *op, int64_t elements) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return cast<RankedTensorType>(load.getType()).getNumElements() == elements;
  return isa<arith::DivFOp>(op) || (isa<math::MathDialect>(op->getDialect()) &&
                                    !isa<math::AbsFOp, math::FmaOp>(op));
}

/// How to cut a reduction; nothing where it is small or cannot be.
std::optional<Cut> findCut(tile::ReduceOp reduce, int64_t lanes) {
  auto type = cast<RankedTensorType>(reduce.getOperand().getType());
  int64_t elements = type.getNumElements();
  // What is loaded for a slice passes through shared memory, at barriers that
  // all warps reach: not in a branch.
  if (!isa<FloatType>(type.getElementType()) ||
      elements <= lanes * kCostlyElements ||
      reduce->getParentOfType<scf::IfOp>())
    return std::nullopt;
  Cut cut{reduce, {}, 0, 0, {}};
  for (auto axis : reduce.getOver().getAsRange<StringAttr>()) {
    int64_t extent = type.getDimSize(*tile::getAxisPosition(type, axis));
    if (extent > std::max(kLeastSlice, cut.extent) && extent % kLeastSlice == 0)
      cut.axis = axis, cut.extent = extent;
  }
  if (!cut.axis || !collect(cut))
    return std::nullopt;
  bool costly = llvm::any_of(
      cut.slice, [&](Operation *op) { return isCostly(op, elements); });
  int64_t most = costly ? kCostlyElements : kElements;
  if (elements <= lanes * most)
    return std::nullopt;
  cut.size = kLeastSlice;
  while (2 * cut.size * (elements / cut.extent) <= lanes * most / 2 &&
         cut.extent % (2 * cut.size) == 0)
    cut.size *= 2;
  return cut;
}

/// The operation for the slice that begins `offset` behind the axis's start.
void cutOperation(OpBuilder &builder, Operation *op, const Cut &cut,
                  Value offset, IRMapping &slices) {
  Location loc = op->getLoc();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    auto type = cast<ShapedType>(cutType(constant.getType(), cut));
    slices.map(
        constant.getResult(),
        arith::ConstantOp::create(builder, loc, splat.resizeSplat(type)));
    return;
  }
  Operation *copy = builder.clone(*op, slices);
  if (auto index = dyn_cast<tile::IndexOp>(copy)) {
    builder.setInsertionPoint(copy);
    index.getBaseMutable().assign(
        arith::AddIOp::create(builder, loc, index.getBase(), offset));
    builder.setInsertionPointAfter(copy);
  }
  for (Value result : copy->getResults())
    result.setType(cutType(result.getType(), cut));
}

void cutReduction(Cut &cut) {
  tile::ReduceOp reduce = cut.reduce;
  OpBuilder builder(reduce);
  Location loc = reduce.getLoc();
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value neutral = arith::ConstantOp::create(
      builder, loc, fusion::neutralElement(reduce.getKind(), reduce.getType()));
  auto loop = scf::ForOp::create(builder, loc, index(0), index(cut.extent),
                                 index(cut.size), neutral);
  loop->setAttr("tile.slices", builder.getUnitAttr());
  builder.setInsertionPointToEnd(loop.getBody());
  IRMapping slices;
  for (Operation *op : cut.slice)
    cutOperation(builder, op, cut, loop.getInductionVar(), slices);
  Value part = builder.clone(*reduce, slices)->getResult(0);
  Value sum = combineParts(builder, loc, reduce.getKind(),
                           loop.getRegionIterArg(0), part);
  scf::YieldOp::create(builder, loc, sum);
  remark::passed(loc, remark::RemarkOpts::name("Sliced").category(DEBUG_TYPE))
      << ("reduction over " + cut.axis.getValue() + " in slices").str()
      << remark::metric("Slices", cut.extent / cut.size);
  reduce.replaceAllUsesWith(loop.getResult(0));
  reduce.erase();
  // Loads are copies to come, dead or not.
  for (Operation *op : llvm::reverse(cut.slice))
    if (op->use_empty())
      op->erase();
}

struct TileSliceReductions
    : impl::TileSliceReductionsBase<TileSliceReductions> {
  void runOnOperation() override {
    getOperation()->walk([](tile::KernelOp kernel) {
      auto resources =
          kernel->getAttrOfType<tile::ResourcesAttr>("tile.resources");
      int64_t warps = resources ? resources.getWarps() : 1;
      SmallVector<tile::ReduceOp> reductions;
      kernel.walk([&](tile::ReduceOp reduce) { reductions.push_back(reduce); });
      for (tile::ReduceOp reduce : reductions)
        if (std::optional<Cut> cut =
                findCut(reduce, warps * tile::Layout::kLanes))
          cutReduction(*cut);
    });
  }
};

} // namespace
} // namespace attentile
