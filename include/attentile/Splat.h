//===- Splat.h - constants with one element everywhere ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_SPLAT_H
#define ATTENTILE_SPLAT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace attentile {

/// A constant's attribute for a type: `element` itself, or a tile or vector
/// whose elements all are `element`.
inline mlir::TypedAttr splat(mlir::Type type, mlir::TypedAttr element) {
  if (auto shaped = llvm::dyn_cast<mlir::ShapedType>(type))
    return mlir::SplatElementsAttr::get(shaped, mlir::Attribute(element));
  return element;
}

} // namespace attentile

#endif
