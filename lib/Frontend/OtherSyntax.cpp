//===- OtherSyntax.cpp - what other languages write there -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OtherSyntax.h"
#include "OtherWords.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attentile;
using namespace attentile::frontend;
using llvm::StringRef;

StringRef frontend::lastName(StringRef text) {
  text = text.rtrim();
  size_t size = 0;
  while (size < text.size() && (llvm::isAlnum(text[text.size() - 1 - size]) ||
                                text[text.size() - 1 - size] == '_'))
    ++size;
  return text.take_back(size);
}

/// Of comparisons and of Booleans.
static std::string noteOperator(const Unexpected &token) {
  const auto &[got, before, after, expected, wanted] = token;
  if (got == "=" && llvm::is_contained(expected, "'=='"))
    for (StringRef second : {"<", ">", "!"})
      if (after.starts_with(second))
        return ("write " + second + "=").str();
  if (got == "=" && (before.ends_with("!=") || before.ends_with("==")))
    return ("write " + before.take_back(2)).str();
  if (got == ">" && before.ends_with("<"))
    return "write !=";
  if (lastName(before) == "not")
    return ("write !" + got).str();
  if (got == "and")
    return "write && between conditions";
  if (got == "or" || (got == "|" && llvm::is_contained(expected, "'||'")))
    return "write || between conditions";
  if (got == "if" || lastName(before) == "if")
    return "write where(condition, a, b)";
  if (got == "mod" || got == "div")
    return got == "mod" ? "write %" : "write /";
  if ((got == ">" || got == "<") && before.ends_with(got))
    return "there are no shifts: write x / 4 for two bits to the right, x * 4 "
           "to the left; by n bits, powers of two from a tensor, as in "
           "x / power[n]";
  if (got == "*" && before.ends_with("*"))
    return "write pow(x, y)";
  return {};
}

/// Of what begins a statement or declares something.
static std::string noteStatement(const Unexpected &token) {
  const auto &[got, before, after, expected, wanted] = token;
  StringRef statement =
      before.drop_front(before.find_last_of(";{}") + 1).ltrim();
  bool isLet = statement.starts_with("let ");
  StringRef last = lastName(before);
  if (wanted == "'['" && last == statement) {
    if (last == "return")
      return "a kernel returns nothing: an output is written, as in O[m] = ...";
    if (last == "assert")
      return "what callers must keep stands in the kernel's head, as in "
             "where M > 0";
    if (llvm::is_contained({"var", "const", "auto", "def"}, last) ||
        !elementTypeCalled(last).empty())
      return ("write let " + got + " = ...").str();
  }
  if ((wanted == "'['" || (wanted == "'='" && isLet)) && after.starts_with("="))
    return ("a let may take an earlier let's name: let NAME = NAME " + got +
            " ...")
        .str();
  if (wanted == "'='" && after.starts_with("="))
    return "an output is written once, as in O[m] = sum[n](...)";
  if (wanted == "'='" && isLet && got == ":")
    return "a let has its value's type: let NAME = ...";
  if (wanted == "'='" && got == "{")
    return "a function is one expression: fn NAME(x) = ...;";
  return {};
}

std::string frontend::noteOtherSyntax(const Unexpected &token) {
  if (std::string note = noteOperator(token); !note.empty())
    return note;
  if (std::string note = noteStatement(token); !note.empty())
    return note;
  const auto &[got, before, after, expected, wanted] = token;
  StringRef last = lastName(before);
  if (got == "=" && llvm::is_contained(expected, "'=='"))
    return before.drop_back(last.size()).rtrim().ends_with(",")
               ? "arguments have no names, they stand in order; write == to "
                 "compare"
               : "write == to compare";
  if (got == "/" && after.starts_with("*"))
    return "a comment begins with //";
  if (wanted == "a file name")
    return ("write import \"" + got + ".attn\";").str();
  if (got.starts_with("\""))
    return got.contains("inf")
               ? (got.contains("-") ? "write -inf" : "write inf")
               : "there are no strings but the file's name behind import";
  if (wanted == "'{'" && last == "in")
    return "a set stands in braces, as in D in {64, 128}";
  if (got == "(" && llvm::is_contained(expected, "'['") &&
      before.drop_back(last.size()).rtrim().ends_with(":"))
    return "a shape stands in brackets, as in Q: f32[M, D]";
  if (got == ".." && before.ends_with("["))
    return "every dimension is written out, as in Q: f32[B, H, M, D]";
  return {};
}
