//===- JoinLoops.cpp - one loop over full and partial blocks --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: chained loops over full and partial blocks become one loop; what only
// partial blocks evaluate stands on one side of a branch on the block's index.
// Expects: loops classified by tile-skip-masked-blocks, tails peeled, so that
// none of a chain ends before it starts. Leaves: the same blocks in the same
// order, `tile.blocks` mixed, remarks. Does not handle: chains with a gap,
// bodies that differ in more than selects.
//
//===----------------------------------------------------------------------===//
//
// The body over full blocks is the other one with some conditions known. Which,
// is not asked; the two bodies are compared. Each value of the partial body
// gets a counterpart in the full one: that of the same operation on
// counterparts, or, where there is none, that of an operand which a select or a
// logical operation lets pass:
//
//   partial                      full                  counterpart
//     s = dot q, k                 s' = dot q, k         s  -> s'
//     c = n <= last                                      c  -> none
//     x = select(c, s, -inf)                             x  -> s'
//     t = max x                    t' = max s'           t  -> t'
//
// Where the same operation is found, though an operand is let pass (t), the two
// bodies meet again, and a branch makes that operand: x there is "if full { s }
// else { select(n <= last, s, -inf) }". If the results' counterparts are the
// results, each side computes in its blocks what the loop of before did,
// whatever was let pass. Conditions do not meet: a tile of them takes a
// register for each element. And what depends on a value that the loop carries,
// such as an exponential times a factor, takes no branch: all blocks compute it
// as partial ones do, which is right in each of them, and the step stays one
// piece for tile-guard-softmax.
//

#include "ChainedLoops.h"
#include "IndexBuilder.h"
#include "VisibilityFormula.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Sources.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attentile {
#define GEN_PASS_DEF_TILEJOINLOOPS
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-join-loops"

using namespace mlir;

namespace attentile {
namespace {

bool isCondition(Value value) {
  return tile::getElementType(value.getType()).isInteger(1);
}

/// The values of one loop's body beside those of another over the same axis.
class BodyMatch {
public:
  BodyMatch(scf::ForOp partial, scf::ForOp full);

  /// Whether every result has a counterpart that is the full loop's result.
  bool succeeded() const { return matched; }
  /// Nothing is let pass: the bodies are the same.
  bool isExact() const { return matched && differing.empty(); }
  /// Whether the value is not that of the full body.
  bool differs(Value value) const { return differing.contains(value); }
  /// Null: the full body has nothing that it could be.
  Value get(Value value) {
    Operation *op = value.getDefiningOp();
    if (value.getParentBlock() != partial.getBody() &&
        !(op && partial->isProperAncestor(op)))
      return value;
    return counterparts.lookup(value);
  }

private:
  bool findSame(Operation &op);
  Value letPass(Operation &op);

