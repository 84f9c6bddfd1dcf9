//===- Alike.cpp - one formula at two elements ----------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alike.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile::reference {
namespace {

class Match {
public:
  Match(attn::KernelOp kernel, attn::AxesAnalysis &axes)
      : kernel(kernel), axes(axes) {}

  bool find(Value a, Value b) {
    pairs.insert({a, b});
    for (size_t i = 0; i < pairs.size(); ++i)
      if (!isAlike(pairs[i].first, pairs[i].second))
        return false;
    return llvm::none_of(pairs, [&](auto pair) { return isOtherRow(pair); });
  }

private:
  /// Of operands it is still to be asked.
  bool isAlike(Value a, Value b) {
    if (isIndex(a) && isIndex(b))
      return rename(a, b);
    a = computed(a), b = computed(b);
    Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
    if (a == b)
      return llvm::all_of(axes.indicesOf(axes.of(a)),
                          [&](Value index) { return rename(index, index); });
    if (!left || !right || left->getNumRegions() || left->getNumResults() != 1)
      return false;
    return OperationEquivalence::isEquivalentTo(
        left, right,
        [&](Value operand, Value other) {
          pairs.insert({operand, other});
          return success();
        },
        /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
  }

  /// What goes through memory is the same there.
  static Value computed(Value value) {
    while (auto kept = value.getDefiningOp<attn::MaterializeOp>())
      value = kept.getOperand();
    return value;
  }

  /// Whether a softmax is of two rows: one loop over the keys and two round
  /// differently, and which it is depends on the kernel that a row is in.
  bool isOtherRow(std::pair<Value, Value> pair) {
    Operation *op = pair.first.getDefiningOp();
    if (pair.first == pair.second || !op ||
        !isa<attn::SoftmaxOp, attn::LogSumExpOp>(op))
      return false;
    attn::Axes row = axes.of(pair.first);
    row.reset(axes.setOf(op->getOperands().drop_front()));
    return llvm::any_of(axes.indicesOf(row), [&](Value index) {
      return names.lookup(index) != index;
    });
  }

  bool isIndex(Value value) {
    return llvm::is_contained(kernel.getIndexArgs(), value);
  }

  /// An index variable is another one everywhere, and none else is that one.
  bool rename(Value from, Value to) {
    return names.try_emplace(from, to).first->second == to &&
           origins.try_emplace(to, from).first->second == from;
  }

  attn::KernelOp kernel;
  attn::AxesAnalysis &axes;
  llvm::SetVector<std::pair<Value, Value>> pairs;
  llvm::DenseMap<Value, Value> names, origins;
};

} // namespace

bool areAlike(attn::KernelOp kernel, attn::AxesAnalysis &axes, Value a,
              Value b) {
  return Match(kernel, axes).find(a, b);
}

} // namespace attentile::reference
