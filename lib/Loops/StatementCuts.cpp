//===- StatementCuts.cpp - what is better a grid of its own ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MadeOf.h"
#include "StatementSlice.h"
#include "WholeAxes.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace attentile {

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

  /// What several programs would compute again: the mean square over heads and
  /// features that scales each head, sum[g, f](x * x). (Not of positions
  /// alone.)
  attn::Axes ofOtherPrograms(attn::KernelOp kernel) {
    constexpr int64_t kFewTerms = 128; // as cheap as a grid of its own
    constexpr int64_t kOneTile = 64;
    attn::Axes programs = axes.setOf(statement.roles.step);
    for (Value axis : statement.roles.tile)
      if (extentOf(kernel, axis) > kOneTile)
        programs |= axes.setOf(axis);
    attn::Axes result = loops;
    result |= axes.setOf(statement.roles.walk);
    forEachReduction(statement, [&](attn::ReduceOp reduction) {
      double terms = 1;
      for (Value axis : reduction.getAxes())
        terms *= extentOf(kernel, axis);
      attn::Axes again = programs;
      if (again.reset(axes.of(reduction)).none() || terms <= kFewTerms ||
          !isMadeOf(reduction, llvm::IsaPred<attn::ReadOp>)) // reads nothing
        result.reset(axes.setOf(reduction.getAxes()));
    });
    return result;
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
  /// Infinity where it is not known.
  static double extentOf(attn::KernelOp kernel, Value axis) {
    std::optional<int64_t> extent =
        getConstantExtent(kernel, cast<BlockArgument>(axis));
    return extent ? double(*extent) : std::numeric_limits<double>::infinity();
  }

  /// Whether a reduction is of another loop's results.
  bool readsLoopBeside(attn::ReduceOp reduction) {
    attn::Axes own = axes.setOf(reduction.getAxes());
    return isMadeOf(reduction, [&](Operation *op) {
      auto inner = dyn_cast<attn::ReduceOp>(op);
      if (!inner)
        return false;
      attn::Axes of = axes.setOf(inner.getAxes());
      of &= loops;
      return of.reset(own).any();
    });
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

bool cutReductionsApart(Statement &statement, const KnownAxes &known) {
  attn::AxesAnalysis &axes = known.axes;
  attn::Axes reduced = loopAxes(statement, axes, axes.setOf({})),
             written = axes.setOf(statement.roles.loop);
  if (hasTileLoop(statement) || written.reset(reduced).count() < 2)
    return false;
  sliceStatement(statement, known,
                 [&](Operation *op) { return isLoopOver(op, reduced, axes); });
  return !statement.cuts.empty();
}

bool cutLoopsApart(Statement &statement, const KnownAxes &known) {
  attn::AxesAnalysis &axes = known.axes;
  const AxisRoles &roles = statement.roles;
  if (hasTileLoop(statement))
    return false;
  LoopsApart loops(statement, axes);
  attn::Axes apart = loops.ofOtherPrograms(known.kernel);
  bool hasSeveral = roles.tile.size() == 1 && roles.loop.size() > 1;
  if (apart.none() && hasSeveral)
    apart = loops.ofOtherRows();
  if (apart.none() && hasSeveral)
    apart = loops.ofAllRows();
  if (apart.none() && hasSeveral)
    apart = loops.ofSoftmaxes();
  apart.reset(axes.ofAny(statement.indices));
  auto reduction = statement.value.getDefiningOp<attn::ReduceOp>();
  if (apart.none() ||
      (reduction && apart.anyCommon(axes.setOf(reduction.getAxes()))))
    return false;
  sliceStatement(statement, known,
                 [&](Operation *op) { return isLoopOver(op, apart, axes); });
  return true;
}

//===----------------------------------------------------------------------===//
// Sums of pairs
//===----------------------------------------------------------------------===//

/// Whether a sum reads several elements for each pair of the statement's rows
/// and keys, again for each index of an axis that they lack: a bias projected
/// from pairs, in a program for each head and batch. What it gives must be no
/// larger than what is read, but for one axis (heads for features).
static bool readsPairsAgain(attn::ReduceOp sum, const AxisRoles &roles,
                            const KnownAxes &known) {
  attn::AxesAnalysis &axes = known.axes;
  constexpr int64_t kFewTerms = 8; // as cheap as to read what they give
  int64_t terms = 1;
  for (Value axis : sum.getAxes())
    terms *=
        getConstantExtent(known.kernel, cast<BlockArgument>(axis)).value_or(1);
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
  return isMadeOf(sum.getOperand(), [&](Operation *op) {
    auto read = dyn_cast<attn::ReadOp>(op);
    return read && readsPairs(read);
  });
}

bool cutSumsOfPairs(Statement &statement, const KnownAxes &known) {
  attn::AxesAnalysis &axes = known.axes;
  llvm::DenseSet<Operation *> apart;
  for (Value cut : statement.cuts)
    apart.insert(cut.getDefiningOp());
  size_t before = apart.size();
  forEachOwn(statement, [&](Operation *op) {
    auto sum = dyn_cast<attn::ReduceOp>(op);
    if (sum && sum.getKind() == attn::ReduceKind::Sum &&
        sum.getResult() != statement.value &&
        readsPairsAgain(sum, statement.roles, known)) {
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
  sliceStatement(statement, known,
                 [&](Operation *op) { return apart.contains(op); });
  return true;
}

} // namespace attentile
