//===- Evaluator.cpp - pointwise steps ------------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attentile::reference {

bool Array::isFinite() const {
  if (finite < 0)
    finite = llvm::all_of(v, [](double x) { return std::isfinite(x); }) &&
             llvm::all_of(e, [](double x) { return x < kInf; });
  return finite;
}

bool Array::holdsTiny() const {
  if (tiny < 0)
    tiny = llvm::any_of(
        v, [](double x) { return x != 0 && std::fabs(x) < kTiny; });
  return tiny;
}

int64_t floorDivide(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1) // INT64_MIN / -1 wraps
    return static_cast<int64_t>(-static_cast<uint64_t>(a));
  int64_t quotient = a / b;
  return quotient - (quotient * b != a && (a < 0) != (b < 0));
}

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

void Evaluator::computeFloat(const Step &step, Array &to) {
  bool tainted = step.tainted;
  switch (step.op) {
  case Op::AddF:
    return mapFloats(step, to,
                     [=](Num a, Num b) { return add(a, b, tainted); });
  case Op::SubF:
    return mapFloats(step, to,
                     [=](Num a, Num b) { return sub(a, b, tainted); });
  case Op::SubRef:
    return mapFloats(step, to, subRef);
  case Op::MulF:
    return mapFloats(step, to,
                     [=](Num a, Num b) { return mul(a, b, tainted); });
  case Op::DivF:
    return mapFloats(step, to, div);
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
    return mapFloats(step, to,
                     [](Num a, Num b) { return reference::pow(a, b); });
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
        to.e[i] = isClose(x, y) ? 1 : 0;
      } else {
        Num truncated = steps(x, [](double v) { return std::trunc(v); });
        to.i[i] = static_cast<int64_t>(
            std::clamp(truncated.v, -0x1p63, 0x1.fffffffffffffp62));
        to.i[i] = std::isnan(x.v) ? 0 : to.i[i];
        to.e[i] = truncated.e;
      }
      exact &= to.e[i] == 0;
    }
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
  bool exact = condition.e.empty() && yes.e.empty() && no.e.empty();
  bool floats = step.kind == Kind::Float;
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

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

void Evaluator::computeLeaf(const Step &step, Array &to) {
  switch (step.op) {
  case Op::Constant:
    if (step.kind == Kind::Float)
      to.v = {step.number};
    else
      to.i = {step.whole};
    return;
  case Op::Parameter: {
    const HostTensor &scalar = inputs.ins[step.whole];
    if (step.kind == Kind::Float)
      to.v = {scalar.readDouble(scalar.offset)};
    else
      to.i = {scalar.readInt(scalar.offset)};
    return;
  }
  case Op::Size:
    to.i = {inputs.sizes[step.whole]};
    return;
  default: // Index
    to.i.resize(step.count);
    for (int64_t i = 0; i < step.count; ++i)
      to.i[i] = point[step.whole] < 0 ? i : point[step.whole];
  }
}

void Evaluator::read(const Step &step, Array &to) {
  const HostTensor &tensor = inputs.ins[step.tensor];
  bool floats = step.kind == Kind::Float, exact = true;
  (floats ? to.v.resize(step.count) : to.i.resize(step.count));
  to.e.assign(step.count, 0);
  unsigned rank = step.operands.size();
  // What does not change along the array is added up once.
  int64_t base = tensor.offset;
  bool inside = true;
  struct Varying {
    const Array *index;
    const Offsets *from;
    int64_t size, stride;
  };
  llvm::SmallVector<Varying, 4> varying;
  for (unsigned k = 0; k < rank; ++k) {
    const Array &index = operand(step, k);
    if (step.from[k].form != Offsets::scalar || !index.e.empty()) {
      varying.push_back(
          {&index, &step.from[k], tensor.sizes[k], tensor.strides[k]});
      continue;
    }
    inside &= index.i[0] >= 0 && index.i[0] < tensor.sizes[k];
    base += inside ? index.i[0] * tensor.strides[k] : 0;
  }
  for (int64_t i = 0; i < step.count; ++i) {
    int64_t position = base;
    bool in = inside;
    for (const Varying &v : varying) {
      size_t at = (*v.from)[i];
      int64_t index = v.index->i[at];
      in &= index >= 0 && index < v.size;
      position += in ? index * v.stride : 0;
      if (!v.index->e.empty() && v.index->e[at] > 0)
        to.e[i] = kInf, exact = false; // another element may be meant
    }
    if (floats)
      to.v[i] = in ? tensor.readDouble(position) : 0;
    else
      to.i[i] = in ? tensor.readInt(position) : 0;
  }
  if (exact)
    to.e.clear();
}

