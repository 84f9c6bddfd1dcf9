//===- MarkHidden.cpp - of which rows a mask hides a whole block ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: says for which groups of rows an iteration over a partial block changes
// nothing (tile.hidden): VisibilityAnalysis has the formula, GroupTruth asks it
// of a group's rows and a block's ends, or of what each column loads; and which
// columns alone they see, of any block (tile.sees, SeenColumns) or of those for
// which its ends tell, where a mask repeats in columns. Expects: loops with
// `tile.blocks`, before exponentials are folded and steps guarded. Leaves: the
// same values. Does not handle: conditions that neither tells, such as a
// table's of pairs, and loops that store.
//
//===----------------------------------------------------------------------===//

#include "GroupTruth.h"
#include "SeenColumns.h"
#include "VisibilityFormula.h"
#include "attentile/Loops/Passes.h"

namespace attentile {
#define GEN_PASS_DEF_TILEMARKHIDDEN
#include "Loops/Passes.h.inc"
} // namespace attentile

using namespace mlir;

namespace attentile {
namespace {

class HiddenGroups {
public:
  HiddenGroups(scf::ForOp loop, OpBuilder &builder)
      : loop(loop), builder(builder), truth(loop, builder) {}

  /// Of the block's columns, so many from `first` on alone, and of what repeats
  /// in them.
  void setColumns(int64_t first, int64_t count) {
    truth.setColumns(first, count);
    isPart = true;
    known.clear();
  }

  /// Whether a formula surely holds of all of a group's elements; null where
  /// that cannot be told. Each node is asked once, as by foldFormula.
  Value getSure(Formula formula) {
    auto found = known.find(formula);
    if (found != known.end())
      return found->second;
    Value sure = computeSure(formula);
    return known[formula] = sure;
  }

  /// Whether a formula speaks of what differs between rows. What does not holds
  /// for none of the blocks that are left.
  bool speaksOfRows(Formula formula) {
    return Formulas::anyAtom(formula, [&](Value atom) {
      auto type = dyn_cast<RankedTensorType>(stripBroadcast(atom).getType());
      auto axis = loop->getAttrOfType<StringAttr>("tile.axis");
      return type && (type.getRank() > 1 || !tile::getAxisPosition(type, axis));
    });
  }

private:
  Value computeSure(Formula formula);

  scf::ForOp loop;
  OpBuilder &builder;
  GroupTruth truth;
  bool isPart = false;
  llvm::DenseMap<Formula, Value> known;
};

Value HiddenGroups::computeSure(Formula formula) {
  switch (formula->kind) {
  case FormulaNode::False:
  case FormulaNode::True: // a loop of nothing
    return {};
  case FormulaNode::Atom: {
    auto compare = stripBroadcast(formula->atom).getDefiningOp<arith::CmpIOp>();
    return compare ? truth.getSure(compare, formula->negated) : Value();
  }
  case FormulaNode::And: {
    Value lhs = getSure(formula->lhs);
    Value rhs = lhs ? getSure(formula->rhs) : Value();
    return rhs ? arith::AndIOp::create(builder, loop.getLoc(), lhs, rhs)
               : Value();
  }
  case FormulaNode::Or: {
    auto side = [&](Formula part) {
      return speaksOfRows(part) && (!isPart || repeats(part, loop))
                 ? getSure(part)
                 : Value();
    };
    Value lhs = side(formula->lhs), rhs = side(formula->rhs);
    if (lhs && rhs)
      return arith::OrIOp::create(builder, loop.getLoc(), lhs, rhs);
    return lhs ? lhs : rhs;
  }
  }
  llvm_unreachable("a kind of formula");
}

struct TileMarkHidden : impl::TileMarkHiddenBase<TileMarkHidden> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) {
      auto blocks = loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks");
      if (blocks && blocks.getValue() != tile::BlockClass::Full)
        mark(loop);
    });
  }

  static void mark(scf::ForOp loop) {
    auto place = llvm::find_if(*loop.getBody(), [](Operation &op) {
      return isa<tile::DotOp, tile::LoadOp>(op) &&
             tile::isTile(op.getResult(0).getType());
    });
    bool multiplies = !loop.getBody()->getOps<tile::DotOp>().empty();
    bool stores =
        loop.walk([](tile::StoreOp) { return WalkResult::interrupt(); })
            .wasInterrupted();
    if (place == loop.getBody()->end() || !multiplies || stores)
      return;
    Formulas formulas;
    VisibilityAnalysis analysis(formulas, /*tail=*/true);
    Formula hidden = analysis.getHidden(loop);
    if (!hidden)
      return;
    OpBuilder builder(&*place);
    HiddenGroups groups(loop, builder);
    if (!groups.speaksOfRows(hidden))
      return;
    if (Value sure = groups.getSure(hidden))
      tile::HiddenOp::create(builder, loop.getLoc(), sure);
    markSeen(loop, hidden, groups, builder);
  }

  /// Which columns a group sees, where they are fewer than a block has: of all
  /// blocks, or of those for which it can be told when the kernel runs.
  static void markSeen(scf::ForOp loop, Formula hidden, HiddenGroups &groups,
                       OpBuilder &builder) {
    auto resources = loop->getParentOfType<tile::KernelOp>()
                         ->getAttrOfType<tile::ResourcesAttr>("tile.resources");
    auto axis = loop->getAttrOfType<StringAttr>("tile.axis");
    tile::DotOp scores = *loop.getBody()->getOps<tile::DotOp>().begin();
    RankedTensorType type = scores.getTileType();
    std::optional<unsigned> columns = tile::getAxisPosition(type, axis);
    if (!resources || !columns || type.getRank() != 2 ||
        type.getDimSize(1 - *columns) % resources.getWarps() ||
        !repeats(hidden, loop))
      return;
    int64_t size = type.getDimSize(*columns);
    int64_t rows = type.getDimSize(1 - *columns) / resources.getWarps();
    SeenColumns ofGroup(loop, size, tile::getAxes(type)[1 - *columns], rows);
    int64_t seen = ofGroup.count(hidden);
    bool always = seen < size;
    if (!always) // fewer would do for few blocks
      seen = llvm::alignTo(size * 3 / 4, kColumnStep);
    if (seen >= size || !(always || ofGroup.mayOftenFit(hidden, seen)))
      return;
    Location loc = loop.getLoc();
    auto getHides = [&](int64_t first, int64_t count) {
      groups.setColumns(first, count);
      return groups.getSure(hidden);
    };
    // From the last column on before which all are hidden; where that is not so
    // of all blocks, of those that hide all behind so many from there on.
    Value from = arith::ConstantIndexOp::create(builder, loc, 0), fits;
    if (!always)
      fits = getHides(seen, size - seen);
    for (int64_t first = kColumnStep; first + seen <= size;
         first += kColumnStep) {
      Value hides = getHides(0, first);
      if (!hides || (!always && !fits))
        return;
      from = arith::SelectOp::create(
          builder, loc, hides,
          arith::ConstantIndexOp::create(builder, loc, first), from);
      int64_t end = first + seen;
      if (!always && end == size)
        fits = arith::OrIOp::create(builder, loc, hides, fits);
      else if (!always)
        fits = arith::SelectOp::create(builder, loc, hides,
                                       getHides(end, size - end), fits);
    }
    tile::SeesOp::create(builder, loc, seen, from, rows, fits);
  }
};

} // namespace
} // namespace attentile
