//===- Manifest.cpp - reading a manifest ----------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Manifest.h"
#include "Error.h"
#include "attentile/Seal.h"
#include <cstdlib>
#include <nlohmann/json.hpp>

using nlohmann::json;

namespace attentile::runtime {
namespace {

/// Remembers where a text stops being JSON.
struct Builder : nlohmann::detail::json_sax_dom_parser<json> {
  using Base = nlohmann::detail::json_sax_dom_parser<json>;
  explicit Builder(json &result) : Base(result, false) {}
  template <class Exception>
  bool parse_error(size_t at, const std::string &token, const Exception &why) {
    position = at;
    return Base::parse_error(at, token, why);
  }
  size_t position = 0;
};

/// Reads one object after the other; the first thing that is wrong stays.
class Reader {
public:
  Reader(Manifest &manifest) : m(manifest) {}

  void read(const json &root);
  std::string error;

private:
  bool expect(bool holds, const std::string &where, const std::string &what) {
    if (!holds && error.empty())
      error = where + ": expected " + what;
    return holds;
  }
  static const json *member(const json &object, const char *key);
  std::string text(const json &object, const char *key,
                   const std::string &where, bool mayBeEmpty = false);
  uint64_t number(const json &object, const char *key, uint64_t most,
                  const std::string &where);
  bool flag(const json &object, const char *key, const std::string &where);
  const json &list(const json &object, const char *key, size_t most,
                   const std::string &where, bool mayBeAbsent = false);
  ElementType type(const json &object, const std::string &where);
  Expression expression(const json &tree, bool isFloat,
                        const std::string &where);
  int find(const auto &named, const std::string &name, const std::string &where,
           const char *what);

  void readImages(const json &root);
  void readNames(const json &root);
  void readTensors(const json &root);
  void readScalars(const json &root);
  void readWorkspaces(const json &root);
  Function readFunction(const json &object, const std::string &where);
  void readLaunch(const json &object, const std::string &where);
  Parameter readParameter(const json &object, const std::string &where);
  void findOrigins();

