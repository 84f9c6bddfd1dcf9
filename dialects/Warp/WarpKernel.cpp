//===- WarpKernel.cpp - warp.kernel and who runs --------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warp/Warp.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attentile::warp {

//===----------------------------------------------------------------------===//
// warp.kernel
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder builder(parser.getContext());
  StringAttr name;
  SmallVector<OpAsmParser::Argument> ids;
  SmallVector<OpAsmParser::UnresolvedOperand> bounds;
  SmallVector<Attribute> names;
  int64_t warps = 0;
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
      parser.parseKeyword("warps") || parser.parseLParen() ||
      parser.parseInteger(warps) || parser.parseRParen() ||
      parser.resolveOperands(bounds, builder.getIndexType(), result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute("name", name);
  result.addAttribute("ids", builder.getArrayAttr(names));
  result.addAttribute("warps", builder.getI64IntegerAttr(warps));
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

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getName());
  printer << " grid(";
  llvm::interleaveComma(llvm::zip_equal(getBody().getArguments(), getBounds()),
                        printer, [&](auto pair) {
                          printer << std::get<0>(pair) << " < "
                                  << std::get<1>(pair);
                        });
  printer << ") warps(" << getWarps() << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"name", "ids", "warps"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true, /*printEmptyBlock=*/true);
}

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  for (auto [argument, name] : llvm::zip_equal(
           region.getArguments(), getIds().getAsRange<StringAttr>()))
    setName(argument, name.getValue());
}

LogicalResult KernelOp::verify() {
  if (getBody().getNumArguments() != getBounds().size() ||
      getIds().size() != getBounds().size())
    return emitOpError("expected as many ids and block arguments as bounds, ")
           << getBounds().size() << ", got " << getIds().size() << " and "
           << getBody().getNumArguments();
  if (getWarps() < 1 || getWarps() > 32)
    return emitOpError("expected 1 to 32 warps, got ") << getWarps();
  if (int64_t bytes = getSharedBytes().value_or(0); bytes < 0)
    return emitOpError("expected 0 or more shared bytes, got ") << bytes;
  return success();
}

//===----------------------------------------------------------------------===//
// Ranges of what numbers blocks and threads
//===----------------------------------------------------------------------===//

static ConstantIntRanges rangeUpTo(uint64_t last) {
  return ConstantIntRanges::fromSigned(APInt(64, 0), APInt(64, last));
}

void KernelOp::inferResultRanges(ArrayRef<ConstantIntRanges> bounds,
                                 SetIntRangeFn setRange) {
  // The runtime refuses grids of more cells than 2^31 - 1.
  for (auto [id, bound] : llvm::zip_equal(getBody().getArguments(), bounds)) {
    uint64_t last = (uint64_t(1) << 31) - 2;
    if (bound.smax().isStrictlyPositive())
      last = std::min(last, bound.smax().getZExtValue() - 1);
    setRange(id, rangeUpTo(last));
  }
}

/// The warps of the kernel that `op` is in; the most there can be outside one.
static int64_t getEnclosingWarps(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  return kernel ? kernel.getWarps() : 32;
}

void ThreadIdOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                   SetIntRangeFn setRange) {
  setRange(getResult(), rangeUpTo(32 * getEnclosingWarps(*this) - 1));
}

void LaneIdOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                 SetIntRangeFn setRange) {
  setRange(getResult(), rangeUpTo(31));
}

void WarpIdOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                 SetIntRangeFn setRange) {
  setRange(getResult(), rangeUpTo(getEnclosingWarps(*this) - 1));
}

} // namespace attentile::warp
