//===- Inputs.cpp - the tensors of a run ----------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "Draw.h"
#include "Session.h"
#include "attentile/Npy.h"
#include "attentile/Reference.h"
#include "llvm/Support/MathExtras.h"
#include <unistd.h>

using llvm::StringRef;
using llvm::Twine;

namespace attentile {

/// "[B, H, M, 64]"
static std::string shapeText(const CheckedKernel &kernel,
                             const CheckedParam &param) {
  std::string text = "[";
  for (const SizeExpr *size : param.shape)
    text += (text.size() > 1 ? ", " : "") + kernel.text(*size);
  return text + "]";
}

static std::string shapeText(const std::vector<int64_t> &sizes) {
  std::string text = "[";
  for (int64_t size : sizes)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

bool Inputs::read(const CheckedKernel &head, llvm::ArrayRef<NamedFile> files,
                  Bindings &bindings) {
  for (const NamedFile &file : files) {
    const CheckedParam *param = head.findParam(file.name);
    std::vector<StringRef> names;
    for (const CheckedParam &in : head.ins)
      if (in.isTensor)
        names.push_back(in.name);
    if (!param || !llvm::is_contained(names, param->name)) {
      if (param && !param->isTensor) {
        wrongCall("expected --in with a tensor, got the scalar '" + file.name +
                      "'",
                  "--bind " + file.name + "=VALUE sets it");
        return false;
      }
      wrongCall("expected --in with an input of '" + head.name + "', got '" +
                    file.name + "'",
                "its inputs are " + llvm::join(names, ", "));
      return false;
    }
    llvm::Expected<HostTensor> tensor = readNpy(file.path);
    if (!tensor) {
      wrongCall(llvm::toString(tensor.takeError()));
      return false;
    }
    if (tensor->sizes.size() != param->shape.size()) {
      wrongCall("'" + file.name + "' (" + file.path + "): expected " +
                Twine(param->shape.size()) + " axes, " +
                shapeText(head, *param) + ", got " + shapeText(tensor->sizes));
      return false;
    }
    given[file.name] = {file.path, std::move(*tensor)};
  }
  if (!bindTypes(head, bindings) || !bindSizes(head, bindings))
    return false;
  for (const CheckedParam &param : head.ins)
    if (auto entry = given.find(param.name.str());
        entry != given.end() && param.typeName.empty() &&
        !convert(param, entry->second))
      return false;
  return true;
}

bool Inputs::bindTypes(const CheckedKernel &head, Bindings &bindings) {
  for (const CheckedType &type : head.types) {
    const CheckedParam *first = nullptr;
    for (const CheckedParam &param : head.ins) {
      auto entry = given.find(param.name.str());
      if (param.typeName != type.name || entry == given.end() ||
          bindings.find(type.name))
        continue;
      ElementType got = entry->second.tensor.type;
      if (first && given[first->name.str()].tensor.type != got) {
        wrongCall(Twine("expected one type ") + type.name + ", got " +
                      nameOf(given[first->name.str()].tensor.type) + " in '" +
                      first->name + "' and " + nameOf(got) + " in '" +
                      param.name + "'",
                  "--bind " + type.name + "=bf16 (or f16) rounds f32 files");
        return false;
      }
      first = &param;
    }
    if (!first)
      continue;
    ElementType got = given[first->name.str()].tensor.type;
    if (llvm::is_contained(type.options, got))
      bindings.set(type.name, BoundValue::ofType(got));
    // Else the first one listed is taken; convert says what does not fit it.
  }
  return true;
}

/// f32 becomes a 16-bit type with a note; nothing else is converted.
bool Inputs::convert(const CheckedParam &param, Given &entry) {
  HostTensor &tensor = entry.tensor;
  if (tensor.type == param.type)
    return true;
  if (tensor.type != ElementType::F32 || !isFloat(param.type)) {
    wrongCall("'" + param.name + "' (" + entry.path + "): expected " +
              nameOf(param.type) + ", got " + nameOf(tensor.type));
    return false;
  }
  HostTensor rounded = HostTensor::allocate(param.type, tensor.sizes);
  if (tensor.size() != 0) {
    std::vector<int64_t> index(tensor.sizes.size(), 0);
    int64_t to = 0;
    do
      rounded.writeDouble(to++,
                          tensor.readDouble(tensor.positionOf(index.data())));
    while (nextIndex(index, tensor.sizes));
  }
  tensor = std::move(rounded);
  printNote("'" + param.name + "' (" + entry.path +
            ") is rounded from f32 to " + nameOf(param.type));
  return true;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

bool Inputs::fixSize(StringRef name, int64_t value, const std::string &origin) {
  auto [entry, isNew] = sizes.try_emplace(name.str(), Size{value, origin});
  if (isNew || entry->second.value == value)
    return true;
  wrongCall(Twine("expected one value for '") + name + "', got " +
            Twine(entry->second.value) + " from " + entry->second.origin +
            " and " + Twine(value) + " from " + origin);
  return false;
}

bool Inputs::bindSizes(const CheckedKernel &head, Bindings &bindings) {
  for (const CheckedSize &size : head.sizes)
    if (size.bound && !fixSize(size.name, *size.bound, "--bind"))
      return false;
  for (const CheckedParam &param : head.ins) {
    auto entry = given.find(param.name.str());
    if (entry == given.end())
      continue;
    const std::vector<int64_t> &got = entry->second.tensor.sizes;
    for (auto [axis, expr] : llvm::enumerate(param.shape))
      if (expr->kind == SizeExpr::Size &&
          !fixSize(head.sizes[expr->size].name, got[axis],
                   "axis " + std::to_string(axis) + " of '" + param.name.str() +
                       "'"))
        return false;
  }
  // What is no plain size must agree with those that are.
  for (const CheckedParam &param : head.ins) {
    auto entry = given.find(param.name.str());
    if (entry == given.end())
      continue;
    std::optional<std::vector<int64_t>> shape = shapeOf(head, param);
    if (shape && *shape != entry->second.tensor.sizes) {
      wrongCall("'" + param.name + "' (" + entry->second.path + "): expected " +
                shapeText(head, param) + " = " + shapeText(*shape) + ", got " +
                shapeText(entry->second.tensor.sizes));
      return false;
    }
  }
  for (const CheckedSize &size : head.sizes)
    if (auto known = sizes.find(size.name.str());
        known != sizes.end() && !size.bound && size.isHead)
      bindings.set(size.name, BoundValue::ofInt(known->second.value));
  return true;
}

std::optional<std::vector<int64_t>>
Inputs::shapeOf(const CheckedKernel &kernel, const CheckedParam &param) const {
  std::vector<int64_t> shape;
  for (const SizeExpr *expr : param.shape) {
    std::optional<int64_t> value =
        expr->evaluate([&](unsigned size) -> std::optional<int64_t> {
          auto known = sizes.find(kernel.sizes[size].name.str());
          if (known == sizes.end())
            return std::nullopt;
          return known->second.value;
        });
    if (!value)
      return std::nullopt;
    shape.push_back(*value);
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

/// The bytes of a tensor; none if that does not fit 64 bits.
static std::optional<int64_t> bytesOf(ElementType type,
                                      const std::vector<int64_t> &shape) {
  int64_t bytes = sizeOf(type);
  for (int64_t size : shape)
    if (size < 0 || llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  return bytes;
}

bool Inputs::complete(const CheckedKernel &checked, attn::KernelOp kernel,
                      uint64_t seed) {
  std::string missing;
  for (const CheckedSize &size : checked.sizes)
    if (!sizes.count(size.name.str()) && size.bound)
      fixSize(size.name, *size.bound, "--bind");
    else if (!sizes.count(size.name.str()))
      missing += (missing.empty() ? "" : ",") + size.name.str() + "=...";
  if (!missing.empty()) {
    wrongCall("expected every size from a file or from --bind, got none for " +
                  StringRef(missing).drop_back(4),
              "--bind " + missing);
    return false;
  }

  int64_t total = 0;
  int64_t memory = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto *params : {&checked.ins, &checked.outs})
    for (const CheckedParam &param : *params) {
      if (!param.isTensor)
        continue;
      std::optional<std::vector<int64_t>> shape = shapeOf(checked, param);
      std::optional<int64_t> bytes =
          shape ? bytesOf(param.type, *shape) : std::nullopt;
      if (!bytes || llvm::AddOverflow(total, *bytes, total) || total > memory) {
        wrongCall("'" + param.name +
                  "': expected tensors that fit the memory "
                  "of this machine, got " +
                  (shape ? shapeText(*shape)
                         : std::string("a size that does "
                                       "not fit 64 bits")));
        return false;
      }
      shapes[param.name.str()] = std::move(*shape);
    }

  std::vector<int64_t> runtimeSizes;
  for (mlir::BlockArgument size : kernel.getSizeArgs())
    runtimeSizes.push_back(sizes.at(kernel.nameOf(size).str()).value);
  for (mlir::BlockArgument in : kernel.getInArgs()) {
    std::string name = kernel.nameOf(in).str();
    const CheckedParam &param = *checked.findParam(name);
    if (!param.isTensor) {
      HostTensor scalar;
      scalar.type = param.type;
      ins.push_back(scalar);
      continue;
    }
    if (auto entry = given.find(name); entry != given.end()) {
      if (!convert(param, entry->second))
        return false;
      ins.push_back(entry->second.tensor);
      continue;
    }
    HostTensor tensor = HostTensor::allocate(param.type, shapes[name]);
    drawElements(tensor, seed, name, integerLimit(kernel, in, runtimeSizes));
    ins.push_back(std::move(tensor));
    drawn.push_back(name);
  }
  for (mlir::BlockArgument out : kernel.getOutArgs()) {
    std::string name = kernel.nameOf(out).str();
    outs.push_back(
        HostTensor::allocate(checked.findParam(name)->type, shapes[name]));
  }
  return true;
}

} // namespace attentile
