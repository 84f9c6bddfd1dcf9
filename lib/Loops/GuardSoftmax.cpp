//===- GuardSoftmax.cpp - stale references under a guard ------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: a fused loop, but over partial blocks alone, keeps the references it
// has; exponentials are positive, so the tile's row sum, needed anyway, bounds
// each of them, and only where it exceeds a threshold the classical step with a
// new maximum runs. Expects: loops of tile-fuse-online-softmax, exponentials in
// base 2 or e. Leaves: two scf.if around the step, a carried i1, remarks. Does
// not handle: loops over partial blocks, maxima whose exact value is wanted.
//
//===----------------------------------------------------------------------===//
//
// The loop's body, k the references, l one row sum:
//
//   s = scores
//   p, t, ok = if calm { exp2(s - mx), its row sums, vote(t <= T) }
//              else { -, -, false }
//   mx', l', p', a', calm' =
//     if ok { mx, l + t, p, acc, true }
//     else  { the step as it was, on s;
//             calm' = vote(mx' > -inf and mx' - mx small) }
//   acc' = dot p', v acc a'
//
// calm is false at first: the first block finds the references. It stays false
// while some row has none, so that calm says: each row that decides here has
// one. (Without that, a row hidden so far would have s - -inf for exponents,
// which vote no: right, but both sides would be computed.) And it stays false
// while maxima grow beyond what the vote lets pass, so that data which grow in
// every block do not pay for both sides, or while a reference is too far from 0
// for the factor that all exponents have (tile-fold-exp2).
//
//===----------------------------------------------------------------------===//

#include "FarRows.h"
#include "StepCopy.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <cmath>

namespace attentile {
#define GEN_PASS_DEF_TILEGUARDSOFTMAX
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-guard-softmax"

using namespace mlir;

namespace attentile {
namespace {

class LoopGuard {
public:
  LoopGuard(scf::ForOp loop, GuardedStep &step, double limit)
      : loop(loop), step(step), limit(limit) {}

  void run();

private:
  void addFlag();
  static void setFlag(scf::ForOp loop, Value flag);
  void placeBefore();
  void collectResults();
  void buildSpeculation();
  void buildStep();
  void finish();
  Value voteAll(OpBuilder &b, ArrayRef<Value> conditions);
  Value compare(OpBuilder &b, arith::CmpFPredicate predicate, Value x,
                double bound) {
    return arith::CmpFOp::create(b, loc(), predicate, x,
                                 makeConstant(b, loc(), x.getType(), bound));
  }
  Location loc() const { return step.references[0].maximum.reduce.getLoc(); }
  bool isCarried(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == loop.getBody();
  }