  scf::ForOp partial, full;
  llvm::DenseMap<Value, Value> counterparts;
  llvm::DenseSet<Value> differing;
  bool matched = false;
};

BodyMatch::BodyMatch(scf::ForOp partial, scf::ForOp full)
    : partial(partial), full(full) {
  for (auto [from, to] : llvm::zip_equal(partial.getBody()->getArguments(),
                                         full.getBody()->getArguments()))
    counterparts[from] = to;
  for (Operation &op : partial.getBody()->without_terminator()) {
    if (isa<tile::HiddenOp, tile::SeesOp>(
            op)) // no value of the full body depends on it
      continue;
    bool same = findSame(op);
    bool meets = same && op.getNumResults() == 1 && !isa<arith::SelectOp>(op) &&
                 !isCondition(op.getResult(0));
    bool any =
        llvm::any_of(op.getOperands(), [&](Value x) { return differs(x); });
    if (same && (!any || meets))
      continue;
    if (op.getNumResults() != 1 || op.getNumRegions() != 0 ||
        !isMemoryEffectFree(&op))
      return;
    Value result = op.getResult(0);
    differing.insert(result);
    if (!same)
      counterparts[result] = letPass(op);
  }
  matched = llvm::all_of(
      llvm::zip_equal(partial.getYieldedValues(), full.getYieldedValues()),
      [&](auto pair) {
        auto [value, other] = pair;
        return get(value) == other && !(differs(value) && isCondition(value));
      });
}

/// Looks for the same operation on the operands' counterparts.
bool BodyMatch::findSame(Operation &op) {
  for (Operation &other : full.getBody()->without_terminator()) {
    bool same =
        op.getName() == other.getName() &&
        op.getAttrDictionary() == other.getAttrDictionary() &&
        op.getNumRegions() == 0 && other.getNumRegions() == 0 &&
        op.getResultTypes() == other.getResultTypes() &&
        op.getNumOperands() == other.getNumOperands() &&
        llvm::all_of(llvm::zip_equal(op.getOperands(), other.getOperands()),
                     [&](auto pair) {
                       return get(std::get<0>(pair)) == std::get<1>(pair);
                     });
    if (!same)
      continue;
    for (auto [from, to] : llvm::zip_equal(op.getResults(), other.getResults()))
      counterparts[from] = to;
    return true;
  }
  return false;
}

/// The counterpart of the operand that `op` is where a condition is known.
Value BodyMatch::letPass(Operation &op) {
  SmallVector<Value> candidates;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    candidates = {select.getTrueValue(), select.getFalseValue()};
  else if (isa<arith::AndIOp, arith::OrIOp>(op) && isCondition(op.getResult(0)))
    candidates = {op.getOperand(0), op.getOperand(1)};
  else if (isa<tile::BroadcastOp>(op))
    return {};
  // What hides is a constant.
  for (Value candidate : candidates)
    if (Value passed = get(candidate);
        passed && !matchPattern(candidate, m_Constant()))
      return passed;
  return {};
}

//===----------------------------------------------------------------------===//
// The joined loop
//===----------------------------------------------------------------------===//

/// Loops that each go on where the one before ends.
struct Chain {
  SmallVector<scf::ForOp> loops;
  scf::ForOp full, partial; ///< one of each class, whose body serves for all

  /// Finds these. Loops over partial blocks may have different conditions left,
  /// such as a mask's before the full ones and the axis's end behind them: the
  /// body that has all of them serves.
  bool findBodies() {
    SmallVector<scf::ForOp> partials;
    for (scf::ForOp loop : loops)
      if (!isFull(loop))
        partials.push_back(loop);
      else if (!full)
        full = loop;
      else if (!BodyMatch(loop, full).isExact())
        return false;
    auto serves = llvm::find_if(partials, [&](scf::ForOp loop) {
      return llvm::all_of(partials, [&](scf::ForOp other) {
        return loop == other || BodyMatch(loop, other).succeeded();
      });
    });
    if (serves != partials.end())
      partial = *serves;
    return full && partial;
  }
  static bool isFull(scf::ForOp loop) {
    return loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks")
               .getValue() == tile::BlockClass::Full;
  }
};

class Joiner {
public:
  Joiner(Chain &chain, BodyMatch &match)
      : chain(chain), match(match), builder(chain.loops.back()) {}

  void run();

private:
  void emitCondition();
  void emitBody();
  void joinHidden(tile::HiddenOp hidden);
  bool loadsForIt(Value value);
  void meet(Value value);
  bool isCarried(Value value);
  Value makePartial(OpBuilder &b, Value value, IRMapping &sides);
  Value makeFull(OpBuilder &b, Value value, IRMapping &sides);

