//===- AttnToTile.cpp - grids of formulas to loops over tiles -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: makes a tile.program of an attn.kernel, a tile.kernel of each grid, and
// of reductions over loop axes one scf.for for each depth of nesting. Expects:
// attn.kernel after attn-form-grids. Leaves: tiles, in which each loop computes
// again what it needs. Does not handle: reductions inside a loop over one of
// their own axes, which attn-form-grids cuts.
//
//===----------------------------------------------------------------------===//

#include "GpuTileSizes.h"
#include "GridTiling.h"
#include "TileSizes.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attentile {
#define GEN_PASS_DEF_ATTNTOTILE
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

/// Makes a program of a kernel.
class KernelTiling {
public:
  /// `gpu`: null for the CPU.
  KernelTiling(attn::KernelOp kernel, ArrayRef<std::string> sizeOptions,
               const GpuTarget *gpu, GpuTiling tiling, Dots dots)
      : kernel(kernel), axes(kernel), sizeOptions(sizeOptions), gpu(gpu),
        tiling(tiling), dots(dots) {}

  LogicalResult run() {
    FailureOr<RequestedSizes> requested =
        readRequestedSizes(kernel, sizeOptions);
    if (failed(requested))
      return failure();
    for (auto write : kernel.getBody().getOps<attn::WriteOp>())
      return write.emitError("expected a write to stand in a grid; "
                             "attn-form-grids makes them");
    tile::ProgramOp program = makeProgram();
    ExtentValues values(OpBuilder::atBlockEnd(&program.getHeadBlock()),
                        kernel.getLoc(), program.getSizeArgs());
    for (BlockArgument index : kernel.getIndexArgs())
      extents[index] = values.get(kernel.getExtent(index).getResult(0));
    unsigned number = 0;
    for (attn::GridOp grid : grids) {
      FailureOr<TileChoice> choice =
          gpu ? chooseGpuTileSizes(grid, kernel, axes, *requested, *gpu, tiling)
              : chooseTileSizes(grid, kernel, axes, *requested, cpuTarget);
      if (failed(choice))
        return failure();
      tile::KernelOp target =
          makeKernel(program, grid, values, choice->sizes, number++);
      if (choice->resources)
        kernel.getContext()
            ->getLoadedDialect<tile::TileDialect>()
            ->getResourcesAttrHelper()
            .setAttr(target, choice->resources);
      if (grid == grids.front()) // all that kernels share stands before them
        values.insertBefore(target);
      if (failed(tileGrid(kernel, grid, axes, values, extents, choice->sizes,
                          dots, program, target)))
        return failure();
    }
    kernel.erase();
    return success();
  }

private:
  /// The program with the kernel's head, and what of its own block does not
  /// depend on an index.
  tile::ProgramOp makeProgram() {
    OpBuilder builder(kernel);
    auto program = tile::ProgramOp::create(
        builder, kernel.getLoc(), kernel.getSymNameAttr(),
        kernel.getInNamesAttr(), kernel.getOutNamesAttr(),
        kernel.getSizeNamesAttr(), kernel.getShapesAttr());
    Block &block = program.getBody().emplaceBlock();
    for (BlockArgument argument :
         kernel.getHeadBlock().getArguments().drop_back(
             kernel.getIndexNames().size()))
      argument.replaceAllUsesWith(
          block.addArgument(argument.getType(), argument.getLoc()));
    for (Operation &op : llvm::make_early_inc_range(kernel.getHeadBlock())) {
      if (auto grid = dyn_cast<attn::GridOp>(op))
        grids.push_back(grid);
      else if (axes.ofAny(op.getOperands()).none())
        op.moveBefore(&block, block.end());
    }
    return program;
  }

  tile::KernelOp makeKernel(tile::ProgramOp program, attn::GridOp grid,
                            ExtentValues &values,
                            const llvm::DenseMap<Value, int64_t> &sizes,
                            unsigned number) {
    SmallVector<Attribute> ids;
    SmallVector<Value> bounds;
    Builder attributes(kernel.getContext());
    for (Value axis : grid.getStep()) {
      ids.push_back(
          attributes.getStringAttr(kernel.nameOf(cast<BlockArgument>(axis))));
      bounds.push_back(extents.lookup(axis));
    }
    for (auto [position, axis] : llvm::enumerate(grid.getTile())) {
      ids.push_back(attributes.getStringAttr(Twine(char('i' + position % 18))));
      bounds.push_back(
          values.tiles(kernel.getExtent(cast<BlockArgument>(axis)).getResult(0),
                       sizes.lookup(axis)));
    }
    auto builder = OpBuilder::atBlockEnd(&program.getHeadBlock());
    auto target = tile::KernelOp::create(
        builder, grid.getLoc(),
        attributes.getStringAttr(kernel.getSymName() + "_" + Twine(number)),
        attributes.getArrayAttr(ids), bounds);
    Block &block = target.getBody().emplaceBlock();
    for (size_t i = 0; i < bounds.size(); ++i)
      block.addArgument(builder.getIndexType(), grid.getLoc());
    return target;
  }

  attn::KernelOp kernel;
  attn::AxesAnalysis axes;
  ArrayRef<std::string> sizeOptions;
  const GpuTarget *gpu;
  GpuTiling tiling;
  Dots dots;
  SmallVector<attn::GridOp> grids;
  llvm::DenseMap<Value, Value> extents;
};

struct AttnToTile : impl::AttnToTileBase<AttnToTile> {
  using AttnToTileBase::AttnToTileBase;

  void runOnOperation() override {
    SmallVector<attn::KernelOp> kernels;
    getOperation()->walk([&](attn::KernelOp kernel) {
      kernels.push_back(kernel);
      return WalkResult::skip();
    });
    const GpuTarget *gpu = findGpuTarget(target);
    GpuTarget withLess;
    if (gpu && sharedBytes != 0) {
      withLess = *gpu;
      withLess.sharedPerBlock = std::min(gpu->sharedPerBlock, +sharedBytes);
      gpu = &withLess;
    }
    if (!gpu && target != cpuTarget.name) {
      getOperation()->emitError("expected a target of cpu, sm_80, sm_86, sm_89 "
                                "or sm_90, got '")
          << target << "'";
      return signalPassFailure();
    }
    SmallVector<std::string> options(tileSizes.begin(), tileSizes.end());
    Dots dots = multiplyAdds ? Dots::MultiplyAdds : Dots::Matrices;
    for (attn::KernelOp kernel : kernels)
      if (failed(KernelTiling(kernel, options, gpu, {splitReduced, smallTiles},
                              dots)
                     .run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace attentile
