//===- GridSyntax.cpp - the text of a kernel's grid -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/GridSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attentile::tile {

ParseResult parseGrid(OpAsmParser &parser, OperationState &result,
                      SmallVectorImpl<OpAsmParser::Argument> &ids) {
  Builder builder(parser.getContext());
  StringAttr name;
  SmallVector<OpAsmParser::UnresolvedOperand> bounds;
  SmallVector<Attribute> names;
  if (parser.parseSymbolName(name) || parser.parseKeyword("grid") ||
      parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Paren,
          [&]() -> ParseResult {
            OpAsmParser::Argument &id = ids.emplace_back();
            if (parser.parseArgument(id) || parser.parseLess() ||
                parser.parseOperand(bounds.emplace_back()))
              return failure();
            id.type = builder.getIndexType();
            names.push_back(
                builder.getStringAttr(id.ssaName.name.drop_front()));
            return success();
          }) ||
      parser.resolveOperands(bounds, builder.getIndexType(), result.operands))
    return failure();
  result.addAttribute("name", name);
  result.addAttribute("ids", builder.getArrayAttr(names));
  return success();
}

ParseResult parseGridBody(OpAsmParser &parser, OperationState &result,
                          ArrayRef<OpAsmParser::Argument> ids) {
  Builder builder(parser.getContext());
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, ids))
    return failure();
  if (body->empty()) {
    Block &block = body->emplaceBlock();
    for (size_t i = 0; i < ids.size(); ++i)
      block.addArgument(builder.getIndexType(), builder.getUnknownLoc());
  }
  return success();
}

void printGrid(OpAsmPrinter &printer, StringRef name, Region &body,
               ValueRange bounds) {
  printer << ' ';
  printer.printSymbolName(name);
  printer << " grid(";
  llvm::interleaveComma(
      llvm::zip_equal(body.getArguments(), bounds), printer, [&](auto pair) {
        printer << std::get<0>(pair) << " < " << std::get<1>(pair);
      });
  printer << ')';
}

void nameGridArguments(Region &body, ArrayAttr ids,
                       OpAsmSetValueNameFn setName) {
  for (auto [argument, name] :
       llvm::zip_equal(body.getArguments(), ids.getAsRange<StringAttr>()))
    setName(argument, name.getValue());
}

} // namespace attentile::tile
