//===- StatementSlice.cpp - what a statement computes itself --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StatementSlice.h"
#include "WholeAxes.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace attentile {

void forEachOwn(const Statement &statement,
                llvm::function_ref<void(Operation *)> callback) {
  for (Operation *op : statement.slice)
    if (llvm::none_of(op->getResults(), [&](Value result) {
          return statement.cuts.contains(result);
        }))
      callback(op);
}

void forEachReduction(const Statement &statement,
                      llvm::function_ref<void(attn::ReduceOp)> callback) {
  forEachOwn(statement, [&](Operation *op) {
    op->walk([&](attn::ReduceOp reduction) { callback(reduction); });
  });
}

void forEachLoop(const Statement &statement,
                 llvm::function_ref<void(attn::ForOp)> callback) {
  forEachOwn(statement, [&](Operation *op) {
    if (auto loop = dyn_cast<attn::ForOp>(op))
      callback(loop);
  });
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

/// The axis of a loop over tiles, as a set; none for other operations.
static attn::Axes ownLoop(Operation *op, attn::AxesAnalysis &axes) {
  auto loop = dyn_cast<attn::ForOp>(op);
  return axes.setOf(loop ? ValueRange(loop.getAxis()) : ValueRange());
}

/// One walk up from the statement's roots, users before operands. `underLoop`
/// are the axes over whose tiles the statement's write loops; what `isApart`
/// says is cut.
static void walkSlice(Statement &statement, attn::KernelOp kernel,
                      attn::AxesAnalysis &axes, const attn::Axes &whole,
                      const attn::Axes &underLoop,
                      llvm::function_ref<bool(Operation *)> isApart) {
  // The axes of the loops that an operation stands under, on any way to it.
  llvm::DenseMap<Operation *, attn::Axes> loops;
  llvm::DenseSet<Value> reached;
  auto reach = [&](Value value, const attn::Axes &from) {
    Operation *op = value.getDefiningOp();
    reached.insert(value);
    if (!op || op->getBlock() != &kernel.getHeadBlock() ||
        isa<attn::WorkspaceOp>(op))
      return;
    auto [entry, isNew] = loops.try_emplace(op, from);
    if (!isNew)
      entry->second |= from;
  };
  statement.slice.clear();
  statement.cuts.clear();
  reach(statement.value, underLoop);
  for (Value index : statement.indices)
    reach(index, underLoop);
  for (Operation &op : llvm::reverse(kernel.getHeadBlock())) {
    auto found = loops.find(&op);
    if (found == loops.end())
      continue;
    attn::Axes under = found->second;
    statement.slice.push_back(&op);
    bool own = llvm::is_contained(op.getResults(), statement.value);
    attn::Axes bound = ownLoop(&op, axes);
    if (auto reduction = dyn_cast<attn::ReduceOp>(op))
      bound = axes.setOf(reduction.getAxes());
    bool isCut = isApart(&op) || isMaterialized(&op, axes);
    bound.reset(whole);
    isCut |= bound.any() && under.anyCommon(axes.ofAny(op.getResults()));
    if (!own && isCut) {
      for (Value result : op.getResults())
        if (reached.contains(result))
          statement.cuts.insert(result);
      continue;
    }
    under |= bound;
    if (auto loop = dyn_cast<attn::ForOp>(op))
      loop.forEachUsed([&](Value used) { reach(used, under); });
    else
      for (Value operand : op.getOperands())
        reach(operand, under);
  }
  std::reverse(statement.slice.begin(), statement.slice.end());
}

/// The same, where reductions over axes of `noLoop` are cut.
static void walkSlice(Statement &statement, attn::KernelOp kernel,
                      attn::AxesAnalysis &axes, const attn::Axes &whole,
                      const attn::Axes &underLoop, const attn::Axes &noLoop) {
  walkSlice(statement, kernel, axes, whole, underLoop, [&](Operation *op) {
    auto reduction = dyn_cast<attn::ReduceOp>(op);
    attn::Axes bound =
        reduction ? axes.setOf(reduction.getAxes()) : ownLoop(op, axes);
    return bound.anyCommon(noLoop);
  });
}

/// The axes that the loops of a slice's reductions visit.
static attn::Axes loopAxes(const Statement &statement, attn::AxesAnalysis &axes,
                           const attn::Axes &whole) {
  attn::Axes loops = axes.setOf({});
  forEachReduction(statement, [&](attn::ReduceOp reduction) {
    loops |= axes.setOf(reduction.getAxes());
  });
  forEachLoop(statement,
              [&](attn::ForOp loop) { loops |= axes.setOf(loop.getAxis()); });
  return loops.reset(whole);
}

void sliceStatement(Statement &statement, attn::KernelOp kernel,
                    attn::AxesAnalysis &axes, const attn::Axes &whole) {
  const attn::Axes none = axes.setOf({});
  const attn::Axes left = axes.ofAny(statement.indices);
  walkSlice(statement, kernel, axes, whole, none, none);
  // P[m, n] = softmax[n](s) writes in a loop over n, so what depends on n may
  // not be a loop itself.
  attn::Axes written = loopAxes(statement, axes, whole);
  written &= left;
  if (written.none())
    return;
  // The value itself may be such a loop: Y[m] = sum[n](x[n, m] * max[m](z)), or
  // what a loop over tiles of n leaves. Then it is the axis's other use that
  // goes to workspace.
  attn::Axes both = none;
  auto reduction = statement.value.getDefiningOp<attn::ReduceOp>();
  if (statement.value.getDefiningOp<attn::ForOp>() ||
      (reduction && axes.setOf(reduction.getAxes()).reset(whole).any())) {
    both = written;
    both &= axes.of(statement.value);
    written.reset(both);
  }
  walkSlice(statement, kernel, axes, whole, written, both);
}

//===----------------------------------------------------------------------===//
// Loops apart
//===----------------------------------------------------------------------===//

namespace {

/// What a statement's loops visit, and what of it could be a grid of its own.
class LoopsApart {
public:
  LoopsApart(const Statement &statement, attn::AxesAnalysis &axes)
      : statement(statement), axes(axes),
        loops(axes.setOf(statement.roles.loop)), products(axes.setOf({})),
        maxima(products), mixed(products) {
    forEachReduction(statement, [&](attn::ReduceOp reduction) {
      attn::Axes own = axes.setOf(reduction.getAxes());
      if (reduction.getProduct())
        products |= own;
      if (reduction.getKind() == attn::ReduceKind::Ref)
        maxima |= own;
      if (readsLoopBeside(reduction))
        mixed |= own;
    });
  }

  /// Sums of products whose rows along the tile's axis share nothing.
  attn::Axes ofOtherRows() {
    unsigned row = axes.numberOf(statement.roles.tile.front());
    attn::Axes shared = axes.setOf({});
    forEachOwn(statement, [&](Operation *op) {
      op->walk([&](attn::ReadOp read) {
        if (attn::Axes own = axes.of(read.getResult()); !own.test(row))
          shared |= own;
      });
    });
    attn::Axes result = loops;
    result &= products;
    result.reset(shared);
    return loops.anyCommon(shared) ? result : axes.setOf({});
  }

  /// What is the same for all rows of the tile, beside what is not: a weight of
  /// a head, max[k](w[h, k]).
  attn::Axes ofAllRows() {
    unsigned row = axes.numberOf(statement.roles.tile.front());
    attn::Axes result = loops;
    forEachReduction(statement, [&](attn::ReduceOp reduction) {
      if (axes.of(reduction).test(row))
        result.reset(axes.setOf(reduction.getAxes()));
    });
    return result == loops ? axes.setOf({}) : result;
  }

  /// Softmaxes whose loops would be one each: of several axes in a statement
  /// they are not. All but one, where there is nothing else.
  attn::Axes ofSoftmaxes() {
    attn::Axes result = loops;
    result &= products;
    result &= maxima;
    result.reset(mixed);
    if (result == loops)
      for (BlockArgument index : axes.indicesOf(result)) {
        result.reset(axes.numberOf(index));
        break;
      }
    return result;
  }

private:
  /// Whether a reduction is of another loop's results.
  bool readsLoopBeside(attn::ReduceOp reduction) {
    attn::Axes own = axes.setOf(reduction.getAxes());
    llvm::SetVector<Operation *> slice;
    slice.insert(reduction);
    for (size_t i = 0; i < slice.size(); ++i) {
      if (auto inner = dyn_cast<attn::ReduceOp>(slice[i])) {
        attn::Axes of = axes.setOf(inner.getAxes());
        of &= loops;
        if (of.reset(own).any())
          return true;
      }
      for (Value operand : slice[i]->getOperands())
        if (Operation *op = operand.getDefiningOp())
          slice.insert(op);
    }
    return false;
  }

  const Statement &statement;
  attn::AxesAnalysis &axes;
  attn::Axes loops, products, maxima, mixed;
};

} // namespace

/// Whether the kernel itself writes a loop over tiles.
static bool hasTileLoop(const Statement &statement) {
  bool result = false;
  forEachLoop(statement, [&](attn::ForOp) { result = true; });
  return result;
}

/// Whether a sum reads several elements for each pair of the statement's rows
/// and keys, again for each index of an axis that they lack: a bias projected
/// from pairs, in a program for each head and batch. What it gives must be no
/// larger than what is read, but for one axis (heads for features).
static bool readsPairsAgain(attn::ReduceOp sum, const AxisRoles &roles,
                            attn::KernelOp kernel, attn::AxesAnalysis &axes) {
  constexpr int64_t kFewTerms = 8; // as cheap as to read what they give
  int64_t terms = 1;
  for (Value axis : sum.getAxes())
    terms *= getConstantExtent(kernel, cast<BlockArgument>(axis)).value_or(1);
  const attn::Axes summed = axes.setOf(sum.getAxes());
  const attn::Axes given = axes.of(sum), steps = axes.setOf(roles.step);
  if (terms <= kFewTerms || !given.anyCommon(axes.setOf(roles.tile)) ||
      !given.anyCommon(axes.setOf(roles.loop)))
    return false;
  auto readsPairs = [&](attn::ReadOp read) {
    attn::Axes own = axes.of(read.getResult()), beyond = given;
    beyond.reset(own);
    return own.anyCommon(axes.setOf(roles.tile)) &&
           own.anyCommon(axes.setOf(roles.loop)) && !summed.test(own) &&
           steps.test(own) && beyond.count() <= 1 && readsPlainly(read, axes);
  };
  llvm::SetVector<Operation *> body;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      body.insert(op);
  };
  add(sum.getOperand());
  for (size_t i = 0; i < body.size(); ++i) {
    if (auto read = dyn_cast<attn::ReadOp>(body[i]); read && readsPairs(read))
      return true;
    llvm::for_each(body[i]->getOperands(), add);
  }
  return false;
}

