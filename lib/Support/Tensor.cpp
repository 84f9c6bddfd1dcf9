//===- Tensor.cpp - tensors in host memory --------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/Tensor.h"
#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace attentile {

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

namespace {
/// The binary formats, by what rounding needs.
struct Format {
  int mantissaBits;       // stored
  int minExponent;        // of the smallest normal number
  int maxExponent;        // of the largest finite number
  double largest;         // the largest finite number
  bool saturates = false; // what is larger becomes it, infinity too
};
} // namespace

static Format formatOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return {10, -14, 15, 65504};
  case ElementType::BF16:
    return {7, -126, 127, 0x1.FEp127};
  case ElementType::F8E4M3:
    return {3, -6, 8, 448, true};
  case ElementType::F8E5M2:
    return {2, -14, 15, 57344, true};
  default:
    return {23, -126, 127, std::numeric_limits<float>::max()};
  }
}

/// Rounds to nearest even in a narrower binary format, once.
static double roundToFormat(double value, Format format) {
  if (format.saturates && std::fabs(value) > format.largest)
    return std::copysign(format.largest, value);
  auto bits = std::bit_cast<uint64_t>(value);
  int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1023;
  if (exponent >= format.minExponent && exponent < format.maxExponent) {
    // Normal before and after: round the digits as an integer, where a carry
    // moves into the exponent.
    int dropped = 52 - format.mantissaBits;
    uint64_t half = (uint64_t(1) << (dropped - 1)) - 1 + (bits >> dropped & 1);
    return std::bit_cast<double>((bits + half) >> dropped << dropped);
  }
  if (value == 0 || !std::isfinite(value))
    return value;
  exponent = std::max(exponent, format.minExponent);
  // Scaling by powers of two is exact, so nearbyint rounds the only time.
  double scaled = std::ldexp(value, format.mantissaBits - exponent);
  double rounded =
      std::ldexp(std::nearbyint(scaled), exponent - format.mantissaBits);
  if (std::fabs(rounded) >= std::ldexp(1.0, format.maxExponent + 1))
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

/// The bits of a value that the format holds exactly, below the sign bit's
/// position `totalBits - 1`.
static uint16_t encode(double value, Format format) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  int infinityExponent = format.maxExponent * 2 + 1;
  if (std::isnan(value))
    return sign | infinityExponent << format.mantissaBits |
           1 << (format.mantissaBits - 1);
  double rounded = roundToFormat(std::fabs(value), format);
  if (std::isinf(rounded))
    return sign | infinityExponent << format.mantissaBits;
  if (rounded == 0)
    return sign;
  int exponent = std::max(std::ilogb(rounded), format.minExponent);
  auto digits =
      static_cast<int>(std::ldexp(rounded, format.mantissaBits - exponent));
  // The leading digit of a normal number adds 1 to the exponent field.
  return sign |
         (((exponent - format.minExponent) << format.mantissaBits) + digits);
}

uint16_t toF16(double value) {
  return encode(value, formatOf(ElementType::F16));
}

uint16_t toBF16(double value) {
  double rounded = roundToFormat(value, formatOf(ElementType::BF16));
  // A float now, and no NaN's payload may end up as infinity.
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(rounded));
  return bits >> 16 | (std::isnan(value) ? 0x40 : 0);
}

/// A byte of f8e4m3 or f8e5m2. The one has NaN where the other has infinity
/// and, behind it, NaN; neither is made of a number.
static uint8_t toF8(ElementType type, double value) {
  Format format = formatOf(type);
  if (std::isnan(value))
    return (std::signbit(value) ? 0x80 : 0) |
           (type == ElementType::F8E4M3 ? 0x7F : 0x7E);
  uint16_t bits = encode(value, format); // its sign stands higher
  return (bits & 0x7F) | (bits >> 8 & 0x80);
}

static double fromF8(ElementType type, uint8_t bits) {
  if (type == ElementType::F8E5M2) // the upper half of f16
    return fromF16(uint16_t(bits << 8));
  if ((bits & 0x7F) == 0x7F)
    return std::copysign(std::numeric_limits<double>::quiet_NaN(),
                         bits & 0x80 ? -1.0 : 1.0);
  int exponent = bits >> 3 & 15, digits = bits & 7;
  double size =
      exponent ? std::ldexp(8 + digits, exponent - 10) : std::ldexp(digits, -9);
  return bits & 0x80 ? -size : size;
}

