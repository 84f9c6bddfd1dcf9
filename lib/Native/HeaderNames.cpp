//===- HeaderNames.cpp - names and types in a C header --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeaderNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace attentile::native {

HeaderNames::HeaderNames(const ProgramInfo &info)
    : info(info), name(identifier(info.name)) {
  for (const std::string &size : info.sizes)
    sizeNames.push_back(identifier(size));
}

std::string HeaderNames::identifier(StringRef name) {
  static const StringSet<> reserved = {
      "alignas",  "alignof",  "and",       "asm",    "auto",     "bool",
      "break",    "case",     "catch",     "char",   "class",    "const",
      "continue", "default",  "delete",    "do",     "double",   "else",
      "enum",     "explicit", "export",    "extern", "false",    "float",
      "for",      "friend",   "goto",      "if",     "inline",   "int",
      "long",     "mutable",  "namespace", "new",    "not",      "operator",
      "or",       "private",  "protected", "public", "register", "requires",
      "restrict", "return",   "short",     "signed", "sizeof",   "static",
      "struct",   "switch",   "template",  "this",   "throw",    "true",
      "try",      "typedef",  "typename",  "union",  "unsigned", "using",
      "virtual",  "void",     "volatile",  "while",  "xor",      "main"};
  return reserved.contains(name) ? (name + "_").str() : name.str();
}

const char *HeaderNames::cType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "float";
  case ElementType::F16:
  case ElementType::BF16:
    return "uint16_t";
  case ElementType::I32:
    return "int32_t";
  case ElementType::I64:
    return "int64_t";
  case ElementType::I8:
    return "int8_t";
  default: // bool, and the bits of what is narrower than 16
    return "uint8_t";
  }
}

std::string HeaderNames::structOf(const ParameterInfo &tensor) const {
  return name + (tensor.isOutput ? "_out_" : "_in_") + nameOf(tensor.type) +
         "_" + std::to_string(tensor.shape.size());
}

std::string HeaderNames::parameters() const {
  return join(map_range(info.parameters,
                        [&](const ParameterInfo &p) {
                          return (p.isTensor ? structOf(p)
                                             : std::string(cType(p.type))) +
                                 " " + identifier(p.name);
                        }),
              ", ");
}
std::string HeaderNames::uses() const {
  return join(
      map_range(info.parameters,
                [&](const ParameterInfo &p) { return identifier(p.name); }),
      ", ");
}
std::string HeaderNames::sizeParameters() const {
  return join(
      map_range(sizeNames, [](const std::string &s) { return "int64_t " + s; }),
      ", ");
}

std::string
HeaderNames::expression(const ExtentExpr &size,
                        const std::vector<std::string> &names) const {
  return size.print(names, [&](ExtentExpr::Kind kind, const std::string &a,
                               const std::string &b) {
    const char *function = kind == ExtentExpr::FloorDiv   ? "_floordiv_("
                           : kind == ExtentExpr::FloorMod ? "_floormod_("
                                                          : "_ceildiv_(";
    return name + function + a + ", " + b + ")";
  });
}

std::string HeaderNames::macro(const char *what) const {
  return StringRef(name).upper() + "_" + what;
}

} // namespace attentile::native
