//===- Program.h - a random program, in parts -------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the generator makes and the shrinker cuts down: a kernel as trees of
// text, what is bound when it is compiled, the switches of the passes, and the
// sizes that it runs at.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TEST_RANDOM_PROGRAM_H
#define ATTENTILE_TEST_RANDOM_PROGRAM_H

#include "attentile/ElementType.h"
#include "attentile/Pipeline.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attentile::random {

enum class Type : uint8_t { Int, Float, Bool };

/// Index variables, as bits.
using Axes = uint32_t;

struct Expr;
using ExprRef = std::shared_ptr<const Expr>;

/// An expression. In `form` each `$` stands for the next operand:
/// "max($, $)", "($ + $)", "Q[b, h, m, d]", "table[h, $]".
struct Expr {
  Type type;
  std::string form;
  std::vector<ExprRef> operands;
  /// The axes that the value has, and those that it is reduced over.
  Axes axes = 0, bound = 0;

  std::string text() const;
  /// The number of nodes.
  size_t size() const;
};

/// `axes` are those that the form itself names; `bound` those that it reduces.
ExprRef makeExpr(Type type, std::string form, std::vector<ExprRef> operands,
                 Axes axes = 0, Axes bound = 0);

/// `let NAME = value;`, `NAME[indices] = value;`, or a loop over tiles as it is
/// written.
struct Statement {
  std::string name;
  /// Of an output: "[b, h, m, e]", and its type and shape "T[B, H, M, E]".
  std::string indices, declaration;
  ExprRef value;
  /// Of a loop: what it carries, `name` among it.
  std::vector<std::string> carried = {};

  bool isOutput() const { return !declaration.empty(); }
  bool isLoop() const { return !carried.empty(); }
};

struct Param {
  std::string name, declaration; // "Q", "T[B, H, M, D]"
};

/// How a run's inputs are drawn: the parts of a configuration of `attentile
/// check`.
struct RunShape {
  std::map<std::string, int64_t> sizes; ///< every size, also bound ones
  std::string strides = "contiguous", values = "normal";
  uint64_t seed = 1;
};

/// Where a program runs.
enum class Level : uint8_t {
  Native, ///< compiled for this processor
  Warps   ///< mapped for a GPU and interpreted thread by thread
};

struct Program {
  uint64_t seed = 0;
  std::vector<Param> params;
  std::vector<std::string> constraints; ///< of the `where` clause
  std::vector<Statement> statements;
  std::vector<std::string> materialized; ///< lets that go to workspace
  std::string type = "f32";              ///< what T is bound to
  std::string byteType = "i8";           ///< what T8, of 8-bit tensors, is
  /// Sizes and scalars that are bound though they need not be.
  std::map<std::string, std::string> bound;
  Level level = Level::Native;
  PipelineOptions switches;
  std::vector<RunShape> runs;

  /// The kernel, its schedule too, without lets and parameters that nothing
  /// uses.
  std::string text() const;
  /// What is printed of a failure: an upper limit on what is worth reading.
  size_t size() const;
};

/// Whether `name` stands in `text` as a word.
bool mentions(llvm::StringRef text, llvm::StringRef name);

} // namespace attentile::random

#endif
