//===- Pointwise.cpp - steps that work element by element -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "attentile/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attentile::reference {

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// Calls `function` on the operands of each element. It takes as many Nums as
/// the step has operands.
template <typename Function>
void Evaluator::mapFloats(const Step &step, Array &to, Function function) {
  to.v.resize(step.count);
  to.e.resize(step.count);
  auto apply = [&](auto load) {
    if constexpr (std::is_invocable_v<Function, Num>)
      return function(load(0));
    else if constexpr (std::is_invocable_v<Function, Num, Num>)
      return function(load(0), load(1));
    else
      return function(load(0), load(1), load(2));
  };
  bool exact = true, rounded = false;
  for (unsigned operand : step.operands)
    rounded |= !arrays[operand].w.empty();
  for (int64_t i = 0; i < step.count; ++i) {
    Num result = apply(
        [&](unsigned k) { return operand(step, k).num(step.from[k][i]); });
    to.v[i] = result.v;
    to.e[i] = result.e;
    exact &= result.e == 0;
  }
  if (exact)
    to.e.clear();
  to.w.resize(rounded ? step.count : 0);
  for (size_t i = 0; i < to.w.size(); ++i)
    to.w[i] = apply([&](unsigned k) {
                return Num{operand(step, k).roundedAt(step.from[k][i]), 0};
              }).v;
}

/// (x + y) * inf may be x * inf + y * inf, which is NaN where they have
/// different signs; likewise (x + y) / 0, and a power of an infinite x + y.
static Num ifSplit(const Step &step, Num a, Num b, Num result) {
  bool isFree = false;
  if (std::isinf(result.v) && step.op == Op::MulF)
    isFree = (step.splitsFirst && std::isinf(b.v)) ||
             (step.splitsSecond && std::isinf(a.v));
  else if (std::isinf(result.v))
    isFree = step.splitsFirst && (step.op == Op::Pow || b.v == 0);
  return {result.v, isFree ? kInf : result.e};
}

/// The terms of a sum may be added before a row's own value multiplies them or
/// moves their exponents. Where that is infinite and a term is, too, the sum is
/// infinite or NaN: others may be 0 or of the other sign.
static Num ifApplied(const Step &step, Num a, Num b, Num result) {
  bool isQuotient = step.op == Op::DivF;
  bool isFree = std::isinf(result.v) &&
                ((step.rowFirst && std::isinf(a.v)) ||
                 (step.rowSecond && (isQuotient ? b.v == 0 : std::isinf(b.v))));
  return {result.v, isFree ? kInf : result.e};
}

static Num granted(const Step &step, Num a, Num b, Num result) {
  return ifHidden(step, a, b, ifApplied(step, a, b, result));
}

