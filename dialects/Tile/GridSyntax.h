//===- GridSyntax.h - the text of a kernel's grid ---------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tile.kernel and warp.kernel write alike:
//
//   @name grid(%b < %B, %i < %blocks)
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_DIALECTS_TILE_GRIDSYNTAX_H
#define ATTENTILE_DIALECTS_TILE_GRIDSYNTAX_H

#include "mlir/IR/OpImplementation.h"

namespace attentile::tile {

/// Parses a kernel's name and grid: attributes `name` and `ids`, the bounds as
/// operands. `ids` are the arguments of the region that follows.
mlir::ParseResult
parseGrid(mlir::OpAsmParser &parser, mlir::OperationState &result,
          llvm::SmallVectorImpl<mlir::OpAsmParser::Argument> &ids);

/// Parses the region, which may be empty, with a grid's arguments.
mlir::ParseResult
parseGridBody(mlir::OpAsmParser &parser, mlir::OperationState &result,
              llvm::ArrayRef<mlir::OpAsmParser::Argument> ids);

/// Prints name and grid, with a space before.
void printGrid(mlir::OpAsmPrinter &printer, llvm::StringRef name,
               mlir::Region &body, mlir::ValueRange bounds);

/// Names the body's arguments after the grid's coordinates.
void nameGridArguments(mlir::Region &body, mlir::ArrayAttr ids,
                       mlir::OpAsmSetValueNameFn setName);

} // namespace attentile::tile

#endif
