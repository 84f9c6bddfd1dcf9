//===- ScalarValues.cpp - integers of a kernel, evaluated -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarValues.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {

void ScalarValues::set(Value argument, int64_t number) {
  Attribute &value = arguments[argument];
  Attribute next = IntegerAttr::get(argument.getType(), number);
  if (value == next)
    return;
  value = next;
  known.clear();
}

void ScalarValues::setElement(Value tensor, ArrayRef<int64_t> at,
                              int64_t number) {
  elements[tensor][at.vec()] = number;
  known.clear();
}

std::optional<int64_t> ScalarValues::get(Value value) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(fold(value)))
    return number.getValue().getSExtValue();
  return std::nullopt;
}

Attribute ScalarValues::fold(Value value) {
  if (auto argument = arguments.find(value); argument != arguments.end())
    return argument->second;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0)
    return {};
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant)))
    return known[value] = constant;
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    Attribute element = foldLoad(load);
    return known[value] = element;
  }
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands())
    operands.push_back(fold(operand));
  SmallVector<OpFoldResult> results;
  Attribute result;
  // A fold that only puts operands into order leaves no result: once more.
  bool folded = succeeded(op->fold(operands, results));
  if (folded && results.empty())
    return fold(value);
  if (folded) {
    OpFoldResult now = results[cast<OpResult>(value).getResultNumber()];
    auto other = dyn_cast<Value>(now);
    result = other ? fold(other) : cast<Attribute>(now);
  }
  return known[value] = result;
}

std::optional<int64_t> ScalarValues::getElement(Value tensor,
                                                ArrayRef<int64_t> at) const {
  auto kept = elements.find(tensor);
  if (kept == elements.end())
    return std::nullopt;
  auto element = kept->second.find(at.vec());
  return element == kept->second.end() ? std::nullopt
                                       : std::optional(element->second);
}

Attribute ScalarValues::foldLoad(tile::LoadOp load) {
  SmallVector<int64_t> at;
  for (Value index : load.getIndices()) {
    std::optional<int64_t> place = get(index);
    if (!place)
      return {};
    at.push_back(*place);
  }
  std::optional<int64_t> number = getElement(load.getTensor(), at);
  return number ? IntegerAttr::get(load.getType(), *number) : Attribute();
}

SmallVector<Value> ScalarValues::argumentsOf(Value value) {
  llvm::SetVector<Value> open;
  open.insert(value);
  SmallVector<Value> result;
  for (size_t i = 0; i < open.size(); ++i) {
    Operation *op = open[i].getDefiningOp();
    if (!op)
      result.push_back(open[i]);
    else
      open.insert(op->operand_begin(), op->operand_end());
  }
  return result;
}

} // namespace attentile