void Evaluator::computeFloat(const Step &step, Array &to) {
  bool tainted = step.tainted;
  switch (step.op) {
  case Op::AddF: {
    // Each of the product's terms is rounded at the size of what it starts at.
    double terms =
        step.startedSum
            ? termsOf(program.steps[step.operands[step.startedSum - 1]])
            : 0;
    return mapFloats(step, to, [&, terms](Num a, Num b) {
      Num sum = granted(step, a, b, add(a, b, tainted));
      if (terms > 0 && std::isfinite(sum.v))
        sum.e += kU * terms * std::fabs(step.startedSum == 1 ? b.v : a.v);
      return sum;
    });
  }
  case Op::SubF:
    return mapFloats(step, to, [&](Num a, Num b) {
      return granted(step, a, b, sub(a, b, tainted));
    });
  case Op::SubRef:
    return mapFloats(step, to, subRef);
  case Op::SubRunning:
    return mapFloats(step, to, subRunning);
  case Op::MulF:
    return mapFloats(step, to, [&](Num a, Num b) {
      Num result = granted(step, a, b, mul(a, b, tainted));
      return ifRescaled(step, a, b, ifSplit(step, a, b, result));
    });
  case Op::DivF:
    return mapFloats(step, to, [&](Num a, Num b) {
      return ifSplit(step, a, b, granted(step, a, b, div(a, b)));
    });
  case Op::Fma:
    return mapFloats(step, to, [=](Num a, Num b, Num c) {
      return add(mul(a, b, tainted), c, tainted);
    });
  case Op::NegF:
    return mapFloats(step, to, neg);
  case Op::Abs:
    return mapFloats(step, to, [](Num a) { return reference::abs(a); });
  case Op::MaxF:
    return mapFloats(step, to, [](Num a, Num b) { return max(a, b); });
  case Op::MinF:
    return mapFloats(step, to, [](Num a, Num b) { return min(a, b); });
  case Op::MaxNumF:
    return mapFloats(step, to, [](Num a, Num b) { return max(a, b, true); });
  case Op::MinNumF:
    return mapFloats(step, to, [](Num a, Num b) { return min(a, b, true); });
  case Op::Exp:
    return mapFloats(step, to, [](Num a) { return reference::exp(a); });
  case Op::Exp2:
    return mapFloats(step, to, [](Num a) { return reference::exp2(a); });
  case Op::Expm1:
    return mapFloats(step, to, [](Num a) {
      Num power = reference::exp(a);
      return finish(std::expm1(a.v), power.e, isOut(power));
    });
  case Op::Log:
    return mapFloats(step, to, [](Num a) { return reference::log(a); });
  case Op::Log2:
    return mapFloats(step, to,
                     [](Num a) { return reference::log(a, 1 / M_LN2); });
  case Op::Log1p:
    return mapFloats(step, to,
                     [](Num a) { return reference::log(add(a, {1, 0})); });
  case Op::Tanh:
    return mapFloats(step, to, [](Num a) { return reference::tanh(a); });
  case Op::Sqrt:
    return mapFloats(step, to, [](Num a) { return reference::sqrt(a); });
  case Op::Rsqrt:
    return mapFloats(step, to, rsqrt);
  case Op::Sin:
    return mapFloats(step, to, [](Num a) { return reference::sin(a); });
  case Op::Cos:
    return mapFloats(step, to, [](Num a) { return reference::cos(a); });
  case Op::Pow:
    return mapFloats(step, to, [&](Num a, Num b) {
      return ifSplit(step, a, b, reference::pow(a, b));
    });
  case Op::Floor:
    return mapFloats(step, to, [](Num a) {
      return steps(a, [](double x) { return std::floor(x); });
    });
  case Op::Ceil:
    return mapFloats(step, to, [](Num a) {
      return steps(a, [](double x) { return std::ceil(x); });
    });
  case Op::RoundF:
    return mapFloats(step, to,
                     [type = step.type](Num a) { return round(type, a); });
  case Op::Copy:
    return mapFloats(step, to, [](Num a) { return a; });
  case Op::ToFloat: {
    to.v.resize(step.count);
    to.e.resize(step.count);
    for (int64_t i = 0; i < step.count; ++i) {
      Num result = toNum(operand(step, 0).whole(step.from[0][i]));
      to.v[i] = result.v;
      to.e[i] = result.e;
    }
    return;
  }
  default:
    llvm_unreachable("not a step of floats");
  }
}

//===----------------------------------------------------------------------===//
// Integers and bools
//===----------------------------------------------------------------------===//

template <typename Function>
void Evaluator::mapWholes(const Step &step, Array &to, Function function) {
  to.i.resize(step.count);
  bool exact = llvm::all_of(step.operands, [&](unsigned operand) {
    return arrays[operand].e.empty();
  });
  to.e.resize(exact ? 0 : step.count);
  const Array &a = operand(step, 0), &b = operand(step, step.from.size() - 1);
  const Offsets &fromA = step.from.front(), &fromB = step.from.back();
  for (int64_t i = 0; i < step.count; ++i) {
    Whole result = function(a.whole(fromA[i]), b.whole(fromB[i]));
    to.i[i] = result.v;
    if (!exact)
      to.e[i] = result.e;
  }
}

/// Wrapping arithmetic: 64 bits, as on the target.
static int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

/// Operations that are not smooth: uncertain operands make the result so by as
/// much as it can be off, here not tracked further than "out".
static double outIfUncertain(Whole a, Whole b) {
  return a.e > 0 || b.e > 0 ? kInf : 0;
}

