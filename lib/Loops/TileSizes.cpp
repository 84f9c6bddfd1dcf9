//===- TileSizes.cpp - how large the tiles of a grid are ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSizes.h"
#include "Products.h"
#include "WholeAxes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attentile {

// name, tile, loop, granularity, smallest, bytes
const TileTarget cpuTarget = {"cpu", 64, 64, 8, 8, 420 * 1024};

namespace {

/// The bytes of a grid's tiles, each read, each reduction's result and each
/// operand that is reduced element by element counted as f32.
class Footprint {
public:
  Footprint(attn::GridOp grid, attn::AxesAnalysis &axes) : axes(axes) {
    attn::Axes steps = axes.setOf(grid.getSingle());
    auto add = [&](Value value) {
      attn::Axes own = axes.of(value);
      tiles.push_back(own.reset(steps));
    };
    grid.getBody().walk([&](Operation *op) {
      if (isa<attn::ReadOp>(op))
        add(op->getResult(0));
      if (auto loop = dyn_cast<attn::ForOp>(op))
        llvm::for_each(loop.getResults(), add);
      auto reduction = dyn_cast<attn::ReduceOp>(op);
      if (!reduction)
        return;
      add(reduction);
      if (!matchProduct(reduction, axes, steps))
        add(reduction.getOperand());
    });
  }

  int64_t bytes(const llvm::DenseMap<Value, int64_t> &sizes) const {
    int64_t total = 0;
    for (const attn::Axes &tile : tiles) {
      int64_t elements = 1;
      for (BlockArgument axis : axes.indicesOf(tile))
        elements *= sizes.lookup(axis);
      total += 4 * elements;
    }
    return total;
  }

private:
  attn::AxesAnalysis &axes;
  SmallVector<attn::Axes> tiles;
};

} // namespace

FailureOr<TileChoice> chooseTileSizes(attn::GridOp grid, attn::KernelOp kernel,
                                      attn::AxesAnalysis &axes,
                                      const RequestedSizes &requested,
                                      const TileTarget &target) {
  llvm::DenseMap<Value, int64_t> sizes;
  for (Value axis : grid.getWhole()) {
    auto index = cast<BlockArgument>(axis);
    std::optional<int64_t> extent = getConstantExtent(kernel, index);
    if (!extent)
      return grid.emitError("expected the size of axis '")
             << kernel.nameOf(index)
             << "' to be known, as it stands whole in the tile";
    // Over an empty axis a tile of one element reads 0 and is not stored.
    sizes[axis] = std::max<int64_t>(*extent, 1);
  }
  // Those that may be cut, in the order in which they are: loops first.
  SmallVector<Value> open;
  auto place = [&](Value axis, int64_t size) {
    auto index = cast<BlockArgument>(axis);
    auto loops = grid.getBody().getOps<attn::ForOp>();
    auto loop = llvm::find_if(
        loops, [&](attn::ForOp loop) { return loop.getAxis() == axis; });
    auto request = requested.find(kernel.nameOf(index));
    if (loop != loops.end())
      size = (*loop).getSize(); // part of what the kernel means
    else if (request != requested.end())
      size = request->second;
    else
      open.push_back(axis);
    if (std::optional<int64_t> extent = getConstantExtent(kernel, index))
      size =
          std::min<int64_t>(size, llvm::alignTo(std::max<int64_t>(*extent, 1),
                                                target.granularity));
    sizes[axis] = size;
  };
  for (Value axis : grid.getLoop())
    place(axis, target.loop);
  for (Value axis : grid.getTile())
    place(axis, target.tile);

  Footprint footprint(grid, axes);
  for (int64_t floor : {4 * target.smallest, target.smallest})
    for (Value axis : open)
      while (footprint.bytes(sizes) > target.bytes && sizes[axis] > floor)
        sizes[axis] = std::max<int64_t>(
            target.smallest,
            llvm::alignTo(sizes[axis] / 2, target.granularity));
  return TileChoice{std::move(sizes), {}};
}

/// Whether some grid of the kernel visits the axis in tiles.
static bool isTiled(attn::KernelOp kernel, BlockArgument index) {
  return llvm::any_of(kernel.getBody().getOps<attn::GridOp>(),
                      [&](attn::GridOp grid) {
                        return llvm::is_contained(grid.getTile(), index) ||
                               llvm::is_contained(grid.getLoop(), index);
                      });
}

static LogicalResult checkRequest(attn::KernelOp kernel, StringRef axis,
                                  int64_t size) {
  BlockArgument index = kernel.findArg(axis);
  if (!index || !llvm::is_contained(kernel.getIndexArgs(), index))
    return kernel.emitError("expected an axis of the kernel to tile, got '")
           << axis << "'";
  // [L7.5]
  if (!isTiled(kernel, index))
    return kernel.emitError("expected an axis that is tiled, got '")
           << axis << "', which no grid visits in tiles";
  if (size < 1)
    return kernel.emitError("expected a positive tile size for '")
           << axis << "', got " << size;
  return success();
}

FailureOr<RequestedSizes> readRequestedSizes(attn::KernelOp kernel,
                                             ArrayRef<std::string> options) {
  RequestedSizes requested;
  if (Attribute attribute = kernel->getAttr("attn.tile_sizes")) {
    auto dictionary = dyn_cast<DictionaryAttr>(attribute);
    if (!dictionary)
      return kernel.emitError(
                 "expected 'attn.tile_sizes' to map axes to sizes, "
                 "got ")
             << attribute;
    for (NamedAttribute entry : dictionary) {
      auto size = dyn_cast<IntegerAttr>(entry.getValue());
      if (!size)
        return kernel.emitError("expected an integer as tile size of '")
               << entry.getName().getValue() << "', got " << entry.getValue();
      requested[entry.getName().getValue()] = size.getInt();
    }
  }
  for (StringRef option : options) {
    auto [axis, size] = option.split('=');
    int64_t number;
    if (size.getAsInteger(10, number))
      return kernel.emitError("expected axis=size in 'tile-sizes', got '")
             << option << "'";
    requested[axis] = number;
  }
  for (auto grid : kernel.getBody().getOps<attn::GridOp>())
    for (auto written : grid.getBody().getOps<attn::ForOp>())
      if (StringRef axis =
              kernel.nameOf(cast<BlockArgument>(written.getAxis()));
          requested.contains(axis))
        // [L5.1]
        return written.emitError("expected the loop over '")
               << axis << "' alone to say its tiles' size, got a request for "
               << requested[axis];
  for (const auto &entry : requested)
    if (failed(checkRequest(kernel, entry.getKey(), entry.getValue())))
      return failure();
  return requested;
}

} // namespace attentile
