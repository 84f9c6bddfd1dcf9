//===- Program.h - an attn.kernel as a list of steps ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walking IR for each element would take minutes. So the values that some
// statements need become steps in their order, and each step computes an array
// at a time. The axes of the statements are of two kinds:
//
//   outer axes    are loops around all steps: at each point of b, h, m of an
//                 attention, a step sees one number for each
//   array axes    the others (n, d, e): a step's array runs over those that
//                 its value depends on, the last one fastest
//
// A step is computed again only when an outer axis that it depends on moves,
// so K[b, h, n, d] is read once for all m: the axis that least depends on moves
// at every point. Outer axes are those that no
// reduction binds and that all large reductions have: scores have b h m n, the
// output b h m e, so b h m. For `A[b, h, n] = sum[m](softmax[n](s))` they are
// b h, and the scores of a head are an array over m and n. The axes that the
// bounds of a loop over tiles depend on are outer, too, where nothing binds
// them, and so are others while an array would be too large.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_REFERENCE_PROGRAM_H
#define ATTENTILE_REFERENCE_PROGRAM_H

#include "attentile/AxesAnalysis.h"
#include "attentile/Reference.h"

namespace attentile::reference {

enum class Op : uint8_t {
  // leaves
  Constant,
  Parameter,
  Size,
  Index,
  Read,
  // floats
  AddF,
  SubF,
  SubRef,
  SubRunning, // of the running maximum of a loop's step
  MulF,
  DivF,
  NegF,
  MaxF,
  MinF,
  MaxNumF,
  MinNumF,
  Fma,
  Exp,
  Exp2,
  Log,
  Log2,
  Log1p,
  Expm1,
  Tanh,
  Sqrt,
  Rsqrt,
  Sin,
  Cos,
  Abs,
  Floor,
  Ceil,
  Pow,
  RoundF,
  // integers and bools
  AddI,
  SubI,
  MulI,
  FloorDiv,
  FloorMod,
  DivI,
  RemI,
  CeilDiv,
  MaxI,
  MinI,
  And,
  Or,
  Xor,
  AbsI,
  TruncI,
  Random,
  // between them
  CompareF,
  CompareI,
  Select,
  ToFloat,
  ToInt,
  Copy,
  // over axes
  Reduce,
  Product,
  Softmax,
  LogSumExp,
  // loops over tiles
  Loop,       // all of one; LoopResult: what it carries in the end
  LoopResult, // number `whole`
  Outside,    // in a loop: of a value from before it, the tile's part
  Carried,    // in a loop: what the tiles before left
  Write
};

/// Over axes, not element by element.
inline bool isReduction(Op op) {
  return op >= Op::Reduce && op <= Op::LogSumExp;
}

enum class Kind : uint8_t { Float, Int, Bool };

/// Where the elements of an operand are, seen from another array: one number
/// for each of its elements. `same` and `scalar` need no list.
struct Offsets {
  enum { same, scalar, list } form = same;
  std::vector<int32_t> at;

  size_t operator[](size_t i) const {
    return form == same ? i : form == scalar ? 0 : at[i];
  }
};

/// A computed term of a factor, seen from it, whose rounding to the product's
/// type counts.
struct RoundedTerm {
  unsigned step;
  Offsets from;
  /// What multiplies or divides it and lacks the axes of the sum, seen from the
  /// factor: a kernel multiplies the sum by it and rounds the term without it.
  struct Gain {
    unsigned step;
    Offsets from;
    bool divides;
  };
  std::vector<Gain> gains;
  /// They are scalars: what is a row's a kernel may not take out where the term
  /// leaves its type's range without.
  bool isOfScalars = true;
};

/// A factor of a product, and how it enters.
struct Factor {
  unsigned step;
  /// The factor, or both sides of a difference of softmaxes. Empty: it enters
  /// exactly.
  std::vector<RoundedTerm> roundedTerms;
  /// Whether it is a sum with a softmax in it, whose terms a kernel may
  /// multiply apart: of an infinite element that is inf - inf.
  bool mayBeSplit = false;
  /// Whether it reads a row of a table for each pair with the other factor, for
  /// which a kernel may multiply all rows, terms apart, and read 0 outside.
  bool gathers = false;
  /// Whether it lacks the axes of the sum, which a kernel may multiply by it.
  bool isRow = false;
  /// How many elements share a softmax's weight that it multiplies by
  /// something: a kernel may normalise the sum instead, and round what is so
  /// many times as large.
  int64_t shared = 1;
  /// Strides along the product's loops.
  std::vector<int64_t> strides;
};

struct LoopBody;

struct Step {
  Op op;
  Kind kind;
  /// Of a Select of floats, behind its three: the reductions along its own axes
  /// that its choices are made of.
  std::vector<unsigned> operands;
  /// The operands' elements, seen from this step's array (from the loops of
  /// `outer` and `inner` for reductions).
  std::vector<Offsets> from;
  attn::Axes axes;                 // all axes of the value
  std::vector<unsigned> arrayAxes; // those of its array
  std::vector<int64_t> extents;    // of arrayAxes
  int64_t count = 1;               // elements of the array
  bool tainted = false;            // may come from an inf or NaN in memory
  attn::Axes bound;                // by the reductions that it depends on
  bool isDecided = false;          // CompareF: counts as certain
  bool isOfExtreme = false; // CompareF: of an element with its own maximum
  bool isOfAlike = false;   // CompareF: of one formula at two elements
  // MulF, DivF, Pow: whether an operand has a sum in it whose terms a kernel
  // may multiply apart.
  bool splitsFirst = false, splitsSecond = false;
  // AddF, SubF, MulF, DivF in a sum's terms: whether an operand lacks the
  // sum's axes, so that a kernel may apply it to the sum.
  bool rowFirst = false, rowSecond = false;
  // AddF, SubF, MulF, DivF, Product in a reduction's terms: whether a condition
  // is in an operand, so that a kernel may leave out what it hides.
  bool hides = false;
  // In a loop over tiles. MulF: of what it carries; Product: of a tile.
  bool rescales = false;
  // AddF in a loop over tiles: of the operands, from 1 on, the product of a
  // tile that a kernel may start at the other one.
  unsigned startedSum = 0;
  unsigned lastUse = 0; // the last step that needs it

