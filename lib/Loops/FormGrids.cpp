//===- FormGrids.cpp - statements to grids with workspace between ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: decides for each statement which of its axes are steps and tiles of a
// grid, loops over tiles or single indices, or whole in the tile; cuts what one
// grid must compute for another; puts statements of the same axes into one
// grid. Expects: attn.kernel without softmax and logsumexp. Leaves:
// assumptions, defaults, workspace and attn.grid operations in running order,
// each with its own copy of the formulas. Does not handle: ranges that depend
// on data; axes packed into one tile.
//
//===----------------------------------------------------------------------===//

#include "MaskedLoops.h"
#include "Statement.h"
#include "StatementSlice.h"
#include "WholeAxes.h"
#include "attentile/Loops/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/BitVector.h"

namespace attentile {
#define GEN_PASS_DEF_ATTNFORMGRIDS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "attn-form-grids"

using namespace mlir;

namespace attentile {
namespace {

/// Statements that run together.
struct Grid {
  SmallVector<const Statement *> statements;
  attn::Axes step, tile, loop, walk, whole;
};

/// What a loop over tiles must carry for the results that are used.
llvm::BitVector findNeeded(attn::ForOp loop) {
  llvm::BitVector needed(loop.getNumResults());
  SmallVector<Value> reached;
  auto reach = [&](unsigned number) {
    if (!needed.test(number))
      reached.push_back(loop.getNexts()[number]);
    needed.set(number);
  };
  for (OpResult result : loop.getResults())
    if (!result.use_empty())
      reach(result.getResultNumber());
  llvm::DenseSet<Operation *> seen;
  while (!reached.empty()) {
    Value value = reached.pop_back_val();
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && llvm::is_contained(loop.getCarried(), argument))
      reach(argument.getArgNumber() - 1);
    Operation *op = value.getDefiningOp();
    if (op && loop->isProperAncestor(op) && seen.insert(op).second)
      llvm::append_range(reached, op->getOperands());
  }
  return needed;
}

/// The loop without what its grid has no use for: that may have axes that are
/// none of the grid's.
void carryNeededOnly(attn::ForOp loop) {
  llvm::BitVector needed = findNeeded(loop);
  if (needed.all())
    return;
  auto select = [&](ValueRange values) {
    SmallVector<Value> result;
    for (unsigned number : needed.set_bits())
      result.push_back(values[number]);
    return result;
  };
  SmallVector<Value> starts = select(loop.getStarts());
  OpBuilder builder(loop);
  auto made = attn::ForOp::create(
      builder, loop.getLoc(), TypeRange(ValueRange(starts)), loop.getAxis(),
      loop.getLower(), loop.getUpper(), loop.getSize(), starts);
  for (auto [from, to] :
       llvm::zip_equal(select(loop.getResults()), made.getResults()))
    from.replaceAllUsesWith(to);
  Operation *next = loop.getBody().front().getTerminator();
  next->setOperands(select(loop.getNexts()));
  made.getBody().takeBody(loop.getBody());
  loop.erase();
  Block &body = made.getBody().front();
  eraseDead(body);
  llvm::BitVector unused(body.getNumArguments());
  for (unsigned i = 1; i < unused.size(); ++i)
    if (!needed.test(i - 1))
      unused.set(i);
  body.eraseArguments(unused);
}

class GridFormation {
public:
  GridFormation(attn::KernelOp kernel, ArrayRef<std::string> tileSizes,
                bool tileTerms, bool wideFactors)
      : kernel(kernel), axes(kernel), tiled(axes.setOf({})),
        tileTerms(tileTerms), wideFactors(wideFactors) {
    auto add = [&](StringRef name) {
      BlockArgument index = kernel.findArg(name);
      if (llvm::is_contained(kernel.getIndexArgs(), index))
        tiled.set(axes.numberOf(index));
    };
    for (StringRef option : tileSizes)
      add(option.split('=').first);
    if (auto sizes = kernel->getAttrOfType<DictionaryAttr>("attn.tile_sizes"))
      for (NamedAttribute entry : sizes)
        add(entry.getName());
  }

