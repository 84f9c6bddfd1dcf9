//===- FuseOnlineSoftmax.cpp - loops over the same tiles become one -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does: computes all reductions of a kernel in as few loops as their formulas
// allow: sums of exponentials relative to a running maximum, put right when it
// moves, and normalised after the loop (or at every step). Expects: the loops
// of attn-to-tile, each carrying plain reductions. Leaves: loops of the same
// form with more carried values, and row values after them. Does not handle:
// loops whose blocks are classified already, or that nest.
//
//===----------------------------------------------------------------------===//

#include "FusedLoop.h"
#include "attentile/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"

namespace attentile {
#define GEN_PASS_DEF_TILEFUSEONLINESOFTMAX
#include "Loops/Passes.h.inc"
} // namespace attentile

#define DEBUG_TYPE "tile-fuse-online-softmax"

using namespace mlir;

namespace attentile::fusion {
namespace {

/// Distributes the statistics of one kernel over loops.
class Planner {
public:
  Planner(Graph &graph, LoopNest &nest, Normalize normalize, bool wideFactors)
      : graph(graph), nest(nest), normalize(normalize),
        wideFactors(wideFactors), waits(nest.statistics.size()),
        summands(nest.statistics.size()),
        loopOf(nest.statistics.size(), unplanned) {}

  void plan() {
    llvm::BitVector hot = wanted();
    while (hot.any()) {
      unsigned number = loops.size();
      loops.emplace_back();
      llvm::BitVector open = hot;
      for (unsigned statistic : open.set_bits())
        join(statistic, number, hot);
      for (unsigned statistic : open.set_bits())
        if (loopOf[statistic] == number)
          hot.reset(statistic);
      assert(hot != open && "expected a reduction without open statistics");
    }
    // A loop that stores every element needs all its blocks, the others only
    // those that a mask leaves.
    if (!nest.storesInLoops.empty())
      loops.emplace_back().stores = nest.storesInLoops;
  }

  /// Emits the loops and binds every statistic.
  void emit(Emitter &emitter) {
    for (auto [number, loop] : llvm::enumerate(loops)) {
      emitLoop(graph, emitter, nest, loop, [&](unsigned statistic) -> auto & {
        return loop.accumulators[summands[statistic].front().accumulator];
      });
      for (auto &[statistic, carried] : loop.plain)
        emitter.define(nest.statistics[statistic].leaf, carried.after);
      for (auto [i, statistic] : llvm::enumerate(nest.statistics)) {
        if (loopOf[i] != number)
          continue;
        if (statistic.isMaximum())
          emitter.define(
              statistic.leaf,
              loop.findMaximum(statistic.lhs, statistic.over)->after);
        else if (statistic.isFloatSum())
          emitter.define(statistic.leaf,
                         rowValue(graph, statistic, loop, summands[i],
                                  isEmpty(), isReferenceOf, isSafe));
      }
    }
  }

  size_t loopCount() const { return loops.size(); }

private:
  static constexpr unsigned unplanned = ~0u;

  /// The statistics that the stores need.
  llvm::BitVector wanted() {
    llvm::BitVector result(nest.statistics.size());
    for (const auto *stores : {&nest.stores, &nest.storesInLoops})
      for (auto &[_, operands] : *stores)
        for (Expr *operand : operands)
          result |= operand->statistics;
    for (unsigned i = nest.statistics.size(); i-- > 0;)
      if (result.test(i)) {
        result |= nest.statistics[i].lhs->statistics;
        if (nest.statistics[i].rhs)
          result |= nest.statistics[i].rhs->statistics;
      }
    return result;
  }

  /// Lets a statistic join this loop if its formula allows.
  void join(unsigned number, unsigned loop, const llvm::BitVector &hot) {
    Statistic &statistic = nest.statistics[number];
    if (statistic.isFloatSum()) {
      joinSum(number, loop, hot);
      return;
    }
    if (statistic.lhs->statistics.anyCommon(hot))
      return;
    loopOf[number] = loop;
    if (statistic.isMaximum()) {
      Maximum &maximum =
          require(loops[loop], statistic.lhs, statistic.over, statistic.kind);
      if (statistic.kind == attn::ReduceKind::Max)
        maximum.kind = statistic.kind; // its exact value is wanted
    } else {
      loops[loop].plain.emplace_back(number, Carried{});
    }
  }

  Maximum &require(FusedLoop &loop, Expr *a, ArrayAttr over,
                   attn::ReduceKind kind) {
    if (Maximum *found = loop.findMaximum(a, over))
      return *found;
    return loop.maxima.emplace_back(Maximum{{}, a, over, kind});
  }

