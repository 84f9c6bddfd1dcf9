//===- JoinForms.cpp - kernels and their forms for any strides ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: moves the kernels of program @p_by_element into @p, each behind the one
//   that it stands in for, which names it `otherwise`.
// Expects: two programs of one source, with the same arguments, workspaces and
//   number of kernels, whatever the tiles of each.
// Leaves: one program. A kernel that asks nothing of its tensors gets no other,
//   nor one that lists blocks, which the other form does not read.
// Does not handle: workspaces of other shapes; both forms use the same memory.
//
//===----------------------------------------------------------------------===//

#include "attentile/NVVM/Passes.h"
#include "attentile/NVVM/Signature.h"
#include "mlir/IR/IRMapping.h"

namespace attentile {
#define GEN_PASS_DEF_WARPJOINFORMS
#include "NVVM/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

class Joiner {
public:
  Joiner(tile::ProgramOp program, tile::ProgramOp other)
      : program(program), other(other) {}

  LogicalResult run() {
    SmallVector<warp::KernelOp> kernels;
    for (auto kernel : program.getOps<warp::KernelOp>())
      if (!kernel->hasAttr("tile.block_list"))
        kernels.push_back(kernel);
    auto others = llvm::to_vector(other.getOps<warp::KernelOp>());
    if (kernels.size() != others.size())
      return other.emitError("expected ")
             << kernels.size() << " kernels for any strides, got "
             << others.size();
    if (kernels.empty())
      return success();
    if (failed(mapHead(kernels.front())))
      return failure();
    for (auto [kernel, form] : llvm::zip_equal(kernels, others)) {
      if (getKernelRequirements(kernel).empty())
        continue;
      OpBuilder builder(kernel);
      builder.setInsertionPointAfter(kernel);
      builder.clone(*form, mapping);
      kernel.setOtherwise(form.getName());
    }
    other.erase();
    return success();
  }

private:
  /// Arguments and workspaces become those of the program; what grids are
  /// computed by stands before its first kernel.
  LogicalResult mapHead(warp::KernelOp first) {
    Block &from = other.getHeadBlock(), &to = program.getHeadBlock();
    if (!llvm::equal(from.getArgumentTypes(), to.getArgumentTypes()))
      return other.emitError("expected the arguments of '")
             << program.getSymName() << "', got others";
    mapping.map(from.getArguments(), to.getArguments());
    llvm::StringMap<attn::WorkspaceOp> workspaces;
    for (auto workspace : to.getOps<attn::WorkspaceOp>())
      workspaces[workspace.getName()] = workspace;
    OpBuilder builder(first);
    for (Operation &op : from) {
      if (isa<warp::KernelOp, attn::AssumeOp, attn::DefaultOp>(op))
        continue;
      auto workspace = dyn_cast<attn::WorkspaceOp>(op);
      if (!workspace) {
        builder.clone(op, mapping);
        continue;
      }
      attn::WorkspaceOp same = workspaces.lookup(workspace.getName());
      if (!same || same.getShape() != workspace.getShape() ||
          same.getType() != workspace.getType())
        return workspace.emitError("expected a workspace of '")
               << program.getSymName() << "', got another";
      mapping.map(workspace.getResult(), same.getResult());
    }
    return success();
  }

  tile::ProgramOp program, other;
  IRMapping mapping;
};

struct WarpJoinForms : impl::WarpJoinFormsBase<WarpJoinForms> {
  void runOnOperation() override {
    llvm::StringMap<tile::ProgramOp> programs;
    for (auto program : getOperation().getOps<tile::ProgramOp>())
      programs[program.getSymName()] = program;
    // Joining erases the other form: all are found first.
    SmallVector<Joiner> joiners;
    for (auto program : getOperation().getOps<tile::ProgramOp>())
      if (tile::ProgramOp other =
              programs.lookup((program.getSymName() + kAnyStrides).str()))
        joiners.emplace_back(program, other);
    for (Joiner &joiner : joiners)
      if (failed(joiner.run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace attentile