  scf::ForOp loop;
  GuardedStep &step;
  double limit;
  Operation *place = nullptr;     ///< the first product, or the loop's end
  SetVector<Value> results;       ///< of the step, for what follows
  SetVector<Operation *> updates; ///< of the fast side: read accumulators
  scf::IfOp speculation, choice;
};

/// What a loop's result, or the result of one that went on with it, began with.
Value getStart(Value value) {
  while (auto loop = value.getDefiningOp<scf::ForOp>())
    value = loop.getInitArgs()[cast<OpResult>(value).getResultNumber()];
  return value;
}

/// The loop around `loop` that starts it with what all its references were
/// when it was over, if there is one; `indices` are then those of that loop.
scf::ForOp getAround(scf::ForOp loop, MutableArrayRef<unsigned> indices) {
  auto around = dyn_cast<scf::ForOp>(loop->getParentOp());
  for (unsigned &index : indices) {
    Value start = getStart(loop.getInitArgs()[index]);
    auto argument = dyn_cast<BlockArgument>(start);
    if (!around || !argument || argument.getOwner() != around.getBody())
      return {};
    index = argument.getArgNumber() - around.getNumInductionVars();
    if (getStart(around.getYieldedValues()[index]) != start)
      return {};
  }
  return around;
}

/// One more carried value, the flag, in the loop and in those around it that
/// carry its references.
void LoopGuard::addFlag() {
  SmallVector<scf::ForOp> loops;
  SmallVector<unsigned> indices;
  for (GuardedReference &reference : step.references)
    indices.push_back(reference.maximum.index);
  for (scf::ForOp next = loop; next; next = getAround(next, indices))
    loops.push_back(next);

  IRRewriter rewriter(loops.back());
  Value flag =
      arith::ConstantOp::create(rewriter, loc(), rewriter.getBoolAttr(false));
  scf::ForOp around;
  for (scf::ForOp next : llvm::reverse(loops)) {
    rewriter.setInsertionPoint(next);
    loop = cast<scf::ForOp>(*next.replaceWithAdditionalIterOperands(
        rewriter, flag, /*replaceInitOperandUsesInLoop=*/false));
    if (around)
      setFlag(around, loop.getResults().back());
    flag = loop.getRegionIterArgs().back();
    around = loop;
  }
  for (GuardedReference &reference : step.references)
    reference.maximum.loop = loop;
}

/// What the loop's next iteration has for a flag.
void LoopGuard::setFlag(scf::ForOp loop, Value flag) {
  Operation *yield = loop.getBody()->getTerminator();
  yield->setOperand(yield->getNumOperands() - 1, flag);
}

/// The step goes before the first product; what it reads goes before that.
void LoopGuard::placeBefore() {
  place = step.products.empty() ? loop.getBody()->getTerminator()
                                : step.products.front();
  SmallVector<Operation *> late;
  llvm::DenseSet<Operation *> seen;
  auto add = [&](Operation *user) { // with what its regions read
    user->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *op = operand.getDefiningOp();
        if (op && op->getBlock() == loop.getBody() && !step.step.contains(op) &&
            !op->isBeforeInBlock(place) && seen.insert(op).second)
          late.push_back(op);
      }
    });
  };
  for (Operation *op : step.step)
    add(op);
  for (size_t i = 0; i < late.size(); ++i)
    add(late[i]);
  llvm::sort(late, [](auto *a, auto *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : late)
    op->moveBefore(place);
}

void LoopGuard::collectResults() {
  auto add = [&](Operation *user) {
    for (Value operand : user->getOperands())
      if (step.step.contains(operand.getDefiningOp()))
        results.insert(operand);
  };
  for (Operation *op : step.products)
    add(op);
  add(loop.getBody()->getTerminator());
}

/// One vote over all rows; references of other axes vote apart.
Value LoopGuard::voteAll(OpBuilder &b, ArrayRef<Value> conditions) {
  SmallVector<Value> merged;
  for (Value condition : conditions) {
    auto same = llvm::find_if(merged, [&](Value other) {
      return other.getType() == condition.getType();
    });
    if (same == merged.end())
      merged.push_back(condition);
    else
      *same = arith::AndIOp::create(b, loc(), *same, condition);
  }
  Value all;
  for (Value condition : merged) {
    Value vote = tile::VoteOp::create(b, loc(), condition);
    all = all ? Value(arith::AndIOp::create(b, loc(), all, vote)) : vote;
  }
  return all;
}

void LoopGuard::buildSpeculation() {
  StepCopy copy(step);
  OpBuilder b(place);
  copy.keepReferences(b);
  SmallVector<Value> wanted(results.getArrayRef());
  for (GuardedReference &reference : step.references)
    wanted.push_back(reference.tileSum);
  llvm::SetVector<Operation *> needed = copy.getNeeded(wanted);

  // What reads an accumulator waits for the vote.
  llvm::DenseSet<Value> maxima;
  for (GuardedReference &reference : step.references)
    maxima.insert(reference.maximum.carried());
  for (Operation *op : needed)
    if (llvm::any_of(op->getOperands(), [&](Value x) {
          return (isCarried(x) && !maxima.contains(x) &&
                  x != loop.getInductionVar()) ||
                 updates.contains(x.getDefiningOp());
        }))
      updates.insert(op);

  SetVector<Value> early; // for the vote, or for after it
  auto add = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (needed.contains(op) && !updates.contains(op))
      early.insert(value);
  };
  for (Value value : wanted)
    add(value);
  for (Operation *op : updates)
    for (Value operand : op->getOperands())
      add(operand);

  SmallVector<Type> types;
  for (Value value : early)
    types.push_back(value.getType());
  types.push_back(b.getI1Type());
  Value calm = loop.getRegionIterArgs().back();
  speculation =
      scf::IfOp::create(b, loc(), types, calm, /*withElseRegion=*/true);

  b.setInsertionPointToStart(speculation.thenBlock());
  for (Operation *op : needed)
    if (!updates.contains(op))
      copy.clone(b, op);
  SmallVector<Value> conditions, yields;
  for (GuardedReference &reference : step.references) {
    Value sum = copy.get(b, reference.tileSum);
    // NaN votes no.
    conditions.push_back(compare(b, arith::CmpFPredicate::OLE, sum, limit));
  }
  for (Value value : early)
    yields.push_back(copy.get(b, value));
  yields.push_back(voteAll(b, conditions));
  scf::YieldOp::create(b, loc(), yields);

  b.setInsertionPointToStart(speculation.elseBlock());
  yields.clear();
  for (Value value : early)
    yields.push_back(ub::PoisonOp::create(b, loc(), value.getType()));
  yields.push_back(arith::ConstantOp::create(b, loc(), b.getBoolAttr(false)));
  scf::YieldOp::create(b, loc(), yields);

