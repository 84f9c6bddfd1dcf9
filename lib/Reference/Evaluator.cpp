//===- Evaluator.cpp - runs the steps of a program ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

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

/// Where each element of a read's array lies beyond the element at the present
/// point, if it is read at indices alone; kOutside if outside the tensor.
const std::vector<int64_t> &
Evaluator::placesOf(const Step &step, llvm::ArrayRef<int64_t> strides) {
  std::vector<int64_t> &places = readPlaces[&step];
  if (!places.empty())
    return places;
  const HostTensor &tensor = inputs.ins[step.tensor];
  places.assign(step.count, 0);
  for (unsigned k = 0; k < step.operands.size(); ++k) {
    if (step.from[k].form == Offsets::scalar)
      continue;
    const Array &index = operand(step, k);
    for (int64_t i = 0; i < step.count; ++i) {
      int64_t at = index.i[step.from[k][i]];
      if (at >= tensor.sizes[k])
        places[i] = kOutside;
      else if (places[i] != kOutside)
        places[i] += at * strides[k];
    }
  }
  return places;
}

void Evaluator::read(const Step &step, Array &to) {
  const HostTensor &tensor = inputs.ins[step.tensor];
  bool floats = step.kind == Kind::Float, exact = true;
  const double *decoded = floats ? inputs.floats[step.tensor].data() : nullptr;
  // Floats are decoded, row after row.
  std::vector<int64_t> strides =
      floats ? contiguousStrides(tensor.sizes) : tensor.strides;
  (floats ? to.v.resize(step.count) : to.i.resize(step.count));
  auto put = [&](int64_t i, bool inside, int64_t position) {
    if (floats)
      to.v[i] = inside ? decoded[position] : 0;
    else
      to.i[i] = inside ? tensor.readInt(position) : 0;
  };
  // What does not change along the array is added up once.
  int64_t base = floats ? 0 : tensor.offset;
  bool inside = true, byIndices = true;
  struct Varying {
    const Array *index;
    const Offsets *from;
    int64_t size, stride;
  };
  llvm::SmallVector<Varying, 4> varying;
  for (unsigned k = 0; k < step.operands.size(); ++k) {
    const Array &index = operand(step, k);
    if (step.from[k].form != Offsets::scalar || !index.e.empty()) {
      varying.push_back({&index, &step.from[k], tensor.sizes[k], strides[k]});
      byIndices &= program.steps[step.operands[k]].op == Op::Index;
      continue;
    }
    inside &= index.i[0] >= 0 && index.i[0] < tensor.sizes[k];
    base += inside ? index.i[0] * strides[k] : 0;
  }
  if (byIndices) {
    to.e.clear();
    const std::vector<int64_t> &places = placesOf(step, strides);
    for (int64_t i = 0; i < step.count; ++i)
      put(i, inside && places[i] != kOutside, base + places[i]);
    return;
  }
  to.e.assign(step.count, 0);
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
    put(i, in, position);
  }
  if (exact)
    to.e.clear();
}

//===----------------------------------------------------------------------===//
// All steps
//===----------------------------------------------------------------------===//

void Evaluator::compute(const Step &step, Array &to) {
  to.valid = true;
  to.stamp = ++lastStamp;
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
  case Op::LoopResult:
    to = resultOf(step);
    to.valid = true;
    to.stamp = lastStamp;
    return;
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
    } else if (step.op == Op::Loop) {
      if (!arrays[i].valid || step.axes.anyCommon(moved))
        loop(i);
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
      if (saturates(step.type)) {
        if (!std::isnan(v)) // brought into the range, as what is compared with
          v = std::clamp(v, -largest(step.type), largest(step.type));
      } else if (std::isfinite(v) &&
                 !(std::fabs(v) + e <= largest(step.type))) {
        e = kInf;
      }
    } else {
      Whole result = value.whole(at);
      if (step.type == ElementType::I32)
        result.v = std::clamp<int64_t>(result.v, INT32_MIN, INT32_MAX);
      if (step.type == ElementType::I8)
        result.v = std::clamp<int64_t>(result.v, INT8_MIN, INT8_MAX);
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
