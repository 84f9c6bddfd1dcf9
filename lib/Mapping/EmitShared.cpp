//===- EmitShared.cpp - tile-to-warp: registers and shared memory ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpEmitter.h"

using namespace mlir;

namespace attentile {

Value WarpEmitter::makeBuffer(RankedTensorType type) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastAtTop);
  auto alloc = warp::AllocOp::create(builder, loc, convertType(type),
                                     /*offset=*/nullptr);
  lastAtTop = alloc;
  return alloc;
}

/// A buffer has rows and columns: what leads is rows of rows.
static SmallVector<int64_t> rowsAndColumns(ArrayRef<int64_t> shape) {
  if (shape.size() < 3)
    return llvm::to_vector(shape);
  return {llvm::product_of(shape.drop_back()), shape.back()};
}

SmallVector<Value> WarpEmitter::rowAndColumn(SmallVector<Value> indices,
                                             ArrayRef<int64_t> shape) {
  if (shape.size() < 3)
    return indices;
  Value row = indices.front();
  for (auto [index, extent] : llvm::zip(ArrayRef(indices).drop_front(),
                                        shape.slice(1, shape.size() - 2))) {
    Value size = arith::ConstantIndexOp::create(builder, loc, extent);
    row = arith::MulIOp::create(builder, loc, row, size);
    row = arith::AddIOp::create(builder, loc, row, index);
  }
  return {row, indices.back()};
}

Value WarpEmitter::makeBuffer(ArrayRef<int64_t> shape, Type element) {
  return makeBuffer(rowsAndColumns(shape), element,
                    tile::SharedLayout::forRows(
                        shape.back(), warp::getElementBytes(element)));
}

Value WarpEmitter::makeWarpRows(int64_t elements, Type element) {
  tile::SharedLayout layout;
  layout.pitch = elements;
  layout.chunk = 16 / warp::getElementBytes(element);
  return makeBuffer({warps, elements}, element, layout);
}

Value WarpEmitter::makeBuffer(ArrayRef<int64_t> shape, Type element,
                              const tile::SharedLayout &layout) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastAtTop);
  auto type = warp::BufferType::get(
      builder.getContext(), shape, element,
      tile::SharedAttr::get(builder.getContext(), layout), 0);
  auto alloc = warp::AllocOp::create(builder, loc, type, /*offset=*/nullptr);
  lastAtTop = alloc;
  return alloc;
}

/// Calls `visit` with the first register of each run of `count` consecutive
/// elements of the last axis, and the thread's indices of it.
static void
forEachPacket(const tile::Layout &layout, int64_t count,
              function_ref<void(int64_t, ArrayRef<int64_t>)> visit) {
  for (int64_t reg = 0; reg < layout.registers(); reg += count)
    visit(reg, layout.positionOf({.reg = reg}));
}

/// How many registers hold consecutive elements of the last axis, in packets
/// of at most 16 bytes.
static int64_t packetOf(const tile::Layout &layout, int64_t bytes) {
  ArrayRef<tile::Digit> digits = layout.digits(layout.rank() - 1);
  if (digits.empty() || digits.front().unit != tile::Unit::Register ||
      digits.front().stride != 1)
    return 1;
  int64_t count = 1;
  while (digits.front().extent % (2 * count) == 0 && 2 * count * bytes <= 16)
    count *= 2;
  return count;
}

void WarpEmitter::storeToShared(Value vector, RankedTensorType type,
                                Value buffer) {
  tile::Layout whole = tile::getFragment(type).getLayout();
  tile::Layout layout = layoutOf(type);
  SmallVector<Value> first;
  for (auto [axis, name] : llvm::enumerate(tile::getAxes(type)))
    first.push_back(sum(threadPart(whole, axis), startOf(name)));
  Value holder = isFirstHolder(whole);
  int64_t count =
      packetOf(layout, warp::getElementBytes(type.getElementType()));
  SmallVector<Value> values = elements(vector);
  forEachPacket(layout, count, [&](int64_t reg, ArrayRef<int64_t> position) {
    SmallVector<Value> indices;
    for (auto [part, relative] : llvm::zip_equal(first, position))
      indices.push_back(offset(part, relative));
    Value packet =
        count == 1
            ? values[reg]
            : gather(vector, llvm::to_vector(llvm::seq(reg, reg + count)));
    warp::StoreSharedOp::create(builder, loc, packet, buffer,
                                rowAndColumn(indices, type.getShape()), holder);
  });
}

