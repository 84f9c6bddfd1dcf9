//===- Pipeline.h - the passes, in order ------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_PIPELINE_H
#define ATTENTILE_PIPELINE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
class PassManager;
} // namespace mlir

namespace attentile {

/// What a user may change about the passes.
struct PipelineOptions {
  /// Flags of optimising passes that do not run. With all of them off the
  /// result is still right.
  std::vector<std::string> disabledPasses;
  /// Flags of passes that run though the target's defaults leave them out.
  std::vector<std::string> enabledPasses;
  /// For a GPU: passes that cost more than they bring on a CPU run too.
  bool forGpu = false;
  /// Whose tile sizes are taken: cpu, or sm_80 and its successors.
  std::string target = "cpu";
  /// FlashAttention-1's form: the sums are normalised at each step.
  bool normalizeEachStep = false;
  /// FlashAttention-1's grid: one program for a batch and head, in which a loop
  /// goes over the tiles that otherwise have a program each.
  bool programPerHead = false;
  /// FlashAttention-1's warps: each has some of the keys of all rows (split-K)
  /// rather than all keys of some rows (split-Q). Of no meaning on a CPU.
  bool splitReduced = false;
  /// For a GPU: the form for tensors of any strides and alignment.
  bool byElement = false;
  /// For a GPU: bytes of shared memory that tiles are chosen to take, if not
  /// all that a block of threads has.
  int64_t sharedBytes = 0;
  /// Sizes of tiles, each as `m=64`; those that are not named are the
  /// schedule's or the compiler's.
  std::vector<std::string> tileSizes;

  bool isEnabled(llvm::StringRef flag) const;
  /// Whether a sum has the same bits wherever its formula stands. Not on a GPU,
  /// and not in slices, of which one tile has more than another.
  bool addsAlike() const {
    return !forGpu && !isEnabled("tile-slice-reductions");
  }
  /// The optimising passes behind `flag` off too (all of them behind a pass
  /// that always runs), those up to it on even if the target's defaults leave
  /// them out: the program as it stands after that pass, for
  /// `check --each-pass`.
  PipelineOptions upTo(llvm::StringRef flag) const;
  /// The same kernels for tensors that no 16-byte copy can follow. Compiled
  /// with every kernel and seldom launched, so little code counts and not
  /// speed: small tiles, one loop that evaluates every mask, copies that are
  /// waited for at once.
  PipelineOptions forAnyStrides() const;
};

/// The flags of the passes that can be switched off, in run order.
llvm::ArrayRef<llvm::StringRef> optimizingPasses();

/// From index notation to grids: the roles of axes, no tiles yet.
void buildGrids(mlir::OpPassManager &pm, const PipelineOptions &options);

/// From index notation to grids over tiles, of which nothing is optimised yet.
void buildTiling(mlir::OpPassManager &pm, const PipelineOptions &options);

/// From the formula to tile loops: everything from the module that the front
/// end emits (attn.kernel) to one that native code is made of (tile.program).
void buildTilePipeline(mlir::OpPassManager &pm, const PipelineOptions &options);

/// From there to warp kernels with buffers in their place, for a GPU: what
/// lib/NVVM makes functions of. Of one form; warp-join-forms makes one program
/// of two.
void buildWarpPipeline(mlir::OpPassManager &pm, const PipelineOptions &options);

/// Applies MLIR's own flags (--mlir-print-ir-after-all, --mlir-timing ...), as
/// far as the tool registered them.
void configurePassManager(mlir::PassManager &pm);

/// Runs passes, as those flags say; false if one failed. Without assertions the
/// module is verified once, behind them all: after each that would take as long
/// as the passes.
bool runPasses(mlir::ModuleOp module,
               llvm::function_ref<void(mlir::PassManager &)> build);

} // namespace attentile

#endif
