//===- WarpOps.cpp - verifiers of the warp dialect ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warp/Warp.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attentile::warp {

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

LogicalResult AllocOp::verify() {
  if (std::optional<int64_t> offset = getOffset();
      offset && (*offset < 0 || *offset % 128 != 0))
    return emitOpError("expected an offset that is a multiple of 128, got ")
           << *offset;
  return success();
}

LogicalResult StageOp::verify() {
  int64_t stages = getBuffer().getType().getStages();
  if (stages == 0)
    return emitOpError("expected a buffer with stages, got ")
           << getBuffer().getType();
  if (std::optional<int64_t> index = getConstantIntValue(getIndex());
      index && (*index < 0 || *index >= stages))
    return emitOpError("expected a stage from 0 to ")
           << stages - 1 << ", got " << *index;
  return success();
}

/// What every access to a buffer keeps: no stages, an index a dimension, those
/// that are known inside.
static LogicalResult verifyBufferAccess(Operation *op, BufferType buffer,
                                        ValueRange indices) {
  if (buffer.getStages() != 0)
    return op->emitOpError("expected a buffer without stages, got ") << buffer;
  if (int64_t(indices.size()) != buffer.getRank())
    return op->emitOpError("expected ")
           << buffer.getRank() << " indices, got " << indices.size();
  for (auto [index, size] : llvm::zip_equal(indices, buffer.getShape()))
    if (std::optional<int64_t> known = getConstantIntValue(index);
        known && (*known < 0 || *known >= size))
      return op->emitOpError("expected an index from 0 to ")
             << size - 1 << ", got " << *known;
  return success();
}

/// A value of one element, or of a power of two of them in at most 16 bytes.
static LogicalResult verifyPacket(Operation *op, Type type, Type element) {
  int64_t count = getNumRegisters(type);
  if (getElementType(type) != element)
    return op->emitOpError("expected elements of ")
           << element << ", got " << type;
  if (!llvm::isPowerOf2_64(count) || count * getElementBytes(element) > 16)
    return op->emitOpError("expected one element, or a power of two of them in "
                           "at most 16 bytes, got ")
           << type;
  return success();
}

static LogicalResult verifySharedAccess(Operation *op, BufferType buffer,
                                        ValueRange indices, Type value) {
  if (failed(verifyBufferAccess(op, buffer, indices)) ||
      failed(verifyPacket(op, value, buffer.getElementType())))
    return failure();
  int64_t count = getNumRegisters(value);
  if (std::optional<int64_t> last = getConstantIntValue(indices.back());
      last && *last % count != 0)
    return op->emitOpError("expected a last index that is a multiple of ")
           << count << ", got " << *last;
  return success();
}

LogicalResult LoadSharedOp::verify() {
  return verifySharedAccess(*this, getBuffer().getType(), getIndices(),
                            getType());
}

LogicalResult StoreSharedOp::verify() {
  return verifySharedAccess(*this, getBuffer().getType(), getIndices(),
                            getValue().getType());
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

/// An index a dimension of the tensor, and as many flags if there are any.
static LogicalResult verifyTensorAccess(Operation *op, RankedTensorType tensor,
                                        ValueRange indices,
                                        std::optional<ArrayRef<bool>> inside) {
  if (tensor.getRank() != int64_t(indices.size()))
    return op->emitOpError("expected ")
           << tensor.getRank() << " indices, got " << indices.size();
  if (inside && inside->size() != indices.size())
    return op->emitOpError("expected in_bounds for ")
           << indices.size() << " dimensions, got " << inside->size();
  return success();
}

LogicalResult CopyAsyncOp::verify() {
  RankedTensorType tensor = cast<RankedTensorType>(getTensor().getType());
  BufferType buffer = getBuffer().getType();
  if (failed(verifyTensorAccess(*this, tensor, getIndices(), getInBounds())))
    return failure();
  if (buffer.getStages() != 0)
    return emitOpError("expected a buffer without stages, got ") << buffer;
  if (tensor.getElementType() != buffer.getElementType())
    return emitOpError("expected a buffer of ")
           << tensor.getElementType() << ", got " << buffer;
  if (int64_t(getDims().size()) != buffer.getRank())
    return emitOpError("expected ")
           << buffer.getRank() << " dims, got " << getDims().size();
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t dim : getDims()) {
    if (dim < 0 || dim >= tensor.getRank())
      return emitOpError("expected dims from 0 to ")
             << tensor.getRank() - 1 << ", got " << dim;
    if (!seen.insert(dim).second)
      return emitOpError("expected each of dims once, got ") << dim << " twice";
  }
  int64_t packet = 16 / getElementBytes(buffer.getElementType());
  if (!getByElement() && buffer.getShape().back() % packet != 0)
    return emitOpError("expected a last dimension of a multiple of 16 bytes, "
                       "got ")
           << buffer;
  if (std::optional<int64_t> first =
          getConstantIntValue(getIndices()[getDims().back()]);
      !getByElement() && first && *first % packet != 0)
    return emitOpError("expected a first index along dim ")
           << getDims().back() << " that is a multiple of " << packet
           << ", got " << *first;
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (getOwnRows() && kernel && !canOwnRows(kernel.getWarps()))
    return emitOpError("expected rows that ")
           << kernel.getWarps()
           << " warps have alike, of chunks that divide 32 lanes, got "
           << buffer;
  return success();
}

bool CopyAsyncOp::canOwnRows(int64_t warps) {
  BufferType buffer = getBuffer().getType();
  if (getByElement() || buffer.getRank() != 2)
    return false;
  int64_t rows = buffer.getShape()[0], lanes = tile::Layout::kLanes;
  int64_t chunks =
      buffer.getShape()[1] * getElementBytes(buffer.getElementType()) / 16;
  return chunks > 0 && lanes % chunks == 0 && rows % warps == 0 &&
         rows / warps % (lanes / chunks) == 0;
}