//===----------------------------------------------------------------------===//
// All steps
//===----------------------------------------------------------------------===//

void Evaluator::compute(const Step &step, Array &to) {
  to.valid = true;
  to.finite = to.tiny = -1;
  switch (step.op) {
  case Op::Constant:
  case Op::Parameter:
  case Op::Size:
  case Op::Index:
    return computeLeaf(step, to);
  case Op::Read:
    return read(step, to);
  case Op::Select:
    return select(step, to);
  case Op::Reduce:
    return reduce(step, to);
  case Op::Product:
    return product(step, to);
  case Op::Softmax:
  case Op::LogSumExp:
    return softmax(step, to);
  default:
    return step.kind == Kind::Float ? computeFloat(step, to)
                                    : computeWhole(step, to);
  }
}

void Evaluator::run(llvm::ArrayRef<int64_t> outer, std::vector<Sink> *sinks,
                    bool sampled, size_t number) {
  llvm::SmallBitVector moved(point.size());
  for (auto [axis, value] : llvm::zip(program.outerAxes, outer)) {
    if (point[axis] != value)
      moved.set(axis);
    point[axis] = value;
  }
  bool innermostMoves =
      program.outerAxes.empty() || program.outerExtents.back() > 1;
  for (unsigned i = 0; i < program.steps.size(); ++i) {
    const Step &step = program.steps[i];
    if (step.op == Op::Write) {
      write(step, *sinks, sampled, number);
    } else if (!arrays[i].valid || step.axes.anyCommon(moved)) {
      compute(step, arrays[i]);
    }
    // Large arrays that the next point computes again need not be kept.
    for (unsigned operand : step.operands) {
      const Step &used = program.steps[operand];
      if (used.lastUse == i && used.count > (1 << 18) && innermostMoves &&
          (program.outerAxes.empty() ||
           used.axes.test(program.outerAxes.back())))
        arrays[operand] = Array();
    }
  }
}

void Evaluator::write(const Step &step, std::vector<Sink> &sinks, bool sampled,
                      size_t number) {
  Sink &sink = sinks[step.tensor];
  const Array &value = operand(step, 0);
  for (int64_t i = 0; i < step.count; ++i) {
    int64_t position = 0;
    bool inside = true, certain = true;
    for (unsigned k = 0; k < sink.sizes.size(); ++k) {
      Whole index = operand(step, k + 1).whole(step.from[k + 1][i]);
      inside &= index.v >= 0 && index.v < sink.sizes[k];
      certain &= index.e == 0;
      position = position * sink.sizes[k] + index.v;
    }
    if (!inside)
      continue;
    size_t at = step.from[0][i];
    double v, e, w;
    if (step.kind == Kind::Float) {
      Num result = value.num(at);
      v = result.v;
      e = ofOperand(result);
      w = roundTo(step.type, value.roundedAt(at));
      // The output's rounding may overflow; its half unit is the comparison's.
      if (std::isfinite(v) && !(std::fabs(v) + e <= largest(step.type)))
        e = kInf;
    } else {
      Whole result = value.whole(at);
      if (step.type == ElementType::I32)
        result.v = std::clamp<int64_t>(result.v, INT32_MIN, INT32_MAX);
      v = w = static_cast<double>(result.v);
      e = result.e;
    }
    if (!certain)
      e = kInf;
    if (sampled) {
      sink.positions[number].push_back(position);
      sink.sampledValues[number].push_back(v);
      sink.sampledBounds[number].push_back(e);
      sink.sampledRounded[number].push_back(w);
    } else {
      sink.values[position] = v;
      sink.bounds[position] = e;
      sink.rounded[position] = w;
    }
  }
}

} // namespace attentile::reference