  Chain &chain;
  BodyMatch &match;
  OpBuilder builder;
  scf::ForOp joined;
  Value isFull;
  IRMapping ofPartial, ofFull; ///< a body's values to the joined one's
  llvm::DenseMap<Operation *, bool> carried;
};

/// Whether the block is of a loop over full ones.
void Joiner::emitCondition() {
  Value index = joined.getInductionVar();
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) -> Value {
    return arith::CmpIOp::create(builder, joined.getLoc(), predicate, index,
                                 bound);
  };
  for (auto [number, loop] : llvm::enumerate(chain.loops)) {
    if (!Chain::isFull(loop))
      continue;
    Value in;
    if (number + 1 != chain.loops.size())
      in = compare(arith::CmpIPredicate::slt, loop.getUpperBound());
    if (number != 0) {
      Value from = compare(arith::CmpIPredicate::sge, loop.getLowerBound());
      in =
          in ? arith::AndIOp::create(builder, joined.getLoc(), from, in) : from;
    }
    isFull = isFull ? arith::OrIOp::create(builder, joined.getLoc(), isFull, in)
                    : in;
  }
}

/// Whether a value of the partial body depends on what the loop carries.
bool Joiner::isCarried(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == chain.partial.getBody() &&
           argument != chain.partial.getInductionVar();
  Operation *op = value.getDefiningOp();
  if (op->getBlock() != chain.partial.getBody())
    return false;
  auto [known, isNew] = carried.try_emplace(op, false);
  if (isNew) {
    bool any =
        llvm::any_of(op->getOperands(), [&](Value x) { return isCarried(x); });
    return carried[op] = any;
  }
  return known->second;
}

/// A value that differs, in partial blocks.
Value Joiner::makePartial(OpBuilder &b, Value value, IRMapping &sides) {
  if (Value made = sides.lookupOrNull(value))
    return made;
  if (!match.differs(value))
    return ofPartial.lookupOrDefault(value);
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    sides.map(operand, makePartial(b, operand, sides));
  b.clone(*op, sides);
  return sides.lookup(value);
}

/// A value of the full body, in full blocks.
Value Joiner::makeFull(OpBuilder &b, Value value, IRMapping &sides) {
  if (Value made = sides.lookupOrNull(value))
    return made;
  Operation *op = value.getDefiningOp();
  if (ofFull.contains(value) || !op || !chain.full->isProperAncestor(op))
    return ofFull.lookupOrDefault(value);
  for (Value operand : op->getOperands())
    sides.map(operand, makeFull(b, operand, sides));
  b.clone(*op, sides);
  return sides.lookup(value);
}

/// Where the bodies meet again: a value that differs, by a branch.
void Joiner::meet(Value value) {
  if (!match.differs(value) || ofPartial.contains(value))
    return;
  if (isCarried(value)) {
    IRMapping sides;
    ofPartial.map(value, makePartial(builder, value, sides));
    return;
  }
  auto branch =
      scf::IfOp::create(builder, value.getLoc(), value.getType(), isFull,
                        /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder b = OpBuilder::atBlockEnd(branch.thenBlock());
  IRMapping sides;
  scf::YieldOp::create(b, value.getLoc(), makeFull(b, match.get(value), sides));
  b.setInsertionPointToEnd(branch.elseBlock());
  sides.clear();
  scf::YieldOp::create(b, value.getLoc(), makePartial(b, value, sides));
  ofPartial.map(value, branch.getResult(0));
}

/// Of full blocks it does not hold: nothing is loaded for them to tell.
void Joiner::joinHidden(tile::HiddenOp hidden) {
  Value condition = hidden.getCondition();
  Location loc = hidden.getLoc();
  IRMapping sides;
  if (!match.differs(condition) || !loadsForIt(condition)) {
    tile::HiddenOp::create(builder, loc,
                           makePartial(builder, condition, sides));
    return;
  }
  auto branch = scf::IfOp::create(builder, loc, condition.getType(), isFull,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder b = OpBuilder::atBlockEnd(branch.thenBlock());
  scf::YieldOp::create(b, loc,
                       Value(arith::ConstantIntOp::create(b, loc, 0, 1)));
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, makePartial(b, condition, sides));
  tile::HiddenOp::create(builder, loc, branch.getResult(0));
}

/// Whether something is loaded for a value of the partial body alone.
bool Joiner::loadsForIt(Value value) {
  auto differs = [&](Value part) { return match.differs(part); };
  return anySource(
      value,
      [&](Value part) {
        return differs(part) && part.getDefiningOp<tile::LoadOp>();
      },
      differs);
}

void Joiner::emitBody() {
  for (Operation &op : chain.partial.getBody()->without_terminator()) {
    if (llvm::any_of(op.getResults(),
                     [&](Value x) { return match.differs(x); }))
      continue;
    if (auto hidden = dyn_cast<tile::HiddenOp>(op)) {
      joinHidden(hidden);
      continue;
    }
    if (auto sees = dyn_cast<tile::SeesOp>(op)) {
      IRMapping sides;
      tile::SeesOp::create(builder, sees.getLoc(), sees.getCount(),
                           makePartial(builder, sees.getFrom(), sides),
                           sees.getRows(),
                           sees.getFits()
                               ? makePartial(builder, sees.getFits(), sides)
                               : Value());
      continue;
    }
    for (Value operand : op.getOperands())
      meet(operand);
    Operation *copy = builder.clone(op, ofPartial);
    for (auto [result, made] :
         llvm::zip_equal(op.getResults(), copy->getResults()))
      if (Value counterpart = match.get(result);
          counterpart && !ofFull.contains(counterpart))
        ofFull.map(counterpart, made);
  }
  SmallVector<Value> yielded;
  for (Value value : chain.partial.getYieldedValues()) {
    meet(value);
    yielded.push_back(ofPartial.lookupOrDefault(value));
  }
  scf::YieldOp::create(builder, chain.partial.getLoc(), yielded);
}

void Joiner::run() {
  scf::ForOp first = chain.loops.front(), last = chain.loops.back();
  joined = scf::ForOp::create(builder, chain.partial.getLoc(),
                              first.getLowerBound(), last.getUpperBound(),
                              last.getStep(), first.getInits());
  joined->setDiscardableAttrs(chain.partial->getDiscardableAttrDictionary());
  joined->setAttr(
      "tile.blocks",
      tile::BlockClassAttr::get(joined.getContext(), tile::BlockClass::Mixed));
  Block &body = *joined.getBody();
  if (!body.empty())
    body.back().erase();
  builder.setInsertionPointToEnd(&body);
  ofPartial.map(chain.partial.getBody()->getArguments(), body.getArguments());
  ofFull.map(chain.full.getBody()->getArguments(), body.getArguments());
  emitCondition();
  emitBody();
  last.replaceAllUsesWith(joined.getResults());
  for (scf::ForOp loop : llvm::reverse(chain.loops))
    loop.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct TileJoinLoops : impl::TileJoinLoopsBase<TileJoinLoops> {
  void runOnOperation() override {
    getOperation()->walk([&](tile::KernelOp kernel) {
      SmallVector<scf::ForOp> loops;
      kernel->walk([&](scf::ForOp loop) {
        if (loop->hasAttr("tile.axis") && loop->hasAttr("tile.blocks"))
          loops.push_back(loop);
      });
      llvm::DenseSet<Operation *> seen;
      for (scf::ForOp loop : loops)
        if (!seen.contains(loop))
          join(kernel, collect(loop, seen));
    });
  }

  Chain collect(scf::ForOp loop, llvm::DenseSet<Operation *> &seen) {
    Chain chain;
    for (; loop; loop = getNextInChain(loop)) {
      seen.insert(loop);
      chain.loops.push_back(loop);
    }
    return chain;
  }

  void join(tile::KernelOp kernel, Chain chain) {
    if (llvm::all_of(chain.loops, Chain::isFull) ||
        llvm::none_of(chain.loops, Chain::isFull))
      return;
    auto options = [&](StringRef name) {
      return remark::RemarkOpts::name(name)
          .category(DEBUG_TYPE)
          .function(kernel.getName());
    };
    Location loc = chain.loops.front().getLoc();
    std::optional<BodyMatch> match;
    if (chain.findBodies())
      match.emplace(chain.partial, chain.full);
    if (!match || !match->succeeded()) {
      remark::missed(loc, options("NotJoined"))
          << remark::add("full and partial blocks keep a loop each")
          << remark::reason("their bodies differ in more than selects");
      return;
    }
    remark::passed(loc, options("Joined"))
        << remark::add("one loop branches around what full blocks need not "
                       "evaluate")
        << remark::metric("Loops", chain.loops.size());
    Joiner(chain, *match).run();
  }
};

} // namespace
} // namespace attentile
