//===- Bindings.cpp - D=128,T=bf16,window=256 -----------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OtherWords.h"
#include "SyntaxErrors.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <cmath>

using namespace attentile;
using llvm::StringRef;

BoundValue BoundValue::ofInt(int64_t value) {
  BoundValue result{Int};
  result.intValue = value;
  return result;
}
BoundValue BoundValue::ofFloat(double value) {
  BoundValue result{Float};
  result.floatValue = value;
  return result;
}
BoundValue BoundValue::ofBool(bool value) {
  BoundValue result{Bool};
  result.intValue = value;
  return result;
}
BoundValue BoundValue::ofType(ElementType type) {
  BoundValue result{Type};
  result.type = type;
  return result;
}

std::string BoundValue::str() const {
  switch (kind) {
  case Int:
    return std::to_string(intValue);
  case Float: {
    char buffer[32];
    auto [end, error] = std::to_chars(buffer, buffer + 32, floatValue);
    return std::string(buffer, end);
  }
  case Bool:
    return intValue ? "true" : "false";
  case Type:
    return spelling(type).str();
  }
  return {};
}

const BoundValue *Bindings::find(StringRef name) const {
  for (const Entry &entry : list)
    if (entry.name == name)
      return &entry.value;
  return nullptr;
}

void Bindings::set(StringRef name, BoundValue value) {
  for (Entry &entry : list)
    if (entry.name == name) {
      entry.value = value;
      return;
    }
  list.push_back({name.str(), value});
}

/// The value of the text behind the `=`.
static std::optional<BoundValue> parseValue(StringRef text) {
  if (text == "true" || text == "false")
    return BoundValue::ofBool(text == "true");
  if (auto type = parseElementType(text))
    return BoundValue::ofType(*type);
  int64_t integer;
  if (!text.empty() && !text.getAsInteger(10, integer))
    return BoundValue::ofInt(integer);
  bool number = !text.empty() &&
                (llvm::isDigit(text.back()) || text == "inf" || text == "-inf");
  double value = 0;
  auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  bool tooLarge = std::isfinite(value) && std::isinf(static_cast<float>(value));
  if (!number || error != std::errc() || end != text.end() || tooLarge)
    return std::nullopt;
  return BoundValue::ofFloat(value);
}

/// A letter and then letters, digits and underscores, and no reserved word.
static bool isName(StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; }) &&
         !frontend::isReserved(text);
}

bool Bindings::add(StringRef text, Diagnostics &diagnostics) {
  auto source = std::make_shared<SourceFile>("--bind", text.str());
  texts.push_back(source);
  diagnostics.keep(source);
  StringRef all = source->text();
  auto rangeOf = [&](StringRef part) -> SourceRange {
    uint32_t begin = part.data() - all.data();
    return {begin, static_cast<uint32_t>(begin + part.size())};
  };
  bool ok = true;
  StringRef rest = all;
  do {
    auto [part, tail] = rest.split(',');
    bool more = part.size() < rest.size();
    rest = more ? rest.drop_front(part.size() + 1) : StringRef();
    StringRef item = part.trim();
    size_t equals = item.find('=');
    StringRef name = item.take_front(equals).trim();
    StringRef value = equals == StringRef::npos
                          ? StringRef()
                          : item.drop_front(equals + 1).trim();
    if (equals == StringRef::npos || !isName(name)) {
      // [L1.21]
      diagnostics
          .error(*source, rangeOf(item),
                 "expected NAME=VALUE, got '" + item + "'")
          .note("as in D=128,T=bf16,window=256");
      ok = false;
    } else if (auto bound = parseValue(value)) {
      bound->file = source.get();
      bound->range = rangeOf(item);
      const BoundValue *earlier = find(name);
      if (earlier && earlier->file && earlier->str() != bound->str()) {
        // [L1.21]
        diagnostics
            .error(*source, bound->range,
                   "expected one value for '" + name + "', got " +
                       earlier->str() + " and " + bound->str())
            .note(*earlier->file, earlier->range, "it is bound here first");
        ok = false;
      }
      set(name, *bound);
    } else {
      // [L1.21]
      Diagnostic &e = diagnostics.error(
          *source, rangeOf(value.empty() ? item : value),
          "expected a number, true, false or an element type, got '" + value +
              "'");
      if (StringRef type = frontend::elementTypeCalled(value); !type.empty())
        e.note("write " + type);
      ok = false;
    }
    if (!more)
      break;
  } while (true);
  return ok;
}