static Whole evaluateWhole(const Step &step, Whole a, Whole b) {
  bool isBool = step.kind == Kind::Bool;
  switch (step.op) {
  case Op::AddI:
    if (isBool)
      return {(a.v + b.v) & 1, std::max(a.e, b.e)};
    return {wrap(uint64_t(a.v) + uint64_t(b.v)), a.e + b.e};
  case Op::SubI:
    if (isBool)
      return {(a.v - b.v) & 1, std::max(a.e, b.e)};
    return {wrap(uint64_t(a.v) - uint64_t(b.v)), a.e + b.e};
  case Op::MulI:
    return {wrap(uint64_t(a.v) * uint64_t(b.v)),
            a.e + b.e == 0 ? 0
                           : std::fabs(double(a.v)) * b.e +
                                 std::fabs(double(b.v)) * a.e + a.e * b.e};
  case Op::FloorDiv:
    return {floorDivide(a.v, b.v), outIfUncertain(a, b)};
  case Op::FloorMod:
    return {b.v == 0 ? 0 : wrap(a.v - uint64_t(floorDivide(a.v, b.v)) * b.v),
            outIfUncertain(a, b)};
  case Op::DivI:
    return {b.v == 0    ? 0
            : b.v == -1 ? wrap(-uint64_t(a.v))
                        : a.v / b.v,
            outIfUncertain(a, b)};
  case Op::RemI:
    return {b.v == 0 || b.v == -1 ? 0 : a.v % b.v, outIfUncertain(a, b)};
  case Op::CeilDiv:
    return {wrap(-uint64_t(floorDivide(wrap(-uint64_t(a.v)), b.v))),
            outIfUncertain(a, b)};
  case Op::MaxI:
    return {std::max(a.v, b.v), std::max(a.e, b.e)};
  case Op::MinI:
    return {std::min(a.v, b.v), std::max(a.e, b.e)};
  case Op::And: // a certain false decides
    if (isBool && ((!a.v && a.e == 0) || (!b.v && b.e == 0)))
      return {0, 0};
    return {a.v & b.v, isBool ? std::max(a.e, b.e) : outIfUncertain(a, b)};
  case Op::Or: // a certain true decides
    if (isBool && ((a.v && a.e == 0) || (b.v && b.e == 0)))
      return {1, 0};
    return {a.v | b.v, isBool ? std::max(a.e, b.e) : outIfUncertain(a, b)};
  case Op::Xor:
    return {a.v ^ b.v, isBool ? std::max(a.e, b.e) : outIfUncertain(a, b)};
  case Op::AbsI:
    return {a.v < 0 ? wrap(-uint64_t(a.v)) : a.v, a.e};
  case Op::TruncI:
    if (step.whole == 1)
      return {a.v & 1, outIfUncertain(a, b)};
    return {wrap(uint64_t(a.v) << (64 - step.whole)) >> (64 - step.whole), a.e};
  case Op::Copy:
    return {a.v, a.e};
  default:
    llvm_unreachable("not a step of integers");
  }
}

static bool compareWhole(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return uint64_t(a) < uint64_t(b);
  case arith::CmpIPredicate::ule:
    return uint64_t(a) <= uint64_t(b);
  case arith::CmpIPredicate::ugt:
    return uint64_t(a) > uint64_t(b);
  case arith::CmpIPredicate::uge:
    return uint64_t(a) >= uint64_t(b);
  }
  llvm_unreachable("no such predicate");
}

/// `predicate` in bits: 1 equal, 2 greater, 4 less, 8 unordered.
static bool compareFloat(int64_t predicate, double a, double b) {
  int relation = std::isnan(a) || std::isnan(b) ? 8
                 : a == b                       ? 1
                 : a > b                        ? 2
                                                : 4;
  return predicate & relation;
}

/// Where one element alone is near its row's extreme it is the extreme: both
/// are computed alike, unless it may be NaN. Whether all comparisons are
/// certain then.
static bool decideLoneExtremes(const Step &step, const Array &elements,
                               Array &to) {
  llvm::DenseMap<size_t, unsigned> near;
  for (int64_t i = 0; i < step.count; ++i)
    near[step.from.back()[i]] += to.e[i] > 0;
  bool exact = true;
  for (int64_t i = 0; i < step.count; ++i) {
    if (near[step.from.back()[i]] == 1 &&
        std::isfinite(elements.num(step.from.front()[i]).e))
      to.e[i] = 0;
    exact &= to.e[i] == 0;
  }
  return exact;
}