Value WarpEmitter::loadFromShared(Value buffer, RankedTensorType type) {
  tile::Layout layout = tile::getFragment(type).getLayout();
  Type element = type.getElementType();
  SmallVector<Value> first;
  for (unsigned axis = 0; axis < layout.rank(); ++axis)
    first.push_back(threadPart(layout, axis));
  int64_t count = packetOf(layout, warp::getElementBytes(element));
  SmallVector<Value> values;
  forEachPacket(layout, count, [&](int64_t, ArrayRef<int64_t> position) {
    SmallVector<Value> indices;
    for (auto [part, relative] : llvm::zip_equal(first, position))
      indices.push_back(offset(part, relative));
    Type packet = count == 1 ? element : VectorType::get({count}, element);
    Value loaded = warp::LoadSharedOp::create(
        builder, loc, packet, buffer, rowAndColumn(indices, type.getShape()));
    if (count == 1)
      values.push_back(loaded);
    else
      llvm::append_range(values, elements(loaded));
  });
  return fromElements(values);
}

/// A fragment of 16-bit elements by ldmatrix, 16 x 16 at a time, if its rows
/// are those of a left operand; else null.
Value WarpEmitter::loadMatrices(Value buffer, RankedTensorType type) {
  tile::Layout layout = tile::getFragment(type).getLayout();
  Type element = type.getElementType();
  if (!element.isF16() && !element.isBF16())
    return {};
  for (unsigned rowAxis : {0u, 1u}) {
    if (!isAccumulator(layout, rowAxis))
      continue;
    int64_t rows = layout.size(rowAxis, tile::Unit::Register) / 2;
    int64_t columns = layout.size(1 - rowAxis, tile::Unit::Register) / 2;
    if (columns % 2)
      return {};
    bool transpose = rowAxis == 1;
    SmallVector<Value> values(layout.registers());
    Value rowPart = threadPart(layout, rowAxis, ThreadUnits::Warp);
    Value columnPart = threadPart(layout, 1 - rowAxis, ThreadUnits::Warp);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; column += 2) {
        Value indices[2] = {offset(rowPart, 16 * row),
                            offset(columnPart, 8 * column)};
        auto four = warp::LdmatrixOp::create(
            builder, loc, VectorType::get({8}, element), buffer,
            indices[rowAxis], indices[1 - rowAxis], 4,
            transpose ? warp::MatrixOrder::Columns : warp::MatrixOrder::Rows,
            transpose);
        for (auto [i, value] : llvm::enumerate(elements(four))) {
          int64_t position[2];
          position[rowAxis] = 16 * row + 8 * (i / 2 % 2);
          position[1 - rowAxis] = 8 * (column + i / 4) + i % 2;
          values[layout.placeOf(position).reg] = value;
        }
      }
    return fromElements(values);
  }
  return {};
}

