//===- Signature.cpp - text form of a kernel's head -----------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attn/Signature.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attentile::attn {

StringRef nameOfArgument(Operation *kernel, BlockArgument argument) {
  auto head = cast<SignatureOpInterface>(kernel);
  unsigned i = argument.getArgNumber();
  for (ArrayAttr names : {head.getInNames(), head.getOutNames(),
                          head.getSizeNames(), head.getIndexNames()}) {
    if (i < names.size())
      return cast<StringAttr>(names[i]).getValue();
    i -= names.size();
  }
  return {};
}

BlockArgument findArgument(Operation *kernel, StringRef name) {
  for (BlockArgument argument : kernel->getRegion(0).front().getArguments())
    if (nameOfArgument(kernel, argument) == name)
      return argument;
  return {};
}

Operation *getEnclosingSignature(Operation *op) {
  while (op && !isa<SignatureOpInterface>(op))
    op = op->getParentOp();
  return op;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// Prints an extent with the sizes' names in place of s0, s1, ...
static void printExtent(OpAsmPrinter &printer, AffineExpr expr, ArrayAttr sizes,
                        bool parenthesise = false) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    printer << constant.getValue();
    return;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    printer << cast<StringAttr>(sizes[symbol.getPosition()]).getValue();
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  const char *name = "";
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    name = " + ";
    break;
  case AffineExprKind::Mul:
    name = " * ";
    break;
  case AffineExprKind::FloorDiv:
    name = " floordiv ";
    break;
  case AffineExprKind::CeilDiv:
    name = " ceildiv ";
    break;
  case AffineExprKind::Mod:
    name = " mod ";
    break;
  default:
    break;
  }
  printer << (parenthesise ? "(" : "");
  printExtent(printer, binary.getLHS(), sizes, true);
  printer << name;
  printExtent(printer, binary.getRHS(), sizes, true);
  printer << (parenthesise ? ")" : "");
}

static void printParameters(OpAsmPrinter &printer, SignatureOpInterface head,
                            MutableArrayRef<BlockArgument> arguments) {
  printer << '(';
  llvm::interleaveComma(arguments, printer, [&](BlockArgument argument) {
    printer << '%' << nameOfArgument(head, argument) << ": ";
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (!tensor) {
      printer << argument.getType();
      return;
    }
    printer << tensor.getElementType() << '[';
    llvm::interleaveComma(
        head.getShape(argument).getResults(), printer,
        [&](AffineExpr e) { printExtent(printer, e, head.getSizeNames()); });
    printer << ']';
  });
  printer << ')';
}

void printSignatureOp(OpAsmPrinter &printer, Operation *op, bool hasIndices) {
  auto head = cast<SignatureOpInterface>(op);
  printer << ' ';
  printer.printSymbolName(SymbolTable::getSymbolName(op));
  printer << " sizes(";
  llvm::interleaveComma(
      head.getSizeNames().getAsRange<StringAttr>(), printer,
      [&](StringAttr name) { printer << '%' << name.getValue(); });
  printer << ')';
  if (hasIndices) {
    printer << " indices(";
    llvm::interleaveComma(
        head.getIndexArgs(), printer, [&](BlockArgument index) {
          printer << '%' << nameOfArgument(op, index) << " < ";
          printExtent(printer, head.getExtent(index).getResult(0),
                      head.getSizeNames());
        });
    printer << ')';
  }
  printer.printNewline();
  printer << "    ins";
  printParameters(printer, head, head.getInArgs());
  printer << " outs";
  printParameters(printer, head, head.getOutArgs());
  printer.printOptionalAttrDictWithKeyword(
      op->getAttrs(), {"sym_name", "in_names", "out_names", "size_names",
                       "index_names", "shapes", "extents"});
  printer << ' ';
  printer.printRegion(op->getRegion(0), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true,
                      /*printEmptyBlock=*/true);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
/// The head as it is read: names, arguments and maps of each group.
struct HeadParser {
  OpAsmParser &parser;
  Builder builder;
  SmallVector<std::pair<StringRef, AffineExpr>> symbols;
  SmallVector<OpAsmParser::Argument> sizes, indices, ins, outs;
  SmallVector<Attribute> shapes, extents;

  explicit HeadParser(OpAsmParser &parser)
      : parser(parser), builder(parser.getContext()) {}

  static StringRef nameOf(const OpAsmParser::Argument &argument) {
    return argument.ssaName.name.drop_front();
  }

  ArrayAttr namesOf(ArrayRef<OpAsmParser::Argument> group) {
    SmallVector<Attribute> names;
    for (const OpAsmParser::Argument &argument : group)
      names.push_back(builder.getStringAttr(nameOf(argument)));
    return builder.getArrayAttr(names);
  }

  ParseResult parseSizes() {
    return parser.parseCommaSeparatedList(
        OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
          OpAsmParser::Argument &size = sizes.emplace_back();
          if (parser.parseArgument(size))
            return failure();
          size.type = builder.getIndexType();
          symbols.emplace_back(nameOf(size),
                               builder.getAffineSymbolExpr(symbols.size()));
          return success();
        });
  }

  AffineMapAttr mapOf(ArrayRef<AffineExpr> results) {
    return AffineMapAttr::get(
        AffineMap::get(0, symbols.size(), results, parser.getContext()));
  }

  ParseResult parseIndices() {
    return parser.parseCommaSeparatedList(
        OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
          OpAsmParser::Argument &index = indices.emplace_back();
          AffineExpr extent;
          if (parser.parseArgument(index) || parser.parseLess() ||
              parser.parseAffineExpr(symbols, extent))
            return failure();
          index.type = builder.getIndexType();
          extents.push_back(mapOf(extent));
          return success();
        });
  }

  ParseResult parseParameters(SmallVectorImpl<OpAsmParser::Argument> &group) {
    return parser.parseCommaSeparatedList(
        OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
          OpAsmParser::Argument &parameter = group.emplace_back();
          SmallVector<AffineExpr> shape;
          if (parser.parseArgument(parameter) ||
              parser.parseColonType(parameter.type))
            return failure();
          if (succeeded(parser.parseOptionalLSquare())) {
            if (parser.parseCommaSeparatedList([&]() -> ParseResult {
                  return parser.parseAffineExpr(symbols, shape.emplace_back());
                }) ||
                parser.parseRSquare())
              return failure();
            SmallVector<int64_t> dims;
            for (AffineExpr extent : shape) {
              auto constant = dyn_cast<AffineConstantExpr>(extent);
              dims.push_back(constant ? constant.getValue()
                                      : ShapedType::kDynamic);
            }
            parameter.type = RankedTensorType::get(dims, parameter.type);
          }
          shapes.push_back(mapOf(shape));
          return success();
        });
  }
};
} // namespace

