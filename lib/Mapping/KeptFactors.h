//===- KeptFactors.h - left factors in registers ----------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_MAPPING_KEPTFACTORS_H
#define ATTENTILE_LIB_MAPPING_KEPTFACTORS_H

#include "NaturalLayouts.h"

namespace attentile {

/// The loaded left factors of a kernel that stay in registers through the loops
/// between their load and the product: as the kernel's resources say, else
/// those for which there is room, in the order that they are asked about.
class KeptFactors {
public:
  KeptFactors(tile::ResourcesAttr resources, const NaturalLayouts &natural)
      : resources(resources), natural(natural) {}

  bool keeps(tile::DotOp dot, mlir::Value factor);

private:
  /// 32-bit registers of a thread that hold a tile; 0 of what is none.
  int64_t countRegisters(mlir::Value value) const;

  tile::ResourcesAttr resources;
  const NaturalLayouts &natural;
  llvm::DenseMap<mlir::Value, int64_t> kept; // with their registers
};

} // namespace attentile

#endif
