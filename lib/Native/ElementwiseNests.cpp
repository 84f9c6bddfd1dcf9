//===- ElementwiseNests.cpp - element-wise chains and reductions ----------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group is one loop over vectors of its axis; inside, its nests in order.
// Values over the vector axis alone stay in registers between the nests:
//
//   for m in vectors:
//     mx = for n: max(mx, s[n, m] * c)
//     r  = ref(mx), a = exp2(...)                      // no loop
//     t  = for n: p = exp2(s[n, m] * c - r), store p[n, m], t += p
//     store what later steps need of mx, a, l * a + t
//
//===----------------------------------------------------------------------===//

#include "PointEmitter.h"
#include "attentile/Splat.h"
#include <numeric>

using namespace mlir;

namespace attentile::native {
namespace {

class GroupEmitter {
public:
  GroupEmitter(KernelEmitter &kernel, const NestGroup &group)
      : k(kernel), b(kernel.b), loc(kernel.loc), group(group) {
    for (const Root &root : group.roots)
      if (!root.isCopy)
        rootOf[root.value] = &root;
  }

  void emit() {
    if (!group.vector)
      return emitStripe(nullptr, 1, 1);
    unsigned lanes = k.plan.getLanes(group.vectorSize, group.wide);
    unsigned stripe = k.plan.getStripe(group.vectorSize);
    auto loop = scf::ForOp::create(
        b, loc, k.index(0), k.index(group.vectorSize / stripe), k.index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    emitStripe(loop.getInductionVar(), lanes, stripe / lanes);
  }

private:
  KernelEmitter &k;
  OpBuilder &b;
  Location loc;
  const NestGroup &group;
  PointEmitter *point = nullptr;
  bool isChecked = false; ///< the version of a nest that is not for speed
  DenseMap<Value, const Root *> rootOf;
  /// Running values of the reductions that are under way.
  llvm::MapVector<const Root *, SmallVector<Value>> running;

  static bool isReduction(const Root &root) { return !root.over.empty(); }
  /// A vote is over the whole tile here: all rows decide together.
  static attn::ReduceKind getKind(Operation *op) {
    return isa<tile::VoteOp>(op) ? attn::ReduceKind::All
                                 : cast<tile::ReduceOp>(op).getKind();
  }
  static Type elementOf(const Root &root) {
    return tile::getElementType(root.value.getType());
  }

  void emitStripe(Value number, unsigned lanes, unsigned parts) {
    PointEmitter stripe(k, group.vector, number, lanes, parts);
    point = &stripe;
    int current = -1;
    stripe.computesHere = [&](Value value) {
      const Root *root = rootOf.lookup(value);
      return root && !isReduction(*root) &&
             (root->nest < 0 || root->nest == current);
    };
    for (auto [number, nest] : llvm::enumerate(group.nests)) {
      current = number;
      emitNest(nest);
    }
    // Stores come last: rows of this stripe are read until here.
    SmallVector<std::pair<const Root *, Lanes>> results;
    for (const Root &root : group.roots)
      if (root.kept.empty() && (root.nest < 0 || isReduction(root)))
        results.push_back({&root, stripe.get(root.value)});
    for (auto &[root, value] : results) {
      if (!tile::isTile(root->value.getType()))
        k.setScalar(root->value, stripe.scalarOf(value, elementOf(*root)));
      else if (root->buffer >= 0)
        stripe.store(root->buffer, value, elementOf(*root));
    }
  }

  /// What a nest reads that it need not compute in its loops: values over the
  /// vector axis alone, and comparisons that are the same for all lanes and
  /// advance evenly (n < N).
  struct Invariants {
    llvm::SetVector<Value> rows, conditions;
    llvm::DenseSet<Value> visited;
  };

  void findInvariants(const Nest &nest, Value value, Invariants &found) {
    value = KernelPlan::strip(value);
    if (!found.visited.insert(value).second)
      return;
    bool inLoops = llvm::any_of(nest.loops, [&](AxisLoop loop) {
      return tile::getAxisPosition(value.getType(), loop.axis);
    });
    if (!inLoops) {
      if (tile::isTile(value.getType()))
        found.rows.insert(value);
      return;
    }
    if (k.plan.isAvailable(value) &&
        !(rootOf.contains(value) && point->computesHere(value)))
      return;
    Operation *op = value.getDefiningOp();
    auto compare = dyn_cast<arith::CmpIOp>(op);
    if (compare && isEven(nest, compare) &&
        !tile::getAxisPosition(value.getType(), group.vector))
      found.conditions.insert(value);
    for (Value operand : op->getOperands())
      findInvariants(nest, operand, found);
  }

  bool isEven(const Nest &nest, arith::CmpIOp compare) {
    using arith::CmpIPredicate;
    if (!llvm::is_contained({CmpIPredicate::slt, CmpIPredicate::sle,
                             CmpIPredicate::sgt, CmpIPredicate::sge},
                            compare.getPredicate()))
      return false;
    return isWideInteger(compare.getLhs().getType()) &&
           llvm::all_of(nest.loops, [&](AxisLoop loop) {
             return k.plan.getCoefficient(compare.getLhs(), loop.axis) &&
                    k.plan.getCoefficient(compare.getRhs(), loop.axis);
           });
  }

  /// Whether the comparison holds in all of the nest's loops: it does if it
  /// does at the corner where it is hardest to meet.
  Value holdsEverywhere(const Nest &nest, arith::CmpIOp compare) {
    PointEmitter origin(k, nullptr, nullptr, 1, 1);
    int64_t low = 0, high = 0;
    for (AxisLoop loop : nest.loops) {
      origin.push(loop.axis, k.index(0), nullptr);
      int64_t reach = (*k.plan.getCoefficient(compare.getLhs(), loop.axis) -
                       *k.plan.getCoefficient(compare.getRhs(), loop.axis)) *
                      (loop.size - 1);
      (reach < 0 ? low : high) += reach;
    }
    bool isLess = compare.getPredicate() == arith::CmpIPredicate::slt ||
                  compare.getPredicate() == arith::CmpIPredicate::sle;
    Value lhs = origin.get(compare.getLhs()).base;
    Value rhs = origin.get(compare.getRhs()).base;
    return arith::CmpIOp::create(b, loc, compare.getPredicate(),
                                 k.add(lhs, k.index(isLess ? high : low)), rhs);
  }

  /// A nest with such conditions has two versions: without them where they hold
  /// throughout, which is everywhere but in the last tile, and with them.
  void emitNest(const Nest &nest) {
    if (nest.spans)
      return emitRandomSpans(k, *point, group.roots[nest.roots.front()],
                             nest.loops);
    Invariants found;
    for (unsigned i : nest.roots) {
      const Root &root = group.roots[i];
      if (root.isCopy) {
        findInvariants(nest, root.value, found);
        continue;
      }
      for (Value operand : root.value.getDefiningOp()->getOperands())
        findInvariants(nest, operand, found);
    }
    if (found.conditions.empty())
      return emitLoops(nest, 0);
    for (Value row : found.rows)
      point->get(row);
    Value all;
    for (Value condition : found.conditions) {
      Value holds =
          holdsEverywhere(nest, condition.getDefiningOp<arith::CmpIOp>());
      all = all ? Value(arith::AndIOp::create(b, loc, all, holds)) : holds;
    }
    SmallVector<const Root *> results;
    SmallVector<Type> types;
    for (unsigned i : nest.roots)
      if (const Root &root = group.roots[i];
          isReduction(root) && root.kept.empty()) {
        results.push_back(&root);
        types.append(point->getParts(),
                     point->vectorOf(runningType(elementOf(root))));
      }
    auto choice =
        scf::IfOp::create(b, loc, types, all, /*withElseRegion=*/true);
    auto known = point->save();
    for (bool holds : {true, false}) {
      b.setInsertionPointToStart(holds ? choice.thenBlock()
                                       : choice.elseBlock());
      if (holds)
        point->assumed.insert_range(found.conditions);
      else
        point->assumed.clear();
      isChecked = !holds;
      emitLoops(nest, 0);
      SmallVector<Value> values;
      for (const Root *root : results) {
        Lanes lanes = point->get(root->value);
        for (unsigned part = 0; part < point->getParts(); ++part)
          values.push_back(point->part(lanes, part, elementOf(*root)));
      }
      if (!values.empty())
        scf::YieldOp::create(b, loc, values);
      point->restore(known);
    }
    isChecked = false;
    b.setInsertionPointAfter(choice);
    ValueRange values = choice.getResults();
    for (const Root *root : results) {
      remember(*root, values.take_front(point->getParts()));
      values = values.drop_front(point->getParts());
    }
  }

  /// The type that a reduction runs in.
  static Type runningType(Type element) {
    return isa<FloatType>(element) ? Float32Type::get(element.getContext())
                                   : element;
  }

  Lanes lanesOf(ValueRange values) {
    if (!group.vector)
      return point->uniform(values.front());
    Lanes result;
    result.parts.assign(values.begin(), values.end());
    return result;
  }
  void remember(const Root &root, ValueRange values) {
    point->remember(root.value, lanesOf(values));
  }

  /// How often the innermost body is repeated: short ones are all overhead,
  /// long ones share the constants that the registers cannot hold.
  unsigned getUnrolling(const Nest &nest) {
    bool isShort = llvm::all_of(
        nest.roots, [&](unsigned i) { return isReduction(group.roots[i]); });
    int64_t size = nest.loops.back().size;
    int64_t copies = isShort ? 4 : 2;
    if (isChecked)
      copies = 1;
    return std::gcd(size, copies);
  }

  /// Emits loop `depth` of a nest and all inside it.
  void emitLoops(const Nest &nest, unsigned depth) {
    if (depth == nest.loops.size())
      return emitBody(nest);
    auto startsHere = [&](const Root &root) {
      return isReduction(root) && nest.loops.size() - root.over.size() == depth;
    };
    // A sum over several axes adds sums over the last: of all its terms in
    // turn it would lose more than 4 sqrt(terms) roundings where these agree.
    llvm::MapVector<const Root *, SmallVector<Value>> outer;
    for (auto &[root, values] : running)
      if (isFloatSum(*root)) {
        outer[root] = values;
        values = getNeutrals(attn::ReduceKind::Sum, elementOf(*root));
      }
    for (unsigned i : nest.roots)
      if (startsHere(group.roots[i]))
        running[&group.roots[i]] = start(group.roots[i]);
    SmallVector<Value> inits;
    for (auto &[root, values] : running)
      llvm::append_range(inits, values);
    unsigned copies = depth + 1 == nest.loops.size() ? getUnrolling(nest) : 1;
    auto loop =
        scf::ForOp::create(b, loc, k.index(0), k.index(nest.loops[depth].size),
                           k.index(copies), inits);
    auto take = [&](ValueRange values) {
      for (auto &[root, current] : running) {
        current.assign(values.begin(), values.begin() + current.size());
        values = values.drop_front(current.size());
      }
    };
    take(loop.getRegionIterArgs());
    b.setInsertionPointToStart(loop.getBody());
    for (unsigned i = 0; i < copies; ++i) {
      Value position = k.add(loop.getInductionVar(), k.index(i));
      point->push(nest.loops[depth].axis, position, loop);
      emitLoops(nest, depth + 1);
      point->pop();
    }
    if (!inits.empty()) {
      SmallVector<Value> yields;
      for (auto &[root, values] : running)
        llvm::append_range(yields, values);
      scf::YieldOp::create(b, loc, yields);
    }
    b.setInsertionPointAfter(loop);
    take(loop.getResults());
    for (auto &[root, before] : outer)
      for (auto [sum, value] : llvm::zip_equal(running[root], before))
        sum = arith::AddFOp::create(b, loc, value, sum);
    for (unsigned i : nest.roots)
      if (const Root &root = group.roots[i]; startsHere(root))
        finish(root);
  }

  void emitBody(const Nest &nest) {
    SmallVector<std::pair<const Root *, Lanes>> results;
    for (unsigned i : nest.roots) {
      const Root &root = group.roots[i];
      if (isReduction(root))
        accumulate(root);
      else
        results.push_back({&root, point->get(root.value)});
    }
    for (auto &[root, value] : results)
      if (root->buffer >= 0)
        point->store(root->buffer, value, elementOf(*root));
  }

  void finish(const Root &root) {
    Lanes result = lanesOf(running[&root]);
    running.erase(&root);
    if (root.kept.empty())
      point->remember(root.value, result);
    else if (root.buffer >= 0)
      point->store(root.buffer, result, elementOf(root));
  }

  /// The neutral element, or a product's accumulator.
  SmallVector<Value> start(const Root &root) {
    SmallVector<Value> values;
    Operation *op = root.value.getDefiningOp();
    auto dot = dyn_cast<tile::DotOp>(op);
    Type element = elementOf(root);
    if (dot && dot.getAcc()) {
      Lanes acc = point->get(dot.getAcc());
      for (unsigned i = 0; i < point->getParts(); ++i)
        values.push_back(point->part(acc, i, element));
      return values;
    }
    return getNeutrals(dot ? attn::ReduceKind::Sum : getKind(op), element);
  }

  /// Not of products: those are one chain, as matrices' are.
  bool isFloatSum(const Root &root) {
    Operation *op = root.value.getDefiningOp();
    return isa<FloatType>(elementOf(root)) && !isa<tile::DotOp>(op) &&
           getKind(op) == attn::ReduceKind::Sum;
  }

  /// A neutral element for each part of a vector.
  SmallVector<Value> getNeutrals(attn::ReduceKind kind, Type element) {
    TypedAttr neutral = getNeutral(kind, element);
    Type type = point->vectorOf(neutral.getType());
    return SmallVector<Value>(
        point->getParts(),
        arith::ConstantOp::create(b, loc, splat(type, neutral)));
  }

  TypedAttr getNeutral(attn::ReduceKind kind, Type element) {
    bool isMax = kind == attn::ReduceKind::Max || kind == attn::ReduceKind::Ref;
    bool isMin = kind == attn::ReduceKind::Min;
    if (element.isInteger(1))
      return b.getBoolAttr(kind == attn::ReduceKind::All || isMin);
    if (auto type = dyn_cast<FloatType>(element)) {
      if (!type.isF32())
        type = b.getF32Type();
      return b.getFloatAttr(type, isMax ? -INFINITY : isMin ? INFINITY : 0.0);
    }
    unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    APInt value = isMax   ? APInt::getSignedMinValue(width)
                  : isMin ? APInt::getSignedMaxValue(width)
                          : APInt(width, 0);
    return b.getIntegerAttr(element, value);
  }

  void accumulate(const Root &root) {
    Operation *op = root.value.getDefiningOp();
    SmallVector<Lanes> operands;
    SmallVector<Type> elements;
    auto dot = dyn_cast<tile::DotOp>(op);
    SmallVector<Value> factors(op->getOperands());
    factors.resize(dot ? 2 : 1); // a product's accumulator is in already
    for (Value operand : factors) {
      operands.push_back(point->get(operand));
      Type element = tile::getElementType(operand.getType());
      elements.push_back(isa<FloatType>(element) ? b.getF32Type() : element);
    }
    auto &values = running[&root];
    for (unsigned i = 0; i < values.size(); ++i) {
      Value x = point->part(operands[0], i, elements[0]);
      if (dot) {
        Value y = point->part(operands[1], i, elements[1]);
        values[i] = isa<VectorType>(x.getType())
                        ? Value(vector::FMAOp::create(b, loc, x, y, values[i]))
                        : math::FmaOp::create(b, loc, x, y, values[i]);
      } else {
        values[i] = combine(getKind(op), values[i], x);
      }
    }
  }

  Value combine(attn::ReduceKind kind, Value acc, Value x) {
    Type element = getElementTypeOrSelf(acc.getType());
    bool isFloat = isa<FloatType>(element);
    switch (kind) {
    case attn::ReduceKind::Sum:
      if (isFloat)
        return arith::AddFOp::create(b, loc, acc, x);
      return arith::AddIOp::create(b, loc, acc, x);
    case attn::ReduceKind::Max:
      if (isFloat)
        return arith::MaximumFOp::create(b, loc, acc, x);
      return arith::MaxSIOp::create(b, loc, acc, x);
    case attn::ReduceKind::Min:
      if (isFloat)
        return arith::MinimumFOp::create(b, loc, acc, x);
      return arith::MinSIOp::create(b, loc, acc, x);
    case attn::ReduceKind::Any:
      return arith::OrIOp::create(b, loc, acc, x);
    case attn::ReduceKind::All:
      return arith::AndIOp::create(b, loc, acc, x);
    case attn::ReduceKind::Ref: {
      // One instruction; a reference may ignore NaN.
      Value greater =
          arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, acc, x);
      return arith::SelectOp::create(b, loc, greater, acc, x);
    }
    }
    llvm_unreachable("all kinds are above");
  }
};

} // namespace

void KernelEmitter::emitGroup(const NestGroup &group) {
  GroupEmitter(*this, group).emit();
}

} // namespace attentile::native
