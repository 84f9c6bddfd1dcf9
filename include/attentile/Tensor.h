//===- Tensor.h - tensors in host memory ------------------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the driver, the .npy reader, the reference and `check` hand to each
// other. No MLIR here.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_TENSOR_H
#define ATTENTILE_TENSOR_H

#include "attentile/ElementType.h"
#include <memory>
#include <vector>

namespace attentile {

/// The bits of `value` in a 16-bit type, rounded to nearest even once; too
/// large a value becomes infinity, NaN stays NaN.
uint16_t toF16(double value);
uint16_t toBF16(double value);

/// The value of 16 bits.
float fromF16(uint16_t bits);
float fromBF16(uint16_t bits);

/// `value` as an element of `type` holds it: floats rounded to nearest even
/// once, integers truncated and saturated (NaN is 0), a bool 0 or 1.
double roundTo(ElementType type, double value);

/// Half the distance between neighbours of `type` (a float type) at `value`,
/// that of the subnormals near 0; the distance of the largest binade from
/// there on. 0 for other types.
double halfUnit(ElementType type, double value);

/// A tensor in host memory: its elements are
/// data[offset + sum of index[i] * strides[i]], all counted in elements. The
/// memory is owned (`storage` keeps it) or borrowed (`storage` is null). A
/// stride may be 0 or negative. Copies share memory. A tensor of rank 0 holds
/// a scalar parameter.
struct HostTensor {
  ElementType type = ElementType::F32;
  void *data = nullptr;
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  std::shared_ptr<void> storage;

  /// A contiguous row-major tensor of zeros, 64-byte aligned.
  static HostTensor allocate(ElementType type, std::vector<int64_t> sizes);

  /// A view of memory that the caller keeps alive.
  static HostTensor borrow(ElementType type, void *data,
                           std::vector<int64_t> sizes,
                           std::vector<int64_t> strides, int64_t offset = 0);

  /// A scalar of its own memory.
  static HostTensor scalar(ElementType type, double value);
  static HostTensor scalarInt(ElementType type, int64_t value);

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }

  /// The number of elements.
  int64_t size() const;

  /// Where element 0, 0, ... is: what a compiled kernel is given.
  void *origin() const {
    return static_cast<char *>(data) + offset * sizeOf(type);
  }

  /// Whether the elements lie in row-major order without gaps.
  bool isContiguous() const;

  /// The position in `data`, in elements, of an element inside the tensor.
  int64_t positionOf(const int64_t *index) const;

  /// An element by its position in `data` (see positionOf). Integers and
  /// bools convert; toInt of a float truncates and saturates.
  double readDouble(int64_t position) const;
  int64_t readInt(int64_t position) const;
  void writeDouble(int64_t position, double value); // as roundTo says
  void writeInt(int64_t position, int64_t value);   // saturates

  /// The same by indices.
  double at(const std::vector<int64_t> &index) const {
    return readDouble(positionOf(index.data()));
  }
  int64_t intAt(const std::vector<int64_t> &index) const {
    return readInt(positionOf(index.data()));
  }
  void set(const std::vector<int64_t> &index, double value) {
    writeDouble(positionOf(index.data()), value);
  }
};

/// Row-major strides, in elements, of a tensor without gaps.
std::vector<int64_t> contiguousStrides(const std::vector<int64_t> &sizes);

/// Steps `index` to its successor in row-major order; false after the last.
/// Start from zeros, and only where no size is 0.
bool nextIndex(std::vector<int64_t> &index, const std::vector<int64_t> &sizes);

} // namespace attentile

#endif