bool cutSumsOfPairs(Statement &statement, attn::KernelOp kernel,
                    attn::AxesAnalysis &axes, const attn::Axes &whole) {
  llvm::DenseSet<Operation *> apart;
  for (Value cut : statement.cuts)
    apart.insert(cut.getDefiningOp());
  size_t before = apart.size();
  forEachOwn(statement, [&](Operation *op) {
    auto sum = dyn_cast<attn::ReduceOp>(op);
    if (sum && sum.getKind() == attn::ReduceKind::Sum &&
        sum.getResult() != statement.value &&
        readsPairsAgain(sum, statement.roles, kernel, axes)) {
      apart.insert(sum);
      remark::passed(
          sum.getLoc(),
          remark::RemarkOpts::name("SumOfPairs").category("attn-form-grids"))
          << remark::add("a sum for each pair of rows and keys is computed "
                         "once, in workspace");
    }
  });
  if (apart.size() == before)
    return false;
  walkSlice(statement, kernel, axes, whole, axes.setOf({}),
            [&](Operation *op) { return apart.contains(op); });
  return true;
}

bool cutReductionsApart(Statement &statement, attn::KernelOp kernel,
                        attn::AxesAnalysis &axes, const attn::Axes &whole) {
  const attn::Axes none = axes.setOf({});
  attn::Axes reduced = loopAxes(statement, axes, none),
             written = axes.setOf(statement.roles.loop);
  if (hasTileLoop(statement) || written.reset(reduced).count() < 2)
    return false;
  walkSlice(statement, kernel, axes, whole, none, reduced);
  return !statement.cuts.empty();
}

bool cutLoopsApart(Statement &statement, attn::KernelOp kernel,
                   attn::AxesAnalysis &axes, const attn::Axes &whole) {
  const AxisRoles &roles = statement.roles;
  if (hasTileLoop(statement) || roles.tile.size() != 1 || roles.loop.size() < 2)
    return false;
  LoopsApart loops(statement, axes);
  attn::Axes apart = loops.ofOtherRows();
  if (apart.none())
    apart = loops.ofAllRows();
  if (apart.none())
    apart = loops.ofSoftmaxes();
  apart.reset(axes.ofAny(statement.indices));
  auto reduction = statement.value.getDefiningOp<attn::ReduceOp>();
  if (apart.none() ||
      (reduction && apart.anyCommon(axes.setOf(reduction.getAxes()))))
    return false;
  const attn::Axes none = axes.setOf({});
  walkSlice(statement, kernel, axes, whole, none, apart);
  return true;
}

} // namespace attentile
