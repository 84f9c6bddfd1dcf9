//===- Seal.cpp - a text that carries its own hash ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "attentile/Seal.h"
#include "Sha256.h"

namespace attentile {

static constexpr std::string_view kKey = "\"seal\"";
static constexpr std::string_view kSpace = " \t\r\n";

std::string sealed(std::string_view object) {
  size_t end = object.find_last_not_of(kSpace);
  if (end == std::string_view::npos || object[end] != '}')
    return std::string(object);
  std::string text(object.substr(0, end));
  text.erase(text.find_last_not_of(kSpace) + 1);
  text += ",\n";
  std::string hash = runtime::sha256(text);
  return text + std::string(kKey) + ":\"" + hash + "\"}\n";
}

const char *findBrokenSeal(std::string_view text) {
  size_t at = text.rfind(kKey);
  if (at == std::string_view::npos)
    return "expected a seal at its end, got none";
  std::string rest;
  for (char c : text.substr(at + kKey.size()))
    if (kSpace.find(c) == std::string_view::npos)
      rest += c;
  if (rest != ":\"" + runtime::sha256(text.substr(0, at)) + "\"}")
    return "expected the text that was sealed, got one that was altered";
  return nullptr;
}

} // namespace attentile
