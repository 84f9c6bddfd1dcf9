//===- WarpKernel.cpp - warp.kernel and who runs --------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/GridSyntax.h"
#include "Warp/Warp.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attentile::warp {

//===----------------------------------------------------------------------===//
// warp.kernel
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> ids;
  int64_t warps = 0;
  if (tile::parseGrid(parser, result, ids) || parser.parseKeyword("warps") ||
      parser.parseLParen() || parser.parseInteger(warps) ||
      parser.parseRParen() ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute("warps", parser.getBuilder().getI64IntegerAttr(warps));
  return tile::parseGridBody(parser, result, ids);
}

void KernelOp::print(OpAsmPrinter &printer) {
  tile::printGrid(printer, getName(), getBody(), getBounds());
  printer << " warps(" << getWarps() << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"name", "ids", "warps"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true, /*printEmptyBlock=*/true);
}

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  tile::nameGridArguments(region, getIds(), setName);
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