float fromF16(uint16_t bits) {
  uint32_t exponent = bits >> 10 & 31, digits = bits & 1023;
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  if (exponent == 0) {
    float magnitude = static_cast<float>(digits) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  uint32_t field = exponent == 31 ? 255 : exponent + 112; // other biases
  return std::bit_cast<float>(sign | field << 23 | digits << 13);
}

float fromBF16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Truncates toward zero; saturates; NaN is 0.
static int64_t toInteger(double value, int64_t low, int64_t high) {
  if (std::isnan(value))
    return 0;
  if (value <= static_cast<double>(low))
    return low;
  if (value >= static_cast<double>(high))
    return high;
  return static_cast<int64_t>(value);
}

double roundTo(ElementType type, double value) {
  switch (type) {
  case ElementType::F32:
    return static_cast<float>(value);
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
    return roundToFormat(value, formatOf(type));
  case ElementType::I8:
    return static_cast<double>(toInteger(value, INT8_MIN, INT8_MAX));
  case ElementType::I32:
    return static_cast<double>(toInteger(value, INT32_MIN, INT32_MAX));
  case ElementType::I64:
    return static_cast<double>(toInteger(value, INT64_MIN, INT64_MAX));
  case ElementType::Bool:
    return value != 0;
  default:
    break; // no type of a host tensor
  }
  return value;
}

double halfUnit(ElementType type, double value) {
  if (!isFloat(type))
    return 0;
  Format format = formatOf(type);
  auto field = static_cast<int>(std::bit_cast<uint64_t>(value) >> 52 & 0x7FF);
  // 0 and subnormals have the smallest field, infinity and NaN the largest.
  int exponent =
      std::clamp(field - 1023, format.minExponent, format.maxExponent);
  int half = exponent - format.mantissaBits - 1;
  return std::bit_cast<double>(uint64_t(half + 1023) << 52);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::vector<int64_t> contiguousStrides(const std::vector<int64_t> &sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

bool nextIndex(std::vector<int64_t> &index, const std::vector<int64_t> &sizes) {
  for (size_t i = sizes.size(); i-- > 0;) {
    if (++index[i] < sizes[i])
      return true;
    index[i] = 0;
  }
  return false;
}

HostTensor HostTensor::allocate(ElementType type, std::vector<int64_t> sizes) {
  HostTensor tensor;
  tensor.type = type;
  tensor.strides = contiguousStrides(sizes);
  tensor.sizes = std::move(sizes);
  // A multiple of the alignment, as aligned_alloc wants, and never nothing.
  size_t bytes = (tensor.size() * sizeOf(type) / 64 + 1) * 64;
  tensor.storage.reset(std::aligned_alloc(64, bytes), std::free);
  tensor.data = tensor.storage.get();
  assert(tensor.data && "out of memory");
  std::memset(tensor.data, 0, bytes);
  return tensor;
}

HostTensor HostTensor::borrow(ElementType type, void *data,
                              std::vector<int64_t> sizes,
                              std::vector<int64_t> strides, int64_t offset) {
  assert(sizes.size() == strides.size() && "one stride for each size");
  return {type, data, offset, std::move(sizes), std::move(strides), nullptr};
}

HostTensor HostTensor::scalar(ElementType type, double value) {
  HostTensor tensor = allocate(type, {});
  tensor.writeDouble(0, value);
  return tensor;
}

HostTensor HostTensor::scalarInt(ElementType type, int64_t value) {
  HostTensor tensor = allocate(type, {});
  tensor.writeInt(0, value);
  return tensor;
}

int64_t HostTensor::size() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

bool HostTensor::isContiguous() const {
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0)
      return true;
    if (sizes[i] != 1 && strides[i] != stride)
      return false;
    stride *= sizes[i];
  }
  return true;
}

int64_t HostTensor::positionOf(const int64_t *index) const {
  int64_t position = offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    assert(index[i] >= 0 && index[i] < sizes[i] && "index outside the tensor");
    position += index[i] * strides[i];
  }
  return position;
}

double HostTensor::readDouble(int64_t position) const {
  switch (type) {
  case ElementType::F32:
    return static_cast<const float *>(data)[position];
  case ElementType::F16:
    return fromF16(static_cast<const uint16_t *>(data)[position]);
  case ElementType::BF16:
    return fromBF16(static_cast<const uint16_t *>(data)[position]);
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
    return fromF8(type, static_cast<const uint8_t *>(data)[position]);
  default:
    return static_cast<double>(readInt(position));
  }
}

int64_t HostTensor::readInt(int64_t position) const {
  switch (type) {
  case ElementType::I8:
    return static_cast<const int8_t *>(data)[position];
  case ElementType::I32:
    return static_cast<const int32_t *>(data)[position];
  case ElementType::I64:
    return static_cast<const int64_t *>(data)[position];
  case ElementType::Bool:
    return static_cast<const uint8_t *>(data)[position] != 0;
  default:
    return toInteger(readDouble(position), INT64_MIN, INT64_MAX);
  }
}

void HostTensor::writeDouble(int64_t position, double value) {
  switch (type) {
  case ElementType::F32:
    static_cast<float *>(data)[position] = static_cast<float>(value);
    return;
  case ElementType::F16:
    static_cast<uint16_t *>(data)[position] = toF16(value);
    return;
  case ElementType::BF16:
    static_cast<uint16_t *>(data)[position] = toBF16(value);
    return;
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
    static_cast<uint8_t *>(data)[position] = toF8(type, value);
    return;
  case ElementType::Bool:
    static_cast<uint8_t *>(data)[position] = value != 0;
    return;
  default:
    writeInt(position, toInteger(value, INT64_MIN, INT64_MAX));
  }
}

void HostTensor::writeInt(int64_t position, int64_t value) {
  switch (type) {
  case ElementType::I8:
    static_cast<int8_t *>(data)[position] =
        static_cast<int8_t>(std::clamp<int64_t>(value, INT8_MIN, INT8_MAX));
    return;
  case ElementType::I32:
    static_cast<int32_t *>(data)[position] =
        static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
    return;
  case ElementType::I64:
    static_cast<int64_t *>(data)[position] = value;
    return;
  default:
    writeDouble(position, static_cast<double>(value));
  }
}

} // namespace attentile