  // What some operations have more:
  double number = 0; // Constant
  int64_t whole = 0; // Constant; number of a Parameter, Size or
                     // Index; predicate of a Compare; TruncI
  ElementType type = ElementType::F32; // RoundF, Read, product's, Write
  unsigned tensor = 0;                 // Read, Write
  attn::ReduceKind reduce = attn::ReduceKind::Sum;
  std::vector<int64_t> outer, inner;     // reductions: offsets in the operand
                                         // of each result, of each term
  std::vector<int64_t> outerTo, innerTo; // Softmax: the same in the result
  std::vector<int64_t> loops;            // Product: extents, last fastest
  std::vector<int64_t> resultStrides;    // Product
  int64_t terms = 1;                     // of a reduction
  // Of a reduction over a loop's tile: terms for each index of its axis, which
  // is the first that `inner` goes along, and its place in `loops`.
  int64_t tileTerms = 0;
  unsigned tileLoop = 0;
  std::shared_ptr<LoopBody> loop; // Loop
  std::vector<Factor> factors;    // Product
};

/// The steps for some statements that share their outer axes.
struct Program {
  std::vector<Step> steps;
  std::vector<unsigned> outerAxes;
  std::vector<int64_t> outerExtents;
  /// Multiply-adds of sums and elements of arrays at one point of the outer
  /// axes.
  int64_t work = 0;

  /// The number of points of the outer axes.
  int64_t points() const {
    int64_t count = 1;
    for (int64_t extent : outerExtents)
      count *= extent;
    return count;
  }
};

/// What a loop over tiles does. In its program the axis has the tile's indices;
/// in the last tile those that are too many have values that nothing uses.
struct LoopBody {
  Program program;
  unsigned axis;
  int64_t size;
  unsigned lower, upper; // steps before the loop; arrays, where their axes are
  /// For each Outside, the step before the loop and where the tile's part is.
  struct Outside {
    unsigned step, from;
    /// Elements of the source before and behind the axis; 0: it lacks it.
    int64_t before = 0, extent = 0, behind = 0;
  };
  std::vector<Outside> outside;
  /// For each carried value, its steps and how the start, the next and the
  /// bounds are repeated along its axes.
  struct Value {
    unsigned step, start, next;
    Offsets startFrom, nextFrom, lowerFrom, upperFrom;
  };
  std::vector<Value> carried;
};

/// What a kernel is evaluated on.
struct Inputs {
  mutable attn::KernelOp kernel; // a handle, whose accessors are not const
  llvm::ArrayRef<HostTensor> ins;
  llvm::ArrayRef<int64_t> sizes;
  /// Of each input, whether it holds an infinity or NaN.
  std::vector<bool> tainted;
  /// The elements of each tensor of floats, row after row; of others nothing.
  std::vector<std::vector<double>> floats;
  /// ReferenceOptions::reductionsAgree.
  bool reductionsAgree = false;
};

/// The programs of all attn.write of the kernel's block.
llvm::Expected<std::vector<Program>> buildPrograms(const Inputs &inputs);

/// The elements of the largest array in them.
double countLargestArray(attn::KernelOp kernel, llvm::ArrayRef<int64_t> sizes);

/// The steps of one value of sizes and scalars only; the last step is it.
llvm::Expected<Program> buildScalarProgram(const Inputs &inputs,
                                           mlir::Value value);

} // namespace attentile::reference

#endif
