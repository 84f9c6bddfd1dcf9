//===- KernelAxes.cpp - what a kernel's products do with its axes ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelAxes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attentile {

/// Of what mma.m16n8 makes.
static constexpr int64_t kBlockRows = 16;

KernelAxes::KernelAxes(tile::KernelOp kernel) {
  llvm::SetVector<RankedTensorType> found;
  auto add = [&](Type type) {
    if (!tile::isTile(type))
      return;
    auto tensor = cast<RankedTensorType>(type);
    found.insert(tensor);
    for (auto [axis, size] :
         llvm::zip_equal(tile::getAxes(tensor), tensor.getShape()))
      sizes[axis] = size;
  };
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Type type : op->getOperandTypes())
      add(type);
    for (Type type : op->getResultTypes())
      add(type);
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      products.push_back(dot);
      columns.insert_range(tile::getAxes(dot.getType()));
      reduced.insert_range(dot.getOver().getAsRange<StringAttr>());
    }
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      reduced.insert_range(reduce.getOver().getAsRange<StringAttr>());
  });
  types = found.takeVector();
  if (StringAttr rows = findRows())
    columns.erase(rows);
}

StringAttr KernelAxes::findRows() const {
  if (!products.empty()) {
    tile::DotOp first = products.front();
    for (StringAttr axis : tile::getAxes(first.getType()))
      if (llvm::all_of(products, [&](tile::DotOp dot) {
            return tile::getAxisPosition(dot.getType(), axis).has_value();
          }))
        return axis;
    return tile::getAxes(first.getType()).front();
  }
  // A list's kernel may have keys first or alone, and those of f32 may be 8:
  // where columns are too, none are rows, and one warp has all.
  StringAttr rows;
  int64_t rank = 0;
  for (RankedTensorType type : types) {
    ArrayRef<StringAttr> own = tile::getAxes(type);
    const StringAttr *fits = llvm::find_if(own, [&](StringAttr axis) {
      return sizes.lookup(axis) % kBlockRows == 0;
    });
    if (type.getRank() > rank && (type.getRank() > 1 || fits != own.end())) {
      rank = type.getRank();
      rows = fits == own.end() ? StringAttr() : *fits;
    }
  }
  return rows;
}

} // namespace attentile