  void joinSum(unsigned number, unsigned loop, const llvm::BitVector &hot) {
    Statistic &statistic = nest.statistics[number];
    Type rounded = !wideFactors && statistic.product
                       ? statistic.product.getValue()
                       : Float32Type::get(graph.getContext());
    Decomposer decomposer(graph, hot, statistic.over, isReferenceOf,
                          /*rounds=*/!rounded.isF32());
    FailureOr<std::vector<Term>> lhs = decomposer.decompose(statistic.lhs);
    FailureOr<std::vector<Term>> rhs = std::vector<Term>(1);
    if (succeeded(lhs) && statistic.rhs)
      rhs = decomposer.decompose(statistic.rhs);
    if (failed(lhs) || failed(rhs)) {
      wait(number, decomposer.obstacle, decomposer.reason);
      return;
    }
    if (lhs->size() * rhs->size() > 8) {
      wait(number, statistic.lhs, "there would be more than 8 terms");
      return;
    }
    // The row part needs all its statistics when this loop is over.
    for (const auto *terms : {&*lhs, &*rhs})
      for (const Term &term : *terms) {
        llvm::BitVector statistics = rowStatistics(term);
        if (rounded.isF16() && isBroughtBack(term, hot)) {
          wait(number, statistic.lhs,
               "a factor may leave f16's range before a statistic of this "
               "loop brings it back");
          return;
        }
        for (unsigned other : statistics.set_bits())
          if (hot.test(other) && loopOf[other] != loop) {
            wait(number, nest.statistics[other].leaf,
                 "a statistic of a later loop is needed");
            return;
          }
      }
    loopOf[number] = loop;
    if (rounded.isF16())
      for (auto *terms : {&*lhs, &*rhs})
        for (Term &term : *terms)
          shareGain(graph, term);
    for (const Term &left : *lhs)
      for (const Term &right : *rhs)
        addSummand(number, loops[loop], left, right);
  }

  /// Whether a statistic of this loop multiplies or divides what may be of any
  /// size. A softmax's exponentials, divided by their own sum, are at most 1
  /// and one of them is that; divided by a part of their sum they are not.
  bool isBroughtBack(const Term &term, const llvm::BitVector &hot) {
    if (!term.factor && term.exponentials.empty())
      return false;
    for (const auto *rows : {&term.numerators, &term.denominators})
      for (const Expr *row : *rows)
        for (unsigned number : row->statistics.set_bits())
          if (hot.test(number) &&
              (term.exponentials.empty() || !isOfSoftmax(term, number, hot)))
            return true;
    return false;
  }

  /// Whether the statistic is a maximum, or a sum of the term's exponentials
  /// without its factor.
  bool isOfSoftmax(const Term &term, unsigned number,
                   const llvm::BitVector &hot) {
    const Statistic &statistic = nest.statistics[number];
    if (statistic.isMaximum())
      return true;
    if (!statistic.isFloatSum() || statistic.rhs)
      return false;
    Decomposer decomposer(graph, hot, statistic.over, isReferenceOf,
                          /*rounds=*/false);
    FailureOr<std::vector<Term>> summed = decomposer.decompose(statistic.lhs);
    auto isOfTerm = [&](const Exponential &x) {
      return llvm::any_of(term.exponentials,
                          [&](const Exponential &y) { return x.a == y.a; });
    };
    return succeeded(summed) && llvm::any_of(*summed, [&](const Term &x) {
             return !x.factor && llvm::all_of(x.exponentials, isOfTerm);
           });
  }

  static llvm::BitVector rowStatistics(const Term &term) {
    llvm::BitVector result;
    for (Expr *x : term.numerators)
      result |= x->statistics;
    for (Expr *x : term.denominators)
      result |= x->statistics;
    for (auto &[_, x] : term.shifts)
      result |= x->statistics;
    for (Expr *x : {term.kept, term.otherwise})
      if (x)
        result |= x->statistics;
    return result;
  }

  void addSummand(unsigned number, FusedLoop &loop, Term left, Term right) {
    Statistic &statistic = nest.statistics[number];
    sumOtherwise(graph, left, right.factor);
    sumOtherwise(graph, right, left.factor);
    Term row = multiply(graph, left, right, /*joinFactors=*/false);
    llvm::append_range(row.exponentials, right.exponentials);
    Accumulator key;
    key.like = &statistic;
    key.lhs = {sorted(left.exponentials), left.factor};
    key.rhs = {sorted(right.exponentials), right.factor};
    for (const Exponential &exponential : row.exponentials)
      require(loop, exponential.a, statistic.over, attn::ReduceKind::Ref);
    if (normalize == Normalize::EachStep && !row.exponentials.empty())
      for (Expr *&x : row.numerators)
        if (auto sum = inverseOf(x);
            sum && loopOf[*sum] == loopOf[number] && isRowSum(*sum, loop)) {
          key.inverses.push_back(*sum);
          x = nullptr;
        }
    llvm::erase(row.numerators, nullptr);
    unsigned index = 0;
    for (Accumulator &other : loop.accumulators) {
      if (isSame(other, key))
        break;
      ++index;
    }
    if (index == loop.accumulators.size())
      loop.accumulators.push_back(key);
    summands[number].push_back(
        {row, index, presence(loop, row, statistic.over)});
  }

