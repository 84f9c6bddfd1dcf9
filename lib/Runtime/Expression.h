//===- Expression.h - expressions of a manifest -----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes of grids and workspaces, constraints and scalars' defaults are trees in
// the manifest: ["ceildiv", "M", 128]. They are checked and brought to a short
// stack program when the manifest is read, so that a launch runs a loop over a
// few instructions and allocates nothing:
//
//   ["mul", "B", ["ceildiv", "M", 128]]  ->  slot 0; slot 2; const 128;
//                                            ceildiv; mul
//
// Integers have 64 bits; a bool is the integer 0 or 1. Floats are f32, each
// result rounded to it (a double holds the exact sum, product or quotient well
// enough that rounding twice is rounding once), as the kernels compute.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_RUNTIME_EXPRESSION_H
#define ATTENTILE_LIB_RUNTIME_EXPRESSION_H

#include "attentile/ElementType.h"
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace attentile::runtime {

/// An integer or a float, as the expression's type says.
union Value {
  int64_t integer;
  double real;
};

/// The name of a size or scalar that expressions may use.
struct Name {
  std::string name;
  bool isFloat;
};

class Expression {
public:
  /// Reads a tree; a name's number in `names` is its slot. False, with what was
  /// expected in `error`, for what is no expression.
  bool compile(const nlohmann::json &tree, const std::vector<Name> &names,
               std::string &error);

  bool isFloat() const { return floats; }

  /// The number of the slot that is the whole expression; -1: it is more.
  int slot() const;

  /// Its slots, each once.
  std::vector<unsigned> slots() const;

  /// False if an integer leaves 64 bits.
  bool evaluate(const Value *slots, Value &result) const;

private:
  enum class Op : uint8_t;
  struct Instruction {
    Op op;
    ElementType type; // of a conversion
    uint16_t slot;
    Value value; // of a constant
  };
  struct Signature;
  static const Signature *find(const std::string &name);
  bool add(const nlohmann::json &tree, const std::vector<Name> &names,
           unsigned depth, unsigned held, bool &isFloat, std::string &error);
  void push(Op op, ElementType type = ElementType::F32);

  std::vector<Instruction> code;
  bool floats = false;
};

} // namespace attentile::runtime

#endif
