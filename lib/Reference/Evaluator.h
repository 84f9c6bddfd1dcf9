//===- Evaluator.h - runs the steps of a program ----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_REFERENCE_EVALUATOR_H
#define ATTENTILE_REFERENCE_EVALUATOR_H

#include "Bounded.h"
#include "Program.h"
#include <map>

namespace attentile::reference {

/// What a loop over tiles computes may be visited in another order, in which
/// one exponential of a difference stands for the product of several. Where
/// that is below some 2^-126 it is 0 in f32, and an infinite element times it
/// NaN: so a loop's infinity times a small factor may be either.
inline Num ifRescaled(const Step &step, Num a, Num b, Num result) {
  double small = step.op == Op::Product ? 0x1p-64 : 0x1p-8;
  bool isFree = step.rescales && step.tainted && std::isinf(result.v) &&
                std::min(std::fabs(a.v), std::fabs(b.v)) < small;
  return {result.v, isFree ? kInf : result.e};
}

/// NaN of what a condition hides, as 0 times an infinity, may be left out of a
/// sum with the block that it stands in.
inline Num ifHidden(const Step &step, Num a, Num b, Num result) {
  bool isFree = step.hides && std::isnan(result.v) && !std::isnan(a.v) &&
                !std::isnan(b.v);
  return {result.v, isFree ? kInf : result.e};
}

/// The array of a step at the present point. `v` are floats, `i` integers and
/// bools. `e` is empty where all is exact. `w` is the float with computed
/// factors of products rounded, empty where that is `v`.
struct Array {
  std::vector<double> v, e, w;
  std::vector<int64_t> i;
  bool valid = false;
  uint64_t stamp = 0; // of each time it is computed another
  // Looked up once for each time it is computed; -1: not yet.
  mutable int8_t finite = -1, tiny = -1;

  Num num(size_t at) const { return {v[at], e.empty() ? 0 : e[at]}; }
  Whole whole(size_t at) const { return {i[at], e.empty() ? 0 : e[at]}; }
  double roundedAt(size_t at) const { return w.empty() ? v[at] : w[at]; }
  bool isFinite() const;
  /// Whether an exact element is subnormal in f32.
  bool holdsTiny() const;
};

/// Where an output's elements go, shared by all threads: each element is
/// written by one point.
struct Sink {
  std::vector<int64_t> sizes;
  std::vector<double> values, bounds, rounded;
  /// Sampled: the positions of what was evaluated, one list a point.
  std::vector<std::vector<int64_t>> positions;
  std::vector<std::vector<double>> sampledValues, sampledBounds, sampledRounded;
};

struct Prepared;

/// The state of one thread.
class Evaluator {
public:
  Evaluator(const Inputs &inputs, const Program &program)
      : inputs(inputs), program(program), arrays(program.steps.size()),
        point(inputs.kernel.getIndexNames().size(), -1) {}

  /// Computes all steps at a point of the outer axes; `number` is the point's
  /// among those that are evaluated (for a sampled sink).
  void run(llvm::ArrayRef<int64_t> outer, std::vector<Sink> *sinks,
           bool sampled, size_t number);

  /// The number of terms of a reduction: in a loop's last tile fewer.
  int64_t termsOf(const Step &step) const {
    return step.tileTerms ? step.tileTerms * tileCount : step.terms;
  }

  const Array &last() const { return arrays.back(); }

  int64_t emptyRows = 0; ///< ReferenceResult::emptyRows, of this thread

private:
  void compute(const Step &step, Array &to);
  void computeFloat(const Step &step, Array &to);
  void computeWhole(const Step &step, Array &to);
  void computeLeaf(const Step &step, Array &to);
  const std::vector<int64_t> &placesOf(const Step &step,
                                       llvm::ArrayRef<int64_t> strides);
  void read(const Step &step, Array &to);
  void select(const Step &step, Array &to);
  void reduce(const Step &step, Array &to);
  void softmax(const Step &step, Array &to);
  void product(const Step &step, Array &to);
  void loop(unsigned number);
  const Array &resultOf(const Step &step) const;
  void startTile(const LoopBody &body, Evaluator &outside, int64_t first);
  std::vector<Array> runTiles(const LoopBody &body, Evaluator &inner,
                              int64_t lower, int64_t upper);
  std::vector<int64_t> loopsOf(const Step &step) const;
  double roundingsOfProduct(const Step &step) const;
  std::shared_ptr<const Prepared> prepareFactor(const Step &step,
                                                unsigned number);
  void slowProduct(const Step &step, Array &to);
  void write(const Step &step, std::vector<Sink> &sinks, bool sampled,
             size_t number);
  template <typename Function>
  void mapFloats(const Step &step, Array &to, Function function);
  template <typename Function>
  void mapWholes(const Step &step, Array &to, Function function);

  const Array &operand(const Step &step, unsigned i) const {
    return arrays[step.operands[i]];
  }

  static constexpr int64_t kOutside = std::numeric_limits<int64_t>::min();

  const Inputs &inputs;
  const Program &program;
  std::vector<Array> arrays;
  llvm::DenseMap<const Step *, std::vector<int64_t>> readPlaces;
  /// Factors made ready, with the stamps of what they were made of.
  struct Kept {
    std::vector<uint64_t> stamps;
    std::shared_ptr<const Prepared> factor;
  };
  llvm::DenseMap<const Factor *, Kept> keptFactors;
  uint64_t lastStamp = 0;
  std::vector<int64_t> point; // of every axis; -1: an array axis
  /// Of each Loop, what evaluates its body and what it carried in the end.
  struct LoopState;
  std::map<unsigned, std::shared_ptr<LoopState>> loops;
  int64_t tileCount = 0; // indices of the present tile, in a loop's body
};

/// The quotient toward minus infinity, 0 for a divisor of 0.
int64_t floorDivide(int64_t a, int64_t b);

} // namespace attentile::reference

#endif