  /// Where a sum of nothing must be told from one of zeros: statistics enter
  /// the row's value and may be infinite or NaN when the loop is over.
  std::optional<unsigned> presence(FusedLoop &loop, const Term &row,
                                   ArrayAttr over) {
    auto mayBeInfinite = [&](const Expr *x) {
      return x->statistics.any() && !isSafe(x);
    };
    if (!row.present ||
        (!row.otherwise && subtractsReferences(row, isReferenceOf) &&
         llvm::none_of(row.numerators, mayBeInfinite) &&
         llvm::none_of(row.denominators, mayBeInfinite)))
      return std::nullopt;
    auto found = llvm::find_if(loop.presences, [&](const Presence &other) {
      return other.condition == row.present && other.over == over;
    });
    unsigned index = found - loop.presences.begin();
    if (found == loop.presences.end())
      loop.presences.push_back({{}, row.present, over});
    return index;
  }

  static SmallVector<Exponential> sorted(SmallVector<Exponential> list) {
    llvm::sort(list, [](const Exponential &x, const Exponential &y) {
      return std::pair(x.a->id, x.kappa) < std::pair(y.a->id, y.kappa);
    });
    return list;
  }

  static bool isSame(const Accumulator &x, const Accumulator &y) {
    return x.lhs == y.lhs && x.rhs == y.rhs && x.inverses == y.inverses &&
           x.like->over == y.like->over && x.like->product == y.like->product &&
           x.like->lhsType == y.like->lhsType &&
           x.like->rhsType == y.like->rhsType &&
           x.like->lhsTailed == y.like->lhsTailed &&
           x.like->rhsTailed == y.like->rhsTailed;
  }

  /// Whether `x` is the reference (0 for -inf) of the maximum of `a`.
  bool isReference(const Expr *x, const Expr *a) const {
    if (!x->is<tile::RefOp>())
      return false;
    for (const Statistic &statistic : nest.statistics)
      if (statistic.leaf == x->operands[0])
        return statistic.kind == attn::ReduceKind::Ref && statistic.lhs == a;
    return false;
  }

  /// The statistic l if `x` is `l == 0 ? 0 : 1 / l`.
  std::optional<unsigned> inverseOf(const Expr *x) const {
    if (!x || !x->is<arith::SelectOp>() || !isConstant(x->operands[1], 0))
      return std::nullopt;
    const Expr *test = x->operands[0], *quotient = x->operands[2];
    if (!test->is<arith::CmpFOp>() || !quotient->is<arith::DivFOp>() ||
        !isConstant(quotient->operands[0], 1) ||
        !isConstant(test->operands[1], 0) ||
        test->operands[0] != quotient->operands[1])
      return std::nullopt;
    auto predicate =
        cast<arith::CmpFPredicateAttr>(test->attributes.get("predicate"))
            .getValue();
    if (predicate != arith::CmpFPredicate::OEQ &&
        predicate != arith::CmpFPredicate::UEQ)
      return std::nullopt;
    for (auto [i, statistic] : llvm::enumerate(nest.statistics))
      if (statistic.leaf == quotient->operands[1])
        return i;
    return std::nullopt;
  }

  /// Whether a statistic is just a sum of exponentials: positive once a row
  /// has seen anything, and carried as it is.
  bool isRowSum(unsigned number, FusedLoop &loop) const {
    if (summands[number].size() != 1)
      return false;
    const Summand &summand = summands[number].front();
    const Accumulator &sum = loop.accumulators[summand.accumulator];
    const Term &row = summand.row;
    return !sum.lhs.factor && !sum.like->product && sum.inverses.empty() &&
           row.numerators.empty() && row.denominators.empty() &&
           row.weight == 1 && !row.kept &&
           row.shifts.size() == row.exponentials.size() &&
           llvm::all_of(llvm::zip_equal(row.shifts, row.exponentials),
                        [&](auto pair) {
                          auto &[shift, exponential] = pair;
                          return shift.first == -exponential.kappa &&
                                 isReference(shift.second, exponential.a);
                        });
  }

  /// "The loops do not run", or null if they always do.
  Expr *isEmpty() {
    Expr *result = isEmpty(nest.range);
    for (const LoopNest::Range &range : nest.around)
      if (Expr *outer = isEmpty(range))
        result = result ? graph.make<arith::OrIOp>({result, outer}) : outer;
    return result;
  }