LogicalResult MbarriersOp::verify() {
  if (getArrivals().size() != getNumResults())
    return emitOpError("expected as many results as numbers of arrivals, got ")
           << getNumResults() << " and " << getArrivals().size();
  for (int64_t arrivals : getArrivals())
    if (arrivals <= 0)
      return emitOpError("expected 1 or more arrivals, got ") << arrivals;
  return success();
}

LogicalResult WaitGroupOp::verify() {
  if (int64_t pending = getPending(); pending < 0)
    return emitOpError("expected 0 or more pending groups, got ") << pending;
  return success();
}

//===----------------------------------------------------------------------===//
// Matrix instructions
//===----------------------------------------------------------------------===//

LogicalResult LdmatrixOp::verify() {
  BufferType buffer = getBuffer().getType();
  if (buffer.getRank() != 2)
    return emitOpError("expected a buffer of 2 dimensions, got ") << buffer;
  if (failed(verifyBufferAccess(*this, buffer, {getRow(), getCol()})))
    return failure();
  Type element = buffer.getElementType();
  bool is32 = element.isF32();
  if (!is32 && !element.isF16() && !element.isBF16())
    return emitOpError("expected a buffer of f16, bf16 or f32, got ") << buffer;
  if (getTranspose() && is32)
    return emitOpError("expected 16-bit elements to transpose, got ") << buffer;
  int64_t num = getNum();
  if (num != 1 && num != 2 && num != 4)
    return emitOpError("expected 1, 2 or 4 matrices, got ") << num;
  auto expected = VectorType::get({num * (is32 ? 1 : 2)}, element);
  if (getType() != expected)
    return emitOpError("expected a result of ")
           << expected << ", got " << getType();
  bool rows = getOrder() == MatrixOrder::Rows;
  int64_t below = num == 4 || (num == 2 && rows) ? 2 : 1;
  int64_t beside = num == 4 || (num == 2 && !rows) ? 2 : 1;
  int64_t width = is32 ? 4 : 8;
  std::pair<Value, int64_t> checks[] = {{getRow(), 8},
                                        {getCol(), width * beside}};
  for (auto [dim, check] : llvm::enumerate(checks))
    if (std::optional<int64_t> known = getConstantIntValue(check.first);
        known && *known % check.second != 0)
      return emitOpError("expected ")
             << (dim == 0 ? "a row" : "a column") << " that is a multiple of "
             << check.second << ", got " << *known;
  if (buffer.getShape()[0] < 8 * below || buffer.getShape()[1] < width * beside)
    return emitOpError("expected a buffer of at least ")
           << 8 * below << 'x' << width * beside << " elements, got " << buffer;
  return success();
}

LogicalResult MmaOp::verify() {
  auto a = cast<VectorType>(getA().getType());
  auto b = cast<VectorType>(getB().getType());
  auto c = cast<VectorType>(getC().getType());
  Type element = a.getElementType();
  bool is32 = element.isF32();
  if (!is32 && !element.isF16() && !element.isBF16())
    return emitOpError("expected factors of f16, bf16 or f32, got ") << a;
  auto expectedA = VectorType::get({is32 ? 4 : 8}, element);
  auto expectedB = VectorType::get({is32 ? 2 : 4}, element);
  auto expectedC = VectorType::get({4}, Float32Type::get(getContext()));
  for (auto [name, got, expected] :
       {std::tuple("a", a, expectedA), std::tuple("b", b, expectedB),
        std::tuple("c", c, expectedC)})
    if (got != expected)
      return emitOpError("expected ")
             << name << " of " << expected << ", got " << got;
  return success();
}

LogicalResult SplitTf32Op::verify() {
  if (!getElementType(getOperand().getType()).isF32())
    return emitOpError("expected f32, got ") << getOperand().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Exchange within a warp
//===----------------------------------------------------------------------===//

LogicalResult ShuffleXorOp::verify() {
  if (getMask() < 1 || getMask() > 31)
    return emitOpError("expected a mask from 1 to 31, got ") << getMask();
  return success();
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyGlobalAccess(Operation *op, RankedTensorType tensor,
                                        ValueRange indices, Type value,
                                        std::optional<int64_t> dim,
                                        std::optional<ArrayRef<bool>> inside) {
  if (failed(verifyTensorAccess(op, tensor, indices, inside)) ||
      failed(verifyPacket(op, value, tensor.getElementType())))
    return failure();
  if (dim && (*dim < 0 || *dim >= tensor.getRank()))
    return op->emitOpError("expected a dim from 0 to ")
           << tensor.getRank() - 1 << ", got " << *dim;
  int64_t count = getNumRegisters(value);
  if (count == 1)
    return success();
  if (tensor.getRank() == 0)
    return op->emitOpError("expected one element of a tensor without "
                           "dimensions, got ")
           << value;
  if (std::optional<int64_t> first =
          getConstantIntValue(indices[dim.value_or(tensor.getRank() - 1)]);
      first && *first % count != 0)
    return op->emitOpError("expected a first index that is a multiple of ")
           << count << ", got " << *first;
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyGlobalAccess(*this,
                            cast<RankedTensorType>(getTensor().getType()),
                            getIndices(), getType(), getDim(), getInBounds());
}

LogicalResult StoreOp::verify() {
  return verifyGlobalAccess(
      *this, cast<RankedTensorType>(getTensor().getType()), getIndices(),
      getValue().getType(), getDim(), getInBounds());
}

} // namespace attentile::warp

#define GET_OP_CLASSES
#include "Warp/WarpOps.cpp.inc"