  // The fast side.
  b.setInsertionPointAfter(speculation);
  types.clear();
  for (Value value : results)
    types.push_back(value.getType());
  types.push_back(b.getI1Type());
  choice = scf::IfOp::create(b, loc(), types, speculation.getResults().back(),
                             /*withElseRegion=*/true);
  for (auto [value, result] : llvm::zip(early, speculation.getResults()))
    copy.set(value, result);
  b.setInsertionPointToStart(choice.thenBlock());
  for (Operation *op : updates)
    copy.clone(b, op);
  yields.clear();
  for (Value value : results)
    yields.push_back(copy.get(b, value));
  yields.push_back(arith::ConstantOp::create(b, loc(), b.getBoolAttr(true)));
  scf::YieldOp::create(b, loc(), yields);
}

/// The step as it stands moves into the other side.
void LoopGuard::buildStep() {
  OpBuilder b = OpBuilder::atBlockBegin(choice.elseBlock());
  for (Operation *op : step.step) {
    op->moveBefore(choice.elseBlock(), choice.elseBlock()->end());
    b.setInsertionPoint(op);
    for (OpOperand &factor : op->getOpOperands())
      if (arith::SelectOp kept = getKept(factor.get());
          kept && kept->getParentOp() == loop && isa<arith::MulFOp>(op))
        factor.set(arith::SelectOp::create(b, op->getLoc(), askHere(b, kept),
                                           kept.getTrueValue(),
                                           kept.getFalseValue()));
  }
  b.setInsertionPointToEnd(choice.elseBlock());
  SmallVector<Value> conditions;
  for (GuardedReference &reference : step.references) {
    using P = arith::CmpFPredicate;
    double none = -std::numeric_limits<double>::infinity();
    // The first maximum of a row is no growth. (Nor what makes all before it
    // nothing. Asking the old maximum would keep it in a register.)
    Value first = compare(b, P::OEQ, reference.rescale, 0);
    Value little = compare(b, P::OGE, reference.rescale, 1 / limit);
    conditions.push_back(arith::OrIOp::create(b, loc(), first, little));
    conditions.push_back(compare(b, P::OGT, reference.maximum.next, none));
  }
  Value calm = voteAll(b, conditions);
  for (GuardedReference &reference : step.references)
    if (reference.isFar)
      calm = arith::AndIOp::create(b, loc(), calm, voteNear(reference.isFar));
  SmallVector<Value> yields(results.getArrayRef());
  yields.push_back(calm);
  scf::YieldOp::create(b, loc(), yields);
}

void LoopGuard::finish() {
  for (auto [old, result] : llvm::zip(results, choice.getResults())) {
    Value value = old;
    value.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !choice->isProperAncestor(use.getOwner());
    });
  }
  setFlag(loop, choice.getResults().back());
}

void LoopGuard::run() {
  addFlag();
  placeBefore();
  collectResults();
  buildSpeculation();
  buildStep();
  finish();
}

struct TileGuardSoftmax : impl::TileGuardSoftmaxBase<TileGuardSoftmax> {
  using TileGuardSoftmaxBase::TileGuardSoftmaxBase;

  void guard(tile::KernelOp kernel, scf::ForOp loop) {
    auto options = [&](StringRef name) {
      return remark::RemarkOpts::name(name)
          .category(DEBUG_TYPE)
          .function(kernel.getName());
    };
    GuardedStep step;
    if (failed(step.analyze(loop))) {
      if (!step.reason.empty())
        remark::missed(loop.getLoc(), options("NotGuarded"))
            << remark::add("every block computes a new row maximum")
            << remark::reason("{0}", step.reason);
      return;
    }
    // The product of k exponentials reaches the threshold's power of k.
    double power = threshold;
    if (step.narrowPower > 0)
      power = std::min(power, std::floor(15 / step.narrowPower));
    power = std::min(power, std::floor(60 / step.widePower));
    remark::passed(loop.getLoc(), options("Guarded"))
        << remark::add("a row maximum is computed only where the last one does "
                       "not serve")
        << remark::metric("Threshold", int64_t(power));
    LoopGuard(loop, step, std::exp2(power)).run();
  }

  void runOnOperation() override {
    getOperation()->walk([&](tile::KernelOp kernel) {
      SmallVector<scf::ForOp> loops;
      kernel->walk([&](scf::ForOp loop) {
        auto blocks = loop->getAttrOfType<tile::BlockClassAttr>("tile.blocks");
        if (loop->hasAttr("tile.axis") && blocks &&
            blocks.getValue() != tile::BlockClass::Partial)
          loops.push_back(loop);
      });
      for (scf::ForOp loop : loops)
        guard(kernel, loop);
    });
  }
};

} // namespace
} // namespace attentile
