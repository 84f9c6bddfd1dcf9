//===- Generator.h - writes random kernels ----------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a seed to a program, the same on every machine. Everything it writes is
// well-typed: what the front end refuses is a failure, of one or the other.
//
//   Settings.cpp     sizes, values, strides, types, switches
//   Statements.cpp   scores, weights: what a kernel is made of
//   Outputs.cpp      what it writes
//   Loops.cpp        loops over tiles that are written out
//   Scores.cpp       floats: products, biases, functions of scores
//   Conditions.cpp   integers and bools: masks
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_RANDOM_GENERATOR_H
#define ATTENTILE_TEST_RANDOM_GENERATOR_H

#include "Program.h"
#include "attentile/TestData.h"

namespace attentile::random {

/// What programs are for.
struct Purpose {
  /// Run here: natively, or, about so many of them, thread by thread.
  double onWarps = 0.12;
  /// Or compiled for this GPU, and run elsewhere; empty: run here.
  std::string gpu;
  /// Passes that every program runs, whatever is drawn for it.
  std::vector<std::string> passes;
};

/// The program of a seed.
Program generate(uint64_t seed, const Purpose &purpose);

/// Bits of Axes, in the order in which tensors have them.
enum Axis : Axes {
  axisB = 1,
  axisH = 2,
  axisM = 4,
  axisN = 8,
  axisJ = 16, // keys again
  axisD = 32,
  axisE = 64,
  axisR = 128
};
inline constexpr unsigned numAxes = 8;

class Generator {
public:
  Generator(uint64_t seed, const Purpose &purpose);
  Program run();

private:
  // Settings.cpp
  void chooseLayout();
  void chooseSwitches();
  void chooseRuns();
  void bindSome();

  // Statements.cpp
  void writeBody();
  void writeOutput();
  ExprRef let(const std::string &name, ExprRef value);
  void output(const std::string &name, Axes axes, const std::string &type,
              ExprRef value);
  ExprRef score();
  ExprRef weights(ExprRef s, ExprRef visible);
  ExprRef shares(ExprRef p);
  ExprRef softmax(const std::string &name, ExprRef s, Axes over);
  ExprRef valueRead();
  ExprRef weightedSum();
  ExprRef hiddenSum(ExprRef p, ExprRef v);
  void loopOverTiles(std::vector<std::string> carried,
                     const std::string &starts, const std::string &body,
                     std::vector<ExprRef> operands);
  ExprRef explicitSum();
  ExprRef iterated(ExprRef start);
  void rowStatistic();
  void columnOutput();
  void layerOutput();
  void balancedOutput();

  // Scores.cpp
  ExprRef rawScore();
  ExprRef productScore(Axes summed, const std::string &suffix);
  ExprRef otherScore();
  ExprRef changeScore(ExprRef s);
  ExprRef bias(Axes available);
  ExprRef decay();
  ExprRef tablePlace(Axes available);
  ExprRef relativeProduct(Axes available);
  ExprRef projected(Axes rows, Axes last);
  ExprRef normed(ExprRef x, Axes last);
  ExprRef factorOf(Axes rows, Axes summed, const std::string &name);
  ExprRef real(Axes available, int depth);
  ExprRef realLeaf(Axes available);
  ExprRef scale(ExprRef s);

  // Conditions.cpp
  ExprRef mask();
  ExprRef nearestKeys();
  ExprRef condition(Axes available, int depth);
  ExprRef comparison(Axes available);
  ExprRef loadedComparison();
  ExprRef libraryMask();
  ExprRef integer(Axes available, int depth);
  ExprRef integerLeaf(Axes available);
  ExprRef affine(Axes available);
  ExprRef offset(Axes available);
  ExprRef divisor(Axes available);
  ExprRef keyPosition();

  // Building blocks.
  static ExprRef leaf(Type type, const std::string &text, Axes axes = 0) {
    return makeExpr(type, text, {}, axes);
  }
  static ExprRef i(std::string form, std::vector<ExprRef> operands,
                   Axes axes = 0, Axes bound = 0) {
    return makeExpr(Type::Int, std::move(form), std::move(operands), axes,
                    bound);
  }
  static ExprRef f(std::string form, std::vector<ExprRef> operands,
                   Axes axes = 0, Axes bound = 0) {
    return makeExpr(Type::Float, std::move(form), std::move(operands), axes,
                    bound);
  }
  static ExprRef b(std::string form, std::vector<ExprRef> operands,
                   Axes axes = 0, Axes bound = 0) {
    return makeExpr(Type::Bool, std::move(form), std::move(operands), axes,
                    bound);
  }
  static ExprRef number(int64_t value);
  ExprRef axis(Axes one) { return leaf(Type::Int, nameOf(one), one); }

  /// "b", and the size it runs over: "B".
  static std::string nameOf(Axes one);
  std::string sizeOf(Axes one) const;
  /// "b, h, m" and "B, H, M".
  static std::string indices(Axes axes);
  std::string dims(Axes axes) const;

  /// An element of a tensor of its own, which stands plainly in these axes.
  ExprRef read(Type type, const std::string &name, const std::string &element,
               Axes axes);
  /// One of the keys' or values' side, which may have fewer heads, be gathered
  /// or shared; `last` is its last axis.
  ExprRef readKeySide(const std::string &name, Axes last);
  /// A scalar of the call; its constraint keeps it from `least` on.
  ExprRef scalar(const std::string &name, const std::string &element,
                 const std::string &suffix = "");
  bool declare(const std::string &name, const std::string &declaration);
  std::string fresh(const std::string &stem);
  std::string integerType() { return chance(0.6) ? "i32" : "i64"; }
  std::string floatType() { return chance(0.6) ? "T" : "f32"; }
  /// A random subset of the batch's and heads' axes that this kernel has.
  Axes someOuter() { return outer & random.below(4); }

  bool chance(double probability) {
    return double(random.next() >> 11) * 0x1p-53 < probability;
  }
  /// A number of the list, each as likely as its weight.
  size_t weighted(std::initializer_list<double> weights);
  template <class T> T pick(std::initializer_list<T> values) {
    return values.begin()[random.below(values.size())];
  }

  Program program;
  Random random;
  bool onWarps; // small enough for an interpreter of threads
  const std::string gpu;
  const std::vector<std::string> passes; // that run in any case

  Axes outer = 0;          // batch and heads, as far as there are any
  bool grouped = false;    // keys have fewer heads
  bool isSelf = false;     // queries and keys are of one size, S
  bool sharesSize = false; // values are as wide as keys
  bool mixesHeads = false; // loops over tiles are the same for all of them
  std::string bytes;       // the tensors of the keys' side that have 8 bits
  ExprRef gathered;        // where keys or values are, or null: at n
  bool isIndexed = false;  // that is an element of a tensor
  std::string lastKeys;    // a tensor of keys that can be values too
  std::map<std::string, std::string> scalarBounds;
  std::vector<ExprRef> scores, masks, probabilities;
  unsigned outputs = 0, names = 0;
  int64_t loopTile = 0; // of loops that are written out; 0: there is none
};

} // namespace attentile::random

#endif
