//===- AttnDialect.cpp - registration of the attn dialect -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attn/Attn.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "Attn/AttnDialect.cpp.inc"
#include "Attn/AttnEnums.cpp.inc"
#include "Attn/AttnInterfaces.cpp.inc"

namespace attentile::attn {

void AttnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Attn/AttnOps.cpp.inc"
      >();
}

/// Folds that give a constant become arith.constant.
Operation *AttnDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

} // namespace attentile::attn