ParseResult parseSignatureOp(OpAsmParser &parser, OperationState &result,
                             bool hasIndices) {
  HeadParser head(parser);
  Builder &builder = head.builder;
  StringAttr name;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parser.parseKeyword("sizes") || head.parseSizes())
    return failure();
  if (hasIndices && (parser.parseKeyword("indices") || head.parseIndices()))
    return failure();
  if (parser.parseKeyword("ins") || head.parseParameters(head.ins) ||
      parser.parseKeyword("outs") || head.parseParameters(head.outs) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();

  result.addAttribute("in_names", head.namesOf(head.ins));
  result.addAttribute("out_names", head.namesOf(head.outs));
  result.addAttribute("size_names", head.namesOf(head.sizes));
  result.addAttribute("shapes", builder.getArrayAttr(head.shapes));
  if (hasIndices) {
    result.addAttribute("index_names", head.namesOf(head.indices));
    result.addAttribute("extents", builder.getArrayAttr(head.extents));
  }
  SmallVector<OpAsmParser::Argument> arguments;
  for (const auto *group : {&head.ins, &head.outs, &head.sizes, &head.indices})
    llvm::append_range(arguments, *group);
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  if (body->empty()) { // "{}" leaves out the block
    Block &block = body->emplaceBlock();
    for (const OpAsmParser::Argument &argument : arguments)
      block.addArgument(argument.type, builder.getUnknownLoc());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult verifySignature(Operation *op) {
  auto head = cast<SignatureOpInterface>(op);
  unsigned sizes = head.getSizeNames().size();
  unsigned parameters = head.getInNames().size() + head.getOutNames().size();
  unsigned expected = parameters + sizes + head.getIndexNames().size();
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() != expected)
    return op->emitOpError("expected ")
           << expected << " block arguments, got " << block.getNumArguments();
  if (head.getShapes().size() != parameters)
    return op->emitOpError("expected ")
           << parameters << " shapes, got " << head.getShapes().size();
  if (head.getExtents().size() != head.getIndexNames().size())
    return op->emitOpError("expected ")
           << head.getIndexNames().size() << " extents, got "
           << head.getExtents().size();
  for (BlockArgument argument : block.getArguments()) {
    StringRef name = nameOfArgument(op, argument);
    if (argument.getArgNumber() >= parameters) {
      if (!argument.getType().isIndex())
        return op->emitOpError("expected '")
               << name << "' of type index, got " << argument.getType();
      continue;
    }
    AffineMap shape = head.getShape(argument);
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    unsigned rank = tensor ? tensor.getRank() : 0;
    if (shape.getNumResults() != rank || shape.getNumDims() != 0 ||
        shape.getNumSymbols() != sizes)
      return op->emitOpError("expected the shape of '")
             << name << "' to map " << sizes << " sizes to " << rank
             << " extents, got " << AffineMapAttr::get(shape);
  }
  for (AffineMapAttr extent : head.getExtents().getAsRange<AffineMapAttr>())
    if (extent.getValue().getNumResults() != 1 ||
        extent.getValue().getNumSymbols() != sizes)
      return op->emitOpError("expected an extent to map ")
             << sizes << " sizes to one number, got " << extent;
  return success();
}

void nameSignatureArguments(Operation *op, Region &region,
                            OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, nameOfArgument(op, argument));
}

} // namespace attentile::attn
