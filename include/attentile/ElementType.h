//===- ElementType.h - types of elements in memory --------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_ELEMENTTYPE_H
#define ATTENTILE_ELEMENTTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace attentile {

/// The types that a tensor's elements, or a scalar parameter, can have in
/// memory (LANGUAGE, section 2). The front end knows them all; host tensors are
/// of f32, f16, bf16, i32, i64 and bool.
enum class ElementType : uint8_t {
  F32,
  BF16,
  F16,
  F8E4M3,
  F8E5M2,
  I8,
  I4,
  I32,
  I64,
  Bool,
};

namespace detail {
inline constexpr const char *elementTypeNames[] = {
    "f32", "bf16", "f16", "f8e4m3", "f8e5m2", "i8", "i4", "i32", "i64", "bool"};
} // namespace detail

/// The type as the language writes it: "bf16".
constexpr const char *nameOf(ElementType type) {
  return detail::elementTypeNames[static_cast<unsigned>(type)];
}

/// The type of that name; none for another name.
constexpr std::optional<ElementType> parseElementType(std::string_view name) {
  for (unsigned i = 0; i < std::size(detail::elementTypeNames); ++i)
    if (name == detail::elementTypeNames[i])
      return static_cast<ElementType>(i);
  return std::nullopt;
}

constexpr bool isFloat(ElementType type) { return type <= ElementType::F8E5M2; }

/// A bool is no integer.
constexpr bool isInteger(ElementType type) {
  return !isFloat(type) && type != ElementType::Bool;
}

/// The size of an element of a host tensor in bytes. A bool takes a byte that
/// is 0 or 1.
constexpr int64_t sizeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::I64:
    return 8;
  case ElementType::BF16:
  case ElementType::F16:
    return 2;
  default:
    return 1;
  }
}

} // namespace attentile

#endif