  Expr *isEmpty(const LoopNest::Range &range) {
    auto bound = [](Expr *x) -> std::optional<int64_t> {
      if (!x->is<arith::ConstantOp>())
        return std::nullopt;
      return cast<IntegerAttr>(x->attributes.get("value")).getInt();
    };
    auto lower = bound(range.lower), upper = bound(range.upper);
    if (lower && upper && *lower < *upper)
      return nullptr;
    MLIRContext *context = graph.getContext();
    return graph.make<arith::CmpIOp>(
        {range.lower, range.upper}, IntegerType::get(context, 1),
        {NamedAttribute(StringAttr::get(context, "predicate"),
                        arith::CmpIPredicateAttr::get(
                            context, arith::CmpIPredicate::sge))});
  }

  /// Remembers and reports why a sum takes a later loop.
  void wait(unsigned number, Expr *obstacle, StringRef reason) {
    if (waits.test(number))
      return;
    waits.set(number);
    StringRef name = obstacle->name ? obstacle->name->getStringRef()
                                    : StringRef("a statistic");
    remark::missed(obstacle->loc,
                   remark::RemarkOpts::name("NextLoop").category(DEBUG_TYPE))
        << remark::add("a sum over {0} takes the next loop",
                       nest.range.axis.str())
        << remark::metric("Op", name) << remark::reason("{0}", reason.str());
  }

  Graph &graph;
  LoopNest &nest;
  Normalize normalize;
  bool wideFactors;      ///< products do not round
  llvm::BitVector waits; ///< sums that a remark was made about
  std::vector<std::vector<Summand>> summands;
  std::vector<unsigned> loopOf;
  std::deque<FusedLoop> loops;
  std::function<bool(const Expr *, const Expr *)> isReferenceOf =
      [this](const Expr *x, const Expr *a) { return isReference(x, a); };
  /// 1 / l with 0 for 0: finite where the range is empty.
  std::function<bool(const Expr *)> isSafe = [this](const Expr *x) {
    auto sum = inverseOf(x);
    return sum && nest.statistics[*sum].isFloatSum();
  };
};

void fuseKernel(tile::KernelOp kernel, Normalize normalize, bool wideFactors) {
  Graph graph(kernel);
  std::string why;
  Operation *where = nullptr;
  auto options = [](StringRef name) {
    return remark::RemarkOpts::name(name).category(DEBUG_TYPE);
  };
  FailureOr<LoopNest> nest = readLoops(kernel, graph, why, where);
  if (failed(nest)) {
    remark::missed(where->getLoc(), options("NotFused"))
        << remark::add("the loops of {0} stay as they are",
                       kernel.getName().str())
        << remark::reason("{0}", why);
    return;
  }
  if (nest->loops.size() < 2 && !nest->hasRunning)
    return;
  Planner planner(graph, *nest, normalize, wideFactors);
  planner.plan();

  Location loopLoc = nest->loops.front().getLoc();
  Block &block = kernel.getBody().front();
  SmallVector<Operation *> old;
  for (Operation &op : block)
    old.push_back(&op);
  Emitter emitter(OpBuilder::atBlockEnd(&block));
  for (auto [value, leaf] : nest->outside)
    emitter.bind(leaf, value);
  planner.emit(emitter);
  for (const LoopNest::Store &store : nest->stores)
    emitStore(emitter, emitter.rowBuilder(), store);
  for (Operation *op : llvm::reverse(old))
    op->erase();
  // Constants that only the old loops used would decide on the order of the
  // new ones.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*kernel->getBlock())))
    if (op.hasTrait<OpTrait::ConstantLike>() && op.use_empty())
      op.erase();
  if (nest->loops.size() == 1) {
    remark::passed(loopLoc, options("Running"))
        << remark::add("a loop over {0} is one of reductions that run",
                       nest->range.axis.str());
    return;
  }
  remark::passed(kernel.getLoc(), options("Fused"))
      << remark::add("{0} loops over {1} became {2}", nest->loops.size(),
                     nest->range.axis.str(), planner.loopCount());
}

} // namespace
} // namespace attentile::fusion

namespace attentile {
namespace {

struct TileFuseOnlineSoftmax
    : impl::TileFuseOnlineSoftmaxBase<TileFuseOnlineSoftmax> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<tile::KernelOp> kernels;
    getOperation()->walk(
        [&](tile::KernelOp kernel) { kernels.push_back(kernel); });
    for (tile::KernelOp kernel : kernels)
      fusion::fuseKernel(kernel, normalize, wideFactors);
  }
};

} // namespace
} // namespace attentile
