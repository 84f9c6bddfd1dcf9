//===- PreparedSet.cpp - what attentile check --prepare wrote -------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PreparedSet.h"
#include "attentile/Seal.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

using nlohmann::json;

namespace attentile {

bool readFile(const std::string &path, std::string &bytes) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return false;
  char buffer[65536];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, file))
    bytes.append(buffer, count);
  bool good = !std::ferror(file);
  std::fclose(file);
  return good;
}

namespace {

/// Reads values of the type that is expected; the first that is not stays in
/// `error`. The text is sealed, so that this guards against other versions
/// rather than against damage.
class Reader {
public:
  Reader(const std::string &expected, std::string &error)
      : expected(expected), error(error) {}

  PreparedRun run(const json &object);

private:
  const json &at(const json &object, const char *key) {
    static const json none;
    if (object.is_object())
      if (auto found = object.find(key); found != object.end())
        return *found;
    if (error.empty())
      error = std::string("expected a member '") + key + "', got none";
    return none;
  }
  template <class T> T number(const json &value) {
    if (value.is_number() || value.is_boolean())
      return value.get<T>();
    if (value == "nan")
      return static_cast<T>(NAN);
    if (value == "inf" || value == "-inf")
      return static_cast<T>(value == "inf" ? INFINITY : -INFINITY);
    if (error.empty())
      error = "expected a number, got " + value.dump().substr(0, 40);
    return {};
  }
  std::string text(const json &value) {
    if (value.is_string())
      return value.get<std::string>();
    if (error.empty())
      error = "expected a text, got " + value.dump().substr(0, 40);
    return "";
  }
  ElementType type(const json &value) {
    std::string name = text(value);
    std::optional<ElementType> type = parseElementType(name);
    if (!type && error.empty())
      error = "expected a type, got '" + name + "'";
    return type.value_or(ElementType::F32);
  }
  PreparedTensor tensor(const json &object);
  Recipe recipe(const json &object);
  Expectation expectation(const json &object, uint64_t seed);

  const std::string &expected;
  std::string &error;
};

} // namespace

PreparedTensor Reader::tensor(const json &object) {
  PreparedTensor result;
  result.name = text(at(object, "name"));
  result.tensor.type = type(at(object, "type"));
  for (const json &size : at(object, "sizes"))
    result.tensor.sizes.push_back(number<int64_t>(size));
  for (const json &stride : at(object, "strides"))
    result.tensor.strides.push_back(number<int64_t>(stride));
  if (result.tensor.sizes.size() != result.tensor.strides.size() &&
      error.empty())
    error = "expected a stride for each size of '" + result.name + "'";
  return result;
}

Recipe Reader::recipe(const json &object) {
  Recipe recipe;
  recipe.seed = number<uint64_t>(at(object, "seed"));
  recipe.integers = object.contains("limit");
  if (recipe.integers) {
    recipe.limit = number<int64_t>(at(object, "limit"));
    recipe.outside = number<bool>(at(object, "outside"));
  } else {
    recipe.factor = number<double>(at(object, "factor"));
    recipe.equalRows = number<bool>(at(object, "equal_rows"));
  }
  for (const json &patch : at(object, "patches"))
    if (patch.is_array() && patch.size() == 2)
      recipe.patches.push_back(
          {number<int64_t>(patch[0]), number<double>(patch[1])});
  return recipe;
}

Expectation Reader::expectation(const json &object, uint64_t seed) {
  Expectation result;
  auto offset = number<uint64_t>(at(object, "offset"));
  auto count = number<uint64_t>(at(object, "samples"));
  result.elements = number<int64_t>(at(object, "elements"));
  bool listed = number<bool>(at(object, "listed"));
  uint64_t allowedAt = offset + 8 * count;
  uint64_t numbersAt = (allowedAt + 4 * count + 7) / 8 * 8;
  uint64_t end = listed ? numbersAt + 8 * count : allowedAt + 4 * count;
  if (count > (uint64_t(1) << 32) || end > expected.size() || end < offset) {
    if (error.empty())
      error = "expected values within expected.bin";
    return result;
  }
  result.values.resize(count);
  result.allowed.resize(count);
  if (count) {
    std::memcpy(result.values.data(), expected.data() + offset, 8 * count);
    std::memcpy(result.allowed.data(), expected.data() + allowedAt, 4 * count);
  }
  result.numbers = sampleElements(result.elements, count, seed);
  if (listed && count)
    std::memcpy(result.numbers.data(), expected.data() + numbersAt, 8 * count);
  if (object.contains("norm")) {
    result.hasNorm = true;
    result.roundedNorm = number<double>(at(object["norm"], "rounded"));
    result.arithmeticNorm = number<double>(at(object["norm"], "arithmetic"));
  }
  return result;
}

PreparedRun Reader::run(const json &object) {
  PreparedRun run;
  run.name = text(at(object, "name"));
  run.kernel = number<unsigned>(at(object, "kernel"));
  for (const json &input : at(object, "inputs")) {
    run.tensors.push_back(tensor(input));
    run.tensors.back().recipe = recipe(at(input, "recipe"));
  }
  for (const json &entry : at(object, "scalars")) {
    PreparedScalar scalar{text(at(entry, "name")), {}};
    ElementType kind = type(at(entry, "type"));
    scalar.scalar.type = static_cast<attentile_type>(kind);
    if (isFloat(kind))
      scalar.scalar.value.real = number<double>(at(entry, "value"));
    else
      scalar.scalar.value.integer = number<int64_t>(at(entry, "value"));
    run.scalars.push_back(scalar);
  }
  for (const json &output : at(object, "outputs")) {
    run.tensors.push_back(tensor(output));
    run.expectations.push_back(expectation(
        at(output, "expected"), number<uint64_t>(at(output, "seed"))));
  }
  return run;
}

bool readSet(const std::string &folder, ReadSet &set, std::string &error) {
  set.folder = folder;
  std::string text, expected;
  if (!readFile(folder + "/set.json", text))
    return error = "cannot read set.json", false;
  json root = json::parse(text, nullptr, false);
  if (!root.is_object() || root.value("format", json()) != "attentile-prepared")
    return error = "set.json: expected the format attentile-prepared", false;
  if (root.value("version", json()) != 1)
    return error = "set.json: expected version 1, got " +
                   root.value("version", json()).dump(),
           false;
  if (const char *why = findBrokenSeal(text))
    return error = std::string("set.json: ") + why, false;
  if (!readFile(folder + "/expected.bin", expected))
    return error = "cannot read expected.bin", false;
  if (root.value("expected_bytes", json()) != expected.size())
    return error = "expected.bin: expected " +
                   root.value("expected_bytes", json()).dump() +
                   " bytes, got " + std::to_string(expected.size()),
           false;
  set.name = root.value("name", "");
  set.target = root.value("target", "");
  Reader reader(expected, error);
  for (const json &run : root["runs"])
    set.runs.push_back(reader.run(run));
  if (!error.empty())
    error = "set.json: " + error;
  return error.empty();
}

} // namespace attentile