void Evaluator::computeWhole(const Step &step, Array &to) {
  switch (step.op) {
  case Op::CompareI:
    return mapWholes(step, to, [&](Whole a, Whole b) -> Whole {
      bool close =
          a.e + b.e > 0 && std::fabs(double(a.v) - double(b.v)) <= a.e + b.e;
      return {
          compareWhole(static_cast<arith::CmpIPredicate>(step.whole), a.v, b.v),
          close ? 1.0 : 0.0};
    });
  case Op::Random: {
    to.i.resize(step.count);
    llvm::SmallVector<int64_t, 5> at(step.operands.size());
    bool exact = true;
    for (int64_t i = 0; i < step.count; ++i) {
      for (unsigned k = 0; k < at.size(); ++k) {
        Whole index = operand(step, k).whole(step.from[k][i]);
        at[k] = index.v;
        exact &= index.e == 0;
      }
      to.i[i] = randomNumber(at[0], llvm::ArrayRef(at).drop_front());
    }
    to.e.assign(exact ? 0 : step.count, kInf);
    return;
  }
  case Op::CompareF:
  case Op::ToInt: {
    to.i.resize(step.count);
    to.e.resize(step.count);
    const Array &a = operand(step, 0), &b = operand(step, step.from.size() - 1);
    bool exact = true;
    for (int64_t i = 0; i < step.count; ++i) {
      Num x = a.num(step.from.front()[i]), y = b.num(step.from.back()[i]);
      if (step.op == Op::CompareF) {
        to.i[i] = compareFloat(step.whole, x.v, y.v);
        bool isOne =
            step.isOfAlike && x.v == y.v && x.e == y.e && std::isfinite(x.e);
        to.e[i] = !step.isDecided && !isOne && isClose(x, y) ? 1 : 0;
      } else {
        Num truncated = steps(x, [](double v) { return std::trunc(v); });
        to.i[i] = static_cast<int64_t>(
            std::clamp(truncated.v, -0x1p63, 0x1.fffffffffffffp62));
        to.i[i] = std::isnan(x.v) ? 0 : to.i[i];
        to.e[i] = truncated.e;
      }
      exact &= to.e[i] == 0;
    }
    if (step.isOfExtreme && !exact)
      exact = decideLoneExtremes(step, a, to);
    if (exact)
      to.e.clear();
    return;
  }
  default:
    return mapWholes(
        step, to, [&](Whole a, Whole b) { return evaluateWhole(step, a, b); });
  }
}

void Evaluator::select(const Step &step, Array &to) {
  const Array &condition = operand(step, 0), &yes = operand(step, 1),
              &no = operand(step, 2);
  bool floats = step.kind == Kind::Float;
  // A row's statistic that is NaN, as a score in it is, may be applied to the
  // sum over what is kept of the row: 0 * NaN where nothing is. So may one that
  // is 0 or infinite; but the 0 of a probability is its element's own. What is
  // out may be NaN.
  auto isTainted = [&](int64_t i, Num other) {
    if (!std::isnan(other.v) && !isOut(other))
      return false;
    for (unsigned k = 3; k < step.operands.size(); ++k) {
      Num of = operand(step, k).num(step.from[k][i]);
      bool isOfRow = program.steps[step.operands[k]].op != Op::Softmax;
      if (isOut(of) || (std::isnan(other.v) &&
                        (!std::isfinite(of.v) || (isOfRow && of.v == 0))))
        return true;
    }
    return false;
  };
  bool exact = step.operands.size() == 3 && condition.e.empty() &&
               yes.e.empty() && no.e.empty();
  bool rounded = !yes.w.empty() || !no.w.empty();
  (floats ? to.v.resize(step.count) : to.i.resize(step.count));
  to.e.resize(exact ? 0 : step.count);
  to.w.resize(rounded ? step.count : 0);
  for (int64_t i = 0; i < step.count; ++i) {
    Whole taken = condition.whole(step.from[0][i]);
    const Array &chosen = taken.v ? yes : no, &other = taken.v ? no : yes;
    size_t at = step.from[taken.v ? 1 : 2][i];
    size_t otherAt = step.from[taken.v ? 2 : 1][i];
    if (floats) {
      Num result =
          reference::select(taken.e > 0, chosen.num(at), other.num(otherAt));
      if (isTainted(i, other.num(otherAt)))
        result.e = kInf;
      to.v[i] = result.v;
      if (!exact)
        to.e[i] = result.e;
      if (rounded)
        to.w[i] = chosen.roundedAt(at);
    } else {
      Whole a = chosen.whole(at), b = other.whole(otherAt);
      to.i[i] = a.v;
      if (!exact)
        to.e[i] = taken.e > 0
                      ? std::max(a.e, std::fabs(double(a.v - b.v)) + b.e)
                      : a.e;
    }
  }
}

} // namespace attentile::reference
