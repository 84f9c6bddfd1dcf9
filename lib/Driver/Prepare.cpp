//===- Prepare.cpp - runs for a machine without a compiler ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Prepare.h"
#include "attentile/Reference.h"
#include "attentile/Seal.h"
#include "attentile/TestData.h"
#include "attentile/WriteFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include <cmath>

namespace json = llvm::json;

namespace attentile {

/// Elements of an output that are compared.
static constexpr int64_t kMostSamples = 4096;

PreparedSet::PreparedSet(std::string folder, GpuCompiler compile)
    : folder(std::move(folder)), compile(std::move(compile)),
      runs(std::make_unique<json::Array>()) {}

PreparedSet::~PreparedSet() = default;

//===----------------------------------------------------------------------===//
// Parts of a run
//===----------------------------------------------------------------------===//

/// A number as JSON has it; what JSON lacks as text.
static json::Value numberOf(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  return value;
}

static json::Object tensorOf(const std::string &name,
                             const HostTensor &tensor) {
  return json::Object{{"name", name},
                      {"type", nameOf(tensor.type)},
                      {"sizes", json::Array(tensor.sizes)},
                      {"strides", json::Array(tensor.strides)}};
}

static json::Object recipeOf(const Recipe &recipe) {
  json::Object object{{"seed", recipe.seed}};
  if (recipe.integers) {
    object["limit"] = recipe.limit;
    object["outside"] = recipe.outside;
  } else {
    object["factor"] = recipe.factor;
    object["equal_rows"] = recipe.equalRows;
  }
  json::Array patches;
  for (const Recipe::Patch &patch : recipe.patches)
    patches.push_back(json::Array{patch.number, numberOf(patch.value)});
  object["patches"] = std::move(patches);
  return object;
}

template <class T> static void append(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// Appends what is compared of an output to `bytes`, and says where it stands.
static json::Object expectationOf(const ReferenceOutput &output, uint64_t seed,
                                  std::string &bytes) {
  auto count = static_cast<int64_t>(output.values.size());
  std::vector<int64_t> samples = sampleElements(count, kMostSamples, seed);
  bytes.resize((bytes.size() + 7) / 8 * 8);
  json::Object object{{"offset", bytes.size()},
                      {"elements", count},
                      {"samples", static_cast<int64_t>(samples.size())},
                      {"listed", output.sampled}};
  double rounded = 0;
  for (int64_t i : samples) {
    append(bytes, output.values[i]);
    double plain = output.rounded[i] - output.values[i];
    if (!output.isExcluded(i) && std::isfinite(plain))
      rounded += plain * plain;
  }
  for (int64_t i : samples) {
    double allowed =
        2 * output.bounds[i] + halfUnit(output.type, output.values[i]);
    auto single = static_cast<float>(allowed);
    append(bytes, single < allowed ? std::nextafter(single, INFINITY) : single);
  }
  bytes.resize((bytes.size() + 7) / 8 * 8);
  if (output.sampled)
    for (int64_t i : samples)
      append(bytes, output.positionOf(i));
  if (output.takesNormCriterion()) {
    double share = double(samples.size()) / double(count);
    object["norm"] =
        json::Object{{"rounded", std::sqrt(rounded)},
                     {"arithmetic", output.arithmeticNorm * std::sqrt(share)}};
  }
  return object;
}

//===----------------------------------------------------------------------===//
// The set
//===----------------------------------------------------------------------===//

/// Writes DIR/NAME.
static llvm::Error writeIn(llvm::StringRef folder, const llvm::Twine &name,
                           llvm::StringRef text) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return writeFile(path, [&](llvm::raw_ostream &os) { os << text; });
}

llvm::Expected<unsigned> PreparedSet::kernelOf(const RecordedRun &run) {
  if (auto known = kernels.find(run.compileKey); known != kernels.end())
    return known->second;
  if (auto failed = failures.find(run.compileKey); failed != failures.end())
    return llvm::createStringError(failed->second);
  llvm::Expected<CompiledKernel> image = compile(run.kernel);
  if (!image) {
    std::string why = llvm::toString(image.takeError());
    failures[run.compileKey] = why;
    return llvm::createStringError(why);
  }
  unsigned number = kernels.size();
  std::string stem = "kernel-" + std::to_string(number);
  if (llvm::Error error = writeIn(folder, stem + ".json", image->manifest))
    return error;
  if (llvm::Error error = writeIn(folder, stem + ".cubin", image->cubin))
    return error;
  bytes += image->manifest.size() + image->cubin.size();
  kernels[run.compileKey] = number;
  return number;
}

llvm::Error PreparedSet::record(const RecordedRun &run) {
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError("cannot make the folder '" + folder +
                                   "': " + code.message());
  llvm::Expected<unsigned> kernel = kernelOf(run);
  if (!kernel)
    return kernel.takeError();
  json::Array inputs, scalars, outputs;
  for (auto [name, tensor, recipe] :
       llvm::zip_equal(run.inNames, run.ins, run.recipes)) {
    const CheckedParam *param = run.kernel.findParam(name);
    if (param && param->isTensor) {
      json::Object object = tensorOf(name, tensor);
      object["recipe"] = recipeOf(recipe);
      inputs.push_back(std::move(object));
      continue;
    }
    json::Object object{{"name", name}, {"type", nameOf(tensor.type)}};
    if (isFloat(tensor.type))
      object["value"] = numberOf(tensor.readDouble(tensor.offset));
    else
      object["value"] = tensor.readInt(tensor.offset);
    scalars.push_back(std::move(object));
  }
  for (auto [i, name, tensor] : llvm::enumerate(run.outNames, run.outs)) {
    json::Object object = tensorOf(name, tensor);
    object["seed"] = run.seed + i;
    object["expected"] =
        expectationOf(run.reference.outputs[i], run.seed + i, expected);
    outputs.push_back(std::move(object));
  }
  runs->push_back(json::Object{{"name", run.configuration},
                               {"kernel", *kernel},
                               {"inputs", std::move(inputs)},
                               {"scalars", std::move(scalars)},
                               {"outputs", std::move(outputs)}});
  return llvm::Error::success();
}

llvm::Expected<uint64_t> PreparedSet::finish(llvm::StringRef name,
                                             llvm::StringRef target,
                                             uint64_t seed) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << json::Value(json::Object{{"format", "attentile-prepared"},
                                 {"version", 1},
                                 {"name", name},
                                 {"target", target},
                                 {"seed", seed},
                                 {"expected_bytes", expected.size()},
                                 {"runs", std::move(*runs)}});
  text = sealed(text);
  if (llvm::Error error = writeIn(folder, "expected.bin", expected))
    return error;
  // Last: a set that was interrupted has none.
  if (llvm::Error error = writeIn(folder, "set.json", text))
    return error;
  return bytes + text.size() + expected.size();
}

} // namespace attentile