  LogicalResult run() {
    whole = findWholeAxes(kernel, axes);
    original = llvm::to_vector(llvm::map_range(
        kernel.getHeadBlock(), [](Operation &op) { return &op; }));
    for (Operation *op : original)
      if (auto write = dyn_cast<attn::WriteOp>(op)) {
        if (failed(place({write.getLoc(), write.getValue(), write.getTensor(),
                          llvm::to_vector(write.getIndices())})))
          return failure();
        gridOfTensor[write.getTensor()] = lastGrid;
      }
    for (const Grid &grid : grids)
      emit(grid);
    eraseFormulas();
    return success();
  }

private:
  /// Finds a statement's axes and its grid, after those whose workspace it
  /// reads.
  LogicalResult place(Statement &&made) {
    Statement &statement =
        *statements.emplace_back(std::make_unique<Statement>(std::move(made)));
    for (Value index : statement.indices)
      for (BlockArgument axis : axes.indicesOf(axes.of(index)))
        if (!llvm::is_contained(statement.left, axis))
          statement.left.push_back(axis);
    for (BlockArgument axis : axes.indicesOf(axes.of(statement.value)))
      if (!llvm::is_contained(statement.left, axis))
        return emitError(statement.loc, "expected the indices of a write to "
                                        "have every axis of its value, got "
                                        "none for '")
               << kernel.nameOf(axis) << "'";
    attn::Axes own = whole;
    const KnownAxes known{kernel, axes, own, tiled};
    sliceStatement(statement, known);
    if (failed(addReducedInTiles(statement, known, own)))
      return failure();
    if (own != whole)
      sliceStatement(statement, known);
    assignRoles(statement, known);
    if (cutReductionsApart(statement, known) || cutLoopsApart(statement, known))
      assignRoles(statement, known);
    if (cutSumsOfPairs(statement, known))
      assignRoles(statement, known);
    unsigned earliest = 0;
    for (Value cut : statement.cuts) {
      if (failed(placeCut(cut, statement.roles)))
        return failure();
      earliest = std::max(earliest, gridOfCut.lookup(cut) + 1);
    }
    forEachOwn(statement, [&](Operation *op) {
      op->walk([&](attn::ReadOp read) {
        auto written = gridOfTensor.find(read.getTensor());
        if (written != gridOfTensor.end())
          earliest = std::max(earliest, written->second + 1);
      });
    });
    if (tileTerms)
      tileColumnsOfTerms(statement, axes);
    lastGrid = join(statement, earliest);
    return success();
  }

  /// Makes the statement that writes a cut value to workspace, once, for one
  /// that reads it.
  LogicalResult placeCut(Value cut, const AxisRoles &reader) {
    if (gridOfCut.contains(cut))
      return success();
    dimensionsOf[cut] = orderDimensions(cut, reader);
    Operation *op = cut.getDefiningOp();
    auto mark = dyn_cast<attn::MaterializeOp>(op);
    if (mark)
      remark::passed(
          op->getLoc(),
          remark::RemarkOpts::name("Materialized").category(DEBUG_TYPE))
          << remark::add("'{0}' is computed once, in workspace",
                         mark.getName());
    Statement statement{op->getLoc(), mark ? mark.getOperand() : cut,
                        /*tensor=*/{}, /*indices=*/{}};
    auto reduction = dyn_cast<attn::ReduceOp>(op);
    statement.tensor = makeWorkspace(
        cut, mark        ? mark.getName()
             : reduction ? attn::stringifyReduceKind(reduction.getKind())
                         : "carried");
    statement.indices = dimensionsOf.lookup(cut);
    workspaceOfCut[cut] = statement.tensor;
    if (failed(place(std::move(statement))))
      return failure();
    gridOfCut[cut] = lastGrid;
    return success();
  }

  /// The axes of what goes through workspace in the order of its dimensions:
  /// those that products sum in a tile last, as in tensors of factors; of what
  /// is of pairs of its reader's rows and keys those first of which a program
  /// has one index, so that its tiles lie together.
  SmallVector<Value> orderDimensions(Value value, const AxisRoles &reader) {
    const attn::Axes own = axes.of(value);
    bool isOfPairs = own.anyCommon(axes.setOf(reader.tile)) &&
                     own.anyCommon(axes.setOf(reader.loop));
    attn::Axes first = axes.setOf(reader.step);
    if (!isOfPairs)
      first.reset();
    SmallVector<Value> order[3];
    for (BlockArgument axis : axes.indicesOf(own)) {
      unsigned number = axes.numberOf(axis);
      order[whole.test(number) ? 2 : !first.test(number)].push_back(axis);
    }
    return llvm::to_vector(llvm::concat<Value>(order[0], order[1], order[2]));
  }

  /// The type in which a value enters products, if it enters nothing else; its
  /// own otherwise. (What writes it out computes it, as its workspace's grid.)
  static Type getFactorType(Value value) {
    Type own = value.getType(), result = own;
    for (Operation *user : value.getUsers()) {
      if (isa<attn::WriteOp>(user))
        continue;
      if (!isa<arith::MulFOp>(user))
        return own;
      for (Operation *sum : user->getUsers()) {
        auto reduction = dyn_cast<attn::ReduceOp>(sum);
        Type product = reduction ? reduction.getProduct().value_or(own) : own;
        if (product == own || (result != own && result != product))
          return own;
        result = product;
      }
    }
    return result;
  }

  Value makeWorkspace(Value value, StringRef wish) {
    auto builder = OpBuilder::atBlockEnd(&kernel.getHeadBlock());
    Type element = wideFactors ? value.getType() : getFactorType(value);
    if (element.isIndex())
      element = builder.getI64Type();
    return createWorkspace(builder, value.getLoc(), kernel,
                           dimensionsOf.lookup(value), element, wish);
  }

