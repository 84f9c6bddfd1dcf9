//===- Draw.cpp - seeded random tensors -----------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Draw.h"
#include "attentile/Reference.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace attentile {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64
/// bits under which counters look random.
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// A number in (0, 1], of 53 random bits.
static double uniform(uint64_t bits) { return ((bits >> 11) + 1) * 0x1p-53; }

void drawElements(HostTensor &tensor, uint64_t seed, llvm::StringRef name,
                  int64_t limit) {
  uint64_t key = mix(seed);
  for (char c : name)
    key = mix(key ^ static_cast<uint8_t>(c));
  for (int64_t i = 0, n = tensor.size(); i < n; ++i) {
    uint64_t bits = mix(key + i);
    if (tensor.type == ElementType::Bool) {
      tensor.writeInt(i, bits >> 63);
    } else if (tensor.type == ElementType::I8 && limit > INT8_MAX) {
      tensor.writeInt(i, static_cast<int8_t>(bits)); // indexes nothing
    } else if (!isFloat(tensor.type)) {
      tensor.writeInt(i, limit > 0 ? static_cast<int64_t>(bits % limit) : 0);
    } else {
      // Box and Muller's transform, one of its two values.
      double angle = 2 * std::numbers::pi * uniform(mix(bits));
      tensor.writeDouble(i, std::sqrt(-2 * std::log(uniform(bits))) *
                                std::cos(angle));
    }
  }
}

/// Whether a value is computed from a read of `tensor`.
static bool dependsOn(Value value, BlockArgument tensor,
                      llvm::SmallPtrSetImpl<Operation *> &visited) {
  Operation *op = value.getDefiningOp();
  if (!op || !visited.insert(op).second)
    return false;
  if (auto read = dyn_cast<attn::ReadOp>(op);
      read && read.getTensor() == tensor)
    return true;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return dependsOn(operand, tensor, visited);
  });
}

int64_t integerLimit(attn::KernelOp kernel, BlockArgument tensor,
                     ArrayRef<int64_t> sizes) {
  std::optional<int64_t> limit;
  kernel.walk([&](attn::ReadOp read) {
    auto indexed = dyn_cast<BlockArgument>(read.getTensor());
    if (!indexed)
      return;
    std::vector<int64_t> shape = evaluateShape(kernel.getShape(indexed), sizes);
    for (auto [index, extent] : llvm::zip_equal(read.getIndices(), shape)) {
      llvm::SmallPtrSet<Operation *, 16> visited;
      if (dependsOn(index, tensor, visited))
        limit = limit ? std::min(*limit, extent) : extent;
    }
  });
  if (limit)
    return *limit;
  int64_t largest = 0;
  for (BlockArgument index : kernel.getIndexArgs())
    largest = std::max(largest,
                       evaluateShape(kernel.getExtent(index), sizes).front());
  return largest + 1;
}

} // namespace attentile
