//===- TypedExpr.h - checked expressions ------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Sema makes of the syntax: a graph whose nodes are functions of the index
// variables. A `let` is no node, its uses share its value; functions of the
// file are inlined; conversions are explicit. Each node knows its type, its
// axes and, for integers, an interval that holds its values.
//
//===----------------------------------------------------------------------===//

#ifndef ATTENTILE_FRONTEND_TYPEDEXPR_H
#define ATTENTILE_FRONTEND_TYPEDEXPR_H

#include "AST.h"

namespace attentile {

/// Integers are 64-bit and floats f32 in meaning, whatever they are in memory.
enum class ValueType : uint8_t { Int, Float, Bool };

/// The value type of a tensor's elements.
ValueType valueType(ElementType type);
llvm::StringRef spelling(ValueType type);

/// Index variables as bits; a kernel has at most 64.
using AxisSet = uint64_t;

/// Where a function was inlined, innermost first.
struct CallSite {
  SourceRange range;
  const CallSite *parent;
};

struct TypedExpr;

/// A loop over tiles. Its operation in the graph is a TypedExpr::Loop.
struct CheckedLoop {
  unsigned axis; // id in indices
  int64_t size;
  llvm::ArrayRef<const TypedExpr *> carried; // TypedExpr::Carried, in order
};

struct TypedExpr {
  enum Op : uint8_t {
    IntConst,   // intValue
    FloatConst, // floatValue
    BoolConst,  // intValue
    IndexVar,   // id in indices
    Size,       // size
    Scalar,     // id in ins
    Read,       // id in ins; operands are the indices
    IntToFloat,
    Round,       // to the narrow type `element`, and back to f32
    ToInt,       // from float or int to `element`'s range, saturating
    Materialize, // the operand; `name`
    Kept,        // of seed, threshold and indices: whether random bits reach it
    Select,
    Carried,    // what `loop` carries as its number `id`, within it; `name`
    Loop,       // of `loop`: lower and upper bound, starts, nexts
    LoopResult, // of a Loop: its carried value `id` after the loop
    // As in ast::UnaryOp and ast::BinaryOp.
    Neg,
    Not,
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    // Functions of floats; Abs, Min and Max of integers too.
    Exp,
    Exp2,
    Log,
    Log2,
    Tanh,
    Sigmoid,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Pow,
    Floor,
    Abs,
    Min,
    Max,
    // Reductions over `bound`.
    Sum,
    ReduceMax,
    ReduceMin,
    Any,
    All,
    Softmax,
    Logsumexp,
  };
  Op op;
  ValueType type;
  /// Of Round and ToInt; of a Sum that is a matrix product, the type in which
  /// its two factors enter.
  ElementType element = ElementType::F32;
  bool isProduct = false;
  /// The 16-bit float types of the tensors read below this node.
  uint8_t reads16 = 0;
  unsigned id = 0;
  unsigned order = 0; // creation order: operands come before their users
  SourceRange range;
  const CallSite *inlinedAt = nullptr;
  AxisSet axes = 0;       // what the value depends on
  AxisSet bound = 0;      // of a reduction: what it runs over
  AxisSet reduced = 0;    // all that is reduced in this graph, `bound` included
  uint64_t softmaxes = 0; // which softmaxes this value is made of
  union {
    int64_t intValue = 0;
    double floatValue;
    const SizeExpr *size;
  };
  llvm::StringRef name;
  /// Of what is computed anew for each tile, the loop; also of a Loop.
  const CheckedLoop *loop = nullptr;
  int64_t low, high; // of an Int
  llvm::ArrayRef<const TypedExpr *> operands;

  bool isReduction() const { return op >= Sum; }
  /// Whether the value stands for one tile of a loop, not for the whole axis.
  bool isOfTile() const { return loop && op != Loop; }
  /// The value of an integer that is the same everywhere.
  std::optional<int64_t> constant() const {
    if (type == ValueType::Int && low == high)
      return low;
    return std::nullopt;
  }
};

constexpr uint8_t readsBF16 = 1, readsF16 = 2;

struct CheckedKernel::Arena {
  llvm::BumpPtrAllocator allocator;
};

} // namespace attentile

#endif // ATTENTILE_FRONTEND_TYPEDEXPR_H