  Manifest &m;
  std::vector<Name> names; // sizes, then scalars
};

} // namespace

//===----------------------------------------------------------------------===//
// Parts of JSON
//===----------------------------------------------------------------------===//

const json *Reader::member(const json &object, const char *key) {
  if (!object.is_object())
    return nullptr;
  auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string Reader::text(const json &object, const char *key,
                         const std::string &where, bool mayBeEmpty) {
  const json *value = member(object, key);
  if (!expect(
          value && value->is_string() &&
              (mayBeEmpty || !value->get_ref<const std::string &>().empty()),
          where + key, "a text"))
    return "";
  return value->get<std::string>();
}

uint64_t Reader::number(const json &object, const char *key, uint64_t most,
                        const std::string &where) {
  const json *value = member(object, key);
  if (!expect(value && value->is_number_unsigned() &&
                  value->get<uint64_t>() <= most,
              where + key, "a number from 0 to " + std::to_string(most)))
    return 0;
  return value->get<uint64_t>();
}

/// False where it is absent.
bool Reader::flag(const json &object, const char *key,
                  const std::string &where) {
  const json *value = member(object, key);
  expect(!value || value->is_boolean(), where + key, "true or false");
  return value && *value == true;
}

const json &Reader::list(const json &object, const char *key, size_t most,
                         const std::string &where, bool mayBeAbsent) {
  static const json empty = json::array();
  const json *value = member(object, key);
  if (!value && mayBeAbsent)
    return empty;
  if (!expect(value && value->is_array() && value->size() <= most, where + key,
              "a list of at most " + std::to_string(most)))
    return empty;
  return *value;
}

ElementType Reader::type(const json &object, const std::string &where) {
  std::string name = text(object, "type", where);
  std::optional<ElementType> type = parseElementType(name);
  expect(type.has_value(), where + "type",
         "an element type, got '" + name + "'");
  return type.value_or(ElementType::F32);
}

Expression Reader::expression(const json &tree, bool isFloat,
                              const std::string &where) {
  Expression result;
  std::string why;
  if (!result.compile(tree, names, why)) {
    if (error.empty())
      error = where + ": " + why;
  } else if (!isFloat) {
    expect(!result.isFloat(), where, "an integer expression");
  }
  return result;
}

/// The number of `name` in a list of things with names.
int Reader::find(const auto &named, const std::string &name,
                 const std::string &where, const char *what) {
  for (size_t i = 0; i < named.size(); ++i)
    if (named[i].name == name)
      return static_cast<int>(i);
  expect(false, where, std::string("a ") + what + ", got '" + name + "'");
  return -1;
}

/// An expression as a user would write it: "M", "2 * D", "(M + 63) // 64".
static std::string textOf(const json &tree) {
  if (tree.is_string())
    return tree.get<std::string>();
  if (!tree.is_array() || tree.size() != 3 || !tree[0].is_string())
    return tree.dump();
  static constexpr const char *signs[][2] = {{"add", " + "},
                                             {"sub", " - "},
                                             {"mul", " * "},
                                             {"floordiv", " / "},
                                             {"floormod", " % "}};
  auto operand = [](const json &tree) {
    return tree.is_array() ? "(" + textOf(tree) + ")" : textOf(tree);
  };
  for (auto [name, sign] : signs)
    if (tree[0] == name)
      return operand(tree[1]) + sign + operand(tree[2]);
  return tree[0].get<std::string>() + "(" + textOf(tree[1]) + ", " +
         textOf(tree[2]) + ")";
}

//===----------------------------------------------------------------------===//
// Parts of a manifest
//===----------------------------------------------------------------------===//

/// "sm_90" or "sm_90a".
static bool parseTarget(const std::string &target, int &architecture,
                        bool &isExact) {
  if (target.rfind("sm_", 0) != 0)
    return false;
  char *end;
  long number = std::strtol(target.c_str() + 3, &end, 10);
  isExact = *end == 'a';
  architecture = static_cast<int>(number);
  return number >= 10 && number < 1000 && end[isExact] == 0;
}

void Reader::readImages(const json &root) {
  const json *image = member(root, "image"), *ptx = member(root, "ptx");
  expect(image || ptx, "image", "a cubin or PTX, got none");
  if (image) {
    m.cubinFile = text(*image, "cubin", "image.");
    m.cubinBytes = number(*image, "bytes", uint64_t(1) << 40, "image.");
    m.cubinHash = text(*image, "sha256", "image.");
  }
  if (ptx) {
    m.ptxFile = text(*ptx, "file", "ptx.");
    if (member(*ptx, "sha256"))
      m.ptxHash = text(*ptx, "sha256", "ptx.");
  }
}

void Reader::readNames(const json &root) {
  for (const json &size : list(root, "sizes", kMaxSizes, "")) {
    expect(size.is_string(), "sizes", "names");
    m.sizes.push_back(size.is_string() ? size.get<std::string>() : "");
    names.push_back({m.sizes.back(), false});
  }
}

void Reader::readTensors(const json &root) {
  for (const json &object : list(root, "tensors", kMaxTensors, "")) {
    std::string where = "tensors[" + std::to_string(m.tensors.size()) + "].";
    TensorParameter tensor;
    tensor.name = text(object, "name", where);
    tensor.type = type(object, where);
    std::string role = text(object, "role", where);
    expect(role == "input" || role == "output", where + "role",
           "input or output, got '" + role + "'");
    tensor.isOutput = role == "output";
    tensor.shapeText = "[";
    for (const json &extent : list(object, "shape", kMaxRank, where)) {
      std::string text = textOf(extent);
      tensor.shapeText += (tensor.shape.empty() ? "" : ", ") + text;
      tensor.shape.push_back(
          {text, expression(extent, false, where + "shape")});
    }
    tensor.shapeText += "]";
    m.tensors.push_back(std::move(tensor));
  }
}

/// A default may use the sizes and the scalars before it.
void Reader::readScalars(const json &root) {
  for (const json &object : list(root, "scalars", kMaxScalars, "", true)) {
    std::string where = "scalars[" + std::to_string(m.scalars.size()) + "].";
    ScalarParameter scalar;
    scalar.name = text(object, "name", where);
    scalar.type = type(object, where);
    const json *byDefault = member(object, "default");
    scalar.hasDefault = byDefault;
    if (byDefault)
      scalar.byDefault =
          expression(*byDefault, isFloat(scalar.type), where + "default");
    names.push_back({scalar.name, isFloat(scalar.type)});
    m.scalars.push_back(std::move(scalar));
  }
  for (const json &object : list(root, "constraints", 256, "", true)) {
    std::string where =
        "constraints[" + std::to_string(m.constraints.size()) + "].";
    const json *holds = member(object, "holds");
    if (!expect(holds, where + "holds", "an expression"))
      return;
    m.constraints.push_back({text(object, "text", where),
                             expression(*holds, false, where + "holds")});
  }
}

void Reader::readWorkspaces(const json &root) {
  for (const json &object : list(root, "workspace", kMaxWorkspaces, "", true)) {
    std::string where =
        "workspace[" + std::to_string(m.workspaces.size()) + "].";
    Workspace workspace;
    workspace.name = text(object, "name", where);
    workspace.type = type(object, where);
    for (const json &extent : list(object, "shape", kMaxRank, where))
      workspace.shape.push_back(expression(extent, false, where + "shape"));
    m.workspaces.push_back(std::move(workspace));
  }
}

Parameter Reader::readParameter(const json &object, const std::string &where) {
  std::string kind = text(object, "kind", where);
  Parameter parameter{Parameter::Tensor, 0, 0, 8};
  int index = 0;
  if (kind == "stride") {
    parameter.kind = Parameter::Stride;
    index = find(m.tensors, text(object, "tensor", where), where + "tensor",
                 "tensor");
    size_t rank = index < 0 ? 0 : m.tensors[index].shape.size();
    parameter.dim = number(object, "dim", rank ? rank - 1 : 0, where);
    expect(rank > 0, where + "dim", "a dimension of the tensor");
  } else {
    std::string name = text(object, "name", where);
    if (kind == "tensor") {
      index = find(m.tensors, name, where + "name", "tensor");
    } else if (kind == "workspace") {
      parameter.kind = Parameter::Workspace;
      index = find(m.workspaces, name, where + "name", "workspace");
    } else if (kind == "scalar") {
      parameter.kind = Parameter::Scalar;
      index = find(m.scalars, name, where + "name", "scalar");
      if (index >= 0)
        parameter.bytes = sizeOf(m.scalars[index].type);
    } else if (expect(kind == "size", where + "kind",
                      "tensor, workspace, size, stride or scalar, got '" +
                          kind + "'")) {
      parameter.kind = Parameter::Size;
      std::vector<Name> sizes(names.begin(), names.begin() + m.sizes.size());
      index = find(sizes, name, where + "name", "size");
    }
  }
  parameter.index = index < 0 ? 0 : index;
  return parameter;
}

Function Reader::readFunction(const json &object, const std::string &where) {
  Function function;
  function.kernel = text(object, "kernel", where);
  for (const json &count : list(object, "cells", kMaxRank, where))
    function.cells.push_back(expression(count, false, where + "cells"));
  function.threads = number(object, "threads", 1024, where);
  expect(function.threads > 0 && function.threads % 32 == 0, where + "threads",
         "a multiple of 32, got " + std::to_string(function.threads));
  function.shared = number(object, "shared", 1 << 20, where);
  function.isDependent = flag(object, "dependent", where);
  for (const json &entry : list(object, "arguments", kMaxParameters, where))
    function.parameters.push_back(readParameter(
        entry, where + "arguments[" +
                   std::to_string(function.parameters.size()) + "]."));
  return function;
}

void Reader::readLaunch(const json &object, const std::string &where) {
  Launch launch{
      readFunction(object, where), flag(object, "lists", where), {}, {}};
  if (const json *otherwise = member(object, "otherwise"))
    if (expect(otherwise->is_object(), where + "otherwise", "a function"))
      launch.otherwise = readFunction(*otherwise, where + "otherwise.");
  for (const json &entry : list(object, "requires", kMaxTensors, where, true)) {
    std::string at =
        where + "requires[" + std::to_string(launch.requirements.size()) + "].";
    int tensor =
        find(m.tensors, text(entry, "tensor", at), at + "tensor", "tensor");
    const json &dims = list(entry, "dims", kMaxRank, at);
    uint64_t bytes = number(entry, "bytes", 1024, at);
    expect(bytes > 0, at + "bytes", "a number of bytes");
    size_t rank = tensor < 0 ? 0 : m.tensors[tensor].shape.size();
    uint64_t last = 0;
    for (const json &dim : dims) {
      if (!expect(dim.is_number_unsigned() && dim.get<uint64_t>() < rank,
                  at + "dims", "dimensions of the tensor"))
        return;
      last = dim.get<uint64_t>();
    }
    if (!expect(!dims.empty(), at + "dims", "a dimension"))
      return;
    launch.requirements.push_back(
        {unsigned(tensor), unsigned(last), unsigned(bytes)});
  }
  m.launches.push_back(std::move(launch));
}

/// Every size must stand alone somewhere in a shape: there it is read.
void Reader::findOrigins() {
  for (size_t size = 0; size < m.sizes.size(); ++size) {
    bool found = false;
    for (size_t t = 0; t < m.tensors.size() && !found; ++t)
      for (size_t dim = 0; dim < m.tensors[t].shape.size() && !found; ++dim)
        if (m.tensors[t].shape[dim].extent.slot() == static_cast<int>(size)) {
          m.origins.push_back({unsigned(t), unsigned(dim)});
          found = true;
        }
    expect(found, "sizes", "'" + m.sizes[size] + "' in a tensor's shape");
  }
}

void Reader::read(const json &root) {
  m.kernel = text(root, "kernel", "");
  m.target = text(root, "target", "");
  expect(parseTarget(m.target, m.architecture, m.isExact), "target",
         "an architecture like sm_90, got '" + m.target + "'");
  if (const json *source = member(root, "source"))
    m.source = text(*source, "file", "source.", true);
  readImages(root);
  readNames(root);
  readTensors(root);
  readScalars(root);
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      expect(names[i].name != names[k].name, "sizes",
             "every name once, got '" + names[i].name + "' twice");
  readWorkspaces(root);
  for (const json &launch : list(root, "launches", kMaxLaunches, ""))
    readLaunch(launch, "launches[" + std::to_string(m.launches.size()) + "].");
  findOrigins();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

attentile_status parseManifest(std::string_view text, Manifest &manifest) {
  json root;
  Builder builder(root);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) {
    if (builder.position >= text.size())
      return fail(ATTENTILE_INVALID_MANIFEST,
                  "manifest: expected JSON, got a text that ends early, after "
                  "%zu bytes",
                  text.size());
    return fail(ATTENTILE_INVALID_MANIFEST,
                "manifest: expected JSON, got something else at byte %zu",
                builder.position);
  }
  if (!root.is_object() || root.value("format", json()) != "attentile-manifest")
    return fail(ATTENTILE_INVALID_MANIFEST,
                "manifest: expected the format attentile-manifest");
  json version = root.value("version", json());
  if (version != 2)
    return fail(ATTENTILE_INVALID_MANIFEST,
                "manifest: expected version 2, got %s; a newer runtime may "
                "know it",
                version.dump().substr(0, 40).c_str());
  if (const char *why = findBrokenSeal(text))
    return fail(ATTENTILE_INVALID_MANIFEST, "manifest: %s", why);
  Reader reader(manifest);
  reader.read(root);
  if (!reader.error.empty())
    return fail(ATTENTILE_INVALID_MANIFEST, "manifest: %s",
                reader.error.c_str());
  return ATTENTILE_SUCCESS;
}

} // namespace attentile::runtime
