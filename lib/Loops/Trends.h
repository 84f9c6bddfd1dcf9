//===- Trends.h - values as a grid's coordinate grows -----------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LOOPS_TRENDS_H
#define ATTENTILE_LOOPS_TRENDS_H

#include "attentile/Trend.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace attentile {

/// How integers of a kernel's body change as one of its coordinates grows.
class Trends {
public:
  explicit Trends(mlir::Value id) : known{{id, Trend::Rises}} {}

  Trend of(mlir::Value value);

private:
  Trend find(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, Trend> known;
};

} // namespace attentile

#endif
