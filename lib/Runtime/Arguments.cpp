//===- Arguments.cpp - types, sizes, scalars and constraints --------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "Error.h"
#include "attentile/Tensor.h"
#include <cstdio>
#include <cstring>

namespace attentile::runtime {

/// A little below 2^31: kernels compute positions some tiles behind the last
/// element in 32 bits.
static constexpr int64_t kMaxSize = (int64_t(1) << 31) - (1 << 16) - 1;

static const char *typeName(attentile_type type) {
  return unsigned(type) <= ATTENTILE_BOOL
             ? nameOf(static_cast<ElementType>(type))
             : "no type";
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static attentile_status checkHead(const TensorParameter &parameter,
                                  const attentile_tensor &tensor) {
  const char *name = parameter.name.c_str();
  if (tensor.type != static_cast<attentile_type>(parameter.type))
    return fail(ATTENTILE_INVALID_ARGUMENT, "'%s': expected type %s, got %s",
                name, nameOf(parameter.type), typeName(tensor.type));
  if (tensor.rank != static_cast<int32_t>(parameter.shape.size()))
    return fail(
        ATTENTILE_INVALID_ARGUMENT, "'%s': expected %zu dimensions, %s, got %d",
        name, parameter.shape.size(), parameter.shapeText.c_str(), tensor.rank);
  if (tensor.rank > 0 && !tensor.sizes)
    return fail(ATTENTILE_INVALID_ARGUMENT, "'%s': expected sizes, got null",
                name);
  for (int32_t dim = 0; dim < tensor.rank; ++dim)
    if (tensor.sizes[dim] < 0 || tensor.sizes[dim] > kMaxSize)
      return fail(ATTENTILE_INVALID_ARGUMENT,
                  "'%s': expected a size from 0 to 2147418111 in dimension %d "
                  "(%s), got %lld",
                  name, dim, parameter.shape[dim].text.c_str(),
                  static_cast<long long>(tensor.sizes[dim]));
  return ATTENTILE_SUCCESS;
}

/// Every extent, against the sizes read from the first tensor that has them.
static attentile_status checkShape(const Arguments &arguments,
                                   unsigned number) {
  const Manifest &manifest = *arguments.manifest;
  const TensorParameter &parameter = manifest.tensors[number];
  const attentile_tensor &tensor = arguments.tensors[number];
  for (int32_t dim = 0; dim < tensor.rank; ++dim) {
    const Dimension &dimension = parameter.shape[dim];
    Value expected;
    bool fits = dimension.extent.evaluate(arguments.slots, expected);
    if (fits && expected.integer == tensor.sizes[dim])
      continue;
    int slot = dimension.extent.slot();
    char origin[128] = "";
    if (slot >= 0 && slot < int(manifest.sizes.size()))
      std::snprintf(
          origin, sizeof origin, " of '%s'",
          manifest.tensors[manifest.origins[slot].tensor].name.c_str());
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "'%s': expected size %lld in dimension %d (%s%s), got %lld",
                parameter.name.c_str(),
                fits ? static_cast<long long>(expected.integer) : -1, dim,
                dimension.text.c_str(), origin,
                static_cast<long long>(tensor.sizes[dim]));
  }
  return ATTENTILE_SUCCESS;
}

static void fillStrides(const attentile_tensor &tensor, int64_t *strides) {
  if (tensor.strides) {
    std::memcpy(strides, tensor.strides, tensor.rank * sizeof(int64_t));
    return;
  }
  // Wraps where the tensor does not fit memory: the addresses are refused then.
  uint64_t stride = 1;
  for (int32_t dim = tensor.rank; dim-- > 0;) {
    strides[dim] = static_cast<int64_t>(stride);
    stride *= tensor.sizes[dim] > 0 ? tensor.sizes[dim] : 1;
  }
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// A scalar's value as expressions read it and as the kernel takes it.
static void setScalar(Arguments &arguments, unsigned number, Value value) {
  const Manifest &manifest = *arguments.manifest;
  ElementType type = manifest.scalars[number].type;
  int64_t &bits = arguments.scalarBits[number];
  bits = 0;
  switch (type) {
  case ElementType::F32: {
    auto rounded = static_cast<float>(value.real);
    value.real = rounded;
    std::memcpy(&bits, &rounded, sizeof rounded);
    break;
  }
  case ElementType::F16:
    bits = toF16(value.real);
    value.real = fromF16(static_cast<uint16_t>(bits));
    break;
  case ElementType::BF16:
    bits = toBF16(value.real);
    value.real = fromBF16(static_cast<uint16_t>(bits));
    break;
  default:
    bits = value.integer;
  }
  arguments.slots[manifest.sizes.size() + number] = value;
}

static int findScalar(const Manifest &manifest, const char *name) {
  for (size_t i = 0; i < manifest.scalars.size(); ++i)
    if (manifest.scalars[i].name == name)
      return static_cast<int>(i);
  return -1;
}

static attentile_status checkScalar(const ScalarParameter &parameter,
                                    const attentile_scalar &scalar) {
  const char *name = parameter.name.c_str();
  if (unsigned(scalar.type) > ATTENTILE_BOOL ||
      isFloat(static_cast<ElementType>(scalar.type)) != isFloat(parameter.type))
    return fail(ATTENTILE_INVALID_ARGUMENT, "'%s': expected type %s, got %s",
                name, nameOf(parameter.type), typeName(scalar.type));
  int64_t low = INT64_MIN, high = INT64_MAX;
  if (parameter.type == ElementType::I32)
    low = INT32_MIN, high = INT32_MAX;
  else if (parameter.type == ElementType::I8)
    low = INT8_MIN, high = INT8_MAX;
  else if (parameter.type == ElementType::Bool)
    low = 0, high = 1;
  if (!isFloat(parameter.type) &&
      (scalar.value.integer < low || scalar.value.integer > high))
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "'%s': expected a value of type %s, got %lld", name,
                nameOf(parameter.type),
                static_cast<long long>(scalar.value.integer));
  return ATTENTILE_SUCCESS;
}

static attentile_status bindScalars(const attentile_arguments &given,
                                    Arguments &arguments) {
  const Manifest &manifest = *arguments.manifest;
  uint64_t isGiven = 0;
  static_assert(kMaxScalars <= 64);
  for (size_t i = 0; i < given.scalar_count; ++i) {
    const attentile_scalar &scalar = given.scalars[i];
    int number = scalar.name ? findScalar(manifest, scalar.name)
                 : i < manifest.scalars.size() ? static_cast<int>(i)
                                               : -1;
    if (number < 0 && scalar.name)
      return fail(ATTENTILE_INVALID_ARGUMENT,
                  "expected a scalar of '%s', got '%s'",
                  manifest.kernel.c_str(), scalar.name);
    if (number < 0)
      return fail(ATTENTILE_INVALID_ARGUMENT,
                  "expected at most %zu scalars of '%s', got %zu",
                  manifest.scalars.size(), manifest.kernel.c_str(),
                  given.scalar_count);
    const ScalarParameter &parameter = manifest.scalars[number];
    if (isGiven >> number & 1)
      return fail(ATTENTILE_INVALID_ARGUMENT,
                  "'%s': expected one value, got two", parameter.name.c_str());
    isGiven |= uint64_t(1) << number;
    if (attentile_status status = checkScalar(parameter, scalar))
      return status;
    Value value;
    if (isFloat(parameter.type))
      value.real = scalar.value.real;
    else
      value.integer = scalar.value.integer;
    setScalar(arguments, number, value);
  }
  for (size_t i = 0; i < manifest.scalars.size(); ++i) {
    const ScalarParameter &parameter = manifest.scalars[i];
    if (isGiven >> i & 1)
      continue;
    if (!parameter.hasDefault)
      return fail(ATTENTILE_INVALID_ARGUMENT,
                  "'%s': expected a value, got none; it has no default",
                  parameter.name.c_str());
    Value value;
    if (!parameter.byDefault.evaluate(arguments.slots, value))
      return fail(ATTENTILE_INVALID_ARGUMENT,
                  "'%s': expected a default that fits 64 bits",
                  parameter.name.c_str());
    if (isFloat(parameter.type) && !parameter.byDefault.isFloat())
      value.real = static_cast<double>(value.integer);
    setScalar(arguments, i, value);
  }
  return ATTENTILE_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Constraints and workspace
//===----------------------------------------------------------------------===//

/// "expected H % G == 0, got H = 3, G = 2"
static attentile_status failConstraint(const Arguments &arguments,
                                       const Constraint &constraint) {
  const Manifest &manifest = *arguments.manifest;
  char values[512] = "";
  size_t used = 0;
  for (unsigned slot : constraint.holds.slots()) {
    size_t scalar = slot - manifest.sizes.size();
    bool isSize = slot < manifest.sizes.size();
    const std::string &name =
        isSize ? manifest.sizes[slot] : manifest.scalars[scalar].name;
    const Value &value = arguments.slots[slot];
    int count;
    if (!isSize && isFloat(manifest.scalars[scalar].type))
      count = std::snprintf(values + used, sizeof values - used, "%s%s = %.9g",
                            used ? ", " : "", name.c_str(), value.real);
    else
      count = std::snprintf(values + used, sizeof values - used, "%s%s = %lld",
                            used ? ", " : "", name.c_str(),
                            static_cast<long long>(value.integer));
    used = std::min(used + count, sizeof values - 1);
  }
  return fail(ATTENTILE_INVALID_ARGUMENT, "expected %s, got %s",
              constraint.text.c_str(), values);
}

/// Each workspace 256-byte aligned, one after the other.
static attentile_status placeWorkspaces(Arguments &arguments) {
  const Manifest &manifest = *arguments.manifest;
  size_t total = 0;
  for (size_t i = 0; i < manifest.workspaces.size(); ++i) {
    const Workspace &workspace = manifest.workspaces[i];
    size_t bytes = sizeOf(workspace.type);
    bool fits = true;
    for (const Expression &extent : workspace.shape) {
      Value size;
      fits = fits && extent.evaluate(arguments.slots, size) &&
             size.integer >= 0 &&
             !__builtin_mul_overflow(bytes, size_t(size.integer), &bytes);
    }
    if (!fits || bytes > size_t(1) << 60 || total > size_t(1) << 60)
      return fail(ATTENTILE_INVALID_ARGUMENT,
                  "expected sizes whose workspace '%s' fits memory",
                  workspace.name.c_str());
    arguments.workspaceOffsets[i] = total;
    total += (bytes + 255) / 256 * 256;
  }
  arguments.workspaceBytes = total;
  return ATTENTILE_SUCCESS;
}

attentile_status bindArguments(const Manifest &manifest,
                               const attentile_arguments &given,
                               Arguments &arguments) {
  arguments.manifest = &manifest;
  arguments.tensors = given.tensors;
  if (given.tensor_count != manifest.tensors.size() ||
      (given.tensor_count && !given.tensors))
    return fail(ATTENTILE_INVALID_ARGUMENT,
                "expected %zu inputs and outputs of '%s', got %zu",
                manifest.tensors.size(), manifest.kernel.c_str(),
                given.tensors ? given.tensor_count : 0);
  if (given.scalar_count && !given.scalars)
    return fail(ATTENTILE_INVALID_ARGUMENT, "expected %zu scalars, got null",
                given.scalar_count);
  for (size_t i = 0; i < given.tensor_count; ++i)
    if (attentile_status status =
            checkHead(manifest.tensors[i], given.tensors[i]))
      return status;
  for (size_t i = 0; i < manifest.sizes.size(); ++i)
    arguments.slots[i].integer = given.tensors[manifest.origins[i].tensor]
                                     .sizes[manifest.origins[i].dim];
  for (size_t i = 0; i < given.tensor_count; ++i) {
    if (attentile_status status = checkShape(arguments, i))
      return status;
    fillStrides(given.tensors[i], arguments.strides[i]);
  }
  if (attentile_status status = bindScalars(given, arguments))
    return status;
  for (const Constraint &constraint : manifest.constraints) {
    Value holds;
    if (!constraint.holds.evaluate(arguments.slots, holds) || !holds.integer)
      return failConstraint(arguments, constraint);
  }
  return placeWorkspaces(arguments);
}

} // namespace attentile::runtime
