//===- HideNegations.cpp - a negation that ptxas must not lose ------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HideNegations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace attentile {

/// An instruction's name and operands, the result first.
static SmallVector<StringRef> partsOf(StringRef line) {
  SmallVector<StringRef> parts;
  auto [name, operands] = line.trim().split('\t');
  parts.push_back(name.trim());
  for (StringRef operand :
       split(operands.take_until([](char c) { return c == ';'; }), ','))
    parts.push_back(operand.trim());
  return parts;
}

namespace {

/// Where ptxas may lose a sign: what a minimum, a maximum or a selection takes,
/// what one of the latter two does, and 64-bit magnitudes.
struct Uses {
  StringSet<> ofExtremes, ofMaxima, magnitudes;

  void add(ArrayRef<StringRef> parts) {
    StringRef name = parts[0];
    bool isMaximum = name.starts_with("max.") || name.starts_with("selp.b32");
    if (isMaximum || name.starts_with("min."))
      for (StringRef operand : parts.drop_front(2)) {
        ofExtremes.insert(operand);
        if (isMaximum)
          ofMaxima.insert(operand);
      }
    else if (name == "abs.s64")
      magnitudes.insert(parts[1]);
  }
};

} // namespace

static std::string line(StringRef name, ArrayRef<StringRef> operands) {
  return "\t" + name.str() + " \t" + join(operands, ", ") + ";";
}

/// The instruction in other words, -b as ~b + 1, a - b as a + ~b + 1, or as
/// ~(~a + b) in the place of a; empty if it may stay.
static std::string hidden(ArrayRef<StringRef> parts, const Uses &uses) {
  StringRef name = parts[0];
  auto isIn = [&](const StringSet<> &set, unsigned i) {
    return set.contains(parts[i]);
  };
  if ((name == "neg.s32" && isIn(uses.ofExtremes, 1)) ||
      (name == "neg.s64" && isIn(uses.magnitudes, 2))) {
    StringRef to = parts[1], bits = name.take_back(2);
    return line(("not.b" + bits).str(), {to, parts[2]}) + "\n" +
           line(("add.s" + bits).str(), {to, to, "1"});
  }
  if (name != "sub.s32" || !isIn(uses.ofMaxima, 1) || parts[2][0] != '%' ||
      parts[3][0] != '%')
    return "";
  StringRef to = parts[1], a = parts[2], b = parts[3];
  bool inPlace = to == a;
  return line("not.b32", {to, inPlace ? a : b}) + "\n" +
         line("add.s32", {to, to, inPlace ? b : a}) + "\n" +
         (inPlace ? line("not.b32", {to, to}) : line("add.s32", {to, to, "1"}));
}

/// One kernel, in which a register has one name.
static void hideNegations(StringRef kernel, std::string &result) {
  if (!kernel.contains("neg.s") && !kernel.contains("sub.s32")) {
    result += kernel;
    return;
  }
  SmallVector<StringRef> lines;
  kernel.split(lines, '\n');
  std::vector<SmallVector<StringRef>> instructions;
  Uses uses;
  for (StringRef text : lines)
    uses.add(instructions.emplace_back(partsOf(text)));
  ListSeparator newline("\n");
  for (auto [text, parts] : zip_equal(lines, instructions)) {
    std::string other = hidden(parts, uses);
    result += StringRef(newline);
    result += other.empty() ? text : StringRef(other);
  }
}

std::string hideNegations(StringRef ptx) {
  constexpr StringRef kEntry = ".visible .entry";
  std::string result;
  for (size_t from = 0; from < ptx.size();) {
    size_t to = ptx.find(kEntry, from + 1);
    hideNegations(ptx.slice(from, to), result);
    from = to;
  }
  return result;
}

} // namespace attentile