  /// The number of the first grid from `earliest` on with the statement's axes,
  /// or of a new one. (Whole axes need not agree: they cost nothing to those
  /// that do not use them.)
  unsigned join(const Statement &statement, unsigned earliest) {
    const AxisRoles &roles = statement.roles;
    Grid own{{},
             axes.setOf(roles.step),
             axes.setOf(roles.tile),
             axes.setOf(roles.loop),
             axes.setOf(roles.walk),
             axes.setOf(roles.whole)};
    for (unsigned i = earliest; i < grids.size(); ++i) {
      Grid &grid = grids[i];
      if (grid.step != own.step || grid.tile != own.tile ||
          grid.loop != own.loop || grid.walk != own.walk)
        continue;
      grid.statements.push_back(&statement);
      grid.whole |= own.whole;
      return i;
    }
    own.statements.push_back(&statement);
    grids.push_back(std::move(own));
    return grids.size() - 1;
  }

  void emit(const Grid &grid) {
    auto builder = OpBuilder::atBlockEnd(&kernel.getHeadBlock());
    const AxisRoles &first = grid.statements.front()->roles;
    auto op = attn::GridOp::create(
        builder, grid.statements.front()->loc, first.step, first.tile,
        first.loop, first.walk,
        llvm::to_vector_of<Value>(axes.indicesOf(grid.whole)));
    builder.setInsertionPointToEnd(&op.getBody().emplaceBlock());
    for (const Statement *statement : grid.statements)
      emit(builder, *statement);
    IRRewriter rewriter(builder);
    DominanceInfo dominance(op);
    eliminateCommonSubExpressions(rewriter, dominance, op);
    // Afterwards: a loop that several statements have copies of is one now.
    Block &body = op.getBody().front();
    for (auto loop : llvm::make_early_inc_range(body.getOps<attn::ForOp>()))
      carryNeededOnly(loop);
    eraseDead(body);
  }

  void emit(OpBuilder &builder, const Statement &statement) {
    IRMapping copies;
    for (Operation *op : statement.slice) {
      bool isCut = false;
      for (Value result : op->getResults())
        if (statement.cuts.contains(result)) {
          copies.map(result, readCut(builder, result));
          isCut = true;
        }
      if (isCut)
        continue;
      if (isa<attn::MaterializeOp>(op))
        copies.map(op->getResult(0), copies.lookupOrDefault(op->getOperand(0)));
      else
        builder.clone(*op, copies);
    }
    SmallVector<Value> indices;
    for (Value index : statement.indices)
      indices.push_back(copies.lookupOrDefault(index));
    attn::WriteOp::create(builder, statement.loc,
                          copies.lookupOrDefault(statement.value),
                          statement.tensor, indices);
  }

  Value readCut(OpBuilder &builder, Value cut) {
    Location loc = cut.getLoc();
    Value tensor = workspaceOfCut.lookup(cut);
    const SmallVector<Value> &indices = dimensionsOf[cut];
    Value read = attn::ReadOp::create(
        builder, loc, cast<RankedTensorType>(tensor.getType()).getElementType(),
        tensor, indices);
    if (read.getType() == cut.getType())
      return read;
    if (cut.getType().isIndex())
      return arith::IndexCastOp::create(builder, loc, cut.getType(), read);
    return arith::ExtFOp::create(builder, loc, cut.getType(), read);
  }

  /// The kernel's own block keeps what its sizes and scalars need.
  void eraseFormulas() {
    for (Operation *op : llvm::reverse(original))
      if (isa<attn::WriteOp>(op) || isOpTriviallyDead(op))
        op->erase();
  }

  attn::KernelOp kernel;
  attn::AxesAnalysis axes;
  attn::Axes tiled; // those that tiles are asked for
  bool tileTerms, wideFactors;
  attn::Axes whole;
  SmallVector<Operation *> original; // the kernel's operations before this pass
  std::vector<std::unique_ptr<Statement>> statements;
  std::vector<Grid> grids;
  unsigned lastGrid = 0;
  llvm::DenseMap<Value, SmallVector<Value>>
      dimensionsOf; // of a cut's workspace
  llvm::DenseMap<Value, Value> workspaceOfCut;
  llvm::DenseMap<Value, unsigned> gridOfCut;
  llvm::DenseMap<Value, unsigned> gridOfTensor; // that a statement writes
};

struct AttnFormGrids : impl::AttnFormGridsBase<AttnFormGrids> {
  using AttnFormGridsBase::AttnFormGridsBase;

  void runOnOperation() override {
    SmallVector<std::string> sizes(tileSizes.begin(), tileSizes.end());
    WalkResult result = getOperation()->walk([&](attn::KernelOp kernel) {
      eraseDead(kernel.getHeadBlock());
      return failed(GridFormation(kernel, sizes, tileTerms, wideFactors).run())
                 ? WalkResult::interrupt()
                 : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace attentile
