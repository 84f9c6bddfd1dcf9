//===- TestData.cpp - tensors that can be drawn again ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "attentile/TestData.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace attentile {

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

uint64_t Random::next() {
  uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

int64_t Random::below(int64_t count) {
  return count > 0 ? static_cast<int64_t>(next() % uint64_t(count)) : 0;
}

double Random::normal() {
  uint64_t bits = next();
  double sum = 0;
  for (int i = 0; i < 4; ++i, bits >>= 16)
    sum += static_cast<double>(bits & 0xFFFF);
  return (sum - 2 * 65535.0) / (65536 * 0.57735026919);
}

static void drawFloats(HostTensor &tensor, const Recipe &recipe) {
  Random random{recipe.seed};
  std::vector<int64_t> index(tensor.rank());
  std::vector<double> row;
  if (recipe.equalRows)
    for (int64_t i = 0; i < (tensor.rank() ? tensor.sizes.back() : 1); ++i)
      row.push_back(random.normal());
  do {
    double value = row.empty() ? recipe.factor * random.normal()
                               : row[tensor.rank() ? index.back() : 0];
    tensor.writeDouble(tensor.positionOf(index.data()), value);
  } while (nextIndex(index, tensor.sizes));
}

static void drawIntegers(HostTensor &tensor, const Recipe &recipe) {
  Random random{recipe.seed};
  std::vector<int64_t> index(tensor.rank());
  do {
    int64_t value = random.below(recipe.limit);
    if (recipe.outside && random.below(20) == 0)
      value = random.below(2) ? -1 - value : recipe.limit + value;
    tensor.writeInt(tensor.positionOf(index.data()), value);
  } while (nextIndex(index, tensor.sizes));
}

std::vector<int64_t> indexOf(int64_t number,
                             const std::vector<int64_t> &sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t k = index.size(); k-- > 0;) {
    index[k] = number % sizes[k];
    number /= sizes[k];
  }
  return index;
}

void draw(HostTensor &tensor, const Recipe &recipe) {
  if (tensor.size() == 0)
    return;
  if (recipe.integers)
    drawIntegers(tensor, recipe);
  else
    drawFloats(tensor, recipe);
  for (const Recipe::Patch &patch : recipe.patches)
    tensor.set(indexOf(patch.number, tensor.sizes), patch.value);
}

std::vector<int64_t> sampleElements(int64_t count, int64_t most,
                                    uint64_t seed) {
  std::vector<int64_t> numbers;
  Random random{seed};
  int64_t parts = std::min(count, most);
  for (int64_t i = 0; i < parts; ++i) {
    auto begin = static_cast<int64_t>(__int128(count) * i / parts);
    auto end = static_cast<int64_t>(__int128(count) * (i + 1) / parts);
    numbers.push_back(begin + random.below(end - begin));
  }
  return numbers;
}

double errorRatio(double got, double expected, double allowed) {
  if (std::isnan(got) || std::isnan(expected))
    return std::isnan(got) && std::isnan(expected) ? 0 : INFINITY;
  if (got == expected)
    return 0;
  if (std::isinf(got) || std::isinf(expected))
    return INFINITY;
  double error = std::fabs(got - expected);
  return allowed > 0 ? error / allowed : INFINITY;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void giveMemory(HostTensor &tensor, bool sparse) {
  int64_t low = 0, high = 0;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    int64_t size = tensor.sizes[i];
    int64_t reach = (size > 0 ? size - 1 : 0) * tensor.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  tensor.offset = -low;
  size_t bytes = (high - low + 1) * sizeOf(tensor.type);
  if (sparse) {
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return;
    tensor.storage =
        std::shared_ptr<void>(memory, [bytes](void *p) { munmap(p, bytes); });
  } else {
    size_t rounded = (bytes / 64 + 1) * 64;
    tensor.storage.reset(std::aligned_alloc(64, rounded), std::free);
    if (tensor.storage)
      std::memset(tensor.storage.get(), 0, rounded);
  }
  tensor.data = tensor.storage.get();
}

std::pair<uint8_t *, size_t> memoryOf(const HostTensor &tensor) {
  int64_t low = tensor.offset, high = tensor.offset;
  for (size_t i = 0; i < tensor.sizes.size(); ++i)
    (tensor.strides[i] < 0 ? low : high) +=
        (tensor.sizes[i] - 1) * tensor.strides[i];
  int64_t bytes = sizeOf(tensor.type);
  return {static_cast<uint8_t *>(tensor.data) + low * bytes,
          (high - low + 1) * bytes};
}

static void poisonElements(const HostTensor &tensor) {
  std::vector<int64_t> index(tensor.rank());
  int64_t bytes = sizeOf(tensor.type);
  do {
    std::memset(static_cast<char *>(tensor.data) +
                    tensor.positionOf(index.data()) * bytes,
                kPoison, bytes);
  } while (nextIndex(index, tensor.sizes));
}

bool isFar(const HostTensor &tensor) {
  return tensor.size() > 0 && memoryOf(tensor).second > size_t(1) << 30;
}

void poison(const HostTensor &tensor) {
  if (tensor.size() == 0)
    return;
  if (isFar(tensor))
    return poisonElements(tensor);
  auto [begin, bytes] = memoryOf(tensor);
  std::memset(begin, kPoison, bytes);
}

bool gapsAreUntouched(const HostTensor &tensor) {
  if (tensor.size() == 0 || tensor.isContiguous() || isFar(tensor))
    return true;
  poisonElements(tensor);
  auto [begin, bytes] = memoryOf(tensor);
  return std::all_of(begin, begin + bytes,
                     [](uint8_t byte) { return byte == kPoison; });
}

} // namespace attentile