/// Where a tile that goes to shared memory comes from there, through operations
/// of one operand: its bytes are converted on the way. Null if it does not, or
/// if a copy in between may overwrite them.
static tile::ConvertLayoutOp findSource(tile::ConvertLayoutOp convert) {
  Value value = convert.getOperand();
  if (!tile::getShared(convert.getType()))
    return {};
  for (Operation *op = value.getDefiningOp();
       op && op->getBlock() == convert->getBlock();
       op = value.getDefiningOp()) {
    auto source = dyn_cast<tile::ConvertLayoutOp>(op);
    if (source && tile::getShared(source.getOperand().getType())) {
      bool stays = value != convert.getOperand();
      for (Operation *next = op; next != convert; next = next->getNextNode())
        stays &= !isa<tile::LoadOp>(next) && next->getNumRegions() == 0;
      return stays ? source : tile::ConvertLayoutOp();
    }
    if (source || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
        !OpTrait::hasElementwiseMappableTraits(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// Packet by packet, so that no thread holds all of its part: what the
/// operations on the way have made of the whole is not used.
void WarpEmitter::repack(tile::ConvertLayoutOp convert,
                         tile::ConvertLayoutOp source, Value buffer) {
  RankedTensorType from = convert.getOperand().getType();
  Type narrow = source.getType().getElementType();
  tile::Layout layout = tile::getFragment(from).getLayout();
  SmallVector<Operation *> way;
  for (Value value = convert.getOperand(); value != source.getResult();
       value = way.back()->getOperand(0))
    way.push_back(value.getDefiningOp());
  SmallVector<Value> first;
  for (unsigned axis = 0; axis < layout.rank(); ++axis)
    first.push_back(threadPart(layout, axis));
  Value holder = isFirstHolder(layout);
  int64_t count =
      std::min(packetOf(layout, warp::getElementBytes(narrow)),
               packetOf(layout, warp::getElementBytes(from.getElementType())));
  Value bytes = get(source.getOperand());
  forEachPacket(layout, count, [&](int64_t, ArrayRef<int64_t> position) {
    SmallVector<Value> indices;
    for (auto [part, relative] : llvm::zip_equal(first, position))
      indices.push_back(offset(part, relative));
    auto packetOfType = [&](Type element) -> Type {
      return count == 1 ? element : VectorType::get({count}, element);
    };
    Value packet = warp::LoadSharedOp::create(
        builder, loc, packetOfType(narrow), bytes, indices);
    for (Operation *op : llvm::reverse(way)) {
      IRMapping operand;
      operand.map(op->getOperand(0), packet);
      Operation *made = builder.clone(*op, operand);
      packet = made->getResult(0);
      packet.setType(
          packetOfType(tile::getElementType(op->getResult(0).getType())));
    }
    warp::StoreSharedOp::create(builder, loc, packet, buffer, indices, holder);
  });
}

LogicalResult WarpEmitter::emitConvert(tile::ConvertLayoutOp convert) {
  RankedTensorType from = convert.getOperand().getType();
  RankedTensorType to = convert.getType();
  Value operand =
      pieces.contains(convert) ? Value() : get(convert.getOperand());
  if (from == to) {
    set(convert, operand);
    return success();
  }
  if (tile::getShared(from)) {
    if (tile::getShared(to))
      return convert.emitError("expected registers on one side, got ")
             << from << " and " << to;
    Value matrices = loadMatrices(operand, to);
    set(convert, matrices ? matrices : loadFromShared(operand, to));
    return success();
  }
  if (tile::getFragment(to)) {
    tile::Layout fromLayout = tile::getFragment(from).getLayout();
    tile::Layout toLayout = tile::getFragment(to).getLayout();
    if (isRenaming(fromLayout, toLayout)) {
      set(convert, rename(operand, fromLayout, toLayout));
      return success();
    }
    Value now = choose(operand, fromLayout, toLayout);
    if (!now && to.getElementType().isInteger(1))
      now = exchangeTruths(operand, fromLayout, toLayout);
    if (now) {
      set(convert, now);
      return success();
    }
  }
  Value buffer = tile::getShared(to)
                     ? makeBuffer(to)
                     : makeBuffer(from.getShape(), from.getElementType());
  if (isInLoop())
    warp::BarrierOp::create(builder, loc); // all have read what was there
  if (auto known = pieces.find(convert); known != pieces.end()) {
    if (failed(emitPieces(convert, known->second, buffer)))
      return failure();
  } else if (tile::ConvertLayoutOp source = findSource(convert))
    repack(convert, source, buffer);
  else
    storeToShared(operand, from, buffer);
  warp::BarrierOp::create(builder, loc); // all have written
  set(convert, tile::getShared(to) ? buffer : loadFromShared(buffer, to));
  return success();
}

} // namespace attentile
