//===- HeaderNames.h - names and types in a C header ------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NATIVE_HEADERNAMES_H
#define ATTENTILE_LIB_NATIVE_HEADERNAMES_H

#include "attentile/Native/ProgramInfo.h"
#include "llvm/ADT/StringRef.h"

namespace attentile::native {

/// How what a program names is spelled in its C header.
struct HeaderNames {
  explicit HeaderNames(const ProgramInfo &info);

  /// A name of the source where C and C++ allow it.
  static std::string identifier(llvm::StringRef name);

  /// The type of an element or scalar; 16-bit floats are their bits.
  static const char *cType(ElementType type);

  /// The struct of a tensor: "causal_in_bf16_4".
  std::string structOf(const ParameterInfo &tensor) const;

  /// "causal_in_bf16_4 Q, float scale, ..." and "Q, scale, ...".
  std::string parameters() const;
  std::string uses() const;

  /// "int64_t M, int64_t N".
  std::string sizeParameters() const;

  /// An extent in C, with these texts for the sizes.
  std::string expression(const ExtentExpr &size,
                         const std::vector<std::string> &sizes) const;

  /// "CAUSAL_ARGS" for "ARGS".
  std::string macro(const char *what) const;

  const ProgramInfo &info;
  std::string name; ///< of the program
  std::vector<std::string> sizeNames;
};

} // namespace attentile::native

#endif
