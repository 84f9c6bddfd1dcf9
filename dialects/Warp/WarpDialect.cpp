//===- WarpDialect.cpp - registration and types of the warp dialect -------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warp/Warp.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

/// `64x128xbf16` of a buffer's type.
static ParseResult parseBufferShape(AsmParser &parser,
                                    SmallVector<int64_t> &shape,
                                    Type &element) {
  return failure(parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
                 parser.parseType(element));
}

static void printBufferShape(AsmPrinter &printer, ArrayRef<int64_t> shape,
                             Type element) {
  for (int64_t size : shape)
    printer << size << 'x';
  printer << element;
}

#include "Warp/WarpDialect.cpp.inc"
#include "Warp/WarpEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "Warp/WarpAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "Warp/WarpTypes.cpp.inc"

namespace attentile::warp {

void WarpDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Warp/WarpOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Warp/WarpAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "Warp/WarpTypes.cpp.inc"
      >();
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type element,
                                 Attribute layout, int64_t stages) {
  if (shape.empty() || llvm::any_of(shape, [](int64_t n) { return n <= 0; }))
    return emitError() << "expected a buffer of at least one dimension, each "
                          "of at least 1";
  bool isFloat8 = isa<Float8E4M3FNType, Float8E5M2Type>(element);
  if (!element.isF32() && !element.isF16() && !element.isBF16() && !isFloat8 &&
      !element.isIndex() && !element.isSignlessInteger())
    return emitError() << "expected a buffer of f32, f16, bf16, f8E4M3FN, "
                          "f8E5M2, index or integers, got "
                       << element;
  auto shared = dyn_cast<tile::SharedAttr>(layout);
  if (!shared)
    return emitError() << "expected a layout #tile.shared<...>, got " << layout;
  if (shape.size() > 2)
    return emitError() << "expected 1 or 2 dimensions, got " << shape.size();
  if (shape.size() == 2)
    if (std::optional<std::string> problem = shared.getLayout().findProblem(
            shape.back(), getElementBytes(element)))
      return emitError() << *problem;
  if (stages < 0)
    return emitError() << "expected 0 or more stages, got " << stages;
  return success();
}

Type getElementType(Type type) {
  auto fragment = dyn_cast<VectorType>(type);
  return fragment ? fragment.getElementType() : type;
}

int64_t getNumRegisters(Type type) {
  auto fragment = dyn_cast<VectorType>(type);
  return fragment ? fragment.getNumElements() : 1;
}

int64_t getElementBytes(Type element) {
  return element.isIndex()
             ? 8
             : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

tile::SharedLayout getSharedLayout(BufferType type) {
  return cast<tile::SharedAttr>(type.getLayout()).getLayout();
}

int64_t getStageBytes(BufferType type) {
  int64_t elements = type.getShape().front();
  if (type.getRank() == 2)
    elements *= getSharedLayout(type).pitch;
  return llvm::alignTo(elements * getElementBytes(type.getElementType()), 128);
}

int64_t getBufferBytes(BufferType type) {
  return std::max<int64_t>(type.getStages(), 1) * getStageBytes(type);
}

} // namespace attentile::warp
