//===- TileAttrs.cpp - text forms and verifiers of the tile attributes ----===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attentile::tile {

//===----------------------------------------------------------------------===//
// #tile.axes
//===----------------------------------------------------------------------===//

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<StringAttr> names;
  Attribute layout;
  // Names, then perhaps `in = LAYOUT`, all behind commas.
  auto parseItem = [&]() -> ParseResult {
    if (layout)
      return parser.emitError(parser.getCurrentLocation(),
                              "expected the layout last");
    if (succeeded(parser.parseOptionalKeyword("in")))
      return failure(parser.parseEqual() || parser.parseAttribute(layout));
    return parser.parseAttribute(names.emplace_back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseItem))
    return {};
  return AxesAttr::getChecked([&] { return parser.emitError(loc); },
                              parser.getContext(), ArrayRef<StringAttr>(names),
                              layout);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getNames(), printer,
                        [&](StringAttr name) { printer << name; });
  if (getLayout())
    printer << ", in = " << getLayout();
  printer << '>';
}

LogicalResult AxesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names, Attribute layout) {
  llvm::SmallDenseSet<StringAttr> seen;
  for (StringAttr name : names)
    if (!seen.insert(name).second)
      return emitError() << "expected each axis once, got '" << name.getValue()
                         << "' twice";
  if (layout && !isa<FragmentAttr, SharedAttr>(layout))
    return emitError()
           << "expected #tile.fragment<...> or #tile.shared<...>, got "
           << layout;
  return success();
}

static LogicalResult verifyFragment(ArrayRef<int64_t> shape,
                                    const Layout &layout,
                                    function_ref<InFlightDiagnostic()> error) {
  if (layout.rank() != shape.size())
    return error() << "expected digits for " << shape.size()
                   << " axes, got them for " << layout.rank();
  for (auto [axis, size] : llvm::enumerate(shape))
    if (layout.size(axis) != size)
      return error() << "expected digits for " << size << " positions on axis "
                     << axis << ", got them for " << layout.size(axis);
  return success();
}

static LogicalResult verifyShared(ArrayRef<int64_t> shape, Type element,
                                  const SharedLayout &layout,
                                  function_ref<InFlightDiagnostic()> error) {
  if (shape.size() != 2)
    return error() << "expected a shared tile of two axes, got "
                   << shape.size();
  if (!isa<FloatType, IntegerType>(element))
    return error() << "expected a shared tile of numbers, got " << element;
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  if (auto problem = layout.findProblem(shape[1], bytes))
    return error() << *problem;
  return success();
}

LogicalResult
AxesAttr::verifyEncoding(ArrayRef<int64_t> shape, Type element,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (auto fragment = dyn_cast_or_null<FragmentAttr>(getLayout()))
    return verifyFragment(shape, fragment.getLayout(), emitError);
  if (auto shared = dyn_cast_or_null<SharedAttr>(getLayout()))
    return verifyShared(shape, element, shared.getLayout(), emitError);
  return success();
}

//===----------------------------------------------------------------------===//
// #tile.fragment
//===----------------------------------------------------------------------===//

Attribute FragmentAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Layout::Digits> axes;
  auto parseDigit = [&]() -> ParseResult {
    Digit &digit = axes.back().emplace_back();
    StringRef name;
    if (parser.parseInteger(digit.extent))
      return failure();
    SMLoc unitLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    std::optional<Unit> unit = symbolizeUnit(name);
    if (!unit || *unit == Unit::Offset)
      return parser.emitError(unitLoc, "expected reg, lane or warp, got '")
             << name << "'";
    digit.unit = *unit;
    return parser.parseInteger(digit.stride);
  };
  auto parseAxis = [&] {
    axes.emplace_back();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                          parseDigit);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseAxis))
    return {};
  if (auto problem = Layout::findProblem(axes)) {
    parser.emitError(loc, *problem);
    return {};
  }
  return FragmentAttr::get(parser.getContext(), Layout(axes));
}

void FragmentAttr::print(AsmPrinter &printer) const {
  printer << '<' << getLayout().str() << '>';
}

//===----------------------------------------------------------------------===//
// #tile.shared and #tile.warps
//===----------------------------------------------------------------------===//

SharedAttr SharedAttr::get(MLIRContext *context, const SharedLayout &layout) {
  return get(context, layout.pitch, layout.chunk, layout.rows, layout.period);
}

SharedLayout SharedAttr::getLayout() const {
  return {getPitch(), getChunk(), getRows(), getPeriod()};
}

LogicalResult WarpsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                StringAttr, int64_t splitRows,
                                int64_t splitColumns, int64_t splitReduced) {
  for (int64_t split : {splitRows, splitColumns, splitReduced})
    if (split < 1 || !llvm::isPowerOf2_64(split))
      return emitError() << "expected each split to be a power of two, got "
                         << split;
  if (splitReduced != 1 && splitReduced != splitColumns)
    return emitError() << "expected split_reduced to be 1 or split_columns, "
                       << splitColumns << ", got " << splitReduced;
  return success();
}

} // namespace attentile::tile
