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

constexpr StringRef kNegation = "neg.s32", kLongNegation = "neg.s64",
                    kDifference = "sub.s32";

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

/// What ptxas may make a maximum of.
static bool isMaximum(StringRef name) {
  return name.starts_with("max.") || name.starts_with("selp.b32");
}

/// a - b, two registers, as a + ~b + 1, or as ~(~a + b) in the place of a.
static std::string hideDifference(StringRef to, StringRef a, StringRef b) {
  if (to == a)
    return ("\tnot.b32 \t" + to + ", " + a + ";\n\tadd.s32 \t" + to + ", " +
            to + ", " + b + ";\n\tnot.b32 \t" + to + ", " + to + ";")
        .str();
  return ("\tnot.b32 \t" + to + ", " + b + ";\n\tadd.s32 \t" + to + ", " + to +
          ", " + a + ";\n\tadd.s32 \t" + to + ", " + to + ", 1;")
      .str();
}

/// One kernel, in which a register has one name.
static void hideNegations(StringRef kernel, std::string &result) {
  if (!kernel.contains(kNegation) && !kernel.contains(kLongNegation) &&
      !kernel.contains(kDifference)) {
    result += kernel;
    return;
  }
  SmallVector<StringRef> lines;
  kernel.split(lines, '\n');
  StringSet<> chosen, largest, magnitudes;
  for (StringRef line : lines) {
    SmallVector<StringRef> parts = partsOf(line);
    bool isLargest = isMaximum(parts[0]);
    if (isLargest || parts[0].starts_with("min."))
      for (StringRef operand : ArrayRef(parts).drop_front(2)) {
        chosen.insert(operand);
        if (isLargest)
          largest.insert(operand);
      }
    else if (parts[0] == "abs.s64")
      magnitudes.insert(parts[1]);
  }
  ListSeparator newline("\n");
  for (StringRef line : lines) {
    result += StringRef(newline);
    SmallVector<StringRef> parts;
    if (line.contains(kDifference)) {
      parts = partsOf(line);
      bool isHidden = largest.contains(parts[1]) && parts[2][0] == '%' &&
                      parts[3][0] == '%';
      result +=
          isHidden ? hideDifference(parts[1], parts[2], parts[3]) : line.str();
      continue;
    }
    if (line.contains(kNegation) || line.contains(kLongNegation))
      parts = partsOf(line);
    bool isLong = line.contains(kLongNegation);
    if (parts.empty() ||
        !(isLong ? magnitudes.contains(parts[2]) : chosen.contains(parts[1]))) {
      result += line;
      continue;
    }
    StringRef bits = isLong ? "64" : "32";
    result +=
        ("\tnot.b" + bits + " \t" + parts[1] + ", " + parts[2] + ";\n").str();
    result +=
        ("\tadd.s" + bits + " \t" + parts[1] + ", " + parts[1] + ", 1;").str();
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
